"""The report: where the ranks part, as a dictionary for JSON, and as text."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from pipesim.recorder.report import ranks_text
from pipesim.why import calls, walk
from pipesim.why.calls import Mismatch, WrongMessage
from pipesim.why.sites import LOOPS, Site, text_of, tree_of
from pipesim.why.traces import NEW_GROUP, Event, GroupKey, Line, Trace, read
from pipesim.why.trail import (
    Step,
    Trail,
    is_by_chance,
    is_rank_itself,
    loop_text,
    outcome_text,
    telling_operands,
    turns,
)
from pipesim.why.walk import Finding, Parting

Json = dict[str, Any]

_MAX_PAIRS = 4  # pairs of ranks that are walked
_MAX_TRAIL = 3
_MAX_STACK = 3
_MAX_CALLS = 8
_MAX_SHOWN, _LEAST_SHOWN = 60, 20  # characters of a source line
_MAX_VALUE = 33
_MAX_END = 40  # characters of an exception
_MAX_NAMES = 4
_WIDTH = 80

# Notes of a record after which the recorder itself can be the cause of a branch.
_MADE_UP = {
    "cut_read": "read a value that the recorder made up, because it is larger than --limit",
    "made_up": "got a result that the recorder made up, because no rank could go on",
}


def analyze(folder: Path) -> Json:
    """Returns where the ranks of a traced recording part. `kind`:

    parts     at a branch, a loop or an exception
    differs   at a call that all reach in step, with another size, root or group
    silent    nothing parts around a call; `at` is an earlier branch without calls
    order     no branch decides, the order of the calls does
    threads   two threads call on one group; nothing else is said
    made_up   a made-up value was read before the ranks part; nothing else is said
    none      the ranks do not part
    """
    return Analysis(folder).result


class Analysis:
    """The analysis of a traced recording. `result`: the value that `analyze` returns. The other
    fields have the facts behind it."""

    def __init__(self, folder: Path) -> None:
        self.traces = read(folder)
        self.finding: Optional[Finding] = None
        self.parting: Optional[Parting] = None
        self.trail: Optional[Trail] = None
        self.clash: Optional[tuple[Trace, Event, Trace, Event]] = None
        self.wrong_messages: list[WrongMessage] = []
        self.result: Json = {"why": 1, "kind": "none", "headline": "the ranks do not part"}
        self.clash = calls.thread_clash(self.traces)
        if self.clash is not None:
            self._threads(*self.clash)
            return
        found = calls.mismatches(self.traces)
        findings = [Finding(each.first, each.second, each) for each in found[:_MAX_PAIRS]]
        decided = next((each for each in findings if each.cause or each.in_step), None)
        if decided is None and not found:
            if self._messages():
                return
            findings = self._without_mismatch()
            decided = next((each for each in findings if each.in_step or each.cause), None)
        if decided is None:
            decided = next((each for each in findings if each.silent), None)
        if decided is None:
            if found:
                self._mismatch(found[0])
                self._say("order", "no branch decides, the order does")
            return
        if decided.mismatch is not None:
            self._mismatch(decided.mismatch)
        self._explain(decided)

    def _say(self, kind: str, headline: str) -> None:
        self.result.update(kind=kind, headline=headline)

    # Results without a parting

    def _threads(self, first: Trace, a: Event, second: Trace, b: Event) -> None:
        self._say("threads", "two threads of a rank call on one group, in no fixed order")
        self.result["group"] = self._group(first, a)
        self.result["calls"] = [self._call(first, a), self._call(second, b)]

    def _messages(self) -> bool:
        """Reports sends and recvs that do not match, or that block one another by their order."""
        wrong, has_messages = calls.messages(self.traces)
        self.wrong_messages = wrong
        last = [trace.entries[-1].op for trace in self.traces if trace.is_cut and trace.entries]
        if not has_messages or not (wrong or set(last) <= {"send", "recv", "wait"}):
            return False
        self._say("order", "no branch decides, the order does")
        found = [self._wrong(each) for each in wrong]
        different = [each for i, each in enumerate(found) if each not in found[:i]]
        self.result["messages"] = different[:_MAX_TRAIL]
        first: Json = found[0] if found else {}
        if "differ" in first:
            what = " and ".join(first["differ"])
            ends = [end["stack"][0]["at"] for end in (first["send"], first["recv"])]
            where = f"the send at {ends[0]} and the recv at {ends[1]}"
            self._say("order", f"no branch decides; {where} differ in their {what}")
        self.result["calls"] = [
            self._call(trace, event)
            for trace in self.traces
            for event in [each for each in trace.entries if each.is_message][-2:]
            if trace.is_cut
        ]
        return True

    def _wrong(self, wrong: WrongMessage) -> Json:
        """Returns a send and a recv that do not match, and what differs."""
        send, recv = calls.ends_of(wrong)
        found: Json = {
            "send": self._call(wrong.sender, send), "recv": self._call(wrong.receiver, recv)
        }  # fmt: skip
        if send is None or recv is None:
            return found
        groups = self._group(wrong.sender, send), self._group(wrong.receiver, recv)
        pairs = {"group": groups, "tag": (send.entry.get("tag"), recv.entry.get("tag")),
                 "size": (send.entry.get("bytes"), recv.entry.get("bytes"))}  # fmt: skip
        differ = {name: list(pair) for name, pair in pairs.items() if pair[0] != pair[1]}
        return {**found, "differ": differ} if differ else found

    def _without_mismatch(self) -> list[Finding]:
        """Returns findings for pairs of ranks that call on several groups in different orders. If a
        finding is decided, returns only this one."""
        findings = []
        for i, first in enumerate(self.traces):
            for second in self.traces[i + 1 :]:
                finding = Finding(first, second, None)
                orders = walk.order_of_groups(first, second)
                if finding.in_step is not None:
                    a, b = finding.in_step
                    if orders[0] == orders[1] and first.group(a) == second.group(b):
                        finding.in_step = None
                    else:
                        return [finding]
                findings.append(finding)
                if len(findings) == _MAX_PAIRS**2:
                    return findings
        return findings

    # Results with a parting

    def _explain(self, finding: Finding) -> None:
        trail = Trail(finding)
        parting = finding.cause
        if parting is None and finding.in_step is None:
            parting = self._before(finding)
            if parting is None:
                self._order()
                return
        point = (parting.a, parting.b) if parting is not None else finding.in_step
        assert point is not None
        if self._is_made_up(finding, *point):
            return
        self.finding, self.parting, self.trail = finding, parting, trail
        if parting is None:
            self._in_step(finding, trail)
        elif parting.site is not None:
            self._parting(finding, parting, trail)
        else:
            self._path(finding, parting, trail)
        self.result["ranks"] = [finding.first.rank, finding.second.rank]
        self.result["trail"] = [self._step(step) for step in trail.steps]
        self.result["shown"] = _shown(trail)
        if trail.source:
            self.result["source"] = trail.source
        if not (finding.first.complete and finding.second.complete):
            self.result["notes"] = ["the trace is not complete: it has too many events"]

    def _before(self, finding: Finding) -> Optional[Parting]:
        """Returns the last branch at which the ranks part, if no call shows which one decides. With
        messages, a branch with calls is only where each rank has its own order."""
        known = [each for each in finding.silent if each.site is not None]
        calling = [each for each in known if _calls_in(finding, each)]
        if calls.messages(self.traces)[1]:
            known = [each for each in known if each not in calling]
        elif calling:
            finding.cause = calling[-1]
            return finding.cause
        return known[-1] if known else None

    def _order(self) -> None:
        self._say("order", "no branch decides, the order does")
        self.result["calls"] = [
            self._call(trace, event)
            for trace in self.traces
            for event in [e for e in trace.entries if trace.group(e) is not None][-1:]
            if trace.is_cut
        ]

    def _is_made_up(self, finding: Finding, a: Optional[Event], b: Optional[Event]) -> bool:
        for trace, event in ((finding.first, a), (finding.second, b)):
            end = event.time if event is not None else trace.last_time
            for each in trace.entries:
                text = _MADE_UP.get(each.entry.get("note", ""))
                if text is not None and each.time < end:
                    self._say("made_up", f"rank {trace.rank} {text}")
                    self.result["calls"] = [self._call(trace, each)]
                    self.result["notes"] = ["so where the ranks part can be the recorder's doing"]
                    return True
        return False

    def _parting(self, finding: Finding, parting: Parting, trail: Trail) -> None:
        a, b, site = parting.a, parting.b, parting.site
        assert a is not None and b is not None and site is not None
        at = self._at(finding.first, site)
        where = at["at"] + (f", in {at['in']}" if "in" in at else "")
        loop = next((each for each in _sites_around(site) if each.kind in LOOPS), None)
        number = _turn(a, loop) if loop is not None else 0
        if loop is not None and number:
            at.update(loop=loop.line, turn=number)
            where += f", in turn {number} of the loop of line {loop.line}"
        if parting.kind == "loop":
            ends = ((finding.first, a), (finding.second, b))
            counts = [f"{_turns(event, trace)} on rank {trace.rank}" for trace, event in ends]
            where += f": the loop has {counts[0]} and {counts[1]}"
        if finding.cause is None:
            begin = "no branch with a call in it differs; before, the ranks part at"
            self._say("silent", f"{begin} {where}")
        else:
            self._say("parts", f"the ranks part at {where}")
        self.result["at"] = at
        self.result["sides"] = self._sides(finding, parting)
        trail.of_parting(parting)

    def _sides(self, finding: Finding, parting: Parting) -> list[Json]:
        """Returns the outcome of each class of ranks at the parting."""
        a, site = parting.a, parting.site
        assert a is not None and parting.b is not None and site is not None
        index = finding.first.by_site[site].index(a)
        classes: dict[str, list[tuple[Trace, Optional[Event]]]] = {}
        for trace in self.traces:
            # Other ranks are at the same place after the same number of events there.
            event: Optional[Event] = dict(enumerate(trace.by_site.get(site, []))).get(index)
            event = parting.b if trace is finding.second else event
            name = "does not come here"
            if event is not None:
                name = outcome_text(event) if event.kind == "test" else event.kind
            classes.setdefault(name, []).append((trace, event))
        every = [event for members in classes.values() for _, event in members if event is not None]
        names = telling_operands(every) if parting.kind == "test" else []
        regions = {finding.first: parting.region_a, finding.second: parting.region_b}
        sides = []
        for name, members in classes.items():
            events = [event for _, event in members if event is not None]
            side: Json = {"ranks": [trace.rank for trace, _ in members], "outcome": name}
            if events and parting.kind == "test":
                side["values"] = _values(events, names)
            elif events:
                side["outcome"] = _several([loop_text(event) for event in events])
            leaves = _exit_of(site, name == "true") if events and parting.kind == "test" else ""
            if leaves:
                side["leaves"] = leaves
            for trace, _ in members:
                if trace in regions and finding.cause is not None:
                    called = [trace.group(each) is not None for each in regions[trace]]
                    side["calls"] = {"rank": trace.rank, "count": sum(called)}
            sides.append(side)
        return sides

    def _path(self, finding: Finding, parting: Parting, trail: Trail) -> None:
        """Reports ranks that do different things without a test: after an exception, or because of
        code that is not traced."""
        sides = []
        for trace, event in ((finding.first, parting.a), (finding.second, parting.b)):
            sides.append({"ranks": [trace.rank], "outcome": self._path_text(trace, event)})
        trace, event = (
            (finding.first, parting.a) if parting.a is not None else (finding.second, parting.b)
        )
        assert event is not None
        at = self._place(trace, event)
        where = at["at"] + (f", in {at['in']}" if "in" in at else "")
        self._say("parts", f"the ranks part at {where}, without a test in traced code")
        self.result["at"], self.result["sides"] = at, sides
        trail.of_raised(parting.a, parting.b)
        before = [each for each in finding.silent if each.site is not None]
        if before:
            last = before[-1]
            assert last.site is not None
            place = self._at(finding.first, last.site)["at"]
            note = f"before, without a call in it, they part at {place}: {last.site.text}"
            self.result["notes"] = [note]
            trail.of_parting(last)

    def _path_text(self, trace: Trace, event: Optional[Event]) -> str:
        if event is None:
            return f"leaves here{_end_text(trace)}"
        if event.kind == "handler":
            return f"handles {event.value} at line {event.line}"
        if event.kind == "entry":
            return f"makes {_call_text(self._call(trace, event))}"
        if event.kind == "enter":
            return f"calls {event.value.site.text}"
        return f"goes on at line {event.line}"

    def _in_step(self, finding: Finding, trail: Trail) -> None:
        assert finding.in_step is not None
        first, second, (a, b) = finding.first, finding.second, finding.in_step
        at = self._place(first, a)
        texts = [self._difference(trace, each, other, peer) for trace, each, other, peer in (
            (first, a, second, b), (second, b, first, a)
        )]  # fmt: skip
        self._say(
            "differs",
            f"the ranks part at {at['at']}: all make this call in step, with {texts[0]} on rank "
            f"{first.rank} and {texts[1]} on rank {second.rank}",
        )
        self.result["at"] = at
        trail.of_call(a, b)

    def _difference(self, trace: Trace, event: Event, other: Trace, peer: Event) -> str:
        if trace.group(event) != other.group(peer):
            return self._group(trace, event)
        ours, theirs = trace.signature(event), other.signature(peer)
        if "new_group" in event.entry:
            return ranks_text(ours[1])
        names = ("", "bytes", "type", "root rank")
        for name, value, their in zip(names, ours, theirs):
            if value != their:
                return f"{value:,} B" if name == "bytes" and value else f"{name} {value}".strip()
        return f"{event.entry.get('to', 'even')} B sent"

    # Parts of the result

    def _mismatch(self, found: Mismatch) -> None:
        self.result["mismatch"] = {
            "group": self._group_name(found.first, found.group),
            "number": found.number,
            "calls": [self._call(found.first, found.a), self._call(found.second, found.b)],
        }

    def _group(self, trace: Trace, event: Event) -> str:
        group = trace.group(event)
        return self._group_name(trace, group) if group is not None else "no group"

    def _group_name(self, trace: Trace, group: GroupKey) -> str:
        if group is NEW_GROUP:
            return "new_group"
        ranks, same = group
        of = "of all ranks" if len(ranks) == len(self.traces) else f"of {ranks_text(ranks)}"
        if same:  # another group of these ranks came before
            return f"group {same + 1} {of}"
        return "the world group" if len(ranks) == len(self.traces) else f"the group {of}"

    def _call(self, trace: Trace, event: Optional[Event]) -> Json:
        if event is None:
            place = trace.end.get("l")
            stack = _stack(trace.stack(place))
            return {"rank": trace.rank, "text": f"no such call{_end_text(trace)}", "stack": stack}
        entry = event.entry
        text = event.op
        if "new_group" in entry:
            text = f"new_group of {ranks_text(trace.groups[entry['new_group']][0])}"
        elif "bytes" in entry:
            text += f" {entry['bytes']:,} B"
        if event.is_message:
            text += f" {'to' if event.op == 'send' else 'from'} rank {entry.get('peer', '?')}"
        found: Json = {"rank": trace.rank, "text": text, "stack": _stack(trace.stack(event))}
        if "th" in entry:
            found["thread"] = entry["th"]
        return found

    def _at(self, trace: Trace, site: Site) -> Json:
        function = site.function.rpartition(".")[2]
        at = f"{trace.files[site.path]}:{site.line}"
        found: Json = {"at": at, "source": _line(site.path, site.line)}
        return {**found, "in": function} if function else found

    def _place(self, trace: Trace, event: Event) -> Json:
        """Returns the place of an event other than a test."""
        if event.site is not None and event.kind != "enter":
            return self._at(trace, event.site)
        if event.kind == "enter":
            caller = event.frame.site
            if caller is not None:
                name, path = trace.files[caller.path], caller.path
                return {"at": f"{name}:{event.line}", "source": _line(path, event.line)}
        stack = trace.stack(event)
        if not stack:
            return {"at": f"line {event.line}", "source": ""}
        path = trace.path_of(stack[0].at)
        number = int(stack[0].at.rpartition(":")[2])
        found: Json = {"at": stack[0].at, "source": _line(path, number) if path else ""}
        return {**found, "in": stack[0].function} if stack[0].function else found

    def _step(self, step: Step) -> Json:
        names = [trace.files[step.path] for trace in self.traces if step.path in trace.files]
        found = {"kind": step.kind, "at": f"{names[0]}:{step.line}", "name": step.name}
        found.update(text=step.text, values=list(step.values))
        return {**found, "note": step.note} if step.note else found


def _calls_in(finding: Finding, parting: Parting) -> bool:
    """Whether a side of a parting calls a group, or uses the store."""
    sides = ((finding.first, parting.region_a), (finding.second, parting.region_b))
    return any(
        trace.group(event) is not None or "store" in event.entry
        for trace, region in sides for event in region
    )  # fmt: skip


def _shown(trail: Trail) -> list[int]:
    """Returns the indices of the steps that the text shows: the last step, the last test, and the
    steps before them, without steps that say nothing new."""
    known = [i for i, step in enumerate(trail.steps) if not _is_said(trail, i)]
    tests = [i for i in known if trail.steps[i].kind == "test"]
    wanted = dict.fromkeys([*known[-1:], *tests[-1:], *reversed(known)])
    return sorted(list(wanted)[:_MAX_TRAIL])


def _is_said(trail: Trail, index: int) -> bool:
    """Whether the step before shows a step's source, or "decided by: the rank" says it all."""
    step, before = trail.steps[index], trail.steps[index - 1] if index else None
    if trail.source == "the rank" and is_rank_itself(step):
        return True
    if step.kind != "test" or before is None or before.kind == "test":
        return False
    return (step.path, step.line) == (before.path, before.line) and step.text in before.text


# The ends of an arm of a branch, in words.
_EXITS = {
    ast.Return: "returns", ast.Break: "leaves the loop", ast.Continue: "begins the next turn",
    ast.Raise: "raises",
}  # fmt: skip


def _exit_of(site: Site, outcome: bool) -> str:
    """Returns how an arm of an `if` is left, in words; "" if the code after the branch follows."""
    for node in ast.walk(tree_of(site.path)):
        if isinstance(node, ast.If) and node.lineno == site.line and site.kind == "if":
            arm = node.body if outcome else node.orelse
            return _EXITS.get(type(arm[-1]), "") if arm else ""
    return ""


def _several(texts: Sequence[str]) -> str:
    """Joins the different texts of a class of ranks."""
    different = list(dict.fromkeys(texts))
    return " / ".join(different[:3]) + (" / ..." if len(different) > 3 else "")


def _values(events: Sequence[Event], names: Sequence[str]) -> dict[str, str]:
    """Returns the values of a test's operands in a class of ranks."""
    known = [event.operands() for event in events]
    found = {name: [each[name] for each in known if name in each] for name in names}
    return {name: _several(texts) for name, texts in found.items() if texts and name != texts[0]}


def _end_text(trace: Trace) -> str:
    end = trace.end.get("end")
    if end == "raised":
        return f" (raised {_short(trace.end.get('text', ''), _MAX_END)})"
    return f" (exited with {trace.end.get('code')})" if end == "exited" else f" ({end})"


def _stack(lines: Sequence[Line]) -> list[Json]:
    return [
        {"at": line.at, **({"in": line.function} if line.function else {})} for line in lines
    ]


def _line(path: str, number: int) -> str:
    lines = text_of(path).splitlines()
    return lines[number - 1].strip() if number <= len(lines) else ""


def _sites_around(site: Site) -> list[Site]:
    found = []
    while site.parent is not None:
        site = site.parent
        found.append(site)
    return found


def _turn(event: Event, loop: Site) -> int:
    """Returns the number of the iteration of `loop` in which a frame's event is."""
    number = 0
    for each in event.frame.events:
        if each.time >= event.time:
            break
        if each.site is loop and each.kind == "item":
            number = int(each.value[0])
        elif each.site is loop and each.kind == "test":
            number = number + 1 if each.value[0] else 0
    return number


def _turns(event: Event, trace: Trace) -> str:
    """Returns the number of iterations of a loop. If the rank was cut in the loop, or left it,
    returns a minimum."""
    if event.kind == "done":
        return turns(event.value)
    assert event.site is not None
    number = int(event.value[0])
    for each in trace.by_site[event.site]:
        if each.frame is event.frame and each.time > event.time:
            if each.kind == "done":
                return turns(each.value)
            number = int(each.value[0])
    return f"at least {turns(number)}"


# Text


def mismatch_lines(result: Json) -> list[str]:
    """Returns the lines about the calls, or the sends and recvs, that do not match."""
    lines: list[str] = []
    mismatch = result.get("mismatch")
    if mismatch is not None:
        lines.append(f"Call {mismatch['number']} on {mismatch['group']} does not match:")
        lines += _calls_text(mismatch["calls"])
    for message in result.get("messages", ()):
        sender, receiver = message["send"], message["recv"]
        ranks = f"rank {sender['rank']} to rank {receiver['rank']}"
        pairs = message.get("differ", {}).items()
        differ = "".join(f", {name} {' | '.join(map(str, pair))}" for name, pair in pairs)
        lines.append(f"A message of {ranks} does not match{differ}:")
        lines += _calls_text([sender, receiver])
    return lines


def reason_lines(result: Json) -> list[str]:
    """Returns the lines about the place where the ranks part, and the reason."""
    lines: list[str] = []
    lines += textwrap.wrap(f"Why: {result['headline']}", _WIDTH, subsequent_indent="  ")
    at = result.get("at")
    if at is not None and at["source"]:
        number = at["at"].rpartition(":")[2]
        lines.append(f"  {number:<7} {_short(at['source'])}")
    lines += _sides_text(result.get("sides", ()))
    if not result.get("messages"):
        listed = result.get("calls", [])
        lines += _calls_text(listed[:_MAX_CALLS])
        if len(listed) > _MAX_CALLS:
            lines.append(f"  ... and {len(listed) - _MAX_CALLS} calls of other ranks")
    trail = result.get("trail", [])
    begin = 0
    for index in result.get("shown", ()):
        names = [step["name"] for step in trail[begin:index] if step["name"]]
        lines += _step_text(trail[index], at, names)
        begin = index + 1
    if "source" in result:
        source = result["source"]
        chance = ", so this can also happen later, or not at all" if is_by_chance(source) else ""
        text = f"  decided by: {source}{chance}"
        lines += textwrap.wrap(text, _WIDTH, subsequent_indent="    ")
    lines += [f"  {note}" for note in result.get("notes", ())]
    return lines


def _call_text(call: Json) -> str:
    stack = call["stack"][:_MAX_STACK]
    file, texts = "", []
    for line in stack:
        name, _, number = line["at"].rpartition(":")
        function = f" in {line['in']}" if "in" in line else ""
        texts.append(f"{'' if name == file else name}:{number}{function}")
        file = name
    thread = f" (thread {call['thread']})" if "thread" in call else ""
    return f"{call['text']}{thread}" + (f"   {' < '.join(texts)}" if texts else "")


def _calls_text(given: Sequence[Json]) -> list[str]:
    return [f"  rank {call['rank']}   {_call_text(call)}" for call in given]


def _sides_text(sides: Sequence[Json]) -> list[str]:
    names = [ranks_text(side["ranks"]) for side in sides]
    width = max(map(len, names), default=0)
    lines = []
    for name, side in zip(names, sides):
        known = side.get("values", {}).items()
        values = ", ".join(f"{key} = {_short(text, _MAX_VALUE)}" for key, text in known)
        calls = side.get("calls")
        then = ""
        if calls is not None:
            count = calls["count"]
            of = f"rank {calls['rank']}" if len(side["ranks"]) > 1 else "it"
            number = f"{count} call{'' if count == 1 else 's'}" if count else "no call"
            leaves = f"{side['leaves']}, and " if "leaves" in side else ""
            then = f"   then {of} {leaves}makes {number}"
        lines.append(f"          {name:<{width}}  {side['outcome']:5}  {values}".rstrip() + then)
    return lines


def _step_text(step: Json, at: Optional[Json], before: Sequence[str]) -> list[str]:
    """Returns the lines of a step: place, source and values. Values that do not fit get their own
    line. `before`: names of the steps before, which are not shown."""
    file, _, number = step["at"].rpartition(":")
    same = at is not None and at["at"].rpartition(":")[0] == file
    place = f"line {number}" if same else step["at"]
    values = " | ".join(_short(value, _MAX_VALUE) for value in step["values"])
    note = f" ({step['note']})" if "note" in step else ""
    verb = {"argument": "is passed by", "loop": "is of", "return": "is returned by"}
    names = list(dict.fromkeys([*before, step["name"] or "the loop"]))
    chain = " < ".join(names[-_MAX_NAMES:])
    begin = "  " if step["kind"] == "test" else f"  {chain} {verb.get(step['kind'], 'is from')} "
    begin += f"{place}{note}:  "
    line = begin + _short(step["text"], max(_LEAST_SHOWN, min(_MAX_SHOWN, _WIDTH - len(begin))))
    if len(line) + len(values) + 4 <= _WIDTH:
        return [f"{line}    {values}"]
    return [line, f"          {values}"]


def _short(text: str, limit: int = _MAX_SHOWN) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
