"""Finds the lines that iterate over sets, in files whose sets an exploration cannot order (see
`recorder.free.sets`): those of a function that was imported before."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pipesim.recorder.free.sets import ITERATING

_MAKERS = ("set", "frozenset")


def lines_with_sets(path: Path) -> list[int]:
    """Returns the lines that iterate over what may be a set of other things than integers."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    nodes = list(ast.walk(tree))
    names: set[str] = set()
    before = -1
    while before != len(names):  # a name can be a set because another one is
        before = len(names)
        for node in nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and _is_set(node.value, names):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {name for name in map(_name, targets) if name}
    found = {each.lineno for each in _iterated(nodes) if _is_set(each, names)}
    return sorted(found)


def _iterated(nodes: Iterable[ast.AST]) -> Iterator[Any]:
    for node in nodes:
        if isinstance(node, (ast.For, ast.comprehension)):
            yield node.iter
        elif isinstance(node, ast.Starred):
            yield node.value
        elif isinstance(node, ast.Call) and _name(node.func) in ITERATING:
            yield from node.args
        elif isinstance(node, ast.Call) and _name(node.func) == "pop" and not node.args:
            yield node.func.value if isinstance(node.func, ast.Attribute) else node.func


def _is_set(node: Any, names: set[str]) -> bool:
    if isinstance(node, ast.Set):
        return not all(isinstance(getattr(each, "value", None), int) for each in node.elts)
    if isinstance(node, ast.BinOp):
        return _is_set(node.left, names) or _is_set(node.right, names)
    if isinstance(node, ast.Call) and _name(node.func) in ("union", "difference", "intersection"):
        return True
    if isinstance(node, ast.Call):
        return _name(node.func) in _MAKERS
    return isinstance(node, ast.SetComp) or _name(node) in names


def _name(node: Any) -> str:
    return str(getattr(node, "id", "") or getattr(node, "attr", ""))
