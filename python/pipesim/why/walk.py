"""Walks the traces of two ranks in step, and finds where the ranks part.

A trace is a tree of frames. Two frames of one function are walked event by event. Ranks *part*
where a test has two outcomes, or where one loop has an item and the other has ended. Both sides
then skip to the end of that statement; what they skip is their *region*. If they still are at
different places, because of `continue`, `return` or an exception, both skip to the next iteration
of the enclosing loop, to the end of that loop, or to the end of the function.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Optional

from pipesim.why.calls import Mismatch, matches, shared, shared_calls
from pipesim.why.sites import LOCAL_TESTS, LOOPS, Site
from pipesim.why.traces import NEW_GROUP, Event, Frame, GroupKey, Trace

# Number of events that one side can have more before both count as parted: an operand, a read.
_MAX_EXTRA = 12


@dataclasses.dataclass(eq=False)
class Parting:
    """A point at which two ranks part. `kind`: `test`, `loop`, or `path` if they do different
    things without a test, as after an exception."""

    kind: str
    a: Optional[Event]
    b: Optional[Event]
    region_a: list[Event] = dataclasses.field(default_factory=list)  # entries only
    region_b: list[Event] = dataclasses.field(default_factory=list)

    @property
    def site(self) -> Optional[Site]:
        return self.a.site if self.a is not None and self.kind != "path" else None


class _CutHere(Exception):
    """The record of a rank ends here, so the other rank's next events mean nothing."""


class Walk:
    """The result of a walk: the points at which the ranks part, in order, and the entries at equal
    places."""

    def __init__(self, first: Trace, second: Trace) -> None:
        self.partings: list[Parting] = []
        self.in_step: list[tuple[Event, Event]] = []  # entries of both ranks
        self.frames: dict[Frame, Frame] = {}  # frames of `second`, by frame of `first`
        self._first, self._second = first, second
        if first.main is not None and second.main is not None:
            try:
                self._walk(first.main, second.main)
            except _CutHere:
                pass

    def _walk(self, first: Frame, second: Frame) -> None:
        self.frames[first] = second
        lefts, rights = first.events, second.events
        i, j, parting = 0, 0, None
        while i < len(lefts) or j < len(rights):
            a = lefts[i] if i < len(lefts) else None
            b = rights[j] if j < len(rights) else None
            self._check_cut(a, first, self._first)
            self._check_cut(b, second, self._second)
            if a is None or b is None or a.key != b.key:
                if parting is None:
                    parting = self._part("path", a, b)
                end_i, end_j = _meet(lefts, i, rights, j, parting)
            elif _parts(a, b):
                parting = self._part("test" if a.kind == "test" else "loop", a, b)
                end_i, end_j = _end_of(lefts, i), _end_of(rights, j)
                i, j = i + 1, j + 1
            else:
                if a.kind not in ("item", "done"):
                    parting = None
                if a.kind == "entry":
                    self.in_step.append((a, b))
                elif a.kind == "enter":
                    self._walk(a.value, b.value)
                i, j = i + 1, j + 1
                continue
            assert parting is not None
            parting.region_a += _entries(lefts[i:end_i])
            parting.region_b += _entries(rights[j:end_j])
            i, j = end_i, end_j

    def _part(self, kind: str, a: Optional[Event], b: Optional[Event]) -> Parting:
        self.partings.append(Parting(kind, a, b))
        return self.partings[-1]

    @staticmethod
    def _check_cut(event: Optional[Event], frame: Frame, trace: Trace) -> None:
        if event is None and trace.is_cut and frame.last_time >= trace.last_time:
            raise _CutHere


def _parts(a: Event, b: Event) -> bool:
    if a.kind == "test":
        return bool(a.value[0] != b.value[0])
    return a.kind != b.kind  # an item and the end of the loop


def _is_in(event: Event, site: Site) -> bool:
    """Whether the event is within the statement of `site`, but not of `site` itself. The lines of
    calls are known, but not their columns."""
    if event.site is not None and event.kind != "enter":
        return event.site.inside(site)
    if site.kind in LOCAL_TESTS and not site.calls:
        return False
    return site.line <= event.line <= site.end


def _ends_loop(event: Event) -> bool:
    return event.kind == "done" or (event.kind == "test" and not event.value[0])


def _end_of(events: Sequence[Event], i: int) -> int:
    """Returns the index after the statement whose event is at `i`; for a loop, after its last
    iteration."""
    site = events[i].site
    assert site is not None
    is_loop = site.kind in LOOPS
    if is_loop and _ends_loop(events[i]):
        return i + 1
    i += 1
    while i < len(events) and (_is_in(events[i], site) or (is_loop and events[i].site is site)):
        i += 1
        if events[i - 1].site is site and _ends_loop(events[i - 1]):
            break
    return i


def _meet(
    lefts: Sequence[Event], i: int, rights: Sequence[Event], j: int, parting: Parting
) -> tuple[int, int]:
    """Returns the indices at which two sides that are at different places meet again."""
    if parting.kind == "path":
        for extra in range(1, _MAX_EXTRA):
            for left in range(extra + 1):
                x, y = i + left, j + extra - left
                if x < len(lefts) and y < len(rights) and lefts[x].key == rights[y].key:
                    return x, y
    event = parting.a or parting.b
    loop = event.site.parent if event is not None and event.site and event.kind != "enter" else None
    while loop is not None:
        if loop.kind in LOOPS:
            around = loop
            found = (
                _skip(lefts, i, lambda e: e.site is not around and _is_in(e, around)),
                _skip(rights, j, lambda e: e.site is not around and _is_in(e, around)),
            )
            if _same(lefts, found[0], rights, found[1]):
                return found
            # One side has left the loop.
            found = (
                _skip(lefts, i, lambda e: e.site is around or _is_in(e, around)),
                _skip(rights, j, lambda e: e.site is around or _is_in(e, around)),
            )
            if _same(lefts, found[0], rights, found[1]):
                return found
        loop = loop.parent
    return len(lefts), len(rights)


def _skip(events: Sequence[Event], i: int, is_skipped: Callable[[Event], bool]) -> int:
    while i < len(events) and is_skipped(events[i]):
        i += 1
    return i


def _same(lefts: Sequence[Event], i: int, rights: Sequence[Event], j: int) -> bool:
    if i == len(lefts) or j == len(rights):
        return i == len(lefts) and j == len(rights)
    return lefts[i].key == rights[j].key


def _entries(events: Sequence[Event]) -> list[Event]:
    """Returns the entries of the record among these events and in the functions they call."""
    found = []
    for event in events:
        if event.kind == "entry":
            found.append(event)
        elif event.kind == "enter":
            found += _entries(event.value.events)
    return found


class Finding:
    """The place at which two ranks part: `cause`, a parting with different calls of common groups
    on each side, or `in_step`, calls at the same place that do not match, or neither.

    The cause is the first such parting after the last call that both ranks made at the same place
    and with the same number, unless a later parting makes up for it. So branches on the rank that
    both sides leave with the same number of calls are not causes.
    """

    def __init__(self, first: Trace, second: Trace, found: Optional[Mismatch]) -> None:
        self.first, self.second, self.mismatch = first, second, found
        self.walk = Walk(first, second)
        self.cause: Optional[Parting] = None
        self.in_step: Optional[tuple[Event, Event]] = None
        self.silent: list[Parting] = []  # earlier partings without different calls
        numbers = {**_numbers(first, second), **_numbers(second, first)}
        differs = found is not None or _stand_apart(first, second, numbers)
        last_good = self._compare_calls(numbers)
        ours, theirs = [], []  # calls since the cause
        for parting in self.walk.partings:
            calls_a = self._calls(first, second, parting.region_a)
            calls_b = self._calls(second, first, parting.region_b)
            time = parting.a.time if parting.a is not None else None
            is_after = time is None or time > last_good
            if self.cause is not None and found is not None:
                if time is None or time > found.time:
                    break
            if differs and is_after and calls_a != calls_b:
                if self._is_cut(parting, calls_a, calls_b):
                    continue
                self.cause = self.cause or parting
                ours, theirs = ours + calls_a, theirs + calls_b
                if ours == theirs:  # the later branch makes up for the earlier one
                    self.cause, ours, theirs = None, [], []
            elif self.cause is None and time is not None and (found is None or time < found.time):
                self.silent.append(parting)
        if self.cause is not None and self.in_step is not None:
            is_later = self.cause.a is not None and self.in_step[0].time < self.cause.a.time
            self.cause, self.in_step = (None, self.in_step) if is_later else (self.cause, None)

    def _compare_calls(self, numbers: dict[Event, int]) -> int:
        """Returns the time of the last matching calls before the mismatch, and sets `in_step`."""
        first, second, found = self.first, self.second, self.mismatch
        last_good = -1
        for a, b in self.walk.in_step:
            if a not in numbers and b not in numbers:
                continue
            group = first.group(a)
            same = group == second.group(b) and numbers.get(a) == numbers.get(b)
            if same and matches(first, a, second, b):
                if found is None or found.comes_after(a, b):
                    last_good = max(last_good, a.time)
            elif same or group != second.group(b):
                self.in_step = self.in_step or (a, b)
        return last_good

    @staticmethod
    def _calls(
        trace: Trace, other: Trace, region: Sequence[Event]
    ) -> list[tuple[Optional[GroupKey], object]]:
        calls = [event for event in region if shared(trace, other, event)]
        return [(trace.group(event), trace.signature(event)) for event in calls]

    def _is_cut(self, parting: Parting, calls_a: list[object], calls_b: list[object]) -> bool:
        """Whether one side's calls are the beginning of the other's, and its record ends there."""
        n = min(len(calls_a), len(calls_b))
        trace, region = (
            (self.first, parting.region_a)
            if len(calls_a) < len(calls_b)
            else (self.second, parting.region_b)
        )
        is_end = bool(region) and region[-1].time >= trace.entries[-1].time
        return n > 0 and calls_a[:n] == calls_b[:n] and trace.is_cut and is_end


def _stand_apart(first: Trace, second: Trace, numbers: dict[Event, int]) -> bool:
    """Whether the records of two ranks end in collectives of both that do not match."""
    ends = []
    for trace, other in ((first, second), (second, first)):
        calls = [event for event in trace.entries if trace.group(event) is not None]
        if not calls or not trace.is_cut or not shared(trace, other, calls[-1]):
            return False
        ends.append((trace.group(calls[-1]), numbers[calls[-1]]))
    return ends[0] != ends[1]


def _numbers(trace: Trace, other: Trace) -> dict[Event, int]:
    calls = shared_calls(trace, other)
    return {event: n for events in calls.values() for n, event in enumerate(events, 1)}


def order_of_groups(first: Trace, second: Trace) -> tuple[list[object], list[object]]:
    """Returns the groups of the common calls of two ranks, as far as both made calls."""
    both = set(shared_calls(first, second)) & set(shared_calls(second, first)) - {NEW_GROUP}
    orders: list[list[object]] = []
    for trace, other in ((first, second), (second, first)):
        calls = [event for event in trace.entries if shared(trace, other, event)]
        orders.append([trace.group(event) for event in calls if trace.group(event) in both])
    n = min(map(len, orders))
    return orders[0][:n], orders[1][:n]
