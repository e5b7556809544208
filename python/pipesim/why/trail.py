"""Follows a value that differs between two ranks back to its source.

Begins with the operands of a test, or the arguments of a call. Finds the event that set the first
name that differs, on both sides, and continues with the names that this line read. Ends at a line
whose inputs do not differ: the line itself is the source, such as a clock, a random number or the
rank.
"""

from __future__ import annotations

import ast
import bisect
import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

from pipesim.why.sites import Site, called_names, last_name, read_names, target_names, tree_of
from pipesim.why.traces import Event, Frame, Trace
from pipesim.why.walk import Finding, Parting

_MAX_STEPS = 14
_MAX_SEEN = 200  # names and tests; each iteration of a loop counts

_RANK = ("get_rank", "RANK", "local_rank", "get_node_local_rank", "get_group_rank")

# Sources of calls that return different results for equal arguments.
_SOURCES = {
    "each rank reads its own clock": "time time_ns perf_counter perf_counter_ns monotonic now",
    "random, with another seed on each rank": "random randint randrange uniform gauss rand randn "
    "rand_like randn_like multinomial randperm shuffle choice choices sample normal bernoulli",
    "the file system answers, for each rank anew": "exists isfile isdir is_file is_dir listdir "
    "glob iterdir stat getmtime getsize",
    "the store answers": "add get check compare_set num_keys",
    "the environment of the rank": "getenv",
    "an address, or a hash of the process": "id hash",
}
# Sources after which one recording proves little.
_CHANCE = ("each rank reads its own clock", "random", "the store", "the file system")
_SET_ORDER = "the order of a set, which differs between processes"
_OWN_RESULT = "what goes in is equal, what comes out is not"


# Expressions that contain tests.
_WITH_TESTS = (ast.IfExp, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


class Point(NamedTuple):
    """A point of a trace: what a frame knows before a time."""

    frame: Frame
    time: int


@dataclasses.dataclass
class Step:
    """A line on the way to the source. `kind`: `set`, `argument`, `return`, `loop` or `test`."""

    kind: str
    path: str
    line: int
    name: str
    text: str
    values: tuple[str, str]
    note: str = ""


class _Option(NamedTuple):
    """A name that differs: the events that set it, or the frames whose parameter it is."""

    name: str
    values: tuple[str, str]
    events: Optional[tuple[Event, Event]]
    frames: Optional[tuple[Frame, Frame]]


class Trail:
    """The steps from a difference to its source. `source`: the source in words."""

    def __init__(self, finding: Finding) -> None:
        self._first, self._second, self._walk = finding.first, finding.second, finding.walk
        self.steps: list[Step] = []
        self.source = ""
        self._seen: set[object] = set()

    # Beginnings

    def of_parting(self, parting: Parting) -> None:
        if parting.a is None or parting.b is None or parting.site is None:
            return
        if parting.kind == "test":
            self._seen.add(parting.a)
            self._operands(parting)
        else:
            self._loop(parting.a, parting.b)

    def of_call(self, a: Event, b: Event) -> None:
        """Follows the arguments of two calls at one place."""
        is_group = self._first.group(a) != self._second.group(b)
        points = Point(a.frame, a.time), Point(b.frame, b.time)
        self._arguments_of(self._first, a, is_group, *points)

    def of_raised(self, a: Optional[Event], b: Optional[Event]) -> None:
        """Follows the arguments of a call that one rank makes, and in which the other raises. One
        event is None: that of the rank that raises."""
        frames = self._walk.frames
        if a is not None and a.kind == "entry" and a.frame in frames:
            points = Point(a.frame, a.time), Point(frames[a.frame], self._second.last_time + 1)
            self._arguments_of(self._first, a, False, *points)
        elif b is not None and b.kind == "entry":
            for ours, theirs in frames.items():
                if theirs is b.frame:
                    points = Point(ours, self._first.last_time + 1), Point(theirs, b.time)
                    self._arguments_of(self._second, b, False, *points)

    def _arguments_of(
        self, trace: Trace, call: Event, is_group: bool, a: Point, b: Point
    ) -> None:
        """Follows the arguments at the line of a call. `is_group`: the group first."""
        stack = trace.stack(call)
        path = trace.path_of(stack[0].at) if stack else None
        if path is None:
            return
        given = [
            (keyword.arg or "", keyword.value)
            for node in _calls_at(path, call.line)
            for keyword in [*(ast.keyword("", each) for each in node.args), *node.keywords]
        ]
        if is_group:
            given.sort(key=lambda argument: argument[0] != "group")
        self._follow([name for _, value in given for name in read_names(value)], a, b)

    # Names

    def _follow(self, names: Iterable[str], a: Point, b: Point) -> bool:
        """Follows the first name that differs. Returns whether there is one."""
        if len(self.steps) >= _MAX_STEPS or len(self._seen) >= _MAX_SEEN:
            return False
        found = [self._option(name, a, b) for name in dict.fromkeys(names)]
        options = [each for each in found if each is not None]
        # A rank is expected to differ, and the text of an object says little.
        options.sort(key=lambda o: (_is_rank(o), not _is_plain(o.values[0])))
        for option in options:
            key = (option.name, option.events or option.frames)
            if key not in self._seen:
                self._seen.add(key)
                self._follow_option(option)
                return True
        return False

    def _option(self, name: str, a: Point, b: Point) -> Optional[_Option]:
        set_a, frame_a = _find(self._first, a, name)
        set_b, frame_b = _find(self._second, b, name)
        if set_a is not None and set_b is not None:
            values = _value(set_a, name), _value(set_b, name)
            differs = values[0] != values[1] or set_a.site is not set_b.site
            return _Option(name, values, (set_a, set_b), None) if differs else None
        if frame_a is None or frame_b is None or set_a is not None or set_b is not None:
            return None
        values = _parameter(frame_a, name), _parameter(frame_b, name)
        return _Option(name, values, None, (frame_a, frame_b)) if values[0] != values[1] else None

    def _follow_option(self, option: _Option) -> None:
        if option.events is None:
            self._argument(option)
            return
        a, b = option.events
        if _is_rank(option):
            self._step("set", a, option.name, option.values)
            self.source = "the rank"
        elif a.site is b.site:
            self._one_place(option.name, a, b, option.values)
        else:
            self._two_places(option.name, a, b, option.values)

    def _step(
        self, kind: str, event: Event, name: str, values: tuple[str, str], note: str = ""
    ) -> None:
        site = event.site
        assert site is not None
        step = Step(kind, site.path, site.line, name, site.text.strip(), values, note)
        last = self.steps[-1] if self.steps else None
        if last is None or (step.path, step.line, name) != (last.path, last.line, last.name):
            self.steps.append(step)

    def _argument(self, option: _Option) -> None:
        assert option.frames is not None
        a, b = option.frames
        assert a.site is not None and a.entered is not None and b.entered is not None
        given = _argument_of(a, option.name)
        if given is None:
            text = f"parameter of {a.site.text}"
            step = Step("argument", a.site.path, a.site.line, option.name, text, option.values)
            self.steps.append(step)
            return
        node, path = given
        text = ast.unparse(node)
        self.steps.append(Step("argument", path, node.lineno, option.name, text, option.values))
        at_a, at_b = a.entered, b.entered
        if not self._test_in(node, at_a):
            names = read_names(node)
            points = Point(at_a.frame, at_a.time), Point(at_b.frame, at_b.time)
            if not self._follow(names, *points) and _reads_rank(text):
                self.source = "the rank"

    def _one_place(self, name: str, a: Event, b: Event, values: tuple[str, str]) -> None:
        site = a.site
        assert site is not None
        points = Point(a.frame, a.time), Point(b.frame, b.time)
        if a.kind == "item" and a.value[2] in ("set", "frozenset"):
            self._step("loop", a, name, values, f"item {a.value[0]} of a set")
            self.source = _SET_ORDER
            self._made(ast.unparse(site.value) if site.value is not None else "", *points)
            return
        note = f"item {a.value[0]}" if a.kind == "item" else ""
        self._step("loop" if a.kind == "item" else "set", a, name, values, note)
        if a.kind == "item" and self._in_generator(a):
            return
        if self._test_in(site.value, a) or self._returned(site.value, a):
            return
        before = [name] if site.kind == "change" else []  # `x += y` and `x.append(y)` also read `x`
        if not self._follow([*read_names(site.value), *before], *points):
            self._end(site, values, a)

    def _made(self, name: str, a: Point, b: Point) -> None:
        """Adds the line that made a set. The texts of equal sets can differ in their order."""
        ours, theirs = _find(self._first, a, name)[0], _find(self._second, b, name)[0]
        if ours is not None and theirs is not None:
            self._step("set", ours, name, (_value(ours, name), _value(theirs, name)))

    def _end(self, site: Site, values: tuple[str, str], event: Event) -> None:
        """Names the source: the inputs of the line of `event` do not differ."""
        called = called_names(site.value)
        self.source = _source_of(site.value)
        for each in event.frame.events:  # a function of the user that reads a source
            is_called = each.kind == "enter" and _is_called_by(site, each.line)
            back = _return_of(each.value) if is_called and not self.source else None
            if back is not None and back.site is not None:
                self.source = _source_of(back.site.value)
        if not self.source and any(value.startswith("tensor") for value in values):
            self.source = "data, which differs between ranks"
        if not self.source and called:
            self.source = f"{called[0]}(): {_OWN_RESULT}"

    def _returned(self, node: Optional[ast.expr], event: Event) -> bool:
        """Follows the result of a function of the user, if `node`, an expression of the event's
        line, is a call of this function."""
        site = event.site
        assert site is not None
        calls = [
            each.value
            for each in event.frame.events
            if each.kind == "enter" and each.time < event.time and _is_called_by(site, each.line)
        ]
        if not calls or not isinstance(node, ast.Call):
            return False
        other = self._walk.frames.get(calls[-1])
        a, b = _return_of(calls[-1]), _return_of(other) if other is not None else None
        if a is None or b is None:
            return False
        values = _value(a, ""), _value(b, "")
        if a.site is not b.site:
            self._two_places("the result", a, b, values)
            return True
        assert a.site is not None
        self._step("return", a, "the result", values)
        if not self._test_in(a.site.value, a):
            points = Point(a.frame, a.time), Point(b.frame, b.time)
            if not self._follow(read_names(a.site.value), *points):
                self._end(a.site, values, a)
        return True

    def _two_places(self, name: str, a: Event, b: Event, values: tuple[str, str]) -> None:
        """Adds the line that set the name, if the sides set it at two lines. Continues at the test
        that led one side to its line."""
        parted = {each.site for each in self._walk.partings}
        inside = [event for event in (a, b) if any(up in parted for up in _around(event.site))]
        event, other = (b, a) if inside == [b] else (a, b)
        assert event.site is not None and other.site is not None
        note = f"only on one side; the other is from line {other.site.line}"
        self._step("set", event, name, values, note)
        for each in (event, other):
            for site in _around(each.site):
                tests = [p for p in self._walk.partings if p.site is site and p.kind == "test"]
                if tests:
                    self._test(tests[-1])
                    return

    # Tests

    def _test_in(self, node: Optional[ast.AST], event: Event) -> bool:
        """Follows a conditional expression or a filter within `node` that had two outcomes."""
        if node is None:
            return False
        lines = [
            (each.lineno, each.end_lineno or each.lineno)
            for each in ast.walk(node)
            if isinstance(each, _WITH_TESTS)
        ]
        for parting in reversed(self._walk.partings):
            a, site = parting.a, parting.site
            if (
                parting.kind == "test"
                and a is not None
                and site is not None
                and site.kind in ("ifexp", "filter")
                and a.frame is event.frame
                and a.time < event.time
                and any(begin <= site.line <= end for begin, end in lines)
            ):
                self._test(parting)
                return True
        return False

    def _test(self, parting: Parting) -> None:
        a, b, site = parting.a, parting.b, parting.site
        if a is None or b is None or site is None or a in self._seen:
            return
        self._seen.add(a)
        names = telling_operands([a, b])
        self._step("test", a, "", (_test_text(a, names), _test_text(b, names)))
        self._operands(parting)

    def _operands(self, parting: Parting) -> None:
        """Follows the operands of a test that differ."""
        a, b, site = parting.a, parting.b, parting.site
        assert a is not None and b is not None and site is not None
        ours, theirs = a.operands(), b.operands()
        differ = [name for name in site.names if ours.get(name) != theirs.get(name)] or site.names
        nodes = [ast.parse(name, mode="eval").body for name in differ]
        points = Point(a.frame, a.time), Point(b.frame, b.time)
        names = [name for node in nodes for name in read_names(node)]
        if any(self._returned(node, a) for node in nodes) or self._follow(names, *points):
            return
        if site.kind == "filter" and self._follow(_iterables(site, names), *points):
            return
        for node in nodes:
            self.source = self.source or _source_of(node)

    def _loop(self, a: Event, b: Event) -> None:
        """Follows the iterable of a loop with more iterations on one side."""
        site = a.site
        assert site is not None
        if site.kind != "for":
            return
        if self._in_generator(a):
            return
        points = Point(a.frame, a.time), Point(b.frame, b.time)
        if not (self._test_in(site.value, a) or self._returned(site.value, a)):
            self._follow(read_names(site.value), *points)

    def _in_generator(self, event: Event) -> bool:
        """Follows the last parting inside the user's generator that a loop iterates over."""
        for parting in reversed(self._walk.partings):
            a, b, site = parting.a, parting.b, parting.site
            if a is None or b is None or site is None or event.site is None or a in self._seen:
                continue
            is_inside = a.frame.parent is event.frame and _is_called_by(event.site, a.frame.line)
            if is_inside and a.time <= event.time:
                if parting.kind == "test":
                    self._test(parting)
                else:
                    self._seen.add(a)
                    self._step("loop", a, "", (loop_text(a), loop_text(b)))
                    self._loop(a, b)
                return True
        return False


def _is_called_by(site: Site, line: int) -> bool:
    """Whether a call at this line is in the expression of a site. A loop also has a body."""
    value = site.value
    return value is not None and value.lineno <= line <= (value.end_lineno or value.lineno)


def is_by_chance(source: str) -> bool:
    """Whether a source can give other values in another run."""
    return source.startswith(_CHANCE) or source.endswith(_OWN_RESULT)


def _source_of(node: Optional[ast.expr]) -> str:
    """Names the source of differences between ranks that an expression reads, or returns ""."""
    if node is None:
        return ""
    if _reads_rank(ast.unparse(node)):
        return "the rank"
    called = set(called_names(node))
    if "set" in called or isinstance(node, (ast.Set, ast.SetComp)):
        return _SET_ORDER
    return next((source for source, names in _SOURCES.items() if called & set(names.split())), "")


def outcome_text(event: Event) -> str:
    """Returns the outcome of a test."""
    return {True: "true", False: "false"}.get(event.value[0], "an object")


def _test_text(event: Event, names: Sequence[str]) -> str:
    """Returns e.g. `true, pos = 3, eos_at = 3`."""
    operands = event.operands()
    values = [f"{name} = {operands[name]}" for name in names if name in operands]
    return ", ".join([outcome_text(event), *values])


def telling_operands(events: Sequence[Event]) -> list[str]:
    """Returns the operands of a test that differ between ranks, and those they are compared with.
    If none differ, returns all of them."""
    site = events[0].site
    assert site is not None and site.value is not None
    known = [event.operands() for event in events]
    differ = {name for name in site.names if len({each.get(name) for each in known}) > 1}
    kept = set(differ)
    for node in ast.walk(site.value):
        if isinstance(node, ast.Compare):
            sides = {ast.unparse(side) for side in (node.left, *node.comparators)}
            kept |= sides if sides & differ else set()
    return [name for name in dict.fromkeys(site.names) if name in kept or not differ]


def loop_text(event: Event) -> str:
    if event.kind == "done":
        return f"ends after {turns(event.value)}"
    return f"turn {event.value[0]}"


def turns(number: int) -> str:
    return f"{number} turn{'' if number == 1 else 's'}"


def _is_plain(text: str) -> bool:
    return text in ("True", "False", "None") or not text[:1].isalpha()


def is_rank_itself(step: Step) -> bool:
    """Whether a step only reads the rank, such as `rank = dist.get_rank()`."""
    target, equals, value = step.text.partition("=")
    is_plain = bool(equals) and not re.search(r"[=!<>%/*+]|\bif\b", value)
    return step.kind == "set" and is_plain and _reads_rank(value)


def _reads_rank(text: str) -> bool:
    return any(word in text for word in _RANK)


def _is_rank(option: _Option) -> bool:
    """Whether the line that set the name reads the rank."""
    if option.events is None:
        return False
    site = option.events[0].site
    return site is not None and option.events[0].kind == "value" and _reads_rank(site.text)


def _around(site: Optional[Site]) -> list[Site]:
    found = []
    while site is not None and site.parent is not None:
        site = site.parent
        found.append(site)
    return found


def _find(trace: Trace, point: Point, name: str) -> tuple[Optional[Event], Optional[Frame]]:
    """Returns the event that set a name last, or else the frame whose parameter it is."""
    if name in ("self", "cls"):
        return None, None
    if "." in name:
        return _find_attribute(trace, point.time, name.rpartition(".")[2]), None
    frame: Optional[Frame] = point.frame
    while frame is not None and frame.site is not None:
        event = _last_in(frame, point.time, name)
        if event is not None:
            return _last_change(trace, event, point.time, name) or event, None
        if name in frame.site.names:
            return None, frame
        frame = _frame_around(trace, frame.site, point.time)
    return None, None


def _last_in(frame: Frame, time: int, name: str) -> Optional[Event]:
    for event in reversed(frame.events):
        site = event.site
        if event.time < time and site is not None:
            if event.kind == "value" and name in site.names:
                return event
            if event.kind == "item" and site.target is not None:
                if name in target_names(site.target):
                    return event
    return None


def _find_attribute(trace: Trace, time: int, attribute: str) -> Optional[Event]:
    """Returns the last event that set this attribute, of any object or in a class."""
    found = None
    for site, events in trace.by_site.items():
        in_class = site.function.rpartition(".")[2][:1].isupper()
        names = [name.rpartition(".") for name in site.names]
        if events[0].kind == "value" and any(
            last == attribute and (dot or in_class) for _, dot, last in names
        ):
            found = _latest(found, events, time)
    return found


def _last_change(trace: Trace, event: Event, time: int, name: str) -> Optional[Event]:
    """Returns the last change of the named object after `event` in another function of the file."""
    found = None
    for site, events in trace.by_site.items():
        assert event.site is not None
        if site.kind == "change" and site.path == event.site.path and site.names == [name]:
            found = _latest(found, [e for e in events if e.frame is not event.frame], time)
    return found if found is not None and found.time > event.time else None


def _latest(found: Optional[Event], events: Sequence[Event], time: int) -> Optional[Event]:
    """Returns the last of `found` and `events` before a time."""
    index = bisect.bisect_left([event.time for event in events], time) - 1
    if index < 0 or (found is not None and found.time > events[index].time):
        return found
    return events[index]


def _frame_around(trace: Trace, site: Site, time: int) -> Optional[Frame]:
    """Returns the frame of the function around a nested function, or of the module."""
    function = site.function
    while function:
        function = function.rpartition(".")[0]
        for frame in reversed(trace.frames):
            around = frame.site
            if around is not None and around.path == site.path and around.function == function:
                if frame.entered is not None and frame.entered.time < time:
                    return frame
    return None


def _value(event: Event, name: str) -> str:
    """Returns the text of a name's value, which can be part of an assigned tuple."""
    text = str(event.value[1] if event.kind == "item" else event.value)
    target = event.site.target if event.site is not None else None
    if not isinstance(target, (ast.Tuple, ast.List)) or not name:
        return text
    names, parts = [ast.unparse(each) for each in target.elts], _parts(text)
    return parts[names.index(name)] if name in names and len(parts) == len(names) else text


def _parts(text: str) -> list[str]:
    """Splits the text of a tuple or list into its items."""
    parts, depth = [""], 0
    for char in text[1:-1]:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _parameter(frame: Frame, name: str) -> str:
    assert frame.site is not None
    index = frame.site.names.index(name)
    return frame.arguments[index] if index < len(frame.arguments) else ""


def _return_of(frame: Frame) -> Optional[Event]:
    for event in reversed(frame.events):
        if event.site is not None and event.site.kind == "return":
            return event
    return None


def _calls_at(path: str, line: int) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or 0)
    ]


def _argument_of(frame: Frame, name: str) -> Optional[tuple[ast.expr, str]]:
    """Returns the expression that a caller passed as a parameter, and its file."""
    caller, site = frame.parent, frame.site
    if caller is None or caller.site is None or site is None:
        return None
    parameters = [each for each in site.names if each not in ("self", "cls")]
    for call in _calls_at(caller.site.path, frame.line):
        is_indirect = site.text in ("__init__", "__call__", "forward")
        if last_name(call.func) != site.text and not is_indirect:
            continue
        for keyword in call.keywords:
            if keyword.arg == name:
                return keyword.value, caller.site.path
        if name in parameters and parameters.index(name) < len(call.args):
            return call.args[parameters.index(name)], caller.site.path
    return None


def _iterables(site: Site, names: Sequence[str]) -> list[str]:
    """Returns the names that a comprehension iterates over, for the variables in its filter."""
    return [
        name
        for node in ast.walk(tree_of(site.path))
        for loop in getattr(node, "generators", [])
        if node.lineno <= site.line <= node.end_lineno
        and set(target_names(loop.target)) & set(names)
        for name in read_names(loop.iter)
    ]
