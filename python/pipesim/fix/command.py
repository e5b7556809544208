"""Finds changes of a script after a hang, for `pipesim record --fix` and `pipesim fix RECORD`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from pipesim.fix.case import Case
from pipesim.fix.proof import Prover
from pipesim.fix.search import Search, Try, search
from pipesim.recorder import program
from pipesim.recorder.nursery import Nursery
from pipesim.recorder.progress import Progress
from pipesim.recorder.settings import Settings
from pipesim.why.explain import Reason


class CannotApply(Exception):
    """An error: a change was not written. The text says why."""


class Found(NamedTuple):
    case: Case
    search: Search


def find(
    reason: Reason, settings: Settings, nursery: Optional[Nursery], check: Sequence[str]
) -> Optional[Found]:
    """Returns the changes for a hang; None if the hang has no explanation. `check`: options of
    `pipesim check`."""
    if reason.analysis is None:
        return None
    folder = Path(settings.out)
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    judged = program.check_as_json(str(folder), *check)
    case = Case(reason.analysis, record["backend"], judged and judged["hang"])
    prover = Prover(
        case, folder, settings, nursery, check, reason.seconds, by_chance=reason.is_new_record
    )
    progress = Progress(settings)
    found = search(case, prover, progress.say)
    progress.clear()
    return Found(case, found)


def apply(found: Found, number: int) -> Try:
    """Writes a change to its file, and returns it."""
    shown = found.search.shown
    if not 1 <= number <= len(shown):
        count = f"1 to {len(shown)}" if shown else "none is proved"
        raise CannotApply(f"there is no change {number} ({count})")
    chosen = shown[number - 1]
    path = Path(chosen.proposal.path)
    if chosen.is_installed:
        raise CannotApply(f"{path} belongs to an installed package: change it by hand")
    if path.read_text(encoding="utf-8") != found.case.source(str(path)).text:
        raise CannotApply(f"{path} has changed meanwhile")
    path.write_text(chosen.proposal.text, encoding="utf-8")
    return chosen

