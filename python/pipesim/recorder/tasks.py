"""The states of a rank's threads, seen from outside: whether one runs or may continue by itself.

Linux shows in /proc the current system call of each thread and the number of its context switches.
A thread that waits for a lock without a timeout, as in `join`, `Queue.get` and `Event.wait`,
continues only if another thread lets it. If the system does not show the system call, a thread
counts as running while its number of switches changes, and as sleeping afterwards.
"""

from __future__ import annotations

import enum
import os
import platform
import time
from collections.abc import Collection
from typing import Optional

# Numbers of the system calls `read` and `futex`. Threads wait for locks in `futex`.
_READ, _FUTEX = ("0", "202") if platform.machine() == "x86_64" else ("63", "98")

# Time asleep after which a thread is not expected to continue soon.
_SECONDS_TO_DOZE = 0.25


class Standing(enum.IntEnum):
    """The state of a set of threads: the highest of the threads' states."""

    BLOCKED = 0  # waits for a lock without a timeout, or for the broker's reply
    DORMANT = 1  # has slept for a while, e.g. in a wait with a timeout or for a file
    RUNS = 2


class Tasks:
    """The threads of one process."""

    def __init__(self, pid: int) -> None:
        self._folder = f"/proc/{pid}/task"
        # Context switches of each thread, and the time at which a look last found a change.
        self._switched: dict[str, tuple[str, float]] = {}

    def standing(self, asking: Collection[int], helpers: Collection[int]) -> Standing:
        """Returns the state of all threads except the helpers. Of the `asking` threads, one waits
        in `read` for the replies to all of them."""
        tasks = {task: int(task) in asking for task in _tasks(self._folder)}
        for helper in helpers:
            tasks.pop(str(helper), None)
        first = [self._look(task, asks) for task, asks in tasks.items()]
        if Standing.RUNS in first:
            return Standing.RUNS
        # Between the looks at two threads, the second can have let the first continue.
        before = dict(self._switched)
        second = [self._look(task, asks) for task, asks in tasks.items()]
        if before != self._switched:
            return Standing.RUNS
        return max(second, default=Standing.BLOCKED)

    def _look(self, task: str, asks: bool) -> Standing:
        status = _read(f"{self._folder}/{task}/status")
        if status is None:
            self._switched.pop(task, None)
            return Standing.BLOCKED  # the thread has ended
        lines = status.splitlines()
        state = next((line.split()[1] for line in lines if line.startswith("State:")), "S")
        times = " ".join(line for line in lines if "ctxt_switches" in line)
        known, since = self._switched.get(task, ("", 0.0))
        if times != known:
            since = time.monotonic()
            self._switched[task] = (times, since)
        if state not in "SI":
            return Standing.RUNS
        call = (_read(f"{self._folder}/{task}/syscall") or "").split()
        if call and call[0] == "running":
            return Standing.RUNS
        if len(call) > 4 and call[0] == _FUTEX and int(call[4], 16) == 0:
            return Standing.BLOCKED
        if asks and (not call or call[0] == _READ):
            return Standing.BLOCKED
        is_long = time.monotonic() - since > _SECONDS_TO_DOZE
        return Standing.DORMANT if is_long else Standing.RUNS


def _read(path: str) -> Optional[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def work_of(pid: int) -> tuple[float, bool]:
    """Returns the CPU time of a process, its children that ended, and its living descendants, and
    whether the main thread of one of them runs or is ready to run."""
    ticks, is_ready = 0, False
    children = [pid]
    while children:
        process = children.pop()
        stat = _read(f"/proc/{process}/stat")
        if stat is None:
            continue
        fields = stat.rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
        is_ready = is_ready or fields[0] == "R"
        for task in _tasks(f"/proc/{process}/task"):
            found = _read(f"/proc/{process}/task/{task}/children")
            children += [int(child) for child in (found or "").split()]
    return ticks / os.sysconf("SC_CLK_TCK"), is_ready


def _tasks(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
