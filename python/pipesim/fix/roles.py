"""Finds roles: values that are a plain function of the rank, such as `stage = rank // 2`.

Roles differ between ranks on purpose, so no edit makes them equal. A value that also depends on
something else, such as the step, is not a role.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from typing import Optional

from pipesim.fix.source import Source
from pipesim.why.sites import last_name

_RANK_CALLS = frozenset("get_rank get_node_local_rank get_group_rank get_local_rank".split())
_RANK_NAMES = frozenset("rank local_rank global_rank node_rank rank_id local_process_index "
                        "process_index is_main_process is_global_zero".split())  # fmt: skip
_RANK_KEYS = frozenset("RANK LOCAL_RANK GROUP_RANK".split())
_SIZE_CALLS = frozenset(("get_world_size",))
_SIZE_NAMES = frozenset("world world_size WORLD_SIZE".split())


class Roles:
    """The roles in a file. `shared`: roles of other files; names that this file sets itself do not
    count. A name is a pair of its scope and its text; attributes and functions have one scope."""

    def __init__(self, source: Source, shared: Collection[str] = ()) -> None:
        functions = list(source.all(ast.FunctionDef))
        self._spans = [(f.lineno, f.end_lineno or 0) for f in functions]
        values: dict[_Name, list[Optional[ast.expr]]] = {}
        for node in ast.walk(source.tree):
            for target, value in _set_values(node):
                values.setdefault(self._name(target), []).append(value)
        for function in functions:
            returns = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
            values.setdefault((_ANY, function.name), []).extend(returns or [None])
        self._values = values
        self._roles: set[_Name] = {(_ANY, name) for name in shared} - set(values)
        self._sizes: set[_Name] = set()
        known = -1
        while known < len(self._roles) + len(self._sizes):
            known = len(self._roles) + len(self._sizes)
            for name, each in values.items():
                if all(map(self._is_size, each)):
                    self._sizes.add(name)
                elif all(map(self.is_role, each)):
                    self._roles.add(name)
        # Roles that other files can use.
        self.shared = {text for scope, text in self._roles if scope in (_ANY, _TOP)}

    def _name(self, node: ast.AST) -> _Name:
        """Returns the name of a variable, an argument or an attribute, with its scope."""
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return (_ANY, ast.unparse(node).rpartition(".")[2])
        line = getattr(node, "lineno", 0)
        inside = [span for span in self._spans if span[0] <= line <= span[1]]
        text = node.arg if isinstance(node, ast.arg) else ast.unparse(node)
        return (max(inside, default=_TOP), text)

    def _found(self, node: ast.expr, names: set[_Name]) -> bool:
        """Whether `names` has the name of `node`, as visible in this file."""
        name = self._name(node)
        if name in self._values or name[0] == _ANY:
            in_class = (_TOP, name[1])  # an attribute that a class sets
            return name in names or (name not in self._values and in_class in names)
        if (_TOP, name[1]) in self._values:
            return (_TOP, name[1]) in names
        return (_ANY, name[1]) in names

    def is_role(self, node: Optional[ast.expr]) -> bool:
        """Whether an expression is a function of the rank alone, or is decided by a role."""
        if node is None:
            return False
        if isinstance(node, ast.BoolOp):
            return any(map(self.is_role, node.values))
        if isinstance(node, ast.UnaryOp):
            return self.is_role(node.operand)
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            return any(map(self.is_role, sides))
        if isinstance(node, ast.Subscript) and self.is_role(_index(node)):
            return True
        reads = self._reads(node)
        return bool(reads) and all(reads)

    def _is_size(self, node: Optional[ast.expr]) -> bool:
        """Whether an expression has the same value on all ranks: constants and the world size."""
        if node is None:
            return False
        if any(isinstance(each, ast.Call) and last_name(each.func) not in _SIZE_CALLS
               for each in ast.walk(node)):  # fmt: skip
            return False
        return not self._reads(node)

    def _reads(self, node: ast.AST) -> list[bool]:
        """Returns, for each name that an expression reads, whether the name is a role. Sizes do not
        count."""
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in _RANK_CALLS or ((_ANY, name) in self._roles and not node.args):
                return [True]
            found = [] if name in _SIZE_CALLS or not isinstance(node.func, ast.Attribute) else (
                self._reads(node.func.value)
            )  # fmt: skip
            for each in [*node.args, *(keyword.value for keyword in node.keywords)]:
                if isinstance(each, ast.Constant) and each.value in _RANK_KEYS:
                    return [True]
                found += self._reads(each)
            is_plain = name in _PLAIN_CALLS or name in _SIZE_CALLS
            return found if is_plain else [*found, False]
        if isinstance(node, ast.Subscript):
            index = _index(node)
            if isinstance(index, ast.Constant) and index.value in _RANK_KEYS:
                return [True]
        if isinstance(node, (ast.Name, ast.Attribute)):
            text = node.attr if isinstance(node, ast.Attribute) else node.id
            if text in _SIZE_NAMES or text in _MODULES or self._found(node, self._sizes):
                return []
            return [text in _RANK_NAMES or self._found(node, self._roles)]
        return [each for child in ast.iter_child_nodes(node) for each in self._reads(child)]


_Name = tuple[tuple[int, int], str]
_TOP, _ANY = (0, 0), (-1, -1)  # scopes: the module, and all of the program
_PLAIN_CALLS = frozenset("abs bool dict divmod float int len list max min range str tuple".split())
_MODULES = frozenset("os torch dist distributed environ math".split())


def _index(node: ast.Subscript) -> ast.expr:
    index = node.slice
    return getattr(index, "value", index) if type(index).__name__ == "Index" else index


def _set_values(node: ast.AST) -> Iterable[tuple[ast.AST, Optional[ast.expr]]]:
    """Yields the targets that a node sets, and their values; None for a value that is not known."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            if both and len(target.elts) == len(node.value.elts):  # type: ignore[attr-defined]
                yield from zip(target.elts, node.value.elts)  # type: ignore[attr-defined]
            else:
                yield from ((each, node.value) for each in _targets(target))
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        yield from ((each, node.value) for each in _targets(node.target))
    elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension)):
        yield from ((each, None) for each in _targets(node.target))
    elif isinstance(node, ast.arg):
        yield node, None
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from ((each, None) for each in _targets(node.optional_vars))


def _targets(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for each in target.elts for name in _targets(each)]
    return _targets(target.value) if isinstance(target, ast.Starred) else [target]
