"""Random numbers of `random` that the script has not seeded.

A random number is a choice where the script compares it, and where it uses the number in a way that
is not followed, as in `int(10 * random.random())`.
"""

from __future__ import annotations

import math
import os
import random
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pipesim.recorder.free.lines import users_frame

if TYPE_CHECKING:
    from pipesim.recorder.free import FreeAnswers

_MAX_ITEMS = 3  # first items of a sequence that `choice` tries

AS_DRAWN, LOWEST, HIGHEST, REVERSED = (
    "is as drawn", "is at the lower end", "is at the upper end", "is in reverse",
)  # fmt: skip
ENDS = "a random number that is not compared is as drawn, or at an end of its range"
_BOTH_ENDS = "of whole random numbers, both ends are tried"
_ITEMS = f"of choice(), the first {_MAX_ITEMS} items are tried"
ORDERS = "a random order is as drawn, or in reverse"

# Functions of `random` whose results are choices, sorted by their results.
_ORDERS = ("sample", "choices")
_ENDLESS = ("gauss", "normalvariate", "lognormvariate", "expovariate", "betavariate", "triangular")
_TAKEN = ("getrandbits", "randbytes")
_FAR = 1e3  # where the range of a number has no end, as in a normal distribution


class Chance(float):
    """A random number. Its value matters only if the script compares it."""

    free: FreeAnswers
    bounds: list[float]  # the known lower and upper bound of the number

    def _is_below(self, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        limit = float.__float__(other) if isinstance(other, Chance) else float(other)
        low, high = self.bounds
        usual = float.__lt__(self, limit)
        if low == high or limit <= low or limit >= high:
            return low < limit
        if not self.free.explores:
            self.free.note("random", f"a random number compared with {limit:g}")
            return usual
        yes, no = f"is below {limit:g}", f"is not below {limit:g}"
        options = (yes, no) if usual else (no, yes)
        below = self.free.choose("random", "random number", options) == yes
        self.bounds[1 if below else 0] = limit
        return below

    def taken(self) -> float:
        """Returns the number for a use that is not followed."""
        value, (low, high) = float.__float__(self), self.bounds
        frame = users_frame(sys._getframe(1))
        if low == high or frame is None or not self.free.is_free(frame):
            return min(max(value, low), high)
        if not self.free.explores:
            self.free.note("random", "a random number")
            return value
        options = (AS_DRAWN, LOWEST, HIGHEST)
        got = self.free.choose("random", "random number", options, bound=ENDS)
        value = min(max(value, low), high)
        low, high = max(low, -_FAR), min(high, _FAR)
        if got == LOWEST:
            value = low
        elif got == HIGHEST:
            value = below(high, low)
        self.bounds[:] = [value, value]
        return value

    def __reduce__(self) -> Any:
        return float, (self.taken(),)

    def __lt__(self, other: Any) -> Any:
        return self._is_below(other)

    def __gt__(self, other: Any) -> Any:
        below = self._is_below(other)
        return below if below is NotImplemented else not below

    def __eq__(self, other: Any) -> Any:
        return self is other or self.taken() == other

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def __bool__(self) -> bool:
        return bool(self.taken())

    def __float__(self) -> float:
        return self.taken()

    def __int__(self) -> int:
        return int(self.taken())

    def __trunc__(self) -> int:
        return int(self.taken())

    def __floor__(self) -> int:
        return math.floor(self.taken())

    def __ceil__(self) -> int:
        return math.ceil(self.taken())

    def __round__(self, digits: Any = None) -> Any:
        return round(self.taken(), digits)

    def __format__(self, spec: str) -> str:
        return format(float.__float__(self), spec)

    def __neg__(self) -> Any:
        return self * -1

    __le__, __ge__, __hash__ = __lt__, __gt__, float.__hash__


def make_chance(free: FreeAnswers, value: float, low: float, high: float) -> Chance:
    made = Chance(value)
    made.free, made.bounds = free, [min(low, high), max(low, high)]
    return made


def below(high: float, low: float) -> float:
    """Returns a number just below the upper end, which a random number never reaches."""
    return high - (high - low) * 1e-6


def _define_arithmetic() -> None:
    """Lets sums, and products with plain numbers, be random numbers also."""

    def define(name: str, is_followed: bool) -> None:
        operation = getattr(float, f"__{name}__")

        def operate(self: Any, other: Any) -> Any:
            if not isinstance(other, (int, float)):
                return NotImplemented
            is_sum = "add" in name or "sub" in name
            others = [other]
            if isinstance(other, Chance):
                others = other.bounds if is_sum else [other.taken()]
            ends = [operation(end, each) for end in self.bounds for each in others]
            if not is_followed or any(map(math.isnan, ends)):
                return operation(self.taken(), others[0])
            return make_chance(self.free, operation(self, other), min(ends), max(ends))

        setattr(Chance, f"__{name}__", operate)

    for name in "add radd sub rsub mul rmul truediv".split():
        define(name, True)
    for name in "rtruediv floordiv rfloordiv mod rmod pow rpow".split():
        define(name, False)


_define_arithmetic()


class Draws:
    """Answers for functions that draw, for one generator that can be seeded."""

    def __init__(self, free: FreeAnswers, prefix: str = "") -> None:
        self._free, self._prefix = free, prefix
        self.is_seeded = False

    def is_free(self, frame: Any) -> bool:
        free = self._free
        is_asked = free.asks("random") or not free.explores
        return not self.is_seeded and is_asked and free.is_free(frame)

    def leave_out(self, name: str) -> None:
        self._free.leave_out("random", f"{self._prefix}{name}()")

    def number(self, value: float, low: float, high: float) -> float:
        return make_chance(self._free, value, low, high)

    def whole(self, name: str, value: int, low: int, high: int) -> int:
        """Returns the answer of a function that draws a number from `low` to `high`."""
        about = f"{self._prefix}{name}({low}, {high})"
        if low >= high:
            return value
        if not self._free.explores:
            self._free.note("random", about)
            return value
        options = (f"is {low}", f"is {high}")
        got = self._free.choose("random", about, options, bound=_BOTH_ENDS)
        return int(got.split()[-1])

    def item(self, name: str, value: int, count: int) -> int:
        """Returns the number of the item that a function draws from `count` items."""
        about = f"{self._prefix}{name}()"
        if count < 2:
            return value
        if not self._free.explores:
            self._free.note("random", about)
            return value
        items = tuple(f"is item {number}" for number in range(min(count, _MAX_ITEMS)))
        bound = _ITEMS if count > _MAX_ITEMS else ""
        return int(self._free.choose("random", about, items, bound=bound).split()[-1])

    def is_reversed(self, name: str) -> bool:
        """Whether the order that a function draws is in reverse."""
        about = f"{self._prefix}{name}()"
        if not self._free.explores:
            self._free.note("random", about)
            return False
        options = (AS_DRAWN, REVERSED)
        return self._free.choose("random", about, options, bound=ORDERS) == REVERSED


def install(free: FreeAnswers) -> None:
    """Replaces the functions of `random`, until the script calls `random.seed` with a seed."""
    draws = Draws(free)
    original: dict[str, Any] = {}

    def seed(a: Any = None, *rest: Any) -> None:
        draws.is_seeded = a is not None
        original["seed"](a, *rest)

    def uniform_from_0_to_1() -> float:
        value: float = original["random"]()
        return draws.number(value, 0.0, 1.0) if draws.is_free(sys._getframe(1)) else value

    def uniform(a: Any, b: Any) -> Any:
        value = original["uniform"](a, b)
        return draws.number(value, a, b) if draws.is_free(sys._getframe(1)) else value

    def randint(a: int, b: int) -> int:
        value = int(original["randint"](a, b))
        return draws.whole("randint", value, a, b) if draws.is_free(sys._getframe(1)) else value

    def randrange(start: int, *rest: int) -> int:
        value = int(original["randrange"](start, *rest))
        if not draws.is_free(sys._getframe(1)):
            return value
        numbers = range(start, *rest)
        return draws.whole("randrange", value, min(numbers), max(numbers))

    def choice(seq: Any) -> Any:
        if not draws.is_free(sys._getframe(1)):
            return original["choice"](seq)
        number = random.Random.randrange(random._inst, len(seq))  # type: ignore[attr-defined]
        return seq[draws.item("choice", number, len(seq))]

    def shuffle(x: Any, *rest: Any) -> None:
        original["shuffle"](x, *rest)
        if draws.is_free(sys._getframe(1)) and draws.is_reversed("shuffle"):
            x.reverse()

    def ordered(name: str) -> Callable[..., Any]:
        def draw(*args: Any, **kwargs: Any) -> Any:
            drawn = original[name](*args, **kwargs)
            is_free = draws.is_free(sys._getframe(1))
            return drawn[::-1] if is_free and draws.is_reversed(name) else drawn

        return draw

    def endless(name: str) -> Callable[..., Any]:
        def draw(*args: Any, **kwargs: Any) -> Any:
            value = original[name](*args, **kwargs)
            is_free = draws.is_free(sys._getframe(1))
            return draws.number(value, -math.inf, math.inf) if is_free else value

        return draw

    def taken(name: str) -> Callable[..., Any]:
        def take(*args: Any, **kwargs: Any) -> Any:
            if draws.is_free(sys._getframe(1)):
                draws.leave_out(name)
            return original[name](*args, **kwargs)

        return take

    def replace(name: str, function: Callable[..., Any]) -> None:
        if hasattr(random, name):
            original[name] = getattr(random, name)
            function.__name__ = name
            setattr(random, name, function)

    for names, make in ((_ORDERS, ordered), (_ENDLESS, endless), (_TAKEN, taken)):
        for name in names:
            replace(name, make(name))
    replace("seed", seed)
    replace("random", uniform_from_0_to_1)
    replace("uniform", uniform)
    replace("randint", randint)
    replace("randrange", randrange)
    replace("choice", choice)
    replace("shuffle", shuffle)
    _watch_generators(draws)


def _watch_generators(draws: Draws) -> None:
    """Notices generators of the script without a seed, and bytes of the system."""
    begin, urandom = random.Random.__init__, os.urandom

    def begin_and_tell(self: Any, x: Any = None) -> None:
        if x is None and draws.is_free(sys._getframe(1)):
            draws.leave_out(type(self).__name__)
        begin(self, x)

    def read(size: int) -> bytes:
        if draws.is_free(sys._getframe(1)):
            draws.leave_out("os.urandom")
        return urandom(size)

    setattr(random.Random, "__init__", begin_and_tell)
    os.urandom = read
