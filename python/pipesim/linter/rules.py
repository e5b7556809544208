"""The words of the findings. features/lint has the list of the rules."""

from __future__ import annotations

import ast
import dataclasses
import os
from collections.abc import Sequence

from pipesim.linter import known_calls
from pipesim.linter.modules import Module
from pipesim.linter.values import Call, Origin

_MAX_TEXT = 60


@dataclasses.dataclass(frozen=True)
class Finding:
    """A finding at a place of a script. Lines and columns count from 1, columns in bytes."""

    rule: str
    path: str
    line: int
    column: int
    message: str
    why: str
    advice: str


def _finding(
    rule: str, module: Module, node: ast.AST, message: str, why: str, advice: str
) -> Finding:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    return Finding(rule, module.path, line, column, message, why, advice)


# The words for what a test depends on, by the kind of its origin.
_DEPENDS_ON = {
    "rank": "the rank",
    "clock": "the clock of this rank",
    "chance": "a random number of this rank",
    "loss": "the loss of this rank's data",
    "error": "an exception that one rank can raise alone",
    "poll": "whether an operation is done at this moment",
}
_NEXT = "the other ranks skip this call, so it waits for them, or matches a later call of theirs"
_AGREE = "let all ranks take one decision: reduce or broadcast the value before the test"


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."


def _name(call: Call, module: Module) -> str:
    """Names a call and its place: "all_reduce (line 24)"."""
    same = call.path == module.path
    place = f"line {call.line}" if same else f"{os.path.basename(call.path)}:{call.line}"
    return f"{call.name} ({place}{f', in {call.via}' if call.via else ''})"


def _source(origin: Origin, test: str) -> str:
    """Explains why ranks differ in a test; names the source of the value if the test does not."""
    source = "" if origin.text in test else f" ({_short(origin.text)})"
    return f"'{_short(test)}' depends on {_DEPENDS_ON[origin.kind]}{source}"


def _rule_of(call: Call) -> str:
    if call.name in known_calls.BARRIERS:
        return "rank-barrier"
    return "rank-group" if call.name in known_calls.NEW_GROUPS else "rank-collective"


def _group_words(origin: Origin, test: str, call: Call) -> tuple[str, str]:
    """Returns reason and advice for groups that some ranks do not make."""
    return (
        f"{_source(origin, test)}; all ranks of the job must call {call.name}, in one order",
        f"call {call.name} on all ranks, and test the rank where the group is used",
    )


def branch(
    module: Module,
    node: ast.AST,
    origin: Origin,
    taken: Sequence[Call],
    other: Sequence[Call],
) -> Finding:
    """Returns the finding for a test whose arms make different calls: `taken` if the test is true,
    else `other`."""
    test = module.source(node)
    at = next(
        (i for i, (a, b) in enumerate(zip(taken, other)) if a.signature != b.signature),
        min(len(taken), len(other)),
    )
    one = taken[at] if at < len(taken) else None
    two = other[at] if at < len(other) else None
    call = one or two
    assert call is not None
    if one and two:
        message = (
            f"ranks with '{_short(test)}' call {_name(one, module)}, "
            f"the others {_name(two, module)}"
        )
    elif one:
        message = f"only ranks with '{_short(test)}' call {_name(one, module)}"
    else:
        message = f"ranks with '{_short(test)}' do not call {_name(call, module)}"
    why = f"{_source(origin, test)}; {_NEXT}"
    if origin.kind != "rank":
        return _finding("local-branch", module, node, message, why, _AGREE)
    rule = _rule_of(call)
    if rule == "rank-group":
        return _finding(rule, module, node, message, *_group_words(origin, test, call))
    advice = (
        "let all ranks call the barrier, or call one in the other branch too"
        if rule == "rank-barrier"
        else "call it on all ranks, and test the rank only where the result is used"
    )
    return _finding(rule, module, node, message, why, advice)


_LEAVES = {
    "break": "leave the loop",
    "continue": "skip the rest of the loop's body",
    "return": "return",
    "exit": "exit",
}


def early_exit(module: Module, node: ast.AST, origin: Origin, kind: str, skipped: Call) -> Finding:
    test = module.source(node)
    message = (
        f"ranks with '{_short(test)}' {_LEAVES[kind]}, the others call {_name(skipped, module)}"
    )
    rule = "rank-exit" if origin.kind == "rank" else "local-branch"
    if origin.kind == "rank" and skipped.name in known_calls.NEW_GROUPS:
        return _finding("rank-group", module, node, message, *_group_words(origin, test, skipped))
    why = f"{_source(origin, test)}; the ranks that go on wait for those that left"
    return _finding(rule, module, node, message, why, _AGREE)


def swallowed_error(
    module: Module, node: ast.AST, caught: str, kind: str, skipped: Call
) -> Finding:
    then = _LEAVES.get(kind, "go on")
    message = f"ranks that catch {caught} {then}, the others call {_name(skipped, module)}"
    why = "one rank can fail alone; its calls then no longer match those of the others"
    advice = "raise the error again, or let all ranks agree on whether one failed before they go on"
    return _finding("swallowed-error", module, node, message, why, advice)


def loop(module: Module, node: ast.AST, origin: Origin, call: Call) -> Finding:
    text = module.source(node)
    message = (
        f"the number of iterations over '{_short(text)}' differs between ranks, "
        f"and each one calls {_name(call, module)}"
    )
    why = f"{_source(origin, text)}; ranks with more iterations wait for the others"
    advice = "give all ranks the same number: reduce it with MIN or MAX before the loop"
    return _finding(
        "rank-loop" if origin.kind == "rank" else "local-branch", module, node, message, why, advice
    )


def order(module: Module, node: ast.AST, origin: Origin, call: Call) -> Finding:
    text = _short(module.source(node))
    message = (
        f"ranks iterate over '{text}' in different orders, "
        f"and each iteration calls {_name(call, module)}"
    )
    if origin.kind == "set":
        why = (
            f"{_short(origin.text)} (line {origin.line}) is a set: Python hashes strings "
            "differently in each process, so the order of a set of them differs between ranks"
        )
        advice = f"iterate over sorted({text})"
        return _finding("set-order", module, node, message, why, advice)
    why = f"the order depends on the rank ({_short(origin.text)}, line {origin.line})"
    return _finding("rank-order", module, node, message, why, "use one order on all ranks")


def dropped_work(module: Module, node: ast.AST, name: str, work: str) -> Finding:
    message = f"nothing waits for this {name}: its result is dropped"
    why = (
        "gloo cancels a message whose work object is gone, so the other rank can wait forever, "
        "and the tensor may be used before the message is done"
        if work == "message"
        else "the tensor may be used before the operation is done, and an error of it is lost"
    )
    return _finding("dropped-work", module, node, message, why, "keep the result and wait() for it")


def poll_message(module: Module, node: ast.AST) -> Finding:
    message = "this loop waits until a send or recv is_completed()"
    why = "gloo completes a message only in wait(): until then is_completed() is false"
    return _finding("poll-message", module, node, message, why, "call wait() instead")


def thread_group(module: Module, node: ast.AST, of_thread: Call, other: Call) -> Finding:
    message = (
        f"this thread calls {_name(of_thread, module)} on the group on which another thread calls "
        f"{_name(other, module)}"
    )
    why = "nothing orders the calls of two threads, so ranks can make them in different orders"
    return _finding(
        "thread-group", module, node, message, why, "give the thread its own group: new_group()"
    )
