"""Failures that an exploration makes if the user asks for them: data that ends a batch early on one
rank, and calls that fail if the script has a handler.

Without a handler, the rank dies and the launcher ends the job, so nothing else is called.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import linecache
import sys
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Optional

import torch

from pipesim.recorder.free.lines import users_frame
from pipesim.recorder.places import is_users

if TYPE_CHECKING:
    from pipesim.recorder.free import FreeAnswers

_THERE, _MISSING = "is there", "is missing"
_WORKS, _FAILS = "works", "fails"
_MAX_FAILURES = 2  # of one call at one line
_FAILURES = f"a call fails at most {_MAX_FAILURES} times at a line"


def end_data_early(free: FreeAnswers) -> None:
    """Lets a DataLoader end one batch early, and a data set have one item less."""
    from torch.utils.data import DataLoader, Dataset, Sampler

    original, length = DataLoader.__iter__, builtins.len
    shorter: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()

    def iterate(self: Any) -> Any:
        batches = original(self)
        if not free.is_free(sys._getframe(1)):
            return batches
        return _shortened(free, batches, shorter.get(self))

    def count(data: Any) -> int:
        found = length(data)
        if not isinstance(data, (Dataset, DataLoader, Sampler)) or found < 1:
            return found
        if not free.is_free(sys._getframe(1)):
            return found
        if data not in shorter:
            about = f"len() of the {type(data).__name__}"
            options = (f"is {found}", f"is {found - 1}")
            shorter[data] = free.choose("data", about, options) == options[1]
        return found - shorter[data]

    setattr(DataLoader, "__iter__", iterate)
    setattr(builtins, "len", count)


def _shortened(
    free: FreeAnswers, batches: Iterator[Any], is_shorter: Optional[bool]
) -> Iterator[Any]:
    """Yields batches, except the last one if the data are shorter; None: not decided yet."""
    batch = list(itertools.islice(batches, 1))
    while batch:
        following = list(itertools.islice(batches, 1))
        if not following:
            about = "last batch of the DataLoader"
            if is_shorter is None:
                is_shorter = free.choose("data", about, (_THERE, _MISSING)) == _MISSING
            if is_shorter:
                return
        yield batch[0]
        batch = following


def let_modules_fail(free: FreeAnswers) -> None:
    """Lets the forward of the outermost module, or of the module in DDP, run out of memory."""
    original = torch.nn.Module.__call__
    error = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)
    depth = 0

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        # DDP's own forward has collectives before the model runs.
        is_wrapper = isinstance(self, torch.nn.parallel.DistributedDataParallel)
        if depth == 0 and not is_wrapper and _is_free(free, sys._getframe(1)):
            may_fail(free, f"{type(self).__name__}()", error, sys._getframe(1))
        depth += not is_wrapper
        try:
            return original(self, *args, **kwargs)
        finally:
            depth -= not is_wrapper

    setattr(torch.nn.Module, "__call__", call)


def _is_free(free: FreeAnswers, frame: FrameType) -> bool:
    users = users_frame(frame)
    return users is not None and free.is_free(users)


def may_fail(free: FreeAnswers, about: str, error: Any, frame: FrameType) -> None:
    """Asks whether a call fails, if the script handles it."""
    line = about, frame.f_code.co_filename, frame.f_lineno
    if not is_handled(frame) or free.failures[line] >= _MAX_FAILURES:
        return
    if free.choose("fault", about, (_WORKS, _FAILS), bound=_FAILURES) == _FAILS:
        free.failures[line] += 1
        raise free.as_answer(error(f"pipesim explore: {about} fails"))


def call_may_fail(free: FreeAnswers, call: str, frame: FrameType) -> None:
    """Asks whether a call of torch.distributed fails before other ranks see it."""
    users = users_frame(frame)
    if users is not None and free.asks("faults") and free.is_free(users):
        may_fail(free, f"{call}()", RuntimeError, users)


def is_handled(frame: Optional[FrameType]) -> bool:
    """Whether a line of the user's code on the stack is in the body of a `try` with handlers."""
    while frame is not None:
        if is_users(frame):
            bodies = _bodies(frame.f_code.co_filename)
            if any(first <= frame.f_lineno <= last for first, last in bodies):
                return True
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=None)
def _bodies(filename: str) -> list[tuple[int, int]]:
    """Returns the first and last lines of the bodies of `try` statements that have handlers."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return []
    return [
        (node.body[0].lineno, node.body[-1].end_lineno or 0)
        for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers
    ]  # fmt: skip
