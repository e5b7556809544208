"""Random numbers of generators that the script has not seeded."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipesim.recorder.free import FreeAnswers

_MAX_ITEMS = 3  # first items of a sequence that `choice` tries

# Functions of `random` whose results are never explored.
_TAKEN = ("choices", "sample", "shuffle", "gauss", "normalvariate", "getrandbits", "triangular")


class Chance(float):
    """A random number. Its value matters only if the script compares it."""

    free: FreeAnswers
    bounds: list[float]  # the known lower and upper bound of the number

    def _is_below(self, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        usual = float(self) < other
        if other <= self.bounds[0] or other >= self.bounds[1]:
            return other >= self.bounds[1]
        if not self.free.explores:
            self.free.note("random", f"a random number compared with {float(other):g}")
            return usual
        yes, no = f"is below {float(other):g}", f"is not below {float(other):g}"
        options = (yes, no) if usual else (no, yes)
        below = self.free.choose("random", "random number", options) == yes
        self.bounds[1 if below else 0] = float(other)
        return below

    def __reduce__(self) -> Any:
        return float, (float(self),)

    def __lt__(self, other: Any) -> Any:
        return self._is_below(other)

    def __gt__(self, other: Any) -> Any:
        below = self._is_below(other)
        return below if below is NotImplemented else not below

    __le__, __ge__ = __lt__, __gt__


def install(free: FreeAnswers) -> None:
    """Replaces the functions of `random`, until the script calls `random.seed` with a seed."""
    is_seeded = False
    original: dict[str, Any] = {}

    def is_free(frame: Any) -> bool:
        is_asked = free.asks("random") or not free.explores
        return not is_seeded and is_asked and free.is_free(frame)

    def seed(a: Any = None, *rest: Any) -> None:
        nonlocal is_seeded
        is_seeded = a is not None
        original["seed"](a, *rest)

    def uniform_from_0_to_1() -> float:
        value: float = original["random"]()
        return _chance(free, value, 0.0, 1.0) if is_free(sys._getframe(1)) else value

    def uniform(a: Any, b: Any) -> Any:
        value = original["uniform"](a, b)
        return _chance(free, value, a, b) if is_free(sys._getframe(1)) else value

    def randint(a: int, b: int) -> int:
        if not is_free(sys._getframe(1)) or a >= b:
            return int(original["randint"](a, b))
        if not free.explores:
            free.note("random", f"randint({a}, {b})")
            return int(original["randint"](a, b))
        chosen = free.choose("random", f"randint({a}, {b})", (f"is {a}", f"is {b}"))
        return int(chosen.split()[-1])

    def choice(seq: Any) -> Any:
        if not is_free(sys._getframe(1)) or len(seq) < 2:
            return original["choice"](seq)
        if not free.explores:
            free.note("random", "choice()")
            return original["choice"](seq)
        items = tuple(f"is item {number}" for number in range(min(len(seq), _MAX_ITEMS)))
        return seq[int(free.choose("random", "choice()", items).split()[-1])]

    def taken(name: str) -> Callable[..., Any]:
        def take(*args: Any, **kwargs: Any) -> Any:
            if is_free(sys._getframe(1)):
                free.note("random", f"{name}()")
            return original[name](*args, **kwargs)

        return take

    def replace(name: str, function: Callable[..., Any]) -> None:
        original[name] = getattr(random, name)
        function.__name__ = name
        setattr(random, name, function)

    for name in _TAKEN:
        replace(name, taken(name))
    replace("seed", seed)
    replace("random", uniform_from_0_to_1)
    replace("uniform", uniform)
    replace("randint", randint)
    replace("choice", choice)


def _chance(free: FreeAnswers, value: float, low: float, high: float) -> Chance:
    made = Chance(value)
    made.free, made.bounds = free, [float(min(low, high)), float(max(low, high))]
    return made
