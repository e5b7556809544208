"""Finds the notes that `pipesim attach` takes of a job."""

from __future__ import annotations

import os
import re
import shutil
from typing import Optional

from pipesim.live.processes import Processes


def folder_of(processes: Processes, pid: int) -> Optional[str]:
    """Returns the folder of the notes that a rank has mapped, as this process can open it."""
    maps = processes.read(pid, "maps") or ""
    mapped = re.search(r"^(?:\S+\s+){5}(/.*)/rank\d+\.calls$", maps, re.MULTILINE)
    if mapped is None:
        return None
    inside = processes.path(pid, "root") + mapped[1]  # the rank can be in a container
    return inside if os.path.isdir(inside) else mapped[1]


def copy(source: str, target: str) -> None:
    """Copies the notes. A rank moves notes from its first file to the second, so the first ones are
    copied first."""
    os.makedirs(target, exist_ok=True)
    names = [name for name in os.listdir(source) if re.match(r"rank\d+\.|record\.json$", name)]
    for name in sorted(names, key=lambda name: (name.endswith(".steps"), name)):
        try:
            shutil.copyfile(os.path.join(source, name), os.path.join(target, name))
        except OSError:
            pass  # removed meanwhile
