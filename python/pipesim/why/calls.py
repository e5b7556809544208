"""The first calls of two ranks that do not match."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, Optional

from pipesim.why.traces import NEW_GROUP, Event, GroupKey, Trace


@dataclasses.dataclass
class Mismatch:
    """The `number`-th calls of two ranks on a group, which do not match. None: no such call."""

    first: Trace
    second: Trace
    group: GroupKey
    number: int  # from 1
    a: Optional[Event]
    b: Optional[Event]

    @property
    def time(self) -> int:
        return max(each.time for each in (self.a, self.b) if each is not None)

    def comes_after(self, a: Event, b: Event) -> bool:
        """Whether the mismatch comes after these calls of the two ranks. A recording can continue
        after a mismatch."""
        pairs = ((a, self.a), (b, self.b))
        return all(own is None or each.time < own.time for each, own in pairs)


@dataclasses.dataclass
class WrongMessage:
    """A send and a recv of two ranks that do not match. None: no such call."""

    sender: Trace
    send: Optional[Event]
    receiver: Trace
    recv: Optional[Event]


def shared(trace: Trace, other: Trace, event: Event) -> bool:
    """Whether the event is a collective, or the creation of a group, of both ranks."""
    group = trace.group(event)
    return (
        group is not None
        and not event.is_message
        and (group is NEW_GROUP or {trace.rank, other.rank} <= set(group[0]))
    )


def shared_calls(trace: Trace, other: Trace) -> dict[GroupKey, list[Event]]:
    """Returns the calls of `trace` that `other` must also make, by group."""
    found: dict[GroupKey, list[Event]] = {}
    for event in trace.entries:
        if shared(trace, other, event):
            group = trace.group(event)
            assert group is not None
            found.setdefault(group, []).append(event)
    return found


def matches(first: Trace, a: Event, second: Trace, b: Event) -> bool:
    """Whether two calls with the same number on a group match."""
    if first.signature(a) != second.signature(b):
        return False
    if a.op != "all_to_all":
        return True
    group = first.group(a)
    assert group is not None
    i, j = group[0].index(first.rank), group[0].index(second.rank)

    def part(event: Event, key: str, index: int) -> Any:
        even = event.entry.get("bytes", 0) // len(group[0])
        return event.entry[key][index] if key in event.entry else even

    return bool(part(a, "to", j) == part(b, "from", i) and part(b, "to", i) == part(a, "from", j))


def mismatch(first: Trace, second: Trace) -> Optional[Mismatch]:
    """Returns the earliest mismatch of two ranks. A call that is missing because the recording of
    its rank was cut is not a mismatch."""
    calls, others = shared_calls(first, second), shared_calls(second, first)
    found = []
    for group in {**calls, **others}:
        pairs = itertools.zip_longest(calls.get(group, []), others.get(group, []))
        for number, (a, b) in enumerate(pairs, 1):
            if a is not None and b is not None and matches(first, a, second, b):
                continue
            missing = first if a is None else second if b is None else None
            if missing is None or not missing.is_cut:
                found.append(Mismatch(first, second, group, number, a, b))
            break
    return min(found, key=lambda each: each.time, default=None)


def mismatches(traces: Sequence[Trace]) -> list[Mismatch]:
    """Returns the mismatch of each pair of ranks, the earliest first."""
    found = [mismatch(a, b) for a, b in itertools.combinations(traces, 2)]
    return sorted((each for each in found if each is not None), key=lambda each: each.time)


def messages(traces: Sequence[Trace]) -> tuple[list[WrongMessage], bool]:
    """Returns the sends and recvs that do not match, and whether there are any sends or recvs at
    all."""
    calls: dict[str, dict[tuple[Any, ...], list[Event]]] = {"send": {}, "recv": {}}
    for trace in traces:
        for event in trace.entries:
            if event.is_message:
                ends = [trace.rank, event.entry.get("peer")]
                sender, receiver = ends if event.op == "send" else reversed(ends)
                key = (sender, receiver, trace.group(event), event.entry.get("tag"))
                calls[event.op].setdefault(key, []).append(event)
    found = []
    for key in sorted({*calls["send"], *calls["recv"]}, key=str):
        if None in key[:2]:  # from any rank
            continue
        sender, receiver = traces[key[0]], traces[key[1]]
        sends, recvs = calls["send"].get(key, []), calls["recv"].get(key, [])
        for send, recv in itertools.zip_longest(sends, recvs):
            if send is not None and recv is not None:
                if send.entry.get("bytes") == recv.entry.get("bytes"):
                    continue
            elif (sender if send is None else receiver).is_cut:
                missing = calls["send" if send is None else "recv"]
                # The call can still come, unless the rank makes it on another group or tag.
                if not any(each[:2] == key[:2] and each != key for each in missing):
                    continue
            found.append(WrongMessage(sender, send, receiver, recv))
            break
    return found, any(calls.values())


def ends_of(wrong: WrongMessage) -> tuple[Optional[Event], Optional[Event]]:
    """Returns the send and the recv of a wrong message. If one is missing: the last ones between
    the two ranks, which have no counterpart."""
    if wrong.send is not None and wrong.recv is not None:
        return wrong.send, wrong.recv
    ends = ((wrong.sender, "send", wrong.receiver), (wrong.receiver, "recv", wrong.sender))
    found: list[Optional[Event]] = []
    for trace, op, other in ends:
        same = [e for e in trace.entries if e.op == op and e.entry.get("peer") == other.rank]
        found.append(same[-1] if same else None)
    return found[0], found[1]


def thread_clash(traces: Sequence[Trace]) -> Optional[tuple[Trace, Event, Trace, Event]]:
    """Returns two calls of different threads on one group whose order is not fixed, if there are
    any: two calls of one rank, or calls with the same number on two ranks."""
    by_number: dict[tuple[GroupKey, int], tuple[Trace, Event]] = {}
    for trace in traces:
        counts: dict[str, int] = {}  # by thread: calls
        known: dict[str, dict[str, int]] = {}  # by thread: earlier calls of other threads
        latest: dict[tuple[GroupKey, str], tuple[int, Event]] = {}  # by group and thread
        for event in trace.entries:
            group = trace.group(event)
            if group is None or "call" not in event.entry:
                continue
            thread = event.entry.get("th", "")
            counts[thread] = counts.get(thread, 0) + 1
            known.setdefault(thread, {}).update(event.entry.get("after", {}))
            for (other_group, other), (count, call) in latest.items():
                is_before = known[thread].get(other, 0) >= count
                if other_group == group and other != thread and not is_before:
                    return trace, call, trace, event
            latest[group, thread] = (counts[thread], event)
            if not event.is_message:
                owner, call = by_number.setdefault((group, event.entry["n"]), (trace, event))
                if bool(call.entry.get("th")) != bool(thread):
                    return owner, call, trace, event
    return None
