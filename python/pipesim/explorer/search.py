"""The search for the next run.

Alternatives of a run are the other answers to its questions, timeouts while something is awaited,
and the orders of questions that depend on each other (dynamic partial-order reduction). A choice
that was explored from a state *sleeps* in the runs that continue from there, until a step depends
on it. Runs with few unusual answers come first.
"""

from __future__ import annotations

import collections
import dataclasses
import heapq
import itertools
from collections.abc import Iterable
from typing import Optional

from pipesim.explorer.broker import Asker, Choice, ExploringBroker, rank_of
from pipesim.explorer.order import Objects, Race

Plan = tuple[Choice, ...]

_MAX_REPEATS = 2  # earlier turns of a question that is asked again with the same answer


@dataclasses.dataclass
class _State:
    """The state after a plan: the choices begun from it, and the sleeping choices."""

    begun: dict[Choice, Optional[Objects]] = dataclasses.field(default_factory=dict)
    asleep: dict[Choice, Objects] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(order=True)
class Next:
    """A run to do."""

    unusual: int
    length: int
    number: int
    plan: Plan = dataclasses.field(compare=False)
    orders: dict[int, str] = dataclasses.field(compare=False)  # see Found.orders


class Search:
    """The alternatives that are left. `prunes`: False tries every order, to test the pruning."""

    def __init__(self, prunes: bool = True) -> None:
        self._prunes = prunes
        self._states: dict[Plan, _State] = collections.defaultdict(_State)
        self._queue: list[Next] = []
        self._numbers = itertools.count()
        self._push((), 0, {})

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def unusual(self) -> int:
        """Returns the number of unusual answers of the next run."""
        return self._queue[0].unusual if self._queue else 0

    def pop(self) -> tuple[Next, dict[Choice, Objects]]:
        """Returns the next run, and the choices that sleep before the last choice of its plan."""
        best = heapq.heappop(self._queue)
        if not best.plan or not self._prunes:
            return best, {}
        state = self._states[best.plan[:-1]]
        last = rank_of(best.plan[-1].who)
        done = {
            choice: objects for choice, objects in state.begun.items()
            if objects is not None and rank_of(choice.who) != last
        }  # fmt: skip
        return best, {**state.asleep, **done}

    def _push(self, plan: Plan, unusual: int, orders: dict[int, str]) -> None:
        heapq.heappush(self._queue, Next(unusual, len(plan), next(self._numbers), plan, orders))

    def add(self, done: Next, broker: ExploringBroker) -> None:
        """Adds the alternatives of a run."""
        choices = tuple(step.choice for step in broker.steps)
        unusual = [0]
        for step in broker.steps:
            unusual.append(unusual[-1] + step.is_unusual)
        for index in range(max(len(done.plan) - 1, 0), len(broker.steps)):
            step = broker.steps[index]
            state = self._states[choices[:index]]
            if state.begun.get(step.choice) is None:
                state.begun[step.choice] = frozenset(step.objects)
            if index >= len(done.plan) and self._prunes:
                state.asleep = step.asleep
            # The last choice of a plan can be a question that no other run has begun with.
            for choice in self._other_answers(broker, index):
                self._alternative(choices[:index], choice, unusual[index], done.orders)
        for race in broker.order.races:
            for asker in _first(broker, race):
                choice = Choice(asker.who, asker.answers[0])
                orders = {**done.orders, race.step: _words(broker.steps[race.step].asker)}
                self._alternative(choices[: race.step], choice, unusual[race.step], orders)

    def _other_answers(self, broker: ExploringBroker, index: int) -> Iterable[Choice]:
        step = broker.steps[index]
        before = broker.steps[index - 1] if index else None
        for asker in step.askers.values():
            is_chosen = asker.who == step.choice.who
            # Two threads of a rank share its memory, so their order can always matter, also that of
            # a timeout.
            is_other_thread = asker.rank == step.asker.rank and asker.question is not None
            if is_other_thread and not is_chosen and step.asker.question:
                yield Choice(asker.who, asker.answers[0])
            is_new = before is None or asker.who not in before.askers
            is_new = is_new or (before is not None and before.choice.who == asker.who)
            if is_chosen or not self._prunes or (asker.late and is_new):
                for answer in asker.answers:
                    yield Choice(asker.who, answer)

    def _alternative(
        self, before: Plan, choice: Choice, unusual: int, orders: dict[int, str]
    ) -> None:
        state = self._states[before]
        if choice in state.begun or choice in state.asleep:
            return
        state.begun[choice] = None
        known = {index: text for index, text in orders.items() if index <= len(before)}
        self._push((*before, choice), unusual + 1, known)


def _first(broker: ExploringBroker, race: Race) -> list[Asker]:
    """Returns the askers to answer instead of a step, so that another rank's later access precedes
    the step: this rank, else the asker that leads to the access, else all."""
    step = broker.steps[race.step]
    others = [asker for asker in step.askers.values() if asker.rank != step.asker.rank]
    first = [asker for asker in others if asker.rank == race.rank]
    if not first:
        for later in broker.steps[race.step + 1 :]:
            leads = race.clock.get(later.asker.rank, 0.0) >= later.count
            if leads and any(asker.who == later.choice.who for asker in others):
                first = [asker for asker in others if asker.who == later.choice.who]
                break
    found = first or [asker for asker in others if not asker.late]
    return [asker for asker in found if not _repeats(broker, race.step, asker)]


def _repeats(broker: ExploringBroker, index: int, asker: Asker) -> bool:
    """Whether an earlier answer would only repeat a question that was already asked repeatedly."""
    if not asker.idle:
        return False
    before = [step for step in broker.steps[:index] if step.choice.who == asker.who]
    recent = before[-_MAX_REPEATS:]
    same = [step for step in recent if step.asker.key == asker.key and step.asker.idle]
    if len(same) < _MAX_REPEATS:
        return False
    broker.bounds.add(
        f"a question that is asked again while nothing happens comes {_MAX_REPEATS + 1} times first"
    )
    return True


def _words(asker: Asker) -> str:
    return f"rank {asker.rank}'s {asker.about} ({asker.at})"
