"""Finds calls that a loop repeats until their answer ends it. Such a loop is a wait.

    while not store.check(["ready"]):
        time.sleep(0.01)
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from types import FrameType


def is_wait(frame: FrameType) -> bool:
    """Whether the current line of `frame` is the only condition that ends a loop. A loop with a
    counter or a deadline can also end otherwise."""
    return frame.f_lineno in _lines_that_wait(frame.f_code.co_filename)


@functools.lru_cache(maxsize=None)
def _lines_that_wait(filename: str) -> frozenset[int]:
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return frozenset()
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.While)]
    conditions = [condition for loop in loops for condition in _condition(loop)]
    return frozenset(
        line for test in conditions for line in range(test.lineno, (test.end_lineno or 0) + 1)
    )


def _condition(loop: ast.While) -> Iterator[ast.expr]:
    """Yields the only condition that ends the loop, if there is one."""
    inner = [node for statement in loop.body for node in ast.walk(statement)]
    exits = [node for node in inner if isinstance(node, (ast.Break, ast.Return))]
    if not exits and not _has_choice(loop.test, False):
        yield loop.test
    elif len(exits) == 1 and isinstance(loop.test, ast.Constant) and loop.test.value:
        for statement in loop.body:
            ends = isinstance(statement, ast.If) and statement.body[-1] is exits[0]
            if ends and not _has_choice(statement.test, True):
                yield statement.test


def _has_choice(test: ast.expr, value: bool) -> bool:
    """Whether one of several parts of the test suffices to make it `value`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _has_choice(test.operand, not value)
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.Or) == value:
            return True
        return any(_has_choice(part, value) for part in test.values)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
        return test.func.id == ("any" if value else "all")
    return False
