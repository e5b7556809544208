"""Ranks of a job whose process is gone, and how it ended."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from typing import Optional

from pipesim.live.jobs import Job
from pipesim.live.processes import Processes, Stat


@dataclass
class GoneRank:
    """A rank without a process. Unknown facts are None."""

    number: int
    pid: Optional[int] = None
    exit_code: Optional[int] = None  # as subprocess has it: -9 for SIGKILL
    why: str = ""


def gone_ranks(
    processes: Processes, job: Job, seen: Optional[dict[int, int]] = None
) -> list[GoneRank]:
    """Returns the ranks that this host should have, but that have no process left. `seen` has the
    processes of ranks at an earlier look.

    If the environment of some processes may not be read, a rank that was not found can be one of
    them, so none counts as gone.
    """
    seen = seen or {}
    left = {number for number, pid in seen.items() if processes.stat(pid) is None}
    missing = sorted((left - job.numbers) | set([] if job.refused else job.missing()))
    ended = _ended_children(processes, job)
    numbers = _numbers(job, missing, ended)
    ranks = []
    for number in missing:
        rank = GoneRank(number, seen.get(number))
        if number in numbers:
            rank.pid, found = numbers[number]
            rank.exit_code = _exit_code(processes, rank.pid, found)
            rank.why = exit_text(rank.exit_code)
        error = _recorded_error(processes, job, number)
        rank.why = ": ".join(part for part in (rank.why, error) if part)
        ranks.append(rank)
    return ranks


def exit_text(code: Optional[int]) -> str:
    """Describes the end of a process: "killed by SIGKILL", "exited with status 1"."""
    if code is None:
        return ""
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _ended_children(processes: Processes, job: Job) -> list[tuple[int, Stat]]:
    """Returns the children of the job's agent that have ended, but that the agent has not waited
    for."""
    found: list[tuple[int, Stat]] = []
    if job.agent in (None, 0, 1):
        return found
    for pid in processes.pids():
        stat = processes.stat(pid)
        if stat is not None and stat.parent == job.agent and stat.state == "zombie":
            found.append((pid, stat))
    return found


def _numbers(
    job: Job, missing: list[int], ended: list[tuple[int, Stat]]
) -> dict[int, tuple[int, Stat]]:
    """Returns the ended process of each missing rank, if it is certain."""
    if len(missing) == len(ended) == 1:
        return {missing[0]: ended[0]}
    expected = job.expected()
    everyone = ended + [(rank.pid, rank.stat) for rank in job.ranks]
    if job.launcher != "torchrun" or expected is None or len(everyone) != len(expected):
        return {}
    # torchrun starts the ranks of a host in their order.
    everyone.sort(key=lambda item: (item[1].started, item[0]))
    order = {pid: number for number, (pid, _) in zip(expected, everyone)}
    if any(order[rank.pid] != rank.number for rank in job.ranks):
        return {}
    return {order[pid]: (pid, stat) for pid, stat in ended}


def _exit_code(processes: Processes, pid: int, stat: Stat) -> Optional[int]:
    own = os.geteuid()
    if own not in (0, processes.user(pid)):
        return None  # the kernel hides the code from other users
    number = stat.exit_code & 0x7F
    return -number if number else stat.exit_code >> 8


def _recorded_error(processes: Processes, job: Job, number: int) -> str:
    """Returns the error that torch.distributed.elastic's `record` has written for the rank."""
    if not job.ranks:
        return ""
    other = job.ranks[0]
    path = other.environ.get("TORCHELASTIC_ERROR_FILE", "")
    beside = path_of_local_rank(path, other.local, local_rank(job, number))
    text = processes.read(other.pid, "root", beside.lstrip("/")) if beside else None
    try:
        message = json.loads(text or "null")["message"]
        if isinstance(message, dict):
            message = message["message"]
        return str(message).strip().splitlines()[-1]
    except (ValueError, TypeError, KeyError, IndexError):
        return ""


def local_rank(job: Job, number: int) -> Optional[int]:
    """Returns the local rank of a rank that should be on this host."""
    expected = job.expected()
    return None if expected is None or number not in expected else expected.index(number)


def path_of_local_rank(path: str, local: Optional[int], wanted: Optional[int]) -> str:
    """Returns the path that torchrun chose for local rank `wanted`, given the path for `local`:
    attempt_0/1/stdout.log becomes attempt_0/2/stdout.log for local rank 2."""
    folder, name = os.path.split(path)
    above, last = os.path.split(folder)
    if local is None or wanted is None or last != str(local) or "attempt_" not in above:
        return ""
    return os.path.join(above, str(wanted), name)
