"""Runs edited source text in place of files. The files themselves do not change."""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Mapping
from typing import Any, Optional


def run_script(path: str, code: types.CodeType) -> None:
    """Runs the code of a script as runpy.run_path does."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=builtins)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


class Edits:
    """Edited source text, by absolute path."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.edited: set[str] = set()  # files edited in another way, when they were run

    @property
    def is_active(self) -> bool:
        return bool(self.texts)

    def code_of(self, path: str) -> Optional[types.CodeType]:
        """Returns the code of an edited file; None if the file is not edited."""
        text = self.texts.get(os.path.abspath(path))
        return None if text is None else compile(text, path, "exec", dont_inherit=True)


class _Loader(importlib.machinery.SourceFileLoader):
    edits: Edits

    def get_code(self, fullname: str) -> Optional[types.CodeType]:
        return self.edits.code_of(self.path)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, edits: Edits) -> None:
        self._edits = edits

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or self._edits.code_of(spec.origin) is None:
            return None
        spec.loader = _Loader(fullname, spec.origin)
        spec.loader.edits = self._edits
        return spec


def install(edits: Edits) -> None:
    """Applies edits to what this rank imports from now on."""
    if edits.is_active:
        sys.meta_path.insert(0, _Finder(edits))
