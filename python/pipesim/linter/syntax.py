"""Questions about syntax trees that need no values."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from pipesim.linter import known_calls
from pipesim.why.sites import last_name


def is_zero(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def is_no_rank(node: ast.AST) -> bool:
    """Whether an expression is None or -1, which stand for "no rank"."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return isinstance(node.operand, ast.Constant) and node.operand.value == 1
    return isinstance(node, ast.Constant) and node.value is None


def is_positive(test: ast.AST) -> bool:
    """Whether a test asks for some ranks ('rank == 0', 'is_main'), not for all others."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return not is_positive(test.operand)
    if isinstance(test, ast.BoolOp):
        return is_positive(test.values[-1])
    negative = (ast.NotEq, ast.NotIn, ast.IsNot, ast.Gt, ast.GtE)
    return not (isinstance(test, ast.Compare) and isinstance(test.ops[0], negative))


def decorators(function: ast.AST) -> set[str]:
    """Returns the names of a function's decorators, without their modules."""
    nodes = getattr(function, "decorator_list", [])
    return {last_name(node) for node in nodes}


def defaults(function: Any) -> dict[str, ast.expr]:
    """Returns the defaults of a function's parameters, by parameter."""
    arguments = function.args
    names = [each.arg for each in arguments.posonlyargs + arguments.args]
    found = dict(zip(names[len(names) - len(arguments.defaults) :], arguments.defaults))
    named = zip(arguments.kwonlyargs, arguments.kw_defaults)
    found.update((each.arg, default) for each, default in named if default is not None)
    return found


def elements(node: Any) -> list[ast.expr]:
    return [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]


def exit_kind(block: Sequence[ast.stmt]) -> str:
    """Returns how a block ends: "return", "exit", "continue", "break", "raise", or ""."""
    if not block:
        return ""
    last = block[-1]
    for type_, kind in (
        (ast.Return, "return"),
        (ast.Continue, "continue"),
        (ast.Break, "break"),
        (ast.Raise, "raise"),
    ):
        if isinstance(last, type_):
            return kind
    if isinstance(last, (ast.With, ast.AsyncWith)):
        return exit_kind(last.body)
    if isinstance(last, ast.If):
        kinds = {exit_kind(last.body), exit_kind(last.orelse)}
        return "" if "" in kinds else min(kinds)
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        if last_name(last.value.func) in known_calls.EXITS:
            arguments = last.value.args
            # An exit with an error ends the job, as an exception does.
            return "exit" if not arguments or is_zero(arguments[0]) else "raise"
    return ""


def assigned(block: Sequence[ast.stmt]) -> dict[str, list[ast.expr]]:
    """Returns the expressions that a block assigns to variables, by variable."""
    found: dict[str, list[ast.expr]] = {}
    for statement in block:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, []).append(node.value)
            elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
                name, value = getattr(node.target, "id", ""), node.value
                if name and value is not None:
                    found.setdefault(name, []).append(value)
    return found


def is_plain(nodes: Sequence[ast.AST]) -> bool:
    """Whether expressions have no calls of unknown functions, which may return anything, such as a
    progress bar around a loader on rank 0."""
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, (ast.Await, ast.Lambda)):
                return False
            if isinstance(each, ast.Call) and last_name(each.func) not in known_calls.PASS_ON:
                return False
    return True


def are_permutations(one: ast.AST, two: ast.AST) -> bool:
    """Whether two expressions are the same things in different orders."""
    if isinstance(one, (ast.List, ast.Tuple)) and isinstance(two, (ast.List, ast.Tuple)):
        items = [[ast.dump(each) for each in node.elts] for node in (one, two)]
        return items[0] != items[1] and sorted(items[0]) == sorted(items[1])
    straight = reversed_of(one), reversed_of(two)
    return ast.dump(two) == straight[0] or ast.dump(one) == straight[1]


def reversed_of(node: ast.AST) -> str:
    """Returns the dump of `x` for `reversed(x)` and `x[::-1]`."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "list" and node.args:
        return reversed_of(node.args[0])
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "reversed" and node.args:
        return ast.dump(node.args[0])
    if isinstance(node, ast.Subscript):
        step = getattr(node.slice, "step", None)
        if isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub):
            return ast.dump(node.value)
    return ""


def is_loss(name: str) -> bool:
    words = re.findall("[a-z]+", name)
    agreed = {"reduce", "gather", "sync", "average", "avg", "all"}
    return ("loss" in words or name in ("cross_entropy", "criterion")) and not agreed & set(words)
