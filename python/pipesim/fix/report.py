"""The result of a search for edits of a script, as text and as JSON."""

from __future__ import annotations

import textwrap
from typing import Any

from pipesim.fix.case import Case
from pipesim.fix.search import Search, Try

Json = dict[str, Any]

_WIDTH = 80


def lines(case: Case, search: Search) -> list[str]:
    """Returns the lines of the report: a paragraph per proved change, or what was tried."""
    shown = search.shown
    if not shown:
        return _none(case, search)
    found: list[str] = []
    for number, each in enumerate(shown, 1):
        found += [*_change(case, each, number, len(shown)), ""]
    return [*found[:-1], *_how_to_apply(shown)]


def applied(case: Case, each: Try) -> list[str]:
    """Returns the lines about a change that was written to its file."""
    return [f"Changed {case.name(each.proposal.path)}: {each.proposal.title}", *_diff(each)]


def _change(case: Case, each: Try, number: int, count: int) -> list[str]:
    notes = [f"{number} of {count}"] if count > 1 else []
    if each.proof.recordings > 1:
        notes.append(f"{each.proof.recordings} recordings")
    of = f" ({', '.join(notes)})" if notes else ""
    head = f"A change that is proved{of}: {each.proposal.title}"
    found = textwrap.wrap(head, _WIDTH, subsequent_indent="  ")
    details = [text for text in (each.proposal.changes, extra_text(each)) if text]
    if each.thought:
        details.append(f"for you to decide: {each.thought}")
    if each.is_installed:
        details.append("advice only: this file belongs to an installed package")
    for text in details:
        found += textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    return [*found, *_diff(each)]


def _diff(each: Try) -> list[str]:
    found = [f"  {line}".rstrip() for line in each.diff]
    while not found[-1]:
        found.pop()
    return found


def extra_text(each: Try) -> str:
    """Returns e.g. "one all_reduce of 8 B more per step"."""
    parts = []
    for text, count in sorted(each.proof.extra.items()):
        steps = each.proof.steps
        if steps > 1 and count % steps == 0:
            number, when = count // steps, " per step"
        else:
            number, when = count, ""
        amount = f"one {text}" if number == 1 else f"{number:,} calls of {text}"
        parts.append(f"{amount} more{when}")
    return ", ".join(parts)


def _how_to_apply(shown: list[Try]) -> list[str]:
    mine = [number for number, each in enumerate(shown, 1) if not each.is_installed]
    if not mine:
        return []
    which = f"--apply {mine[0]}" if len(mine) == 1 else "--apply N"
    return ["", f"Nothing is changed yet: '{which}' writes the file."]


def _none(case: Case, search: Search) -> list[str]:
    is_all = search.untried + search.unpaired == 0 and not search.unwritten
    found = []
    if search.tries:
        count = f"{len(search.tries)} {'was' if len(search.tries) == 1 else 'were'} tried"
        head = "No change lets it complete" if is_all else "No change was proved"
        found.append(f"{head}: {count}")
        for each in search.tries:
            at = f"{case.name(each.proposal.path)}:{each.line}"
            found += textwrap.wrap(
                f"{at}  {each.proposal.title}: {each.proof.why}", _WIDTH, initial_indent="  ",
                subsequent_indent="    ",
            )  # fmt: skip
    else:
        found.append("No change of the script was tried: none of the known kinds fits")
    rest = []
    if search.untried:
        rest.append(f"not tried: {search.untried} more")
    if search.unpaired:
        firsts = search.unpaired
        rest.append(f"not tried: a second change after {firsts} of these, which get further")
    if search.unwritten:
        kinds = ", ".join(search.unwritten)
        rest.append(f"not tried, because no edit of whole lines does it: {kinds}")
    if search.tries or rest:
        rest.append(f"nothing fits: {', '.join(search.without)}")
    for text in rest:
        found += textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ")
    return found


def to_json(case: Case, search: Search) -> Json:
    shown = search.shown
    changes = []
    for each in sorted(search.tries, key=lambda t: _number(shown, t) or len(shown) + 1):
        proof, proposal = each.proof, each.proposal
        changes.append({
            "number": _number(shown, each),
            "kind": proposal.kind,
            "title": proposal.title,
            "at": f"{case.name(proposal.path)}:{each.line}",
            "outcome": proof.outcome,
            "why": proof.why,
            "recordings": proof.recordings,
            "calls": proof.calls,
            "adds": dict(sorted(proof.extra.items())),
            "changes": ", ".join(filter(None, [proposal.changes, extra_text(each)])),
            "to_decide": each.thought,
            "advice_only": each.is_installed,
            "diff": "\n".join([*each.diff, ""]),
        })  # fmt: skip
    return {
        "changes": changes,
        "nothing_fits": search.without,
        "not_written": search.unwritten,
        "not_tried": search.untried,
    }


def _number(shown: list[Try], each: Try) -> int:
    """Returns the number for --apply; 0 if the change is not shown."""
    return shown.index(each) + 1 if each in shown else 0

