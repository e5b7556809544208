"""Callbacks that run after the import of a module."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Optional

Action = Callable[[Any], None]

_actions: dict[str, list[Action]] = {}


class _Finder(importlib.abc.MetaPathFinder):
    """A finder that delegates to the other finders and wraps the loaders that they return."""

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        actions = _actions.pop(name, None)
        if actions is None:
            return None
        for finder in sys.meta_path:
            found = None if finder is self else finder.find_spec(name, path, target)
            if found is not None:
                _wrap(found.loader, actions)
                return found
        return None


def _wrap(loader: Any, actions: list[Action]) -> None:
    original = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        original(module)
        for action in actions:
            action(module)

    loader.exec_module = exec_module


def after_import(name: str, action: Action) -> None:
    """Calls `action` with the module `name`: now if it is imported already, else right after its
    import."""
    if name in sys.modules:
        action(sys.modules[name])
        return
    if not _actions:
        sys.meta_path.insert(0, _Finder())
    _actions.setdefault(name, []).append(action)
