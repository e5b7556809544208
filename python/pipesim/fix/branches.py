"""Edits of the branch at which the ranks part."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Optional

from pipesim.fix.case import Case, Proposal, free_name, propose
from pipesim.fix.roles import Roles
from pipesim.fix.source import CannotEdit, Lines, Source
from pipesim.recorder.report import ranks_text
from pipesim.why.sites import called_names, last_name, read_names, target_names
from pipesim.why.walk import Parting

_LEAVES = {
    ast.Continue: "no rank skips the rest of this iteration",
    ast.Break: "no rank leaves the loop here",
    ast.Return: "no rank returns here",
    ast.Raise: "no rank raises here",
    ast.Expr: "no rank exits here",
}
_REORDERS = frozenset(("reverse", "sort", "shuffle"))
_GOES_ON = "whether every rank may run what follows, also after the rest of this branch"
_LEAVES_OUT = "whether the job can do without it"


def branch_at(source: Source, line: int) -> Optional[ast.If]:
    """Returns the `if` or `elif` that begins at a line."""
    found = (s for s in source.statements_at(line) if isinstance(s, ast.If) and s.lineno == line)
    return next(found, None)


def plain_branch(source: Source, line: int) -> tuple[Source, Optional[ast.If]]:
    """Returns the `if` that begins at a line, and its source. An `elif` becomes an `if`."""
    statement = branch_at(source, line)
    if statement is None or not source.is_elif(statement):
        return source, statement
    nested = source.without_elif(statement)
    return nested, branch_at(nested, nested.line(line))


def _branch_of(case: Case, parting: Parting) -> tuple[Source, Optional[ast.If]]:
    site = parting.site
    assert site is not None
    source = case.source(site.path)
    return plain_branch(source, site.line) if site.kind == "if" else (source, None)


def _called_in(
    case: Case, parting: Parting, source: Source, block: Sequence[ast.stmt]
) -> list[ast.stmt]:
    """Returns the statements of a block that lead to calls of only one side of a parting."""
    stacks = [stack for _, stack in case.calls_of(parting)]
    lines = {source.line(p.line) for stack in stacks for p in stack if p.path == source.path}
    return [s for s in block if any(s.lineno <= line <= (s.end_lineno or 0) for line in lines)]


# All ranks call


def hoist(case: Case) -> Iterator[Proposal]:
    """Proposes that all ranks make the calls of one arm of a branch."""
    for parting in case.tests:
        site = parting.site
        source, statement = _branch_of(case, parting)
        if statement is None:
            continue
        ours, theirs = (
            _called_in(case, parting, source, block) for block in (statement.body, statement.orelse)
        )
        if bool(ours) == bool(theirs):
            continue
        assert site is not None
        arm = statement.body if ours else statement.orelse
        roles, changes = case.roles(site.path), _who_else(case)
        # `if rank == 0 and step % 10 == 0`: all ranks make the call, but only in these steps.
        rest = _rest_of(source, statement, site.value, roles) if ours else ""
        better = ""
        for test in dict.fromkeys((rest, "")):
            text = _hoisted(case, parting, source, statement, arm, ours or theirs, test)
            title = f"all ranks make this call{' if ' if test else ''}{test}"
            yield from propose(source, "hoist", title, text, changes=changes, unless=better)
            better = text
        if not roles.is_role(site.value) and not statement.orelse:
            text = source.replaced(statement, statement, source.piece(*arm))
            yield from propose(source, "hoist", "all ranks do all of this", text, changes=changes)


def _rest_of(source: Source, statement: ast.If, test: Optional[ast.expr], roles: Roles) -> str:
    """Returns the part of a test `role and rest` that is not a function of the rank, if it can be
    evaluated once more. `test`: that of the file."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
        return ""
    assert isinstance(statement.test, ast.BoolOp)
    pairs = zip(test.values, statement.test.values)
    rest = [each for known, each in pairs if not roles.is_role(known)]
    if len(rest) == len(test.values) or not all(map(_is_plain, rest)):
        return ""
    return " and ".join(
        f"({source.segment(each)})" if isinstance(each, (ast.BoolOp, ast.IfExp)) else
        source.segment(each) for each in rest
    )  # fmt: skip


def _is_plain(node: ast.expr) -> bool:
    """Whether the evaluation of an expression has no effect, and its text is of one line."""
    effects = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    is_one_line = node.lineno == node.end_lineno
    return is_one_line and not any(isinstance(each, effects) for each in ast.walk(node))


def _who_else(case: Case) -> str:
    """Names the ranks that make a call that they did not make before."""
    without = [r for s in case.sides if not s.get("calls", {}).get("count") for r in s["ranks"]]
    if not without or len(without) == len(case.traces):
        return ""
    return f"{ranks_text(without)} {'makes' if len(without) == 1 else 'make'} it also"


def _hoisted(
    case: Case, parting: Parting, source: Source, statement: ast.If, arm: Sequence[ast.stmt],
    calls: Sequence[ast.stmt], rest: str,
) -> str:  # fmt: skip
    """Returns the text with calls out of their branch. `rest`: a test for them; or ""."""

    def tested(lines: Lines) -> Lines:
        return [f"if {rest}:", *source.indented(lines)] if rest else lines

    nested = _nested_call(case, parting, source, calls[0]) if len(calls) == 1 else None
    if nested is None:
        moved = _with_inputs(arm, calls)
        out = tested(source.piece(*moved))
        return _moved_out(source, statement, arm, moved, out, arm.index(moved[0]))
    # The statement also does something else with the result, such as printing it.
    name = free_name(source, statement.lineno, "result")
    call = source.segment(nested)
    inputs = [arm.index(each) for each in _with_inputs(arm, calls)]
    changed = Source(source.path, source.substituted((nested, name)))
    same = next(
        each for each in changed.statements_at(statement.lineno)
        if isinstance(each, ast.If) and each.lineno == statement.lineno
    )  # fmt: skip
    block = same.body if arm is statement.body else same.orelse
    moved = [block[i] for i in inputs[:-1]]
    out = [*(changed.piece(*moved) if moved else []), f"{name} = {call}"]
    return _moved_out(changed, same, block, moved, tested(out), inputs[0])


def _nested_call(
    case: Case, parting: Parting, source: Source, statement: ast.stmt
) -> Optional[ast.Call]:
    """Returns the call in a statement that leads to a call of a group, unless the statement is this
    call."""
    value = getattr(statement, "value", None)
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign)) or value is None:
        return None
    names = {
        place.call for _, stack in case.calls_of(parting) for place in stack
        if place.path == source.path
        and statement.lineno <= source.line(place.line) <= (statement.end_lineno or 0)
    }  # fmt: skip
    found = [each for each in ast.walk(value) if isinstance(each, ast.Call)
             and last_name(each.func) in names]  # fmt: skip
    is_whole = not found or any(each is value for each in found) or len(found) > 1
    return None if is_whole or found[0].end_lineno != found[0].lineno else found[0]


def _with_inputs(arm: Sequence[ast.stmt], calls: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Returns the statements with calls, and the statements of the arm that set names they read."""
    kept: list[ast.stmt] = []
    needed: set[str] = set()
    for statement in reversed(arm):
        if statement in calls or needed & set(_set_by(statement)):
            kept.insert(0, statement)
            needed |= set(_read_by(statement))
    return kept


def _set_by(statement: ast.stmt) -> list[str]:
    found = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign):
            found += [name for target in node.targets for name in target_names(target)]
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For)):
            found += target_names(node.target)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            found += target_names(node.optional_vars)
    return found


def _read_by(statement: ast.stmt) -> list[str]:
    return [name for node in ast.walk(statement) if isinstance(node, ast.expr)
            for name in read_names(node)]  # fmt: skip


def _moved_out(
    source: Source, statement: ast.If, arm: Sequence[ast.stmt], moved: Sequence[ast.stmt],
    out: Lines, first: int,
) -> str:  # fmt: skip
    """Moves statements of an arm out of a branch, as the lines `out`: before the branch, after it
    if other statements of the arm come first, or between two parts of the branch."""
    before = list(arm[:first])
    after = [each for each in arm[first:] if each not in moved]
    is_else = arm is statement.orelse
    other = statement.body if is_else else statement.orelse
    if other or not source.is_alone(statement.body[0]):
        if after and before:
            raise CannotEdit
        rest = _branch(source, statement, [*before, *after], other, is_else)
        return source.replaced(statement, statement, rest + out if before else out + rest)
    begin, end = (_branch(source, statement, part, (), False) for part in (before, after))
    return source.replaced(statement, statement, [*begin, *out, *end])


def _branch(
    source: Source, statement: ast.If, arm: Sequence[ast.stmt], other: Sequence[ast.stmt],
    is_else: bool,
) -> Lines:  # fmt: skip
    """Returns the lines of a branch with these arms."""
    body, orelse = (other, arm) if is_else else (arm, other)
    if not body and not orelse:
        return []
    head = source.lines[statement.lineno - 1].strip()
    if statement.test.end_lineno != statement.lineno or not source.is_alone(statement.body[0]):
        head = f"if {source.segment(statement.test)}:"
    if "\n" in head:
        raise CannotEdit
    lines = [head, *source.indented(source.piece(*body) if body else ["pass"])]
    if len(orelse) == 1 and source.is_elif(orelse[0]):
        lines += source.piece(orelse[0])
    elif orelse:
        lines += ["else:", *source.indented(source.piece(*orelse))]
    return lines


def hoist_from_expression(case: Case) -> Iterator[Proposal]:
    """Proposes that all ranks make the call of `f() if test else x`, or of `test and f()`."""
    for parting in case.tests:
        site = parting.site
        assert site is not None
        if site.kind not in ("ifexp", "and"):
            continue
        source = case.source(site.path)
        places = {place[:2] for _, stack in case.calls_of(parting) for place in stack}
        if (site.path, site.line) not in places:
            continue
        for node in source.all(ast.Expr):
            value = node.value
            if node.lineno == site.line and isinstance(value, ast.BoolOp):
                text = source.substituted((value, source.segment(value.values[-1])))
                yield from propose(source, "hoist", "all ranks make this call", text)
        for node in source.all(ast.IfExp):
            if not node.lineno <= site.line <= (node.end_lineno or 0):
                continue
            arms = [each for each in (node.body, node.orelse) if called_names(each)]
            if len(arms) != 1:
                continue
            arm = arms[0]
            text = source.substituted((node, source.segment(arm)))
            if "new_group" in called_names(arm):
                yield from propose(source, "groups", "all ranks create this group", text)
            elif not case.roles(site.path).is_role(node.test):
                yield from propose(source, "hoist", "all ranks make this call", text)


# One way for all ranks


def one_way(case: Case) -> Iterator[Proposal]:
    """Proposes that no rank leaves a loop or a function early, or changes an order."""
    for parting in case.tests:
        site = parting.site
        assert site is not None
        source, statement = _branch_of(case, parting)
        if statement is None or (statement.orelse and _is_exit(statement.body[-1])):
            continue
        body = statement.body
        if _is_exit(body[-1]):
            is_end = isinstance(body[-1], (ast.Raise, ast.Expr))
            thought = _GOES_ON if len(body) > 1 or is_end else ""
            leaves = _LEAVES[type(body[-1])]
            if len(body) > 1:
                text = source.replaced(body[-1], body[-1], [])
                yield from propose(source, "one way", leaves, text, thought=thought)
            text = source.replaced(statement, statement, [])
            yield from propose(source, "one way", leaves, text, thought=thought)
        elif not statement.orelse and all(map(_only_reorders, body)):
            text = source.replaced(statement, statement, [])
            yield from propose(source, "order", "the same order on every rank", text, reorders=True)
        elif sorted(map(ast.unparse, body)) == sorted(map(ast.unparse, statement.orelse)):
            for arm in (body, statement.orelse):
                text = source.replaced(statement, statement, source.piece(*arm))
                yield from propose(source, "order", "the same order on every rank", text,
                                   reorders=True)  # fmt: skip
        elif statement.orelse and not case.roles(site.path).is_role(site.value):
            for arm, which in ((body, "the first"), (statement.orelse, "the second")):
                text = source.replaced(statement, statement, source.piece(*arm))
                yield from propose(source, "one way", f"all ranks go {which} way", text)


def _is_exit(statement: ast.stmt) -> bool:
    """Whether a statement leaves a loop, a function or the program."""
    is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    if is_call and called_names(statement)[:1] in (["exit"], ["quit"]):
        return True
    return isinstance(statement, (ast.Continue, ast.Break, ast.Return, ast.Raise))


def _only_reorders(statement: ast.stmt) -> bool:
    called = called_names(statement)
    return isinstance(statement, ast.Expr) and len(called) == 1 and called[0] in _REORDERS


def leave_out(case: Case) -> Iterator[Proposal]:
    """Proposes that no rank makes the call of one arm of a branch."""
    for parting in case.tests:
        source, statement = _branch_of(case, parting)
        if statement is None or statement.orelse:
            continue
        for call in _called_in(case, parting, source, statement.body):
            if isinstance(call, ast.Expr) and _nested_call(case, parting, source, call) is None:
                whole = statement if len(statement.body) == 1 else call
                text = source.replaced(whole, whole, [])
                yield from propose(source, "leave out", "no rank makes this call", text,
                                   thought=_LEAVES_OUT)  # fmt: skip
