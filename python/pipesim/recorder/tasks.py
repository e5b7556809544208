"""Looks at the threads of a rank from outside: does one of them run, or may go on by itself?

Linux says in /proc in which system call each thread is, and how often it has been switched. A
thread that waits for a lock without a timeout, as `join`, `Queue.get` and `Event.wait` do, goes on
only if another thread lets it. Where the system does not say it, a thread is taken to run as long
as it is switched, and afterwards to sleep.
"""

from __future__ import annotations

import enum
import os
import platform
import time
from collections.abc import Collection
from typing import Optional

# Numbers of the system calls `read`, and `futex`, by which threads wait for locks.
_READ, _FUTEX = ("0", "202") if platform.machine() == "x86_64" else ("63", "98")

# A thread that sleeps for longer is not expected to go on soon.
_SECONDS_TO_DOZE = 0.25


class Standing(enum.IntEnum):
    """The state of the liveliest thread of a set."""

    BLOCKED = 0  # all wait for locks, without a timeout
    DORMANT = 1  # one sleeps, or waits with a timeout or for a file, and has done so for a while
    RUNS = 2


class Tasks:
    """The threads of one process."""

    def __init__(self, pid: int) -> None:
        self._folder = f"/proc/{pid}/task"
        self._switched: dict[str, tuple[str, float]] = {}  # by thread: times, and when they changed

    def standing(self, asking: Collection[int], helpers: Collection[int]) -> Standing:
        """Returns the state of all threads except helpers. A thread that asks waits in `read`."""
        tasks = {task: int(task) in asking for task in _tasks(self._folder)}
        for helper in helpers:
            tasks.pop(str(helper), None)
        first = [self._look(task, asks) for task, asks in tasks.items()]
        if Standing.RUNS in first:
            return Standing.RUNS
        # One may have let another go on between the two looks at them.
        before = dict(self._switched)
        second = [self._look(task, asks) for task, asks in tasks.items()]
        if before != self._switched:
            return Standing.RUNS
        return max(second, default=Standing.BLOCKED)

    def _look(self, task: str, asks: bool) -> Standing:
        status = _read(f"{self._folder}/{task}/status")
        if status is None:
            self._switched.pop(task, None)
            return Standing.BLOCKED  # it has ended
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


def cpu_seconds(pid: int) -> float:
    """CPU time of a process, its children that ended, and all its living descendants."""
    ticks = 0
    children = [pid]
    while children:
        process = children.pop()
        stat = _read(f"/proc/{process}/stat")
        if stat is None:
            continue
        ticks += sum(map(int, stat.rpartition(")")[2].split()[11:15]))
        for task in _tasks(f"/proc/{process}/task"):
            found = _read(f"/proc/{process}/task/{task}/children")
            children += [int(child) for child in (found or "").split()]
    return ticks / os.sysconf("SC_CLK_TCK")


def _tasks(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
