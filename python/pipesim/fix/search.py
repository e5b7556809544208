"""Tries the proposals for a hang, the most promising first."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pipesim.fix import branches, calls, values
from pipesim.fix.case import Case, Proposal
from pipesim.fix.proof import Proof, Prover, fewer_text
from pipesim.fix.source import CannotEdit, diff
from pipesim.why.trail import is_by_chance

MAX_SHOWN = 3
_MAX_TRIES = 30
_MAX_FIRST = 3  # edits that are tried as the first one of a pair
_MAX_OF_KIND = 2  # shown of one kind of edit


class Kind(NamedTuple):
    """A kind of edit. `what`: the words of reports."""

    what: str
    propose: Callable[[Case], Iterator[Proposal]]


# In the order in which they are tried.
KINDS = (
    Kind("one order on all ranks", values.one_order),
    Kind("a call by all ranks", branches.hoist),
    Kind("a call by all ranks, out of an expression", branches.hoist_from_expression),
    Kind("a model without DDP in a branch", calls.module_of_ddp),
    Kind("options of DDP", calls.options_of_ddp),
    Kind("a group for a thread", calls.own_group),
    Kind("the group and tag of a message", calls.same_envelope),
    Kind("messages that do not block", calls.messages),
    Kind("a key that is set first", calls.key_first),
    Kind("splits that are exchanged", values.exchange_splits),
    Kind("agreement on a value", values.agreements),
    Kind("one way for all ranks", branches.one_way),
    Kind("agreement on a branch", values.agree_on_test),
    Kind("loops of equal length", values.equal_length),
    Kind("no call on any rank", branches.leave_out),
)


@dataclasses.dataclass
class Try:
    """A proposal that was tried."""

    proposal: Proposal
    proof: Proof
    diff: list[str]
    is_installed: bool  # the file belongs to a package, so the edit is only advice

    @property
    def line(self) -> int:
        """The first line that changes."""
        begin = int(self.diff[2].split()[1].split(",")[0][1:])
        return begin + next(i for i, line in enumerate(self.diff[3:]) if line[:1] in "+-")

    @property
    def thought(self) -> str:
        """Returns a decision that is left to the author, or ""."""
        return self.proposal.thought or (fewer_text(self.proof.fewer) if self.proof.fewer else "")


@dataclasses.dataclass
class Search:
    """The result. `without`: kinds for which nothing was proposed. `unwritten`: kinds of which
    some edit cannot be written as whole lines. `untried`: number of proposals after the last one
    that was tried. `unpaired`: edits that get further, but were not tried with a second one.
    `by_chance`: chance decides, so that it matters on which value ranks agree."""

    tries: list[Try] = dataclasses.field(default_factory=list)
    without: list[str] = dataclasses.field(default_factory=list)
    unwritten: list[str] = dataclasses.field(default_factory=list)
    untried: int = 0
    unpaired: int = 0
    by_chance: bool = False

    @property
    def proved(self) -> list[Try]:
        """Returns the proved edits in the order of tries, but edits that need thought after the
        others, and edits of installed packages last."""
        found = [each for each in self.tries if each.proof.is_proved]
        return sorted(found, key=lambda t: (t.is_installed, bool(t.thought)))

    @property
    def shown(self) -> list[Try]:
        kept: list[Try] = []
        places = {(each.proposal.kind, each.line) for each in self.proved}
        for each in self.proved:
            kind = each.proposal.kind
            same = [other for other in kept if other.proposal.kind == kind]
            has_others = any(k == kind and line != each.line for k, line in places)
            is_again = has_others and any(other.line == each.line for other in same)
            if self.by_chance and is_again:
                continue
            if len(same) < _MAX_OF_KIND and len(kept) < MAX_SHOWN:
                kept.append(each)
        return sorted(kept, key=lambda t: (t.is_installed, bool(t.thought), _size(t)))


def _size(each: Try) -> tuple[bool, int]:
    changed = sum(line[:1] in "+-" for line in each.diff[2:])
    return bool(each.proof.extra), changed


def proposals(case: Case, search: Search) -> Iterator[Proposal]:
    """Yields the proposals of all kinds, each text once."""
    seen = set()
    for kind in KINDS:
        count = 0
        try:
            for proposal in kind.propose(case):
                count += 1
                if (proposal.path, proposal.text) not in seen:
                    seen.add((proposal.path, proposal.text))
                    yield proposal
        except CannotEdit:
            search.unwritten.append(kind.what)
        else:
            if count == 0:
                search.without.append(kind.what)


def search(case: Case, prover: Prover, say: Callable[[str], None]) -> Search:
    """Tries proposals until enough are proved, then pairs of them if none is. `say`: shows the
    progress."""
    result = Search(by_chance=is_by_chance(case.decided_by))
    _try_all(case, proposals(case, result), prover, say, result)
    if not result.proved:
        _try_pairs(case, prover, say, result)
    return result


def _try_all(
    case: Case, found: Iterator[Proposal], prover: Prover, say: Callable[[str], None],
    result: Search,
) -> None:  # fmt: skip
    for proposal in found:
        proved = [each for each in result.tries if each.proof.is_proved]
        if proposal.unless in [each.proposal.text for each in proved]:
            continue
        enough = [each for each in result.shown if not each.thought and not each.is_installed]
        if len(enough) == MAX_SHOWN or len(result.tries) == _MAX_TRIES:
            result.untried += 1
            continue
        say(f"trying changes of the script: {len(result.tries) + 1}")
        source = case.source(proposal.path)
        lines = diff(source.text, proposal.text, case.name(proposal.path))
        proof = prover.prove(proposal)
        result.tries.append(Try(proposal, proof, lines, case.is_installed(proposal.path)))


def _try_pairs(case: Case, prover: Prover, say: Callable[[str], None], result: Search) -> None:
    """Tries edits that get further before they hang, each with an edit of the hang that follows."""
    further = [
        each for each in result.tries
        if each.proof.outcome == "hangs" and each.proof.reached > case.reached
    ]  # fmt: skip
    further.sort(key=lambda each: -each.proof.reached)
    result.unpaired = len(further)
    for first in further[:_MAX_FIRST]:
        if result.proved or len(result.tries) == _MAX_TRIES:
            return
        result.unpaired -= 1
        with prover.after(first.proposal) as following:
            if following is None:
                continue
            pairs = (
                _pair(first.proposal, second) for second in proposals(following, Search())
                if second.path == first.proposal.path
            )  # fmt: skip
            _try_all(case, pairs, prover, say, result)


def _pair(first: Proposal, second: Proposal) -> Proposal:
    return dataclasses.replace(
        second,
        kind=first.kind if first.kind == second.kind else "pair",
        title=(f"in two places: {first.title}" if first.title == second.title else
               f"{first.title}; {second.title}"),
        extra=first.extra | second.extra,
        thought="; ".join(filter(None, dict.fromkeys((first.thought, second.thought)))),
        reorders=first.reorders or second.reorders,
        changes="; ".join(filter(None, dict.fromkeys((first.changes, second.changes)))),
    )  # fmt: skip
