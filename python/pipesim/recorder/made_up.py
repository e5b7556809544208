"""Sees that the script reads a value that was made up, because it was larger than `--limit`.

Nothing is looked at until there is such a value. From then on, methods of tensors that give the
host a value are wrapped, and those whose result the host could decide by: comparisons, sums,
copies. What goes through a layer of a model, or into a parameter, is not followed: that a loss
follows from such values does not say that the script asks for them.
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

_READS = (
    "item tolist numpy __bool__ __int__ __float__ __index__ __complex__ __contains__ equal allclose "
    "is_nonzero nonzero __array__"
).split()

_FOLLOWED = (
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__ __invert__ __add__ __sub__ __mul__ "
    "__truediv__ __neg__ __getitem__ abs all any argmax argmin bool clone cpu detach double float "
    "int isfinite isinf isnan long max mean min sum to unbind"
).split()

_OVERWRITE = "copy_ fill_ zero_".split()


class MadeUp:
    """Tensors with such values. `read(bytes)` is called when the script reads one that came from a
    call of this size."""

    def __init__(self, read: Callable[[int], None]) -> None:
        self._read = read
        self._wrapped = False
        self._inside = threading.local()

    def mark(self, tensors: Sequence[torch.Tensor], size: int) -> None:
        """The values of these tensors were made up."""
        if not self._wrapped:
            self._wrapped = True
            self._wrap()
        for tensor in tensors:
            setattr(tensor, _MARK, size)

    def clear(self, tensors: Sequence[torch.Tensor]) -> None:
        """Marks tensors that have real values now."""
        if self._wrapped:
            for tensor in tensors:
                setattr(tensor, _MARK, 0)

    def _wrap(self) -> None:
        for holder in (torch.Tensor, torch):
            for name in _READS:
                self._replace(holder, name, self._reading)
            for name in _FOLLOWED:
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
            is_inner = self._inside.__dict__.get("read", False)  # by the stand-in for GPUs
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
    """Not if the script drops the value: it only waits for it."""
    while caller is not None and is_ours(caller):
        caller = caller.f_back
    return caller is None or not is_users(caller) or is_result_used(caller.f_code, caller.f_lasti)


def _size_of(thing: Any) -> int:
    """Returns the bytes of the call for a tensor with made-up values, or a view of one; else 0."""
    if not isinstance(thing, torch.Tensor):
        return 0
    own = getattr(thing, _MARK, None)
    if own is None and thing._is_view():
        own = getattr(thing._base, _MARK, None)
    return own or 0
