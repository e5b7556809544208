"""Detects that the script reads a made-up value: a result that was larger than `--limit`.

Nothing is wrapped until the first such result. Then two kinds of tensor methods are wrapped:
methods that give the host a value, and methods whose result the host could base a decision on
(comparisons, sums, copies). Values are not followed through layers of a model or into parameters:
a loss that depends on made-up values does not mean that the script asks for them.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Optional

import torch

from pipesim.recorder import values
from pipesim.recorder.places import is_ours, is_result_used, is_users

_MARK = "_pipesim_made_up"

READS = (
    "item tolist numpy __bool__ __int__ __float__ __index__ __complex__ __contains__ equal allclose "
    "is_nonzero nonzero __array__"
).split()

FOLLOWED = (
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__ __invert__ __add__ __sub__ __mul__ "
    "__truediv__ __neg__ __getitem__ abs all any argmax argmin bool clone cpu detach double float "
    "int isfinite isinf isnan long max mean min sum to unbind"
).split()

_OVERWRITE = "copy_ fill_ zero_".split()


class MadeUp:
    """Tensors with made-up values. When the script reads such a tensor, `read(bytes)` is called
    with the size of the call that the values came from."""

    def __init__(self, read: Callable[[int], None]) -> None:
        self._read = read
        self._wrapped = False
        self._inside = threading.local()

    def mark(self, tensors: Sequence[torch.Tensor], size: int) -> None:
        """Marks tensors whose values were made up in a call of `size` bytes."""
        if not self._wrapped:
            self._wrapped = True
            self._wrap()
        for tensor in tensors:
            setattr(tensor, _MARK, size)

    def clear(self, tensors: Sequence[torch.Tensor]) -> None:
        """Clears the marks of tensors that have real values now."""
        if self._wrapped:
            for tensor in tensors:
                setattr(tensor, _MARK, 0)

    def _wrap(self) -> None:
        for holder in (torch.Tensor, torch):
            for name in READS:
                self._replace(holder, name, self._reading)
            for name in FOLLOWED:
                self._replace(holder, name, self._following)
        for name in _OVERWRITE:
            self._replace(torch.Tensor, name, self._overwriting)

    @staticmethod
    def _replace(holder: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        original = getattr(holder, name, None)
        if callable(original) and not isinstance(original, type):
            setattr(holder, name, wrap(original))

    def _reading(self, original: Any) -> Any:
        @functools.wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            size = max(map(_size_of, args), default=0)
            is_inner = self._inside.__dict__.get("read", False)  # called by another wrapped read
            if size and not is_inner and not values.is_quiet() and _is_used(sys._getframe(1)):
                self._read(size)
            self._inside.read = True
            try:
                return original(*args, **kwargs)
            finally:
                self._inside.read = is_inner

        return read

    def _following(self, original: Any) -> Any:
        @functools.wraps(original)
        def follow(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            size = max(map(_size_of, args), default=0)
            if size and not values.is_quiet():
                for part in result if isinstance(result, tuple) else (result,):
                    if isinstance(part, torch.Tensor):
                        setattr(part, _MARK, size)
            return result

        return follow

    def _overwriting(self, original: Any) -> Any:
        @functools.wraps(original)
        def overwrite(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            setattr(tensor, _MARK, max(map(_size_of, args), default=0))
            return original(tensor, *args, **kwargs)

        return overwrite


def _is_used(caller: Optional[FrameType]) -> bool:
    """Whether the script uses the value; a script that drops the value only waits for it."""
    while caller is not None and is_ours(caller):
        caller = caller.f_back
    return caller is None or not is_users(caller) or is_result_used(caller.f_code, caller.f_lasti)


def _size_of(thing: Any) -> int:
    """Returns the bytes of the call if `thing` is a tensor with made-up values or a view of such a
    tensor; else 0."""
    if not isinstance(thing, torch.Tensor):
        return 0
    own = getattr(thing, _MARK, None)
    if own is None and thing._is_view():
        own = getattr(thing._base, _MARK, None)
    return own or 0
