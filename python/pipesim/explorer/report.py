"""The report of an exploration, as text and as JSON."""

from __future__ import annotations

import collections
import os
import shlex
import textwrap
from collections.abc import Iterator
from typing import Any

from pipesim.explorer.broker import GO, NOT_FOR_LONG, NOT_YET, TIMED_OUT, Step
from pipesim.explorer.explore import KINDS, MORE_KINDS, Exploration, Found
from pipesim.explorer.judge import FAILED, TORN_DOWN, UNDECIDED
from pipesim.recorder import messages as m
from pipesim.recorder.cli import EXIT_INTERRUPTED
from pipesim.recorder.free.clocks import LATER, PASSED
from pipesim.recorder.report import ranks_text

_WIDTH = 80

# Answers that are never explored.
_NEVER_FREE = "texts made of clocks, memory that threads share, order of sets in libraries"

# Sentences about the unusual answers of a hang, by kind.
_LIKELY = "The speed of the ranks decides it, so it is likely."
_NEEDS = {
    "timeouts": "It needs a rank that is late by the timeout.",
    "clocks": "It needs a rank that is late by the deadline.",
    "random": "Another seed decides it.",
    "sets": "Each process hashes texts with its own seed, so it is likely.",
    "data": "It needs data that differ in length.",
    "faults": "It needs a failure.",
}

_NAMES = {
    "polls": ("poll", "polls"), "sources": ("recv from any source", "recvs from any source"),
    "stores": ("store call", "store calls"), "timeouts": ("timeout", "timeouts"),
    "clocks": ("deadline", "deadlines"), "random": ("random number", "random numbers"),
    "queues": ("queue", "queues"), "threads": ("turn or state of a thread", "turns of threads"),
    "files": ("file access", "file accesses"), "sets": ("order of a set", "orders of sets"),
    "data": ("end of data", "ends of data"),
    "faults": ("call that can fail", "calls that can fail"),
}  # fmt: skip


def exit_status(result: Exploration) -> int:
    """Returns 0 if all is covered, 1 after a hang or if the script fails, else 3."""
    if result.interrupted:
        return EXIT_INTERRUPTED
    is_failed = result.usual is not None and result.usual.verdict.kind == FAILED
    return 0 if result.is_covered else 1 if result.hangs or is_failed else 3


def answer(result: Exploration) -> str:
    """Returns the answer: covered, hang possible, hang certain, failed or not covered."""
    if result.hangs:
        is_usual = result.usual is not None and result.usual.verdict is result.hangs[0].verdict
        return "hang certain" if is_usual and not unusual(result.hangs[0]) else "hang possible"
    if result.usual is not None and result.usual.verdict.kind == FAILED:
        return "failed"
    return "covered" if result.is_covered else "not covered"


def unusual(found: Found) -> list[str]:
    """Returns the unusual answers of a run, in words."""
    return [
        words(step, found.orders.get(index, ""))
        for index, step in enumerate(found.steps) if step.is_unusual
    ]  # fmt: skip


def words(step: Step, before: str) -> str:
    """Describes an answer. `before`: what the answer precedes, if only the order is unusual."""
    asker, got = step.asker, step.choice.answer
    subject = f"rank {asker.rank}'s {asker.about} ({asker.at})"
    question = asker.question
    if before and got in (GO, asker.answers[0]):
        return f"{subject} comes before {before}"
    if question is None:
        return f"{subject} takes the message of {got}"
    if got in (NOT_YET, NOT_FOR_LONG):
        return f'{subject} says "{got}"'
    if got == TIMED_OUT:
        return f"{subject} times out after {getattr(question, 'seconds', 0):g} s"
    if isinstance(question, m.Choice) and got == PASSED:
        return f"{asker.about} has passed on rank {asker.rank} ({asker.at})"
    if got == LATER:
        return f"{asker.about} is more than a year later on rank {asker.rank} ({asker.at})"
    if got == GO:
        other = step.askers.get(step.usual.who)
        later = "" if other is None else f" before rank {other.rank}'s {other.about} ({other.at})"
        return f"{subject} comes{later}"
    return f"{subject} {got}"


def text(result: Exploration, name: str, command: str, folder: str) -> str:
    """Returns the report. `name`: name of the script; `command`: its words for `explore`, or empty;
    `folder`: folder that keeps the run that hangs, or empty."""
    lines = [_headline(result, name), ""]
    for found in result.hangs:
        lines += [*_hang(found), ""]
    if not result.hangs:
        for found in result.failures[:3]:
            lines += [*_failure(found), ""]
    lines += _basis(result)
    if result.hangs:
        lines += ["", _next(command, folder)]
    return "\n".join(lines) + "\n"


def _headline(result: Exploration, name: str) -> str:
    ranks = result.settings.ranks
    ran = f"{ranks} ranks, {_counted(result.runs, 'run')}, {result.seconds:.1f} s"
    kind = answer(result)
    if result.hangs:
        what = "HANG CERTAIN" if kind == "hang certain" else "HANG POSSIBLE with other answers"
        return f"{name}  {what}   {ranks} ranks, found in run {result.hangs[0].number}"
    if kind == "failed":
        return f"{name}  FAILED: the script fails with the usual answers   {ranks} ranks"
    if kind == "covered":
        return f"{name}  COVERED: all answers were tried, none hangs   {ran}"
    if result.left or result.interrupted:
        stop = "INTERRUPTED after" if result.interrupted else "NO HANG in"
        return (
            f"{name}  {stop} {_counted(result.runs, 'run')} with up to "
            f"{_counted(result.unusual, 'unusual answer')}   {ranks} ranks, {result.seconds:.1f} s"
        )
    others = "not all answers were tried" if result.not_tried else "not all were decided"
    return f"{name}  NOT COVERED: no run hangs, but {others}   {ran}"


def _hang(found: Found) -> Iterator[str]:
    times = collections.Counter(unusual(found))
    conditions = [
        condition if count == 1 else f"{condition}, {count} times"
        for condition, count in times.items()
    ]
    if not conditions:
        yield "It hangs with the usual answers:"
    elif len(conditions) == 1:
        yield from _wrapped(f"It hangs if {conditions[0]}:")
    else:
        yield "It hangs if"
        for condition in conditions:
            yield from _wrapped(condition, "  - ")
        yield "Then these ranks wait:"
    for rank, op, at in sorted(found.verdict.stuck):
        yield from _wrapped(f"{op}{', ' if at else ''}{at}", f"  rank {rank}: ")
    if conditions:
        yield "With the usual answers it completes."
        yield from _wrapped(_likely(found))


def _likely(found: Found) -> str:
    """Returns sentences that say how likely the unusual answers are."""
    kinds = {step.asker.kind for step in found.steps if step.is_unusual}
    said = (_NEEDS.get(kind, _LIKELY) for kind in (*KINDS, *MORE_KINDS) if kind in kinds)
    return " ".join(dict.fromkeys(said))


def _failure(found: Found) -> Iterator[str]:
    conditions = unusual(found)
    condition = f" if {'; '.join(conditions)}" if conditions else ""
    yield from _wrapped(f"Run {found.number}: {found.verdict.why}{condition}.")
    for line in found.verdict.traceback.rstrip().splitlines()[-8:]:
        yield f"  {line}"


def _basis(result: Exploration) -> Iterator[str]:
    free: dict[str, tuple[list[str], set[int]]] = {}
    for (kind, at), ranks in sorted(result.asked.items()):
        places, of_ranks = free.setdefault(kind, ([], set()))
        places.append(at)
        of_ranks |= ranks
    head = "free        "
    for kind in (*KINDS, *MORE_KINDS):
        if kind in free:
            places, of_ranks = free[kind]
            shown = ", ".join(places)
            counted = f"{len(places)} {_NAMES[kind][len(places) > 1]}"
            yield from _wrapped(f"{counted} at {shown} ({ranks_text(of_ranks)})", head)
            head = " " * len(head)
    if not free:
        yield "free        nothing that the script asks"
    if result.records:
        proved = "" if result.hangs or result.kinds_of_ends[UNDECIDED] else ", each proved"
        yield f"records     {_counted(result.records, 'different record')}{proved}"
    for kind, name in (
        (TORN_DOWN, "end in an exception that is an answer: the launcher ends the job"),
        (FAILED, "in which a rank fails"),
        (UNDECIDED, "not decided"),
    ):
        if result.kinds_of_ends[kind]:
            yield from _wrapped(
                f"{_counted(result.kinds_of_ends[kind], 'run')} {name}", "runs        "
            )
    if result.left and not result.hangs:
        yield f"not run     {_counted(result.left, 'alternative')}"
    for left_out in sorted(result.not_tried):
        yield from _wrapped(left_out, "not tried   ")
    for bound in sorted(result.bounds):
        yield from _wrapped(bound, "bounds      ")
    left_out = [_NAMES[kind][1] for kind in (*KINDS, *MORE_KINDS) if kind not in result.kinds]
    yield from _wrapped(
        ", ".join([_NEVER_FREE, *left_out, *sorted(result.not_free)]), "not free    "
    )


def _next(command: str, folder: str) -> str:
    if not command:
        return "Next: pipesim explore -o hang SCRIPT   keeps this run of a script"
    if not folder:
        return f"Next: pipesim explore -o hang {command}   keeps this run for draw, why and fix"
    answers = shlex.quote(os.path.join(folder, "answers.json"))
    return f"Next: pipesim record --replay {answers} {command}"


def _wrapped(line: str, head: str = "") -> list[str]:
    return textwrap.wrap(
        head + line, _WIDTH, subsequent_indent=" " * len(head), break_long_words=False,
        break_on_hyphens=False, drop_whitespace=True,
    )  # fmt: skip


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" + ("" if count == 1 else "s")


def to_json(result: Exploration, name: str) -> dict[str, Any]:
    return {
        "script": name,
        "ranks": result.settings.ranks,
        "answer": answer(result),
        "runs": result.runs,
        "left": result.left,
        "unusual": result.unusual,
        "records": result.records,
        "ends": dict(sorted(result.kinds_of_ends.items())),
        "hangs": [
            {
                "run": found.number,
                "if": unusual(found),
                "stuck": [
                    {"rank": rank, "op": op, "at": at} for rank, op, at in found.verdict.stuck
                ],
            }
            for found in result.hangs
        ],
        "failures": [
            {"run": found.number, "if": unusual(found), "why": found.verdict.why}
            for found in result.failures
        ],
        "free": [
            {"kind": kind, "at": at, "ranks": sorted(ranks)}
            for (kind, at), ranks in sorted(result.asked.items())
        ],
        "bounds": sorted(result.bounds),
        "not_free": [kind for kind in (*KINDS, *MORE_KINDS) if kind not in result.kinds]
        + sorted(result.not_free),
        "not_tried": sorted(result.not_tried),
    }


def answers_file(found: Found, result: Exploration) -> dict[str, Any]:
    """Returns `answers.json`, which `pipesim record --replay` reads."""
    return {
        "answers": 1,
        "ranks": result.settings.ranks,
        "kinds": list(result.kinds),
        "plan": [[step.choice.who, step.choice.answer] for step in found.steps],
        "unusual": unusual(found),
    }
