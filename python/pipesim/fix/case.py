"""The facts about a hang: where the ranks part, what led there, and the source around it."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from pipesim.fix.roles import Roles
from pipesim.fix.source import Source
from pipesim.recorder.places import is_installed
from pipesim.why.report import Analysis
from pipesim.why.sites import Site
from pipesim.why.traces import NEW_GROUP, Event, Trace
from pipesim.why.trail import Step
from pipesim.why.walk import Parting


@dataclasses.dataclass(frozen=True)
class Proposal:
    """An edit of a file. `kind`: see docs/explanation/fix-a-script.md. `extra`: the new lines,
    without indentation, whose calls the job did not make before. `thought`: the decision that is
    left to the author, if any. `reorders`: calls before the first difference can change their
    order. `regroups`: these calls can have other sizes. `changes`: what the job does in addition.
    `unless`: the text of a better edit; if that is proved, this one is not tried."""

    kind: str
    title: str
    path: str
    text: str
    extra: frozenset[str] = frozenset()
    thought: str = ""
    reorders: bool = False
    changes: str = ""
    unless: str = ""
    regroups: bool = False


class Place(NamedTuple):
    """A line of a file. `call`: the function that it calls."""

    path: str
    line: int
    call: str = ""


class Case:
    """An analyzed hang. `hang`: the value of `hang` in `pipesim check --json`."""

    def __init__(self, analysis: Analysis, backend: str, hang: Optional[Mapping[str, Any]]) -> None:
        self.traces = analysis.traces
        self.kind: str = analysis.result["kind"]
        self.clash, self.wrong_messages = analysis.clash, analysis.wrong_messages
        self.finding, self.parting = analysis.finding, analysis.parting
        self.steps: list[Step] = analysis.trail.steps if analysis.trail is not None else []
        self.decided_by: str = analysis.trail.source if analysis.trail is not None else ""
        self.sides: list[dict[str, Any]] = analysis.result.get("sides", [])
        self.blocked = set(_blocked(hang))  # lines at which ranks are blocked, e.g. "train.py:20"
        self.reached = reached(hang)
        self.backend = backend
        self._sources: dict[str, Source] = {}
        self._roles: dict[str, Roles] = {}

    # Files

    def source(self, path: str) -> Source:
        if path not in self._sources:
            self._sources[path] = Source(path)
        return self._sources[path]

    def roles(self, path: str) -> Roles:
        if path not in self._roles:
            paths = dict.fromkeys(path for trace in self.traces for path in trace.files)
            others = [Roles(self.source(each)) for each in paths if each != path]
            shared = {name for each in others for name in each.shared}
            self._roles[path] = Roles(self.source(path), shared)
        return self._roles[path]

    def name(self, path: str) -> str:
        """Returns the name of a file in reports."""
        names = (trace.files[path] for trace in self.traces if path in trace.files)
        return next(names, path)

    def is_installed(self, path: str) -> bool:
        return is_installed(path)

    # The parting

    @property
    def tests(self) -> Iterator[Parting]:
        """Yields the tests at which the ranks part: the last test first, then the tests that led to
        it."""
        if self.finding is None:
            return
        seen: set[Site] = set()
        if self.parting is not None and self.parting.kind == "test":
            assert self.parting.site is not None
            seen.add(self.parting.site)
            yield self.parting
        for step in self.steps:
            for parting in self.finding.walk.partings if step.kind == "test" else ():
                site = parting.site
                is_step = site is not None and (site.path, site.line) == (step.path, step.line)
                if is_step and parting.kind == "test" and site not in seen:
                    assert site is not None
                    seen.add(site)
                    yield parting

    def stack(self, trace: Trace, event: Optional[Event]) -> list[Place]:
        """Returns the traced lines that led to a call, innermost first."""
        found = []
        for line in trace.stack(event) if event is not None else ():
            path = trace.path_of(line.at)
            if path is not None:
                found.append(Place(path, int(line.at.rpartition(":")[2]), line.call))
        return found

    def calls_of(self, parting: Parting) -> Iterator[tuple[Trace, list[Place]]]:
        """Yields the stacks of the calls that only one side of a parting makes."""
        assert self.finding is not None
        traces = self.finding.first, self.finding.second
        regions = [
            [event for event in region if trace.group(event) is not None]
            for trace, region in zip(traces, (parting.region_a, parting.region_b))
        ]
        calls = [
            [(trace.group(event), trace.signature(event)) for event in region]
            for trace, region in zip(traces, regions)
        ]
        matcher = difflib.SequenceMatcher(a=calls[0], b=calls[1], autojunk=False)
        for tag, a, end_a, b, end_b in matcher.get_opcodes():
            if tag != "equal":
                yield from ((traces[0], self.stack(traces[0], e)) for e in regions[0][a:end_a])
                yield from ((traces[1], self.stack(traces[1], e)) for e in regions[1][b:end_b])

    # The calls that differ

    def differing(self) -> Iterator[tuple[Trace, Event]]:
        if self.finding is None:
            return
        first, second, found = self.finding.first, self.finding.second, self.finding.mismatch
        pair = self.finding.in_step or ((found.a, found.b) if found is not None else (None, None))
        for trace, event in zip((first, second), pair):
            if event is not None:
                yield trace, event

    @property
    def roots(self) -> Optional[tuple[str, str]]:
        """The roots of two calls that differ only in their root."""
        calls = [(trace.group(event), *trace.signature(event)) for trace, event in self.differing()]
        if len(calls) < 2 or calls[0][:-1] != calls[1][:-1]:
            return None
        return str(calls[0][-1]), str(calls[1][-1])

    def group_argument(self, place: Place) -> Optional[str]:
        """Returns `, group=G`, with the group of the calls that differ, for a new call at a place;
        "" for the world group; None if no name of the group is known there."""
        for trace, event in self.differing():
            for argument, at in self._group_arguments(trace, event):
                if self._is_known(argument, at, place):
                    return f", group={ast.unparse(argument)}"
            group = trace.group(event)
            if group is None or group is NEW_GROUP or group == (tuple(range(len(self.traces))), 0):
                return ""
            return None
        return ""

    def _group_arguments(self, trace: Trace, event: Event) -> list[tuple[ast.expr, Place]]:
        """Returns the expressions of a call's group."""
        stack = self.stack(trace, event)
        if not stack:
            return []
        found = []
        for call in calls_at(self.source(stack[0].path), stack[0].line):
            for keyword in call.keywords:
                if keyword.arg in ("group", "process_group", "pg"):
                    found.append((keyword.value, stack[0]))
        return found

    def _is_known(self, node: ast.expr, at: Place, place: Place) -> bool:
        """Whether the names of an expression at one place mean the same at another one."""
        if at.path != place.path:
            return False
        source = self.source(at.path)
        inside = source.function_at(at.line)
        if inside is source.function_at(place.line):
            return True
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        local = {name for each in ast.walk(inside or source.tree) for name in bound_names(each)}
        return not names & local

    def device_argument(self) -> str:
        """Returns `, device=...` for a tensor of the group of the calls that differ."""
        for trace, event in self.differing():
            if "g" in event.entry:
                definition = trace.backends.get(event.entry["g"], "") or self.backend
                return ', device="cuda"' if definition == "nccl" else ""
        return ', device="cuda"' if self.backend == "nccl" else ""


def reached(hang: Optional[Mapping[str, Any]]) -> int:
    """Returns the number of ops that are done before a hang."""
    return int(hang["acts"]["done"]) if hang is not None else 0


def _blocked(hang: Optional[Mapping[str, Any]]) -> Iterator[str]:
    for rank in hang["ranks"] if hang is not None else ():
        for thread in rank["threads"]:
            at = thread.get("at", {}).get("at", "")
            if at and not thread["finished"]:
                yield at.partition(" ")[0]


def bound_names(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    return ()


def calls_at(source: Source, line: int) -> list[ast.Call]:
    """Returns the calls on a line, outermost first."""
    return [
        node for node in source.all(ast.Call)
        if node.lineno <= line <= (node.end_lineno or node.lineno)
    ]  # fmt: skip


class Modules:
    """The names of `torch` and `torch.distributed` in a file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._torch = self.distributed = ""
        self._last_import: Optional[ast.stmt] = None
        for node in source.tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._last_import = node
        for node in source.all(ast.Import):
            for alias in node.names:
                if alias.name == "torch.distributed":
                    self.distributed = alias.asname or alias.name
                if alias.name.partition(".")[0] == "torch" and alias.asname is None:
                    self._torch = "torch"
                if alias.name == "torch" and alias.asname is not None:
                    self._torch = alias.asname
        for node in source.all(ast.ImportFrom):
            for alias in node.names:
                if node.module == "torch" and alias.name == "distributed":
                    self.distributed = alias.asname or alias.name
        if not self.distributed:
            self.distributed = f"{self.torch}.distributed"

    @property
    def torch(self) -> str:
        return self._torch or "torch"

    def with_imports(self, text: str) -> str:
        """Returns an edited text with the imports that its new lines need."""
        new = "\n".join(set(text.split("\n")) - set(self._source.lines))
        needed = []
        if not self._torch and re.search(r"\btorch\.", new):
            needed.append("import torch")
        if "itertools." in new and not re.search(r"^import .*\bitertools\b", text, re.M):
            needed.append("import itertools")
        if not needed or self._last_import is None:
            return text
        last = self._last_import.end_lineno or self._last_import.lineno
        lines = text.split("\n")
        return "\n".join([*lines[:last], *needed, *lines[last:]])


def free_name(source: Source, line: int, name: str) -> str:
    """Returns `name`, or another name if the function at this line or the module already uses
    `name`."""
    nodes = [source.function_at(line) or source.tree, *source.tree.body]
    used = {
        each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)
        and (node is nodes[0] or source.function_at(each.lineno) is None)
    }  # fmt: skip
    names = itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))
    return next(each for each in names if each not in used)


def propose(
    source: Source, kind: str, title: str, text: str, extra: Sequence[str] = (),
    thought: str = "", reorders: bool = False, changes: str = "", unless: str = "",
) -> Iterator[Proposal]:
    """Yields a proposal if its text is valid and differs from the source."""
    text = Modules(source).with_imports(text)
    try:
        compile(text, source.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    if text != source.text:
        lines = frozenset(line.strip() for line in extra)
        yield Proposal(kind, title, source.path, text, lines, thought, reorders, changes, unless)

