"""Edits that make the ranks agree: on a value, an order, or a number of iterations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any, Optional

from pipesim.fix.branches import plain_branch
from pipesim.fix.case import Case, Modules, Place, Proposal, calls_at, free_name, propose
from pipesim.fix.source import Lines, Source
from pipesim.why.sites import last_name
from pipesim.why.trail import Step
from pipesim.why.walk import Parting

_MAX_NAME = 30
# Expressions that can have several items.
_SORTED = (ast.Attribute, ast.BinOp, ast.Call, ast.IfExp, ast.List, ast.ListComp, ast.Name, ast.Set,
           ast.SetComp, ast.Subscript)  # fmt: skip
_LEAVES_OUT = "whether ranks with more items may leave the last ones out"


def one_order(case: Case) -> Iterator[Proposal]:
    """Proposes one order for items that are in a different order on each rank: sorts them, or keeps
    the order of insertion instead of a set's order."""
    for step in case.steps:
        if step.kind not in ("set", "loop") or not (_is_permuted(step) or " set" in step.note):
            continue
        source = case.source(step.path)
        for node, name in _values_at(source, step.line):
            yield from _ordered(source, node, name)
    site = case.parting.site if case.parting is not None else None
    if site is not None and case.decided_by.startswith("the order of a set"):
        source = case.source(site.path)
        for node, name in _values_at(source, site.line):
            yield from _ordered(source, node, name)


def _values_at(source: Source, line: int) -> list[tuple[ast.expr, str]]:
    """Returns the iterables of loops, and the assigned values, on a line, and their names."""
    loops = [node.iter for node in [*source.all(ast.For), *source.all(ast.comprehension)]]
    found = [(node, source.segment(node)) for node in loops if node.lineno == line]
    for node in source.all(ast.Assign):
        if node.lineno == line and not isinstance(node.targets[0], ast.Tuple):
            found.append((node.value, source.segment(node.targets[0])))
    return found


def _ordered(source: Source, node: ast.expr, name: str) -> Iterator[Proposal]:
    name = name if len(name) <= _MAX_NAME else "these items"
    is_set = isinstance(node, ast.Call) and last_name(node.func) in ("set", "frozenset")
    if is_set and len(node.args) == 1:  # type: ignore[attr-defined]
        given = source.segment(node.args[0])  # type: ignore[attr-defined]
        title, new = f"{name} in order of insertion", f"dict.fromkeys({given})"
    elif isinstance(node, _SORTED):
        title, new = f"{name} in sorted order", f"sorted({source.segment(node)})"
    else:
        return
    text = source.substituted((node, new))
    yield from propose(source, "order", f"{title} on every rank", text, reorders=True)


def _is_permuted(step: Step) -> bool:
    """Whether both sides have the same items in another order, as far as their texts show."""
    a, b = step.values
    if a[:1] not in ("[", "(", "{") or a == b:
        return False
    return sorted(re.findall(r"[^,\[\](){} ]+", a)) == sorted(re.findall(r"[^,\[\](){} ]+", b))


# Agreement


def agreements(case: Case) -> Iterator[Proposal]:
    """Proposes that all ranks agree on a value on the way to the difference: the largest, the
    smallest, or the value of rank 0."""
    for step in case.steps:
        if step.kind != "set" or step.note.startswith("only on one side"):
            continue
        source = case.source(step.path)
        statement = _assignment(source, step)
        if statement is None:
            continue
        value = _value_of(statement)
        if case.roles(step.path).is_role(value):
            if not _is_root(case, value, step):
                continue
            yield from _one_value(source, value, step.name)
        yield from _agree(case, source, statement, step)


def _assignment(source: Source, step: Step) -> Optional[ast.stmt]:
    """Returns the statement that sets the name of a step, and no other name."""
    for statement in source.statements_at(step.line):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target: ast.expr = statement.targets[0]
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            target = statement.target
        else:
            continue
        if ast.unparse(target) == step.name:
            return statement
    return None


def _is_root(case: Case, value: Optional[ast.expr], step: Step) -> bool:
    """Whether a step sets the root of the calls that differ, which must be one rank. The rank
    itself stays as it is."""
    return isinstance(value, (ast.BinOp, ast.IfExp)) and step.values == case.roots


def _one_value(source: Source, value: Optional[ast.expr], name: str) -> Iterator[Proposal]:
    """Proposes one of the two values of a conditional expression for all ranks."""
    for arm in (value.body, value.orelse) if isinstance(value, ast.IfExp) else ():
        text = source.segment(arm)
        title = f"{name} is {text} on every rank"
        assert value is not None
        yield from propose(source, "agree", title, source.substituted((value, text)))


def _value_of(statement: ast.stmt) -> Optional[ast.expr]:
    return getattr(statement, "value", None)


def _agree(case: Case, source: Source, at: ast.stmt, step: Step) -> Iterator[Proposal]:
    group = case.group_argument(Place(source.path, at.lineno))
    if group is None:
        return
    name, values = step.name, step.values
    modules = Modules(source)
    torch, dist = modules.torch, modules.distributed
    agreed = free_name(source, at.lineno, "agreed")
    kind = _kind(values)
    if kind in ("flag", "number", "tensor flag"):
        for operation, which in (("MAX", "largest"), ("MIN", "smallest")):
            reduce = f"{dist}.all_reduce({{}}, op={dist}.ReduceOp.{operation}{group})"
            if kind == "tensor flag":
                lines = [reduce.format(name)]
            else:
                cast = "bool" if kind == "flag" else "int"
                lines = [
                    f"{agreed} = {torch}.tensor(int({name}){case.device_argument()})",
                    reduce.format(agreed),
                    f"{name} = {cast}({agreed}.item())",
                ]
            title = f"the {which} {name} for all"
            if kind != "number":
                rank = "any rank" if operation == "MAX" else "every rank"
                title = f"{name} is true for all if it is on {rank}"
            yield from _inserted(source, at, title, lines)
    if kind == "tensor":
        root = f"{dist}.broadcast({name}, src={_root(case)}{group})"
        yield from _inserted(source, at, f"{name} of rank {_root(case)} for all", [root])
    if kind in ("list", "flag", "number", "text"):
        lines = [
            f"{agreed} = [{name}]",
            f"{dist}.broadcast_object_list({agreed}, src={_root(case)}{group})",
            f"{name} = {agreed}[0]",
        ]
        yield from _inserted(source, at, f"rank {_root(case)} decides {name}", lines)
    if kind == "list" and "'" in values[0] + values[1] and not group:
        every = free_name(source, at.lineno, "every")
        lines = [
            f"{every} = [None] * {dist}.get_world_size()",
            f"{dist}.all_gather_object({every}, list({name}))",
            f"{name} = sorted(set().union(*{every}))",
        ]
        yield from _inserted(source, at, f"{name} of all ranks, on every rank", lines)


def _inserted(source: Source, at: ast.stmt, title: str, lines: Lines) -> Iterator[Proposal]:
    yield from propose(source, "agree", title, source.after(at, lines), lines)


def _root(case: Case) -> int:
    """Returns the first rank of the group of the calls that differ."""
    for trace, event in case.differing():
        group = trace.group(event)
        if group is not None and group[0]:
            return min(group[0])
    return 0


def _kind(values: Sequence[str]) -> str:
    """Returns how ranks can agree on values with these texts; "" if they cannot. Tensors of
    floating-point numbers are data, except flags."""

    def all_match(pattern: str) -> bool:
        return all(re.fullmatch(pattern, value) for value in values)

    if all_match("True|False"):
        return "flag"
    if all_match(r"-?\d+"):
        return "number"
    if all_match(r"tensor\(\[?(?:[01]\.0|True|False)\]?\)"):
        return "tensor flag"
    if all_match(r"tensor\([\[\]\d, -]+\)"):
        return "tensor"
    if all_match(r"[\[(].*[\])]") and not any("tensor" in v or "group" in v for v in values):
        return "list"
    return "text" if all_match("'.*'|None|'.*") else ""


def agree_on_test(case: Case) -> Iterator[Proposal]:
    """Proposes that all ranks take a branch if any rank does, or if every rank does."""
    for parting in case.tests:
        site = parting.site
        assert site is not None
        group = case.group_argument(Place(site.path, site.line))
        source, statement = _branch(case, parting)
        if group is None or statement is None or case.roles(site.path).is_role(site.value):
            continue
        modules = Modules(source)
        torch, dist = modules.torch, modules.distributed
        agreed = free_name(source, site.line, "agreed")
        test = source.segment(statement.test)
        for operation, which in (("MAX", "any rank"), ("MIN", "every rank")):
            lines = [
                f"{agreed} = {torch}.tensor(int(bool({test})){case.device_argument()})",
                f"{dist}.all_reduce({agreed}, op={dist}.ReduceOp.{operation}{group})",
            ]
            if isinstance(statement, ast.If):
                whole = Source(site.path, source.substituted((statement.test, f"{agreed}.item()")))
                text = whole.before(_at(whole, statement), lines)
                title = f"all ranks go this way if {which} does"
            else:
                lines += [f"if not {agreed}.item():", f"{source.unit}break"]
                whole = Source(site.path, source.substituted((statement.test, "True")))
                text = whole.before(_at(whole, statement).body[0], lines)
                title = f"the loop goes on on all ranks if it does on {which}"
            yield from propose(source, "agree", title, text, lines)


def _at(source: Source, statement: ast.stmt) -> Any:
    """Returns the statement at the same place, of the same type."""
    found = source.statements_at(statement.lineno)
    return next(each for each in found if type(each) is type(statement))


def _branch(case: Case, parting: Parting) -> tuple[Source, Optional[ast.If | ast.While]]:
    site = parting.site
    assert site is not None
    source = case.source(site.path)
    if site.kind == "if":
        return plain_branch(source, site.line)
    for statement in source.statements_at(site.line):
        if isinstance(statement, ast.While) and statement.lineno == site.line:
            return source, statement
    return source, None


# Splits


_OF_ALL_TO_ALL = "output", "input", "output_split_sizes", "input_split_sizes"


def exchange_splits(case: Case) -> Iterator[Proposal]:
    """Proposes that each rank tells the others how much it sends, before an all_to_all."""
    for trace in case.traces:
        calls = [e for e in trace.entries if e.op == "all_to_all"]
        place = next(iter(case.stack(trace, calls[-1] if calls else None)), None)
        if place is None:
            continue
        source = case.source(place.path)
        for call in calls_at(source, place.line):
            given = dict(zip(_OF_ALL_TO_ALL, call.args))
            given.update({each.arg: each.value for each in call.keywords if each.arg})
            received, sent = given.get("output_split_sizes"), given.get("input_split_sizes")
            if last_name(call.func) == "all_to_all_single" and received and sent:
                yield from _exchanged(case, source, call, ast.unparse(received), ast.unparse(sent))
        return


def _exchanged(
    case: Case, source: Source, call: ast.Call, received: str, sent: str
) -> Iterator[Proposal]:
    """`received`, `sent`: the expressions of the splits."""
    set_by = [
        each for each in source.all(ast.Assign)
        if ast.unparse(each.targets[0]) in (received, sent) and each.lineno < call.lineno
        and source.function_at(each.lineno) is source.function_at(call.lineno)
    ]  # fmt: skip
    group = case.group_argument(Place(source.path, call.lineno))
    if not set_by or group is None or not received.isidentifier():
        return
    at = max(set_by, key=lambda each: each.lineno)
    modules = Modules(source)
    counts, others = (free_name(source, at.lineno, each) for each in ("counts", "others"))
    lines = [
        f"{counts} = {modules.torch}.tensor({sent}{case.device_argument()})",
        f"{others} = {modules.torch}.empty_like({counts})",
        f"{modules.distributed}.all_to_all_single({others}, {counts}{group})",
        f"{received} = {others}.tolist()",
    ]
    title = f"{received} is what the other ranks send"
    yield from propose(source, "agree", title, source.after(at, lines), lines)


# Loops


def equal_length(case: Case) -> Iterator[Proposal]:
    """Proposes equal numbers of iterations for a loop that has more on some ranks."""
    places = []
    if case.parting is not None and case.parting.kind == "loop" and case.parting.site is not None:
        places.append(Place(case.parting.site.path, case.parting.site.line))
    places += [Place(s.path, s.line) for s in case.steps if s.kind == "loop" and not s.name]
    for place in dict.fromkeys(places):
        source = case.source(place.path)
        for loop in source.statements_at(place.line):
            if isinstance(loop, ast.For) and loop.lineno == place.line:
                yield from _joined(source, loop)
                yield from _cut(case, source, loop)
                break


def models(source: Source) -> list[str]:
    """Returns the names of models wrapped in DistributedDataParallel."""
    wrappers = ("DDP", "DistributedDataParallel")
    return sorted(
        ast.unparse(node.targets[0]) for node in source.all(ast.Assign)
        if isinstance(node.value, ast.Call) and last_name(node.value.func) in wrappers
    )  # fmt: skip


def _joined(source: Source, loop: ast.For) -> Iterator[Proposal]:
    body = "\n".join(source.piece(loop))
    for model in models(source):
        if re.search(rf"\b{re.escape(model)}\b", body):
            lines = [f"with {model}.join():", *source.indented(source.piece(loop))]
            title = "ranks without input shadow the collectives of the others"
            yield from propose(source, "loop", title,
                               source.replaced(loop, loop, lines))  # fmt: skip


def _cut(case: Case, source: Source, loop: ast.For) -> Iterator[Proposal]:
    group = case.group_argument(Place(source.path, loop.lineno))
    if group is None:
        return
    modules = Modules(source)
    torch, dist = modules.torch, modules.distributed
    iterable, inner = source.segment(loop.iter), loop.iter
    while isinstance(inner, ast.Call) and last_name(inner.func) in ("enumerate", "tqdm", "iter"):
        inner = inner.args[0]
    count = free_name(source, loop.lineno, "count")
    number, new = f"len({source.segment(inner)})", f"itertools.islice({iterable}, {count}.item())"
    if isinstance(inner, ast.Call) and last_name(inner.func) == "range":
        if len(inner.args) != 1 or case.roles(source.path).is_role(inner.args[0]):
            return
        number, new = source.segment(inner.args[0]), f"range({count}.item())"
    lines = [
        f"{count} = {torch}.tensor({number}{case.device_argument()})",
        f"{dist}.all_reduce({count}, op={dist}.ReduceOp.MIN{group})",
    ]
    whole = Source(source.path, source.substituted((loop.iter, new)))
    same = _at(whole, loop)
    yield from propose(
        source, "loop", "as many iterations as the rank with the fewest",
        whole.before(same, lines), lines, thought=_LEAVES_OUT,
    )  # fmt: skip
