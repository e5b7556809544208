"""The time that the launcher waits for ranks that send no message."""

from __future__ import annotations

import time
from typing import Optional

from pipesim.recorder.tasks import work_of

# Share of one processor above which the ranks count as computing.
_BUSY = 0.02
# Number of looks at the ranks' CPU time during `--seconds`.
_LOOKS = 8
# Longest time without a message even if the ranks compute, as a multiple of `--seconds`.
_LONGEST_COMPUTATION = 10


class Patience:
    """The time that the ranks may continue without a message. Time in which they compute does not
    count, up to a limit: a rank can compile for minutes, or spin forever."""

    def __init__(self, patience: float, pids: dict[int, int]) -> None:
        self._patience = patience
        self._pids = pids
        self.renew()

    def renew(self) -> None:
        """Restarts the wait, e.g. after a message."""
        self._last = self._computed_until = time.monotonic()
        self._cpu: Optional[float] = None

    def seconds_left(self, at_least: float) -> float:
        """Returns the time until the next look at the ranks; 0 if there was no progress for too
        long: for longer than `--seconds` and `at_least`."""
        patience = max(self._patience, at_least)
        interval = patience / _LOOKS
        now = time.monotonic()
        if self._cpu is None:
            (self._cpu, _), self._looked = self._work(), now
        elif now - self._looked >= interval:
            before = self._cpu
            self._cpu, is_ready = self._work()  # on a busy machine, a rank can be ready for long
            if is_ready or self._cpu - before > _BUSY * (now - self._looked):
                self._computed_until = now
            self._looked = now
        until = min(self._computed_until, self._last + (_LONGEST_COMPUTATION - 1) * patience)
        return max(0.0, min(until + patience - now, interval))

    def _work(self) -> tuple[float, bool]:
        each = [work_of(pid) for pid in self._pids.values()]
        return sum(seconds for seconds, _ in each), any(is_ready for _, is_ready in each)
