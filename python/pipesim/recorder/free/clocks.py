"""Clocks. The value of a clock matters only if the script compares it.

A reading is a number that knows how it depends on the readings of the rank's clock. A comparison is
a free answer if a longer wait before the reading would change its result. In an exploration, the
clock is virtual: it moves when the script sleeps, when a wait times out, and when a comparison is
answered as after a wait. A number that leaves Python, for a tensor, an integer or another rank,
is no longer followed: there, the clock can be much later.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from pipesim.recorder.free.lines import users_frame

if TYPE_CHECKING:
    from pipesim.recorder.free import FreeAnswers

NOT_REACHED, PASSED = "is not reached", "has passed"

AS_READ, LATER = "is as it was read", "is more than a year later"

# The virtual clocks begin at these values, in seconds; all ranks' clocks agree.
_BEGINS = {
    "time": 1.6e9, "monotonic": 1e5, "perf_counter": 1e5, "process_time": 1.0, "thread_time": 1.0,
}  # fmt: skip
JUMP = 400 * 86400.0 + 11 * 3600.0 + 37 * 60.0  # seconds; changes every part of a date
_JUMPS = (
    "a clock that becomes a tensor, an integer or a date is as read, or a year later, in the first "
    "two readings at its line"
)

# Functions of torch and methods of tensors that take a number as it is.
_TAKERS = "tensor as_tensor full full_like scalar_tensor add sub mul div lt le gt ge".split()
_METHODS = (
    "fill_ new_tensor new_full __setitem__ add add_ sub sub_ mul mul_ div div_ lt le gt ge __add__ "
    "__radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ "
    "__rtruediv__ __lt__ __le__ __gt__ __ge__"
).split()
_NANOSECONDS = 1_000_000_000
_TICK = 1e-6  # seconds between two readings
_MAX_LIST = 1000  # items of a list in which clocks are looked for
_MARGIN = 1e-3  # seconds by which a wait passes a deadline


class VirtualClock:
    """The virtual clock of a rank, in seconds since its start, and the waits added so far."""

    def __init__(self, free: FreeAnswers) -> None:
        self.free = free
        self.now = 0.0
        self.readings = 0  # number of the latest reading
        self.delays: list[tuple[int, float]] = []  # waits before a reading: its number, seconds
        self.compared = 0  # number of the latest reading that has been compared
        self.originals: dict[str, Callable[[], Any]] = {}

    def read(self, name: str, unit: int = 1) -> Any:
        """Returns a reading of the clock `name` of `time`."""
        self.readings += 1
        if self.free.explores:
            self.now += _TICK
            value = (_BEGINS[name] + self.now) * unit
        else:
            value = self.originals[name if unit == 1 else f"{name}_ns"]()
        return _make(value if unit == 1 else int(value), self, {self.readings: float(unit)})

    def delay(self, reading: int, seconds: float) -> None:
        """Adds a wait before an earlier reading."""
        self.delays.append((reading, seconds))
        self.now += seconds


class _ClockNumber:
    """The mixin of `ClockFloat` and `ClockInt`: linear arithmetic, and comparisons."""

    clock: VirtualClock
    terms: dict[int, float]  # growth per second of a wait before a reading, by its number
    seen: int  # number of delays that the value contains

    def __reduce__(self) -> Any:
        plain = taken(self)
        return type(plain), (plain,)

    def __int__(self) -> int:
        return int(taken(self))

    def __float__(self) -> float:
        return float(taken(self))

    def __trunc__(self) -> int:
        return int(taken(self))

    def __floor__(self) -> int:
        return math.floor(taken(self))

    def __ceil__(self) -> int:
        return math.ceil(taken(self))

    def __round__(self, digits: Any = None) -> Any:
        return round(taken(self), digits)

    def __mod__(self, other: Any) -> Any:
        return taken(self) % other

    def __divmod__(self, other: Any) -> Any:
        return divmod(taken(self), other)

    def __pow__(self, other: Any) -> Any:
        return taken(self) ** other

    def __rtruediv__(self, other: Any) -> Any:
        return other / taken(self)

    def __abs__(self) -> Any:
        return self if _plain(self) >= 0 else -self

    def __lt__(self, other: Any) -> Any:
        return _compare(self, other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return _compare(self, other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return _compare(self, other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return _compare(self, other, operator.ge)


class ClockFloat(_ClockNumber, float):
    """A float made of readings of a clock."""


class ClockInt(_ClockNumber, int):
    """An int made of readings of a clock in nanoseconds."""


def _plain(value: Any) -> Any:
    return float.__float__(value) if isinstance(value, ClockFloat) else int.__int__(value)


def taken(value: _ClockNumber) -> Any:
    """Returns a number that the caller uses in a way that is not followed. In an exploration, the
    clock can be much later."""
    clock, reading = value.clock, max(value.terms)
    if reading >= clock.compared and clock.free.asks("clocks"):
        frame = users_frame(sys._getframe(1))
        if frame is not None and clock.free.is_free(frame):
            clock.compared = reading
            options = (AS_READ, LATER)
            if clock.free.choose("jump", "the clock", options, bound=_JUMPS) == LATER:
                clock.delay(reading, JUMP)
    return _current(value)


def taken_in(value: Any) -> Any:
    """Returns a value whose numbers of clocks, also in lists, are used in a way that is not
    followed."""
    if isinstance(value, _ClockNumber):
        return taken(value)
    if type(value) in (list, tuple) and len(value) < _MAX_LIST:
        return type(value)(map(taken_in, value))
    return value


def _make(value: Any, clock: VirtualClock, terms: dict[int, float]) -> Any:
    terms = {number: rate for number, rate in terms.items() if rate}
    if not terms or not isinstance(value, (int, float)):
        return value
    made: Any = ClockInt(value) if isinstance(value, int) else ClockFloat(value)
    made.clock, made.terms, made.seen = clock, terms, len(clock.delays)
    return made


def _terms_of(value: Any, rate: float = 1.0) -> dict[int, float]:
    if not isinstance(value, _ClockNumber):
        return {}
    return {number: rate * each for number, each in value.terms.items()}


def _current(value: Any) -> Any:
    """Returns a value with the waits that were added since it was made."""
    if not isinstance(value, _ClockNumber):
        return value
    is_int, plain = isinstance(value, int), _plain(value)
    for reading, seconds in value.clock.delays[value.seen :]:
        plain += seconds * sum(rate for n, rate in value.terms.items() if n >= reading)
    return int(plain) if is_int else plain


def _sum(sign: float) -> Callable[[Any, Any, Any], dict[int, float]]:
    def terms(self: Any, other: Any, _: Any) -> dict[int, float]:
        both = _terms_of(self)
        for number, rate in _terms_of(other, sign).items():
            both[number] = both.get(number, 0.0) + rate
        return both

    return terms


def _scaled(self: Any, other: Any, operation: Any) -> dict[int, float]:
    """Returns the terms of a product or quotient with a plain number on the right."""
    if isinstance(other, _ClockNumber):
        return {}
    return _terms_of(self, operator.mul(1.0, other) if operation is operator.mul else 1.0 / other)


def _define_arithmetic() -> None:
    operations: list[tuple[str, Any, Any]] = [
        ("add", operator.add, _sum(1.0)),
        ("sub", operator.sub, _sum(-1.0)),
        ("mul", operator.mul, _scaled),
        ("truediv", operator.truediv, _scaled),
        ("floordiv", operator.floordiv, _scaled),
    ]
    for name, operation, terms_of in operations:

        def forward(self: Any, other: Any, operation: Any = operation, of: Any = terms_of) -> Any:
            if not isinstance(other, (int, float)):
                return NotImplemented
            value = operation(_current(self), _current(other))
            return _make(value, self.clock, of(self, other, operation))

        setattr(_ClockNumber, f"__{name}__", forward)

    def add_to(self: Any, other: Any) -> Any:
        return self + other

    def subtract_from(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        return _make(other - _current(self), self.clock, _terms_of(self, -1.0))

    def times(self: Any, other: Any) -> Any:
        return self * other

    methods: dict[str, Any] = {
        "__radd__": add_to,
        "__rsub__": subtract_from,
        "__rmul__": times,
        "__neg__": lambda self: self * -1,
    }
    for name, method in methods.items():
        setattr(_ClockNumber, name, method)


_define_arithmetic()


def _compare(self: Any, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
    if not isinstance(other, (int, float)):
        return NotImplemented
    clock: VirtualClock = self.clock
    left, right = _current(self), _current(other)
    is_so = bool(operation(left, right))
    terms = _terms_of(self - other)
    if not terms or not clock.free.is_free(sys._getframe(2)):
        return is_so
    if not clock.free.explores:
        clock.free.note("clock", "a comparison with a clock")
        return is_so
    return _ask(clock, left - right, max(terms.items()), is_so, operation)


def _ask(
    clock: VirtualClock, difference: float, latest: tuple[int, float], is_so: bool, operation: Any
) -> bool:
    """Returns the result of a comparison with 0. If a wait before the latest reading would change
    the result, the exploration chooses between the results without and with this wait."""
    reading, rate = latest
    turns = difference <= 0 < rate or rate < 0 <= difference
    if not turns or reading < clock.compared or not clock.free.asks("clocks"):
        clock.compared = max(clock.compared, reading)
        return is_so
    clock.compared = reading
    wait = abs(difference / rate)
    about = f"the deadline in {wait:.3g} s"
    if clock.free.choose("clock", about, (NOT_REACHED, PASSED), late=True) == NOT_REACHED:
        return is_so
    clock.delay(reading, wait + _MARGIN)
    return bool(operation(difference + rate * (wait + _MARGIN), 0))


def install(free: FreeAnswers) -> None:
    clock = VirtualClock(free)
    free.clock = clock
    for name in _BEGINS:
        _replace(clock, name, 1)
        _replace(clock, name, _NANOSECONDS)
    if free.explores:
        _replace_sleep(clock)
    if free.asks("clocks"):
        _watch_tensors()


def _replace(clock: VirtualClock, name: str, unit: int) -> None:
    whole = name if unit == 1 else f"{name}_ns"
    original = clock.originals[whole] = getattr(time, whole)

    def read() -> Any:
        return clock.read(name, unit) if clock.free.is_free(sys._getframe(1)) else original()

    read.__name__ = whole
    setattr(time, whole, read)


def _replace_sleep(clock: VirtualClock) -> None:
    original = time.sleep

    def sleep(seconds: float) -> None:
        if not clock.free.is_free(sys._getframe(1)):
            original(seconds)
        else:
            clock.now += float(_current(seconds))

    setattr(time, "sleep", sleep)


def _watch_tensors() -> None:
    """Looks for numbers of clocks in the arguments of functions that take them as they are."""

    def watch(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def take(*args: Any, **kwargs: Any) -> Any:
            kwargs = {key: taken_in(value) for key, value in kwargs.items()}
            return original(*map(taken_in, args), **kwargs)

        setattr(owner, name, take)

    for name in _TAKERS:
        watch(torch, name)
    for name in _METHODS:
        watch(torch.Tensor, name)
    numpy = sys.modules.get("numpy")
    for name in ("array", "asarray", "full", "float64") if numpy is not None else ():
        if not isinstance(getattr(numpy, name), type):
            watch(numpy, name)
