"""Random numbers of torch and NumPy that the script has not seeded.

A number that the script draws as a tensor is a choice where the script reads it: compares it, takes
`item()`, or uses it as a condition. What torch computes from random tensors is followed through
arithmetic, comparisons and collectives, but not through a model: its results count as data.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import torch

from pipesim.recorder import values
from pipesim.recorder.free.chance import (
    AS_DRAWN, ENDS, HIGHEST, LOWEST, ORDERS, REVERSED, Chance, Draws, below, make_chance,
)  # fmt: skip
from pipesim.recorder.free.lines import users_frame
from pipesim.recorder.made_up import FOLLOWED, READS

if TYPE_CHECKING:
    from pipesim.recorder.free import FreeAnswers

_MARK = "_pipesim_drawn"
_FAR = 10.0  # ends of a range without ends

_COMPARED = "__lt__ __le__ __gt__ __ge__ lt le gt ge".split()


class _Drawn(NamedTuple):
    """The range and origin of a random tensor."""

    name: str  # of the function that has drawn it
    low: float = -math.inf
    high: float = math.inf
    is_order: bool = False
    is_result: bool = False  # computed from random tensors
    is_shared: bool = False  # other ranks have the same numbers, so no rank can choose alone


class TensorDraws:
    """Random tensors of a rank."""

    def __init__(self, free: FreeAnswers) -> None:
        self._free = free
        self._draws = Draws(free, "torch.")
        self._is_wrapped = False
        self._is_reading = False

    def install(self) -> None:
        for name, low, high in (
            ("rand", 0.0, 1.0), ("randn", -math.inf, math.inf), ("normal", -math.inf, math.inf),
            ("rand_like", 0.0, 1.0), ("randn_like", -math.inf, math.inf), ("bernoulli", 0.0, 1.0),
            ("multinomial", -math.inf, math.inf), ("poisson", 0.0, _FAR),
        ):  # fmt: skip
            self._replace(torch, name, low, high)
        for name in ("randperm", "randint", "randint_like"):
            self._replace(torch, name, 0.0, 0.0)
        for name in ("normal_", "exponential_", "bernoulli_", "random_", "uniform_", "geometric_"):
            self._replace(torch.Tensor, name, -math.inf, math.inf)
        self._watch_seeds()

    def _watch_seeds(self) -> None:
        def watch(owner: Any, name: str, is_seeded: bool) -> None:
            original = getattr(owner, name)

            @functools.wraps(original)
            def seed(*args: Any, **kwargs: Any) -> Any:
                self._draws.is_seeded = is_seeded
                return original(*args, **kwargs)

            setattr(owner, name, seed)

        for owner in (torch, torch.random):
            watch(owner, "manual_seed", True)
            watch(owner, "seed", False)

    def _replace(self, owner: Any, name: str, low: float, high: float) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def draw(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            is_given = kwargs.get("generator") is not None or "out" in kwargs
            if not is_given and self._draws.is_free(sys._getframe(1)):
                self._mark(result, _drawn(name, low, high, result, args, kwargs))
            return result

        setattr(owner, name, draw)

    def _mark(self, tensor: Any, drawn: Optional[_Drawn]) -> None:
        if not self._is_wrapped:
            self._is_wrapped = True
            self._wrap()
        setattr(tensor, _MARK, drawn)

    def is_random(self, tensors: Any) -> bool:
        """Whether a call hands over random numbers. A single number is chosen now."""
        if not self._is_wrapped:
            return False
        for tensor in tensors:
            drawn = _of(tensor)
            if drawn is not None and not drawn.is_shared and tensor.numel() == 1:
                self._settle(tensor)
        return any(_of(tensor) is not None for tensor in tensors)

    def receive(self, tensors: Any, is_random: bool) -> None:
        """Marks the results of a call."""
        if is_random or self._is_wrapped:
            shared = _Drawn("a random number of another call", is_shared=True)
            for tensor in tensors:
                self._mark(tensor, shared if is_random else None)

    # Reads

    def _wrap(self) -> None:
        for holder in (torch.Tensor, torch):
            for names, wrap in ((READS, self._reading), (FOLLOWED, self._following)):
                for name in names:
                    original = getattr(holder, name, None)
                    if callable(original) and not isinstance(original, type):
                        setattr(holder, name, wrap(original, name))
        for name in ("copy_", "fill_", "zero_"):
            setattr(torch.Tensor, name, self._overwriting(getattr(torch.Tensor, name)))

    def _marked(self, args: Any, frame: Any) -> Any:
        """Returns the first random tensor among the arguments of a call by the user."""
        if self._is_reading or values.is_quiet() or users_frame(frame) is not frame:
            return None
        return next((arg for arg in args if _of(arg) is not None), None)

    def _reading(self, original: Any, name: str) -> Any:
        @functools.wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            tensor = self._marked(args, sys._getframe(1))
            if tensor is None:
                return original(*args, **kwargs)
            self._is_reading = True
            try:
                drawn = _of(tensor)
                is_number = tensor.numel() == 1 and tensor.is_floating_point()
                if name == "item" and is_number and not drawn.is_shared and not drawn.is_order:
                    return self._chance(tensor)
                self._settle(tensor)
                return original(*args, **kwargs)
            finally:
                self._is_reading = False

        return read

    def _following(self, original: Any, name: str) -> Any:
        @functools.wraps(original)
        def follow(*args: Any, **kwargs: Any) -> Any:
            tensor = None if self._is_reading else self._marked(args, sys._getframe(1))
            if tensor is None:
                return original(*args, **kwargs)
            drawn = _of(tensor)
            is_number = tensor.numel() == 1 and tensor.is_floating_point() and tensor is args[0]
            is_plain = name in _COMPARED and is_number and len(args) > 1
            is_plain = is_plain and isinstance(args[1], (int, float)) and not drawn.is_shared
            self._is_reading = True
            try:
                if is_plain:
                    below = self._chance(tensor) < args[1]
                    is_so = below if "l" in name.strip("_")[0] else not below
                    return torch.full_like(tensor, is_so, dtype=torch.bool)
                result = original(*args, **kwargs)
                for part in result if isinstance(result, tuple) else (result,):
                    if isinstance(part, torch.Tensor):
                        at = _Drawn(drawn.name, is_result=True, is_shared=drawn.is_shared)
                        setattr(part, _MARK, at)
                return result
            finally:
                self._is_reading = False

        return follow

    @staticmethod
    def _overwriting(original: Any) -> Any:
        @functools.wraps(original)
        def overwrite(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            setattr(tensor, _MARK, _of(args[0]) if args else None)
            return original(tensor, *args, **kwargs)

        return overwrite

    def _chance(self, tensor: Any) -> Any:
        """Returns the number of a tensor as one that is a choice where it is compared."""
        known = getattr(tensor, "_pipesim_chance", None)
        if known is None:
            drawn = _of(tensor)
            with torch.no_grad():
                value = tensor.reshape(1).tolist()[0]
            known = make_chance(self._free, value, drawn.low, drawn.high)
            tensor._pipesim_chance = known
        return known

    def _settle(self, tensor: Any) -> None:
        """Chooses the numbers of a tensor that the script reads."""
        drawn, explores = _of(tensor), self._free.explores
        if not explores:
            self._free.note("random", drawn.name)
            return
        was_reading, self._is_reading = self._is_reading, True
        try:
            self._choose(tensor, drawn)
            setattr(tensor, _MARK, None)
        finally:
            self._is_reading = was_reading

    def _choose(self, tensor: Any, drawn: _Drawn) -> None:
        about = drawn.name
        is_many = tensor.numel() > 1
        if drawn.is_shared or (drawn.is_result and is_many) or not tensor.numel():
            self._free.leave_out("random", f"{drawn.name}, which is read")
            return
        with torch.no_grad():
            data = tensor.detach()
            if drawn.is_order:
                got = self._free.choose("random", about, (AS_DRAWN, REVERSED), bound=ORDERS)
                if got == REVERSED:
                    data.copy_(data.flip(-1))
            elif tensor.dtype == torch.bool:
                usual = bool(data.tolist() if tensor.dim() == 0 else data.flatten().tolist()[0])
                options = (f"is {usual}", f"is {not usual}")
                if self._free.choose("random", about, options) != options[0]:
                    data.fill_(not usual)
            else:
                self._choose_number(data, drawn, about)

    def _choose_number(self, data: Any, drawn: _Drawn, about: str) -> None:
        known: Optional[Chance] = getattr(data, "_pipesim_chance", None)
        if known is not None:
            data.fill_(known.taken())
            return
        low, high = max(drawn.low, -_FAR), min(drawn.high, _FAR)
        if drawn.is_result:
            low, high = (0.0, 1.0) if not data.is_floating_point() else (low, high)
        options = (AS_DRAWN, LOWEST, HIGHEST)
        got = self._free.choose("random", about, options, bound=ENDS)
        if got == LOWEST:
            data.fill_(low)
        elif got == HIGHEST:
            data.fill_(high if not data.is_floating_point() else below(high, low))


def _of(thing: Any) -> Optional[_Drawn]:
    if not isinstance(thing, torch.Tensor):
        return None
    own = getattr(thing, _MARK, None)
    if own is None and thing._is_view() and thing._base is not None:
        base = getattr(thing._base, _MARK, None)
        own = None if base is None else base._replace(is_result=True)
    return own


def _drawn(name: str, low: float, high: float, result: Any, args: Any, kwargs: Any) -> _Drawn:
    """Returns what is known of the result of a function of torch."""
    shown = f"torch.{name}()" if not name.endswith("_") else f"{name}()"
    if name in ("randint", "randint_like"):
        limits = [arg for arg in args if isinstance(arg, int)]
        begin = kwargs.get("low", limits[0] if len(limits) > 1 else 0)
        end = kwargs.get("high", limits[-1] if limits else 1)
        return _Drawn(shown, float(begin), float(end - 1))
    if name in ("randperm", "multinomial"):
        return _Drawn(shown, is_order=True)
    if name == "uniform_":
        given = [*args[1:], *([0.0, 1.0][len(args) - 1 :])]
        return _Drawn(shown, kwargs.get("from", given[0]), kwargs.get("to", given[1]))
    if name == "bernoulli_":
        return _Drawn(shown, 0.0, 1.0)
    return _Drawn(shown, low, high)


def install(free: FreeAnswers) -> TensorDraws:
    """Replaces functions of torch and NumPy that draw random numbers."""
    drawn = TensorDraws(free)
    if free.asks("random") or not free.explores:
        drawn.install()
        _install_in_numpy(free)
    return drawn


def _install_in_numpy(free: FreeAnswers) -> None:
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return
    draws = Draws(free, "np.random.")
    owner = numpy.random
    original = {name: getattr(owner, name) for name in dir(owner) if name[0].islower()}

    def seed(value: Any = None) -> None:
        draws.is_seeded = value is not None
        original["seed"](value)

    def draw(name: str, low: float, high: float) -> Callable[..., Any]:
        def number(*args: Any, **kwargs: Any) -> Any:
            value = original[name](*args, **kwargs)
            if not draws.is_free(sys._getframe(1)):
                return value
            if not isinstance(value, float):
                draws.leave_out(name)
                return value
            ends = (low, high)
            if name == "uniform":
                ends = tuple({**dict(zip(("low", "high"), args)), **kwargs}.values()) or (0.0, 1.0)
            return draws.number(value, ends[0], ends[-1])

        return number

    def whole(low: int, high: Any = None, size: Any = None, **kwargs: Any) -> Any:
        value = original["randint"](low, high, size, **kwargs)
        if not draws.is_free(sys._getframe(1)):
            return value
        if size is not None:
            draws.leave_out("randint")
            return value
        begin, end = (0, low) if high is None else (low, high)
        return draws.whole("randint", int(value), int(begin), int(end) - 1)

    def choice(a: Any, size: Any = None, *rest: Any, **kwargs: Any) -> Any:
        value = original["choice"](a, size, *rest, **kwargs)
        if not draws.is_free(sys._getframe(1)):
            return value
        if size is not None:
            draws.leave_out("choice")
            return value
        items = numpy.arange(a) if isinstance(a, int) else a
        return items[draws.item("choice", 0, len(items))]

    def shuffle(x: Any) -> None:
        original["shuffle"](x)
        if draws.is_free(sys._getframe(1)) and draws.is_reversed("shuffle"):
            x[:] = x[::-1].copy() if hasattr(x, "copy") else x[::-1]

    def permutation(x: Any) -> Any:
        value = original["permutation"](x)
        is_reversed = draws.is_free(sys._getframe(1)) and draws.is_reversed("permutation")
        return value[::-1].copy() if is_reversed else value

    def unseeded(name: str) -> Callable[..., Any]:
        def make(seed: Any = None, *rest: Any) -> Any:
            if seed is None and draws.is_free(sys._getframe(1)):
                draws.leave_out(name)
            return original[name](seed, *rest)

        return make

    special = {
        "seed": seed, "randint": whole, "choice": choice, "shuffle": shuffle,
        "permutation": permutation, "default_rng": unseeded("default_rng"),
    }  # fmt: skip
    ends = {"rand": (0.0, 1.0), "random": (0.0, 1.0), "random_sample": (0.0, 1.0)}
    for name, function in original.items():
        if isinstance(function, type) or not callable(function) or name.endswith("_state"):
            continue
        if name in ("test", "bit_generator", "mtrand"):
            continue
        low, high = ends.get(name, (-math.inf, math.inf))
        setattr(owner, name, special.get(name) or draw(name, low, high))
