"""Detects that a thread asks the same question repeatedly in the same state, so it will not stop.

    while not work.is_completed():
        time.sleep(0.01)

A loop that counts, or reads a clock, does not stay in the same state: it can end by itself.
"""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any, Optional

from pipesim.recorder.places import is_users

# Number of repetitions in the same state after which a loop is assumed not to stop.
_TIMES = 50

_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")


class Spins(threading.local):
    """The state of a thread's last question, and the number of its reads of a clock."""

    def __init__(self) -> None:
        self.looks = 0
        self._state: Any = None
        self._times = 0

    def in_same_state(self, frame: Optional[FrameType]) -> bool:
        """Whether the thread has asked from `frame` many times in a row, with the same state."""
        state = (self.looks, _state_of(frame))
        self._times = self._times + 1 if state == self._state else 0
        self._state = state
        return self._times >= _TIMES

    def watch_clocks(self, delays: Iterator[float]) -> None:
        """Counts reads of clocks from now on, and delays the first ones. Reads are not counted in
        modules that have already imported functions from `time` by name, e.g. in the standard
        library."""
        for name in _CLOCKS:
            for clock in (name, f"{name}_ns"):
                setattr(time, clock, self._counting(getattr(time, clock), delays))

    def _counting(self, original: Any, delays: Iterator[float]) -> Any:
        @functools.wraps(original)
        def clock() -> Any:
            self.looks += 1
            for delay in itertools.islice(delays, 1):
                time.sleep(delay)
            return original()

        return clock


def _state_of(frame: Optional[FrameType]) -> list[Any]:
    """Returns the current instructions of the user's functions on the stack, and their
    variables."""
    state = []
    while frame is not None:
        if is_users(frame):
            variables = sorted(frame.f_locals.items())
            state.append((frame.f_code, frame.f_lasti, [(k, _value(v)) for k, v in variables]))
        frame = frame.f_back
    return state


def _value(thing: Any, depth: int = 1) -> Any:
    """Returns a comparable summary of a variable's value."""
    if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes)):
        return repr(thing)
    if isinstance(thing, (list, tuple, dict, set, frozenset)):
        return (
            type(thing),
            len(thing),
            [_simple(each) for each in thing] if len(thing) < 100 else 0,
        )
    fields = getattr(thing, "__dict__", None)
    if depth and isinstance(fields, dict) and len(fields) < 100:
        return (type(thing), [(key, _value(value, 0)) for key, value in sorted(fields.items())])
    return type(thing)


def _simple(thing: Any) -> Any:
    return repr(thing) if isinstance(thing, (bool, int, float, str)) else type(thing)
