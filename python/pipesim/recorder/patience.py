"""How long the launcher waits for ranks that send no message."""

from __future__ import annotations

import time
from typing import Optional

from pipesim.recorder.tasks import cpu_seconds

# Ranks compute if they use more than the share _BUSY of a processor in _LOOKS looks without a
# message; for at most _LONGEST_COMPUTATION times `--seconds`.
_BUSY = 0.02
_LOOKS = 8
_LONGEST_COMPUTATION = 10


class Patience:
    """How long the ranks may go on without a message. Time in which they compute does not count,
    up to a limit: a rank can compile for minutes, or spin for ever."""

    def __init__(self, patience: float, pids: dict[int, int]) -> None:
        self._patience = patience
        self._pids = pids
        self.renew()

    def renew(self) -> None:
        """Starts the time again, after a message."""
        self._last = self._computed_until = time.monotonic()
        self._cpu: Optional[float] = None

    def seconds_left(self, at_least: float) -> float:
        """Until the next look at the ranks. 0 if nothing has happened for too long."""
        patience = max(self._patience, at_least)
        interval = patience / _LOOKS
        now = time.monotonic()
        if self._cpu is None:
            self._cpu, self._looked = self._cpu_seconds(), now
        elif now - self._looked >= interval:
            before, self._cpu = self._cpu, self._cpu_seconds()
            if self._cpu - before > _BUSY * (now - self._looked):
                self._computed_until = now
            self._looked = now
        until = min(self._computed_until, self._last + (_LONGEST_COMPUTATION - 1) * patience)
        return max(0.0, min(until + patience - now, interval))

    def _cpu_seconds(self) -> float:
        return sum(map(cpu_seconds, self._pids.values()))
