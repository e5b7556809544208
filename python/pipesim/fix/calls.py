"""Edits of calls: the order of sends and recvs, groups of threads, tags, options of DDP."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Optional

from pipesim.fix.case import Case, Modules, Place, Proposal, calls_at, free_name, propose
from pipesim.fix.source import Lines, Source
from pipesim.fix.values import models
from pipesim.why.calls import ends_of
from pipesim.why.sites import called_names, last_name
from pipesim.why.traces import Event, Trace

_End = tuple[Trace, Optional[Event]]

_COLLECTIVES = frozenset(
    "all_gather all_gather_into_tensor all_gather_object all_reduce all_to_all all_to_all_single "
    "barrier broadcast broadcast_object_list gather monitored_barrier reduce reduce_scatter "
    "reduce_scatter_tensor scatter".split()
)
_MAX_NEXT = 3  # statements after a send among which its recv is looked for


# Messages


def messages(case: Case) -> Iterator[Proposal]:
    """Proposes edits of a blocking send before a recv: both in one batch, a send that does not
    block, or the opposite order on odd ranks."""
    if case.parting is not None or case.clash is not None:
        return
    found: dict[str, list[Proposal]] = {}
    for place in _blocked_places(case):
        source = case.source(place.path)
        for first, second in _pairs(source, place.line, _may_call):
            for name, edit in _ORDERS.items():
                found.setdefault(name, []).extend(edit(source, first, second))
    for proposals in found.values():
        yield from dict.fromkeys(proposals)


def _blocked_places(case: Case) -> list[Place]:
    """Returns the lines of the blocked calls of all ranks, innermost lines first."""
    stacks = [
        case.stack(trace, event)
        for trace in case.traces
        for event in reversed(trace.entries)
        if trace.stack(event) and trace.stack(event)[0].at in case.blocked
    ]
    depth = max(map(len, stacks), default=0)
    return list(dict.fromkeys(s[i] for i in range(depth) for s in stacks if i < len(s)))


def key_first(case: Case) -> Iterator[Proposal]:
    """Proposes to set a key of the store, for which a rank waits, before a blocked call."""
    last = [trace.entries[-1].entry for trace in case.traces if trace.entries]
    if not any(entry.get("store") in ("wait", "get") for entry in last):
        return
    for place in _blocked_places(case):
        source = case.source(place.path)
        for first, second in _pairs(source, place.line, _sets_key):
            yield from _swapped(source, first, second, "the key is set before this call")


def _sets_key(source: Source, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and called_names(statement)[:1] == ["set"]


def _pairs(
    source: Source, line: int, is_second: Callable[[Source, ast.stmt], bool]
) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """Yields pairs of statements of one block, the first of which is at this line."""
    for statement in source.statements_at(line):
        if isinstance(statement, (ast.FunctionDef, ast.For, ast.While, ast.With)):
            return
        if isinstance(statement, ast.If) and statement.lineno == line:
            continue
        block, index = source.block(statement), source.index(statement)
        for second in block[index + 1 : index + 1 + _MAX_NEXT]:
            if is_second(source, second):
                yield statement, second
                break


def _may_call(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement calls torch.distributed, directly or in functions of its file."""
    functions = {node.name: node for node in source.all(ast.FunctionDef)}
    seen: set[str] = set()
    todo: list[ast.AST] = [statement]
    while todo:
        for node in ast.walk(todo.pop()):
            name = last_name(node.func) if isinstance(node, ast.Call) else ""
            if name in _COLLECTIVES or name in ("send", "recv", "isend", "irecv", "wait"):
                return True
            if name in functions and name not in seen:
                seen.add(name)
                todo.append(functions[name])
    return False


def _message(source: Source, statement: ast.stmt, op: str) -> Optional[ast.Call]:
    """Returns the call of `op` if it is the whole statement, or the only statement in an `if`."""
    if isinstance(statement, ast.If) and not statement.orelse and len(statement.body) == 1:
        statement = statement.body[0]
    call = getattr(statement, "value", None)
    if not isinstance(statement, (ast.Expr, ast.Assign)) or not isinstance(call, ast.Call):
        return None
    own = {node.name for node in source.all(ast.FunctionDef)}
    is_own = isinstance(call.func, ast.Name) and call.func.id in own
    return call if last_name(call.func) == op and not is_own else None


def _is_plain(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr)


def _between(source: Source, first: ast.stmt, second: ast.stmt) -> Lines:
    block = source.block(first)
    return source.piece(*block[source.index(first) + 1 : source.index(second)])


def _batch(source: Source, first: ast.stmt, second: ast.stmt) -> Iterator[Proposal]:
    """Proposes one batch_isend_irecv for both calls."""
    calls = [_message(source, each, "send") or _message(source, each, "recv")
             for each in (first, second)]  # fmt: skip
    if not (_is_plain(first) and _is_plain(second)) or _between(source, first, second):
        return
    ops = []
    for call in calls:
        if call is None:
            return
        dist, op = ast.unparse(call.func).rpartition(".")[::2]
        arguments = [source.segment(argument) for argument in call.args]
        arguments += [
            f"{'peer' if each.arg in ('dst', 'src') else each.arg}={source.segment(each.value)}"
            for each in call.keywords
        ]
        ops.append(f"{dist}.P2POp({', '.join([f'{dist}.i{op}', *arguments])})")
    works = free_name(source, first.lineno, "works")
    lines = [
        f"{works} = {dist}.batch_isend_irecv([",
        *source.indented([f"{op}," for op in ops]),
        "])",
        *_waits(source, first.lineno, works),
    ]
    text = source.replaced(first, second, lines)
    yield from propose(source, "messages", "both messages in one batch", text, reorders=True)


def _waits(source: Source, line: int, works: str) -> Lines:
    work = free_name(source, line, "work")
    return [f"for {work} in {works}:", f"{source.unit}{work}.wait()"]


def _isend(source: Source, first: ast.stmt, second: ast.stmt) -> Iterator[Proposal]:
    """Proposes a send that does not block, with a wait after the next call."""
    call = _message(source, first, "send")
    if call is None:
        return
    text = source.segment(call)
    function = source.segment(call.func)
    isend = re.sub(r"send$", "isend", function) + text[len(function) :]
    block = source.block(first)
    if _is_plain(first):
        work = free_name(source, first.lineno, "work")
        begin, new, wait = [], f"{work} = {isend}", [f"{work}.wait()"]
    else:  # in a branch
        works = free_name(source, first.lineno, "works")
        begin, new = [f"{works} = []"], f"{works}.append({isend})"
        wait = _waits(source, first.lineno, works)
    changed = Source(source.path, source.substituted((call, new)))
    first, second = (_same(changed, each) for each in (first, second))
    block = changed.block(first)
    pieces = changed.piece(*block[changed.index(first) : changed.index(second) + 1])
    lines = [*begin, *pieces, *wait]
    title = "the send does not block; a wait follows"
    yield from propose(source, "messages", title, changed.replaced(first, second, lines),
                       reorders=True)  # fmt: skip


def _same(source: Source, statement: ast.stmt) -> ast.stmt:
    """Returns the statement at the same position in an edited text."""
    at = (statement.lineno, statement.col_offset)
    return next(
        each for each in source.statements_at(statement.lineno)
        if (each.lineno, each.col_offset) == at
    )  # fmt: skip


def _parity(source: Source, first: ast.stmt, second: ast.stmt) -> Iterator[Proposal]:
    """Proposes the opposite order on odd ranks."""
    names = {name.id for name in source.all(ast.Name) if isinstance(name.ctx, ast.Store)}
    rank = "rank" if "rank" in names else f"{Modules(source).distributed}.get_rank()"
    a, b = source.piece(first), source.piece(second)
    between = _between(source, first, second)
    lines = [f"if {rank} % 2:", *source.indented([*b, *a]), "else:", *source.indented([*a, *b])]
    text = source.replaced(first, second, [*lines, *between])
    yield from propose(source, "messages", "odd ranks in the other order", text, reorders=True)


def _swapped(
    source: Source, first: ast.stmt, second: ast.stmt, title: str = "all ranks in the other order"
) -> Iterator[Proposal]:
    """Proposes the other order on all ranks."""
    lines = [*source.piece(second), *source.piece(first), *_between(source, first, second)]
    text = source.replaced(first, second, lines)
    yield from propose(source, "messages", title, text, reorders=True)


_ORDERS = {"batch": _batch, "isend": _isend, "parity": _parity, "swapped": _swapped}


def same_envelope(case: Case) -> Iterator[Proposal]:
    """Proposes the group and tag of the other side for a send or recv that differs in them."""
    for wrong in case.wrong_messages:
        send, recv = ends_of(wrong)
        ends: tuple[_End, _End] = (wrong.sender, send), (wrong.receiver, recv)
        for (trace, event), (other, peer) in (ends, tuple(reversed(ends))):
            ours, theirs = (_call_of(case, *end) for end in ((trace, event), (other, peer)))
            if ours is None or theirs is None:
                continue
            (source, call), (_, their_call) = ours, theirs
            given = {each.arg: each for each in their_call.keywords if each.arg in ("group", "tag")}
            texts = [source.segment(each) for each in call.args]
            texts += [
                f"{each.arg}={source.segment(each.value)}"
                for each in call.keywords if each.arg not in ("group", "tag")
            ]  # fmt: skip
            texts += [f"{name}={ast.unparse(each.value)}" for name, each in given.items()]
            text = source.substituted((call, f"{source.segment(call.func)}({', '.join(texts)})"))
            what = f"the group and tag of rank {other.rank} here also"
            yield from propose(source, "messages", what, text, reorders=True)


def _call_of(
    case: Case, trace: Trace, event: Optional[Event]
) -> Optional[tuple[Source, ast.Call]]:
    stack = case.stack(trace, event)
    if not stack:
        return None
    source = case.source(stack[0].path)
    names = ("send", "recv", "isend", "irecv")
    for call in calls_at(source, stack[0].line):
        if last_name(call.func) in names:
            return source, call
    return None


# Groups of threads


def own_group(case: Case) -> Iterator[Proposal]:
    """Proposes a separate group for the calls of one of two threads that call on the same group."""
    if case.clash is None:
        return
    first, a, second, b = case.clash
    ends = sorted(((first, a), (second, b)), key=lambda end: "th" in end[1].entry)
    for trace, event in ends:
        stack = case.stack(trace, event)
        if not stack:
            continue
        source = case.source(stack[0].path)
        statements = source.statements_at(stack[0].line)
        begins = (s for s in source.tree.body if isinstance(s, ast.Expr)
                  and "init_process_group" in called_names(s)[:1])  # fmt: skip
        init = next(begins, None)
        if init is None or not statements:
            continue
        yield from _with_own_group(case, source, init, statements[0], trace, event)


def _with_own_group(
    case: Case, source: Source, init: ast.Expr, statement: ast.stmt, trace: Trace, event: Event
) -> Iterator[Proposal]:
    dist = Modules(source).distributed
    name = free_name(source, init.lineno, "own_group")
    others = {
        place.line for entry in trace.entries for place in case.stack(trace, entry)[:1]
        if entry.entry.get("th") != event.entry.get("th") and trace.group(entry) is not None
    }  # fmt: skip
    changes: list[tuple[ast.AST, str]] = []
    for each in source.block(statement):
        for call in ast.walk(each):
            is_call = isinstance(call, ast.Call) and last_name(call.func) in _COLLECTIVES
            if is_call and call.lineno not in others:  # type: ignore[attr-defined]
                changes.append(_with_group(source, call, name))  # type: ignore[arg-type]
    definition = trace.backends.get(event.entry.get("g", ""), "")
    backend = f'backend="{definition}"' if definition else ""
    changes.append(
        (init.value, f"{source.segment(init.value)}\n{name} = {dist}.new_group({backend})")
    )
    thread = event.entry.get("th", "the main thread")
    title = f"a group of their own for the calls of {thread}"
    yield from propose(source, "groups", title, source.substituted(*changes))


def _with_group(source: Source, call: ast.Call, group: str) -> tuple[ast.AST, str]:
    for keyword in call.keywords:
        if keyword.arg == "group":
            return keyword.value, group
    text = source.segment(call)
    comma = ", " if call.args or call.keywords else ""
    return call, f"{text[:-1].rstrip().rstrip(',')}{comma}group={group})"


# DDP


def options_of_ddp(case: Case) -> Iterator[Proposal]:
    """Proposes `find_unused_parameters` for DistributedDataParallel, if the ranks differ in a
    backward or report unused parameters."""
    stacks = [case.stack(trace, event) for trace, event in case.differing()]
    has_calls = case.parting is not None and any(case.calls_of(case.parting))
    in_backward = not has_calls and any(stack and stack[0].call == "backward" for stack in stacks)
    if not in_backward and not any("unused" in trace.end.get("text", "") for trace in case.traces):
        return
    for path in dict.fromkeys(path for trace in case.traces for path in trace.files):
        if case.is_installed(path):
            continue
        source = case.source(path)
        for node in source.all(ast.Call):
            if last_name(node.func) in ("DDP", "DistributedDataParallel"):
                yield from _find_unused(source, node)


def _find_unused(source: Source, call: ast.Call) -> Iterator[Proposal]:
    option = "find_unused_parameters"
    for keyword in call.keywords:
        if keyword.arg == option:
            change: tuple[ast.AST, str] = (keyword.value, "True")
            break
    else:
        change = (call, f"{source.segment(call)[:-1].rstrip().rstrip(',')}, {option}=True)")
    title = "DDP looks for unused parameters in each step"
    for proposal in propose(source, "ddp", title, source.substituted(change)):
        # DDP builds no new buckets after the first step then.
        yield dataclasses.replace(proposal, regroups=True)


def module_of_ddp(case: Case) -> Iterator[Proposal]:
    """Proposes the model without DDP in the branch of some ranks."""
    for parting in case.tests:
        site = parting.site
        assert site is not None
        source = case.source(site.path)
        for statement in source.statements_at(site.line):
            if isinstance(statement, ast.If) and statement.lineno == site.line:
                yield from _without_wrapper(source, statement.body)
                break


def _without_wrapper(source: Source, body: Sequence[ast.stmt]) -> Iterator[Proposal]:
    for model in models(source):
        uses = [
            node for statement in body for node in ast.walk(statement)
            if isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) == model
        ]  # fmt: skip
        taken = {
            id(node.value) for statement in body for node in ast.walk(statement)
            if isinstance(node, ast.Attribute) and node.attr == "module"
        }  # fmt: skip
        changes = [(node, f"{model}.module") for node in uses if id(node) not in taken]
        if changes:
            title = f"{model}.module in this branch: without DDP's collectives"
            yield from propose(source, "ddp", title, source.substituted(*changes))
