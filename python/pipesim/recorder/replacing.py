"""Replaces functions of torch, for the recorder and for attach."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch.optim


def replace(name: str, modules: tuple[Any, ...], new: Any) -> None:
    """Sets a name in these modules, and in each loaded module that has imported the old object."""
    old = getattr(modules[0], name, None)
    for module in modules:
        setattr(module, name, new)
    if old is None:
        return
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", None) and module.__dict__.get(name) is old:
            setattr(module, name, new)


def after_each_step(stepped: Callable[[], None]) -> None:
    """Calls `stepped` after each `optimizer.step`, except steps of an inner optimizer."""
    original_init = torch.optim.Optimizer.__init__
    depth = 0  # a step can call the step of an inner optimizer

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def step(*args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            depth += 1
            try:
                result = original(*args, **kwargs)
            finally:
                depth -= 1
            if depth == 0:
                stepped()
            return result

        setattr(step, "_pipesim_counts", True)
        return step

    @functools.wraps(original_init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        cls: Any = type(self)
        if not getattr(cls.step, "_pipesim_counts", False):
            cls.step = counted(cls.step)

    torch.optim.Optimizer.__init__ = __init__
