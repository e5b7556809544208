"""Replaces functions of torch, for the recorder and for attach."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Collection, Iterator
from types import ModuleType
from typing import Any, Optional

import torch.distributed.distributed_c10d as c10d
import torch.optim

from pipesim.recorder.places import is_users_file

# Replaced names that c10d does not have.
_MORE_NAMES = ("backward", "spawn", "grad", "load", "Generator")


class _Modules:
    """The modules that have been loaded at some time."""

    def __init__(self) -> None:
        self.all = dict(sys.modules)
        self.users: list[ModuleType] = []  # the user's modules, whose names can change at any time
        names = {*vars(c10d), *vars(torch.distributed), *_MORE_NAMES}
        # Other modules that have a name, for each name that can be replaced.
        self.by_name: dict[str, list[ModuleType]] = {name: [] for name in names}
        for module in self.all.values():
            held = getattr(module, "__dict__", None) or {}
            if _is_users(module):
                self.users.append(module)
            else:
                for name in names & held.keys():
                    self.by_name[name].append(module)

    def later(self) -> Iterator[ModuleType]:
        """Yields the modules that were loaded since."""
        return itertools.islice(reversed(sys.modules.values()), len(sys.modules) - len(self.all))


_modules: Optional[_Modules] = None


def _is_users(module: ModuleType) -> bool:
    return is_users_file(getattr(module, "__file__", None) or "<")


def remember_modules() -> None:
    """Finds the modules that `replace` has to look at, in a process that forks ranks: a look at all
    modules in each rank would copy the memory pages of all of them."""
    global _modules
    if _modules is None or _modules.all != sys.modules:
        _modules = _Modules()


def users_modules() -> Collection[ModuleType]:
    """Returns the loaded modules of the user's files."""
    if _modules is None:
        return list(filter(_is_users, list(sys.modules.values())))
    return [*_modules.users, *filter(_is_users, _modules.later())]


def _holders(name: str) -> Collection[ModuleType]:
    """Returns the modules that can have a name."""
    if _modules is None or name not in _modules.by_name:
        return list(sys.modules.values())
    return [*_modules.by_name[name], *_modules.users, *_modules.later()]


def replace(name: str, modules: tuple[Any, ...], new: Any) -> None:
    """Sets a name in these modules, and in each loaded module that has imported the old object."""
    old = getattr(modules[0], name, None)
    for module in modules:
        setattr(module, name, new)
    if old is None:
        return
    for module in _holders(name):
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
