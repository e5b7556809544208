"""Finds and runs the program pipesim, which judges records."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import termios
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

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


def check_as_json(
    record: str, *options: str, folder: Optional[str] = None
) -> Optional[dict[str, Any]]:
    """Returns the answer of `pipesim check RECORD --json`; None if it refuses the record."""
    done = check(record, "--json", *options, capture=True, folder=folder)
    return json.loads(done.stdout) if done.stdout else None


def check_as_shown(
    record: str, *options: str, folder: Optional[str] = None
) -> tuple[int, bytes]:
    """Runs `pipesim check RECORD` in `folder`. Returns its exit status, and its report as it would
    look on standard output: on a terminal, with colors and the width of the terminal."""
    command = [find_program(), "check", record, *options]
    reader, writer = os.openpty() if os.isatty(1) else os.pipe()
    if os.isatty(writer):
        tty.setraw(writer)
        size = fcntl.ioctl(1, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(writer, termios.TIOCSWINSZ, size)
    with subprocess.Popen(command, stdout=writer, cwd=folder) as process:
        os.close(writer)
        chunks: list[bytes] = []
        with contextlib.suppress(OSError):  # a terminal without writers ends with an error
            while not chunks or chunks[-1]:
                chunks.append(os.read(reader, 1 << 16))
        os.close(reader)
    if process.returncode < 0:
        raise ProgramDied(process.returncode)
    return process.returncode, b"".join(chunks)


def check_options(rules: Optional[str], parameters: list[str]) -> list[str]:
    """Returns the command-line options of `check` for these settings of `record`."""
    options = [] if rules is None else ["--rules", rules]
    for parameter in parameters:
        options += ["--set", parameter]
    return options
