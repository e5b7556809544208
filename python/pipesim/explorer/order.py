"""The happens-before order of one run, and the questions that could change places.

An *object* is what accesses of several ranks have in common: a key, a file, an inbox, a collective.
Two accesses conflict unless their order decides nothing: two reads, two sends to an inbox, two
arrivals at a collective, two new files in a folder.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

Objects = frozenset[tuple[Any, str]]  # (object, way)
Clock = dict[Any, float]  # by rank: number of its latest event that comes before; "now": seconds

READ, WRITE, ADD = "read", "write", "add"
_COMMUTE = frozenset({READ, ADD})  # ADD: a send, an arrival, a new file


def conflict(one: str, other: str) -> bool:
    """Whether the order of two ways to use an object matters."""
    return one != other or one not in _COMMUTE


def dependent(one: Objects, other: Objects) -> bool:
    """Whether the order of two steps matters."""
    ways: dict[Any, list[str]] = collections.defaultdict(list)
    for name, way in one:
        ways[name].append(way)
    return any(conflict(each, way) for name, way in other for each in ways.get(name, ()))


class _Access(NamedTuple):
    rank: int
    event: float  # number of the rank's event
    step: int  # the question that made the access
    way: str


class Race(NamedTuple):
    """A question that another rank's later access could have preceded."""

    step: int
    rank: int
    clock: Clock  # clock of the later access, before the two were ordered
    about: str


class Order:
    """The vector clocks of the ranks, and the accesses so far."""

    def __init__(self, ranks: int) -> None:
        self.clocks: list[Clock] = [{rank: 0.0, "now": 0.0} for rank in range(ranks)]
        self.races: list[Race] = []
        self._accesses: dict[Any, list[_Access]] = collections.defaultdict(list)
        self._of_objects: dict[tuple[Any, str], Clock] = collections.defaultdict(dict)

    def event(self, rank: int, now: float = 0.0) -> float:
        """Counts an event of a rank, at a time of its clock. Returns the event's number."""
        clock = self.clocks[rank]
        clock[rank] += 1
        clock["now"] = max(clock["now"], now)
        return clock[rank]

    def join(self, rank: int, other: Mapping[Any, float]) -> None:
        """Orders the events in another clock before the rank's further events."""
        clock = self.clocks[rank]
        for key, value in other.items():
            clock[key] = max(clock.get(key, 0.0), value)

    def access(
        self, rank: int, name: Any, way: str, about: str,
        step: Optional[int] = None, enabled_by: int = -1,
    ) -> None:  # fmt: skip
        """Notes an access. `step`: the question that makes the access, if any. `enabled_by`: a step
        that the access cannot precede."""
        clock, before = self.clocks[rank], self._accesses[name]
        for other in before:
            if other.rank == rank or not conflict(other.way, way) or other.step <= enabled_by:
                continue
            if clock.get(other.rank, 0.0) < other.event:
                self.races.append(Race(other.step, rank, dict(clock), about))
        for each in (READ, WRITE, ADD):
            if conflict(each, way) and (name, each) in self._of_objects:
                self.join(rank, self._of_objects[name, each])
        own = self._of_objects[name, way]
        for key, value in clock.items():
            own[key] = max(own.get(key, 0.0), value)
        if way == WRITE:
            before.clear()
        if step is not None:
            before.append(_Access(rank, clock[rank], step, way))
