"""Order of sets: hashes of texts and objects differ between processes, so a set's order is free.

An exploration runs the user's files with each loop and each `pop()` edited to ask here first.
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Optional

from pipesim.recorder.edited import Edits
from pipesim.recorder.places import is_users_file

if TYPE_CHECKING:
    from pipesim.recorder.free import FreeAnswers

ITERATING = frozenset(
    "list tuple iter enumerate zip map filter join extend fromkeys".split()
)
_IN_ORDER, _POP = "__pipesim_in_order__", "__pipesim_pop__"
_SORTED, _REVERSED = "is in order", "is in reverse order"
_BOUND = "a set of texts or objects is in one order, or in reverse"


class FreeSets(Edits):
    """Edits the user's files when they are run or imported."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__(texts)
        self._prepared: dict[str, Optional[CodeType]] = {}  # by path

    def prepare(self, path: str) -> None:
        """Edits a file before ranks are forked, so that not each of them has to."""
        self._prepared[path] = self.code_of(path)

    @property
    def is_active(self) -> bool:
        return True

    def code_of(self, path: str) -> Optional[CodeType]:
        if path in self._prepared:
            return self._prepared[path]
        given = super().code_of(path)
        if given is not None or not (path.endswith(".py") and is_users_file(path)):
            return given
        try:
            with open(path, "rb") as file:
                tree = _Editor().visit(ast.parse(file.read(), path))
            tree = ast.fix_missing_locations(tree)
            code: CodeType = compile(tree, path, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError):
            return None  # Python reports it
        self.edited.add(os.path.abspath(path))
        return code


class _Editor(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = _call(_IN_ORDER, node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = _call(_IN_ORDER, node.iter)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _call(_IN_ORDER, node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
        if name == "pop" and owner is not None and not (node.args or node.keywords):
            return _call(_POP, owner)
        if name in ITERATING:
            node.args = [
                each if isinstance(each, ast.Starred) else _call(_IN_ORDER, each)
                for each in node.args
            ]
        return node


def _call(name: str, value: ast.expr) -> ast.Call:
    made = ast.Call(ast.Name(name, ast.Load()), [value], [])
    for node in (made, made.func):
        ast.copy_location(node, value)
    return made


def install(free: FreeAnswers) -> None:
    """Defines the functions that edited files call."""
    edits = free.edits = FreeSets(free.edits.texts)
    is_reversed: dict[Any, bool] = {}  # by set: one process has one order

    def in_order_at(value: Any, frame: FrameType) -> Any:
        is_set = isinstance(value, (set, frozenset))
        if not is_set or len(value) < 2 or all(map(_has_fixed_hash, value)):
            return value
        if not free.is_free(frame):
            return value
        items, key = list(value), frozenset(value)
        if all(isinstance(each, (str, bytes)) for each in items):
            items.sort(key=repr)  # the usual order is the same on all ranks
        if key not in is_reversed:
            about = f"set of {len(items)} items"
            options = (_SORTED, _REVERSED)
            bound = _BOUND if len(items) > 2 else ""
            is_reversed[key] = free.choose("set", about, options, bound=bound) == _REVERSED
        return items[::-1] if is_reversed[key] else items

    def in_order(value: Any) -> Any:
        return in_order_at(value, sys._getframe(1))

    def pop(owner: Any) -> Any:
        ordered = in_order_at(owner, sys._getframe(1))
        if ordered is owner:
            return owner.pop()
        owner.remove(ordered[0])
        return ordered[0]

    if free.script is not None:
        edits.prepare(free.script)
    setattr(builtins, _IN_ORDER, in_order)
    setattr(builtins, _POP, pop)


def _has_fixed_hash(value: Any) -> bool:
    """Whether all processes compute the same hash."""
    if isinstance(value, tuple):
        return all(map(_has_fixed_hash, value))
    return isinstance(value, (int, float, complex))
