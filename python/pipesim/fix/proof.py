"""Records edited copies of a script, and judges them.

An edit is proved if all ranks finish, `pipesim check` proves the recording, the calls up to the
first difference are the same, and at least as many follow. Without the last two rules, an edit
that makes the job do nothing would be proved.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from pipesim.fix.case import Case, Proposal, reached
from pipesim.recorder import launcher, program
from pipesim.recorder.nursery import Nursery
from pipesim.recorder.rank import rank_file_name
from pipesim.recorder.report import ranks_text
from pipesim.recorder.settings import Settings
from pipesim.why import sites
from pipesim.why.report import Analysis
from pipesim.why.traces import GroupKey, Trace, define_group
from pipesim.why.trail import is_by_chance

_LEAST_SECONDS = 5.0  # least timeout; the machine can be busier than in the traced run
_VARIATIONS = 2  # further recordings, with other seeds and delays


class Call(NamedTuple):
    """A call of a rank. `line`: the text of the innermost line of the edited file."""

    signature: tuple[Any, ...]
    line: str
    made_up: bool

    @property
    def text(self) -> str:
        op, size = self.signature[0], self.signature[2]
        return f"{op} of {size:,} B" if size else str(op)


@dataclasses.dataclass
class Proof:
    """The result of a proof. `outcome`: proved, hangs, failed, undecided, less or other. `why`: the
    outcome in words. `extra`: calls that the edit adds, on the rank with most. `steps`: optimizer
    steps."""

    outcome: str
    why: str = ""
    recordings: int = 0
    calls: list[int] = dataclasses.field(default_factory=list)
    extra: Counter[str] = dataclasses.field(default_factory=Counter)
    steps: int = 0
    reached: int = 0  # ops that are done, if it still hangs
    fewer: list[int] = dataclasses.field(default_factory=list)  # ranks with fewer calls

    @property
    def is_proved(self) -> bool:
        return self.outcome == "proved"


class Prover:
    """Proves edits of one hang. `record`: the folder of its record; `check`: options of `pipesim
    check`. Call `launcher.prepare_process` in this process before."""

    def __init__(
        self, case: Case, record: Path, settings: Settings, nursery: Optional[Nursery],
        check: Sequence[str], seconds: float, by_chance: bool = False,
    ) -> None:  # fmt: skip
        self._case, self._nursery, self._check = case, nursery, check
        self._settings = dataclasses.replace(
            settings, trace=None, output="none", progress=False,
            seconds=min(settings.seconds, max(_LEAST_SECONDS, 3 * seconds)),
        )  # fmt: skip
        self._before = [_before(case, trace) for trace in case.traces]
        self._original = [read_calls(record, rank)[0] for rank in range(settings.ranks)]
        # After a difference by chance, one recording proves little.
        self._variations = _VARIATIONS if by_chance or is_by_chance(case.decided_by) else 0

    def prove(self, proposal: Proposal) -> Proof:
        proof = self._try(proposal, 0)
        for variation in range(1, self._variations + 1):
            if not proof.is_proved:
                break
            again = self._try(proposal, variation)
            proof.recordings += 1
            if not again.is_proved:
                again.why += ", in a recording with other random numbers and delays"
                return again
        return proof

    def _try(self, proposal: Proposal, variation: int) -> Proof:
        with tempfile.TemporaryDirectory(prefix="pipesim-fix-") as folder:
            settings = dataclasses.replace(
                self._settings, out=folder, variation=variation,
                edits=((proposal.path, proposal.text),),
            )  # fmt: skip
            outcome = launcher.run(settings, None, self._nursery)
            if outcome.interrupted:
                raise KeyboardInterrupt
            failed = _failure(outcome.ends)
            if failed is not None:
                return Proof("failed", failed, 1)
            judged = program.check_as_json(folder, *self._check)
            answer = judged["answer"] if judged is not None else "undecided"
            finished = all(end["end"] == "finished" for end in outcome.ends)
            if answer != "proved" or not finished:
                hangs = answer in ("hang possible", "hang certain", "mismatch") or not finished
                hang = judged and judged["hang"]
                return Proof("hangs", "still hangs", 1, reached=reached(hang)) if hangs else (
                    Proof("undecided", "not decided", 1)
                )  # fmt: skip
            name = self._case.name(proposal.path)
            lines = [line.strip() for line in proposal.text.split("\n")]
            ranks = range(settings.ranks)
            found = [read_calls(Path(folder), rank, name, lines) for rank in ranks]
        proof = Proof("proved", "", 1, [len(calls) for calls, _ in found])
        proof.steps = max(steps for _, steps in found)
        if variation == 0:
            self._compare(proposal, [calls for calls, _ in found], proof)
        return proof

    @contextlib.contextmanager
    def after(self, proposal: Proposal) -> Iterator[Optional[Case]]:
        """Records the edited script with a trace. Yields its hang, of which the edited text is the
        source; None if it does not hang in a way that can be explained."""
        texts = ((proposal.path, proposal.text),)
        with tempfile.TemporaryDirectory(prefix="pipesim-fix-") as folder:
            settings = dataclasses.replace(self._settings, out=folder, trace=(), edits=texts)
            if launcher.run(settings, None, self._nursery).interrupted:
                raise KeyboardInterrupt
            judged = program.check_as_json(folder, *self._check)
            with sites.edited(texts):
                try:
                    analysis = Analysis(Path(folder))
                except (FileNotFoundError, StopIteration):
                    yield None
                else:
                    yield Case(analysis, self._case.backend, judged and judged["hang"])

    def _compare(self, proposal: Proposal, found: Sequence[list[Call]], proof: Proof) -> None:
        """Checks that the edited job still makes the calls of the original."""
        follow, expected = [], []
        for rank, calls in enumerate(found):
            kept = [call.signature for call in calls if call.line not in proposal.extra]
            extra = Counter(call.text for call in calls if call.line in proposal.extra)
            proof.extra |= extra
            original, count = self._original[rank], self._before[rank]
            before = [call.signature for call in original[:count]]
            if proposal.regroups:
                same = len(kept) >= count
            elif proposal.reorders:
                same = not Counter(before) - Counter(kept)
            else:
                same = _is_in_order(before, kept)
            if not same:
                proof.outcome, proof.why = "other", f"rank {rank} makes other calls before"
                return
            made_up = [i for i, call in enumerate(original[count:]) if call.made_up]
            expected.append(made_up[0] if made_up else len(original) - count)
            follow.append(len(kept) - count)
        proof.fewer = [r for r, (n, least) in enumerate(zip(follow, expected)) if n < least]
        if any(number < min(expected) for number in follow):
            proof.outcome = "less"
            proof.why = f"completes only because {ranks_text(proof.fewer)} does less"


def _is_in_order(some: Sequence[Any], all_: Sequence[Any]) -> bool:
    """Whether `all_` has the items of `some` in their order."""
    rest = iter(all_)
    return all(any(item == other for other in rest) for item in some)


def _failure(ends: Sequence[dict[str, Any]]) -> Optional[str]:
    for rank, end in enumerate(ends):
        if end["end"] == "raised":
            return f"rank {rank} raises {end['text']}"
        if end["end"] == "exited":
            return f"rank {rank} exits with {end['code']}"
    return None


def _before(case: Case, trace: Trace) -> int:
    """Returns the number of calls of a rank before the first difference."""
    finding = case.finding
    if finding is None:
        return 0
    calls = [event for event in trace.entries if trace.group(event) is not None]
    points = finding.in_step or (
        (case.parting.a, case.parting.b) if case.parting is not None else (None, None)
    )
    for side, point in zip((finding.first, finding.second), points):
        if side is trace:
            return len(calls) if point is None else sum(e.time < point.time for e in calls)
    found = finding.mismatch
    if found is None:
        return 0
    same = [i for i, event in enumerate(calls) if trace.group(event) == found.group]
    return same[found.number - 1] if len(same) >= found.number else 0


def read_calls(
    folder: Path, rank: int, name: str = "", lines: Sequence[str] = ()
) -> tuple[list[Call], int]:
    """Returns the calls of a rank and the number of its optimizer steps. `name`, `lines`: the
    name of the edited file in places, and its text."""
    groups: dict[str, GroupKey] = {}
    places: dict[str, dict[str, Any]] = {}
    calls, steps = [], 0
    for entry in _entries(folder / rank_file_name(rank)):
        if "def" in entry and "at" in entry:
            places[entry["def"]] = entry
        elif "def" in entry and "group" in entry:
            define_group(groups, entry)
        elif "call" in entry or "new_group" in entry:
            line = _line_in(places, entry.get("l"), name, lines)
            if "call" in entry:
                keys = ("bytes", "type", "root", "peer", "tag")
                signature = (entry["call"], groups[entry["g"]], *map(entry.get, keys))
            else:
                signature = ("new_group", groups.get(entry["new_group"], ((),))[0], None)
            calls.append(Call(signature, line, "made_up" in entry))
        steps += "step" in entry
    return calls, steps


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _line_in(
    places: dict[str, dict[str, Any]], place: Optional[str], name: str, lines: Sequence[str]
) -> str:
    while place is not None:
        file, _, number = places[place]["at"].rpartition(":")
        if file == name and int(number) <= len(lines):
            return lines[int(number) - 1]
        place = places[place].get("up")
    return ""


def fewer_text(ranks: Collection[int]) -> str:
    return f"whether {ranks_text(ranks)} may make fewer calls"
