"""Finds and runs the program pipesim, which judges records."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Optional

_HELP = (
    "the program 'pipesim' was not found: set PIPESIM to its path, or build it (./pipesim in a "
    "clone) or install it; the record can be judged later with 'pipesim check RECORD'"
)


class ProgramNotFound(Exception):
    """There is no pipesim to judge the record."""

    def __init__(self) -> None:
        super().__init__(_HELP)


class ProgramDied(Exception):
    """It ended without an answer."""

    def __init__(self, status: int) -> None:
        number = -status
        known = number in {each.value for each in signal.Signals}
        name = signal.Signals(number).name if known else f"signal {number}"
        super().__init__(
            f"the program 'pipesim' died while it judged the record ({name}); this is a bug in "
            "pipesim"
            if number != signal.SIGKILL
            else "the program 'pipesim' was killed while it judged the record (out of memory?)"
        )


def find_program() -> str:
    """$PIPESIM, else that of the source tree or installation this package is in, else by PATH."""
    named = os.environ.get("PIPESIM")
    if named:
        return os.path.abspath(named) if os.sep in named else named
    tree = Path(__file__).resolve().parents[3]
    if (tree / "CMakeLists.txt").exists() and (tree / "pipesim").exists():
        return str(tree / "pipesim")
    installed = tree.parents[1] / "bin" / "pipesim"  # from PREFIX/share/pipesim
    if tree.name == "pipesim" and installed.exists():
        return str(installed)
    found = shutil.which("pipesim")
    if found is None:
        raise ProgramNotFound
    return found


def check(
    record: str, *options: str, capture: bool = False, folder: Optional[str] = None
) -> subprocess.CompletedProcess[str]:
    """`pipesim check RECORD`, in this folder. Its exit status: 0 proved, 1 hang, 2 bad input, 3
    undecided."""
    command = [find_program(), "check", record, *options]
    done = subprocess.run(command, text=True, check=False, capture_output=capture, cwd=folder)
    if done.returncode < 0:
        raise ProgramDied(done.returncode)
    return done


def check_options(rules: Optional[str], parameters: list[str]) -> list[str]:
    """The options of `check` that `record` takes, too."""
    options = [] if rules is None else ["--rules", rules]
    for parameter in parameters:
        options += ["--set", parameter]
    return options
