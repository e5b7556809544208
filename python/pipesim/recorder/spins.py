"""Sees that a thread asks the same question again and again, in the same state: it will not stop.

    while not work.is_completed():
        time.sleep(0.01)

A loop that counts, or looks at the clock, ends at some time, so it is no such loop.
"""

from __future__ import annotations

import functools
import threading
import time
from types import FrameType
from typing import Any, Optional

from pipesim.recorder.places import is_users

# So often in the same state.
_TIMES = 50

_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")


class Spins(threading.local):
    """The questions of a thread, and how often it has looked at a clock."""

    def __init__(self) -> None:
        self.looks = 0
        self._state: Any = None
        self._times = 0

    def in_same_state(self, frame: Optional[FrameType]) -> bool:
        """Whether the thread has asked from here for long, and nothing that it sees has changed."""
        state = (self.looks, _state_of(frame))
        self._times = self._times + 1 if state == self._state else 0
        self._state = state
        return self._times >= _TIMES

    def watch_clocks(self) -> None:
        """Counts looks at clocks from now on. Modules that have imported the functions of `time`
        themselves, as those of the standard library, are not seen."""
        for name in _CLOCKS:
            for clock in (name, f"{name}_ns"):
                setattr(time, clock, self._counting(getattr(time, clock)))

    def _counting(self, original: Any) -> Any:
        @functools.wraps(original)
        def clock() -> Any:
            self.looks += 1
            return original()

        return clock


def _state_of(frame: Optional[FrameType]) -> list[Any]:
    """Returns the positions of the user's functions, and their variables."""
    state = []
    while frame is not None:
        if is_users(frame):
            variables = sorted(frame.f_locals.items())
            state.append((frame.f_code, frame.f_lasti, [(k, _value(v)) for k, v in variables]))
        frame = frame.f_back
    return state


def _value(thing: Any, depth: int = 1) -> Any:
    """Returns the part of a variable that can be compared."""
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
