"""Stacks of the ranks, without stopping them.

py-spy reads the memory of a process. torch's debug server and faulthandler run in the process,
without Python's lock. gdb would stop the process, and code that gdb injects can end it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import Optional

from pipesim.live import server
from pipesim.live.jobs import Rank
from pipesim.live.processes import Processes

_PYSPY_SECONDS = 10
_MAX_WORKERS = 4
# A frame of py-spy or of faulthandler.
_FRAME = re.compile(r'^    \S.* \((.+):(\d+)\)$|^  File "(.+)", line (\d+) in ', re.MULTILINE)
_WORKER_MARK = "_worker_loop"  # a frame of each data worker


@dataclass
class Stacks:
    """The stacks of a process, or the reason why there are none."""

    text: str = ""
    source: str = ""  # "py-spy", "debug server", "faulthandler"
    error: str = ""


def find_pyspy(processes: Processes, ranks: list[Rank]) -> Optional[str]:
    """Returns the path of py-spy: in PATH, next to this interpreter, or in the environment of a
    rank."""
    found = shutil.which("py-spy")
    if found:
        return found
    folders = [os.path.dirname(sys.executable)]
    for rank in ranks[:1]:
        for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            if rank.environ.get(variable):
                folders.append(os.path.join(rank.environ[variable], "bin"))
        program = (processes.command(rank.pid) or [""])[0]
        if os.path.isabs(program):
            folders.append(os.path.dirname(program))
    for folder in folders:
        path = os.path.join(folder, "py-spy")
        if os.access(path, os.X_OK):
            return path
    return None


def ask_pyspy(pyspy: str, pid: int, timeout: float = _PYSPY_SECONDS) -> Stacks:
    """Returns the stacks that py-spy sees. A thread of a busy process can seem to have no frames;
    py-spy is then asked a second time."""
    best = Stacks(error="py-spy has seen no frame")
    for _ in range(2):
        found = _run_pyspy(pyspy, pid, timeout)
        if found.error:
            return best if best.text else found
        if not best.text or _empty_threads(found.text) < _empty_threads(best.text):
            best = found
        if _empty_threads(best.text) == 0:
            break
    return best


def _run_pyspy(pyspy: str, pid: int, timeout: float) -> Stacks:
    # Never uses --locals, which would print the values of variables.
    command = [pyspy, "dump", "--nonblocking", "--pid", str(pid), "--full-filenames"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return Stacks(error=f"py-spy has not answered within {timeout:.0f} s")
    except OSError as error:
        return Stacks(error=f"py-spy: {error.strerror}")
    if "    " not in done.stdout:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        return Stacks(error="py-spy: " + (lines[0] if lines else "no answer"))
    return Stacks(done.stdout, "py-spy")


def _empty_threads(text: str) -> int:
    """Returns the number of threads without a frame."""
    lines = [line for line in text.splitlines() if line.strip()]
    after = [*lines[1:], ""]
    return sum(
        line.startswith("Thread ") and not following.startswith("    ")
        for line, following in zip(lines, after)
    )


def worker_stacks(processes: Processes, pyspy: str, children: list[int]) -> str:
    """Returns the stacks of the data workers among the child processes of a rank."""
    text = ""
    for pid in children[:_MAX_WORKERS]:
        if processes.is_python(pid):
            found = ask_pyspy(pyspy, pid).text
            text += found if _WORKER_MARK in found else ""
    return text


def ask_server(address: server.Address, number: Optional[int], timeout: float) -> Stacks:
    """Returns the stacks that the debug server of a rank has."""
    body = server.ask(address, "dump_traceback", timeout)
    if not body:
        return Stacks(error="the debug server has not answered")
    return Stacks(_heading(number) + body.decode(errors="replace"), "debug server")


_one_at_a_time = threading.Lock()  # several ranks can write to the same file


def ask_faulthandler(
    processes: Processes, rank: Rank, number: signal.Signals, timeout: float = 1.0
) -> Stacks:
    """Sends the signal for which the script has registered faulthandler, and returns what the rank
    then writes to its standard error. Never sends a signal that would end the process."""
    if not processes.catches(rank.pid, number):
        return Stacks(error=f"{number.name} is not caught by the process, and would end it")
    path = processes.path(rank.pid, "fd", "2")
    if processes.file_of(rank.pid, 2) is None:
        return Stacks(error="its standard error is not a file, so stacks of faulthandler are lost")
    with _one_at_a_time:
        try:
            before = os.stat(path).st_size
            os.kill(rank.pid, number)
            text = ""
            end = time.monotonic() + timeout
            while time.monotonic() < end:
                time.sleep(0.05)
                written = _read_from(path, before)
                if written and written == text:
                    break
                text = written
        except OSError as error:
            return Stacks(error=f"{number.name}: {error.strerror}")
    if "most recent call first" not in text:
        return Stacks(error=f"the rank has written no stack after {number.name}")
    return Stacks(_heading(rank.number) + text, "faulthandler")


def _heading(number: Optional[int]) -> str:
    """Returns the line that names the rank of the stacks below it."""
    return "" if number is None else f"=== Rank {number} ===\n"


def _read_from(path: str, offset: int) -> str:
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(1 << 20).decode(errors="replace")


def place_of_main(text: str) -> Optional[tuple[str, int]]:
    """Returns file and line of the innermost frame of the main thread. What Python calls there is
    not Python, and only the text of the line says what it is."""
    threads = re.split(r"^(?=Thread |Current thread )", text, flags=re.MULTILINE)
    for thread in threads:
        if '"MainThread"' not in thread.partition("\n")[0] and " in <module>" not in thread:
            continue
        frame = _FRAME.search(thread)
        if frame is None:
            return None
        return frame[1] or frame[3], int(frame[2] or frame[4])
    return None


def stack_of(text: str) -> list[str]:
    """Returns the frames in a dump of stacks, without the state of the threads. They are equal in
    two dumps of a process that does not move."""
    frames = []
    for line in text.splitlines():
        if line.startswith(("    ", "  File ")):
            frames.append(line.strip())
    return frames
