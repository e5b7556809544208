"""Watches a job: looks at it until it hangs, or ends."""

from __future__ import annotations

import concurrent.futures
import enum
import time
from dataclasses import dataclass, field
from typing import Callable, Optional

from pipesim.live import calls, server, stacks
from pipesim.live.jobs import Job, Rank
from pipesim.live.processes import Processes
from pipesim.live.progress import Look, Progress

ANSWER_SECONDS = 3.0
_SECONDS_BETWEEN_STACKS = 1.0
_POLLS_BETWEEN_SEARCHES = 30
_POLLS_BETWEEN_REPORTS = 30  # of NCCL's RAS, which asks all ranks of the job
_THREADS = 16


class State(enum.Enum):
    """State of a watched job."""

    UNKNOWN = "unknown"  # not enough looks at the job yet
    MOVES = "moves"
    WAITS = "waits"  # some ranks wait, and another one works
    HANGS = "hangs"
    ENDED = "ended"


@dataclass
class Limits:
    """The times, in seconds, after which a job that does not move counts as hanging."""

    quiet: float = 5.0  # nothing moves: longer than the job ever pauses
    patience: float = 300.0  # some ranks wait for one that works, as in a checkpoint


@dataclass
class Watch:
    """The watch of one job. `find` returns the job, or None once the job has no process left."""

    processes: Processes
    find: Callable[[], Optional[Job]]
    limits: Limits
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    job: Optional[Job] = None
    pyspy: Optional[str] = None
    progress: Progress = field(default_factory=Progress)
    working: list[int] = field(default_factory=list)  # ranks that moved in the last close look
    seen: dict[int, int] = field(default_factory=dict)  # the last process of each rank number
    ras: Optional[calls.RasFacts] = None  # the last report of NCCL's RAS
    _servers: dict[int, Optional[server.Address]] = field(default_factory=dict)
    _last_close_look: Optional[float] = None
    _polls: int = 0

    def poll(self) -> State:
        """Looks at the job once, and returns its state."""
        if self.job is None or not self._is_alive(self.job):
            self.job = self.find()
            if self.job is None:
                return State.ENDED if self.seen else State.UNKNOWN
            self.pyspy = stacks.find_pyspy(self.processes, self.job.ranks)
        for rank in self.job.ranks:
            if rank.number is not None:
                self.seen[rank.number] = rank.pid
        if self._polls % _POLLS_BETWEEN_REPORTS == 0:
            self._ask_ras(self.job.ranks[0])
        self._polls += 1
        before = self.progress.ranks
        self.progress.add(self.clock(), self._look())
        if not before:
            return State.UNKNOWN
        if self.progress.quiet() >= self.limits.quiet:
            return self._look_closely()
        self.working = []
        if self.progress.waiting() >= self.limits.patience:
            return State.HANGS
        is_waiting = self.progress.waiting() >= self.limits.quiet
        return State.WAITS if is_waiting else State.MOVES if self._has_moved() else State.UNKNOWN

    def _ask_ras(self, rank: Rank) -> None:
        if self.processes.shares_network(rank.pid):
            report = calls.ask_ras(calls.ras_address(rank.environ), ANSWER_SECONDS)
            self.ras = calls.ras_facts(report)

    def _has_moved(self) -> bool:
        return self.progress.quiet() == 0

    def _is_alive(self, job: Job) -> bool:
        """Whether all processes of the job that were found are still alive."""
        for rank in job.ranks:
            stat = self.processes.stat(rank.pid)
            if stat is None or stat.state == "zombie" or stat.started != rank.stat.started:
                return False
        return True

    def _look(self) -> dict[int, Look]:
        assert self.job is not None
        with concurrent.futures.ThreadPoolExecutor(_THREADS) as pool:
            looks = list(pool.map(self._look_at, self.job.ranks))
        return {key_of(r): look for r, look in zip(self.job.ranks, looks) if look is not None}

    def _look_at(self, rank: Rank) -> Optional[Look]:
        main = self.processes.stat(rank.pid, thread=rank.pid)
        if main is None:
            return None
        is_known = self._servers.get(rank.pid) is not None
        # A debug server can start later than its rank; the search for one is the largest cost.
        is_due = rank.pid not in self._servers or self._polls % _POLLS_BETWEEN_SEARCHES == 0
        if not is_known and is_due and not main.is_stopped:
            self._servers[rank.pid] = server.find_server(self.processes, rank)
        address = None if main.is_stopped else self._servers.get(rank.pid)
        counts = None if address is None else calls.counts_of_server(address, ANSWER_SECONDS)
        io_bytes = self.processes.io_bytes(rank.pid) or 0
        return Look(rank.pid, main.cpu, io_bytes, counts, main.state == "running")

    def _look_closely(self) -> State:
        """Compares two stacks of each rank, and returns the job's state: a rank whose stack changes
        works."""
        now = self.clock()
        if self.working and self._last_close_look is not None:
            if self.progress.waiting() >= self.limits.patience:
                return State.HANGS
            if now - self._last_close_look < self.limits.quiet:
                return State.WAITS
        before = self._close_looks()
        self.sleep(_SECONDS_BETWEEN_STACKS)
        after = self._close_looks()
        self._last_close_look = self.clock()
        self.working = [key for key in after if key not in before or after[key] != before[key]]
        if self.working:
            return State.WAITS
        # Without a stack, only processor time shows that a rank works.
        is_blind = any(stack == () for _, (stack, _) in after.values())
        is_sure = not is_blind or self.progress.quiet() >= 2 * self.limits.quiet
        return State.HANGS if is_sure else State.UNKNOWN

    def _close_looks(self) -> dict[int, tuple[int, tuple[tuple[str, ...], float]]]:
        """Returns the stack of each rank, and the processor time of its children: a rank waits for
        its data workers as long as they work."""
        assert self.job is not None
        with concurrent.futures.ThreadPoolExecutor(_THREADS) as pool:
            found = list(pool.map(self._stack_of, self.job.ranks))
        children: dict[int, float] = {}
        for pid in self.processes.pids():
            stat = self.processes.stat(pid)
            if stat is not None:
                children[stat.parent] = children.get(stat.parent, 0.0) + stat.cpu
        return {
            key_of(rank): (rank.pid, (stack, round(children.get(rank.pid, 0.0), 1)))
            for rank, stack in zip(self.job.ranks, found)
        }

    def _stack_of(self, rank: Rank) -> tuple[str, ...]:
        stat = self.processes.stat(rank.pid)
        if stat is None or stat.is_stopped:
            return ("stopped",)
        if self.pyspy is not None:
            text = stacks.ask_pyspy(self.pyspy, rank.pid).text
        else:
            address = self._servers.get(rank.pid)
            if address is None:
                return ()
            text = stacks.ask_server(address, rank.number, ANSWER_SECONDS).text
        return tuple(stacks.stack_of(text))


def key_of(rank: Rank) -> int:
    """Returns the number of the rank, or the process id if the number is unknown."""
    return rank.pid if rank.number is None else rank.number
