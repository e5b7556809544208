"""The ends of the logs of a job, as far as they are files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Optional

from pipesim.live.gone import local_rank, path_of_local_rank
from pipesim.live.jobs import Job
from pipesim.live.processes import Processes

MAX_BYTES = 8 << 20
_NAMES = {1: "stdout", 2: "stderr"}


@dataclass(frozen=True)
class Log:
    """A log: the path at which this process can read it, and its name among the evidence."""

    path: str
    name: str


def find_logs(processes: Processes, job: Job, gone: list[int], host: str) -> list[Log]:
    """Returns the standard output and error of all ranks and of their launcher, each file once."""
    users: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for rank in job.ranks:
        for descriptor, stream in _NAMES.items():
            file = processes.file_of(rank.pid, descriptor)
            if file is not None:
                number = f"process_{rank.pid}" if rank.number is None else f"rank_{rank.number}"
                path = processes.path(rank.pid, "fd", str(descriptor))
                users.setdefault(file, []).append((path, f"{number}_{stream}.log"))
    if job.agent not in (None, 0, 1):
        for descriptor, stream in _NAMES.items():
            file = processes.file_of(job.agent, descriptor)
            if file is not None:
                path = processes.path(job.agent, "fd", str(descriptor))
                users.setdefault(file, []).append((path, f"launcher_{host}_{stream}.log"))
    found = []
    shared = 0
    for each in users.values():
        path, name = each[0]
        ranks = {name.rsplit("_", 1)[0] for _, name in each}
        if len(ranks) > 1:
            shared += 1
            name = f"job_{host}.log" if shared == 1 else f"job_{host}_{shared}.log"
        found.append(Log(path, "log_" + name))
    return found + _logs_of_gone_ranks(processes, job, gone)


def _logs_of_gone_ranks(processes: Processes, job: Job, gone: list[int]) -> list[Log]:
    """Returns the logs that torchrun's --log-dir has of ranks without a process."""
    found = []
    for rank in job.ranks[:1]:
        for descriptor, stream in _NAMES.items():
            if processes.file_of(rank.pid, descriptor) is None:
                continue
            target = processes.target_of(rank.pid, descriptor)
            for number in gone:
                path = path_of_local_rank(target, rank.local, local_rank(job, number))
                seen = processes.path(rank.pid, "root", path.lstrip("/"))
                if path and os.path.isfile(seen):
                    found.append(Log(seen, f"log_rank_{number}_{stream}.log"))
    return found


def end_of(log: Log) -> Optional[bytes]:
    """Returns the last MAX_BYTES of a log, from the beginning of a line; None if it is empty or may
    not be read."""
    try:
        with open(log.path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MAX_BYTES))
            text = file.read(MAX_BYTES)
    except OSError:
        return None
    if size > MAX_BYTES:
        text = text[text.find(b"\n") + 1 :]
    return text or None
