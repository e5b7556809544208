"""Finds and runs the program pipesim, which judges records."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

_HELP = (
    "the program 'pipesim' was not found: install pipesim's wheel into this environment, or set "
    "PIPESIM to the path of the program (./pipesim in a clone)"
)


class ProgramNotFound(Exception):
    """An error: the program pipesim, which judges records, was not found."""

    def __init__(self) -> None:
        super().__init__(_HELP)


class ProgramDied(Exception):
    """An error: the program pipesim ended by a signal, without an answer."""

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


def _own_programs() -> Iterator[Path]:
    """Yields the paths at which the program of this installation can be, most trusted first."""
    tree = Path(__file__).resolve().parents[3]
    if (tree / "CMakeLists.txt").exists():
        yield tree / "pipesim"
    if tree.name == "pipesim":  # PREFIX/share/pipesim
        yield tree.parents[1] / "bin" / "pipesim"
    yield Path(__file__).resolve().parents[2] / "bin" / "pipesim"  # pip install --target
    yield Path(sysconfig.get_path("scripts")) / "pipesim"
    yield Path(sysconfig.get_path("scripts", f"{os.name}_user")) / "pipesim"


def find_program() -> str:
    """Returns the program: $PIPESIM if set, else the program of the source tree or environment that
    contains this package, else the program in PATH."""
    named = os.environ.get("PIPESIM")
    if named:
        return os.path.abspath(named) if os.sep in named else named
    for own in _own_programs():
        if own.is_file():
            return str(own)
    found = shutil.which("pipesim")
    if found is None:
        raise ProgramNotFound
    return found


def check(
    record: str, *options: str, capture: bool = False, folder: Optional[str] = None
) -> subprocess.CompletedProcess[str]:
    """Runs `pipesim check RECORD` in `folder`. Its exit status: 0 proved, 1 hang, 2 bad input, 3
    undecided."""
    command = [find_program(), "check", record, *options]
    done = subprocess.run(command, text=True, check=False, capture_output=capture, cwd=folder)
    if done.returncode < 0:
        raise ProgramDied(done.returncode)
    return done


def check_options(rules: Optional[str], parameters: list[str]) -> list[str]:
    """Returns the command-line options of `check` for these settings of `record`."""
    options = [] if rules is None else ["--rules", rules]
    for parameter in parameters:
        options += ["--set", parameter]
    return options
