"""Decides from cheap looks at the processes of a job whether the job moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

# A rank that waits in a lock, a socket or the kernel uses almost no processor time, and its main
# thread reads and writes nothing but a line for a log.
_LEAST_CPU_SHARE = 0.02
_LEAST_BYTES = 4096


@dataclass(frozen=True)
class Look:
    """One look at a rank. Each fact is cheap, and none stops the rank."""

    pid: int
    cpu: float  # seconds of processor time of the main thread
    io_bytes: int = 0  # bytes that the main thread has read and written
    counts: Optional[str] = None  # numbers of its last calls in each group, from its debug server
    is_ready: bool = False  # whether its main thread runs, or waits for a processor

    def moved_since(self, earlier: Look, seconds: float) -> bool:
        """Whether the rank has moved. The numbers of its calls decide, if they are known: the main
        thread of a rank that waits for its GPU can use all of a processor."""
        if self.pid != earlier.pid:
            return True
        if self.counts is not None and earlier.counts is not None:
            return self.counts != earlier.counts
        return self.is_busy_since(earlier, seconds)

    def is_busy_since(self, earlier: Look, seconds: float) -> bool:
        if self.is_ready:  # on a busy machine, it may get no processor time for long
            return True
        cpu = self.cpu - earlier.cpu
        return cpu > _LEAST_CPU_SHARE * seconds or self.io_bytes - earlier.io_bytes >= _LEAST_BYTES


class Progress:
    """The last time at which each rank moved. The caller supplies all times."""

    def __init__(self) -> None:
        self._looks: dict[int, Look] = {}
        self._time = 0.0
        self._moved: dict[int, float] = {}

    def add(self, now: float, looks: dict[int, Look]) -> None:
        """Adds a look at all ranks. A rank that is new has moved; one that is missing has not."""
        for rank, look in looks.items():
            earlier = self._looks.get(rank)
            if earlier is None or look.moved_since(earlier, now - self._time):
                self._moved[rank] = now
        self._looks = dict(looks)
        self._time = now

    @property
    def ranks(self) -> list[int]:
        """Returns all ranks that were ever seen."""
        return sorted(self._moved)

    def quiet(self) -> float:
        """Returns the seconds for which no rank has moved."""
        return self._time - max(self._moved.values(), default=self._time)

    def waiting(self) -> float:
        """Returns the seconds for which some rank has not moved."""
        return self._time - min(self._moved.values(), default=self._time)

    def still(self, seconds: float) -> list[int]:
        """Returns the ranks that have not moved for `seconds`."""
        return sorted(rank for rank, at in self._moved.items() if self._time - at >= seconds)
