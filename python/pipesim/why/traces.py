"""Reads the traces of all ranks: for each rank, its frames and their events."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Optional, Union

from pipesim.why.sites import FILE_SHIFT, Site, sites_of
from pipesim.why.tracer import trace_file_name

Entry = dict[str, Any]

# The identity of a group in the whole job: its members, and its number among groups of these.
GroupKey = tuple[tuple[int, ...], int]

# All creations of groups are one sequence of the job.
NEW_GROUP: GroupKey = ((), 0)


@dataclasses.dataclass(eq=False)
class Event:
    """An event of a frame. `time`: its index in the rank's trace. `site`: None for an entry."""

    kind: str
    time: int
    frame: Frame
    site: Optional[Site]
    line: int
    value: Any
    entry: Entry = dataclasses.field(default_factory=dict)
    thread: int = 0

    @property
    def key(self) -> tuple[Any, ...]:
        """Returns a key that is equal for events of two ranks at one place, such as an item of a
        loop and the end of the loop."""
        if self.kind == "entry":
            return ("entry", self.line, self.op)
        return ("loop" if self.kind in ("item", "done") else self.kind, self.site)

    @property
    def op(self) -> str:
        """The kind of an entry, e.g. "all_reduce" or "new_group"."""
        return str(self.entry["call"] if "call" in self.entry else next(iter(self.entry), ""))

    @property
    def is_message(self) -> bool:
        return self.op in ("send", "recv")

    def operands(self) -> dict[str, str]:
        """Returns the operands of a test that were evaluated, by their source."""
        assert self.site is not None
        return {self.site.names[int(i)]: text for i, text in self.value[1].items()}


@dataclasses.dataclass(eq=False)
class Frame:
    """A call of a function. `site`: its `def`; None for the bottom of a thread."""

    site: Optional[Site]
    parent: Optional[Frame]
    line: int  # line of the caller
    arguments: list[str]
    entered: Optional[Event] = None
    events: list[Event] = dataclasses.field(default_factory=list)

    @property
    def last_time(self) -> int:
        """The time of the frame's last event, or of the last one of its last callee."""
        if not self.events:
            return self.entered.time if self.entered is not None else -1
        last = self.events[-1]
        return int(last.value.last_time) if last.kind == "enter" else last.time


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a stack."""

    at: str  # "train.py:20"
    function: str
    library: bool
    call: str  # the function that the line calls


class Trace:
    """The trace of a rank."""

    def __init__(self, folder: Path, rank: int) -> None:
        self.rank = rank
        self.groups: dict[str, GroupKey] = {}
        self.backends: dict[str, str] = {}  # by id of a group; empty: the record's backend
        self.entries: list[Event] = []
        self.frames: list[Frame] = []
        self.by_site: dict[Site, list[Event]] = {}
        self._places = _places(folder / f"rank{rank}.jsonl")
        self._bottoms: dict[int, Frame] = {}
        with (folder / trace_file_name(rank)).open(encoding="utf-8") as file:
            head = json.loads(next(file))
            self.end: Entry = head["end"]
            self.complete: bool = head["complete"]
            self.files: dict[str, str] = dict(head["files"])  # names, by path
            self._sites = [sites_of(path) for path, _ in head["files"]]
            self._read(map(json.loads, file))

    def _read(self, events: Iterable[list[Any]]) -> None:
        for time, (thread, number, kind, site_number, value) in enumerate(events):
            if thread not in self._bottoms:
                self._bottoms[thread] = Frame(None, None, 0, [])
            frame = self.frames[number - 1] if number else self._bottoms[thread]
            if kind == "entry":
                event = Event(kind, time, frame, None, site_number, None, value, thread)
                self.entries.append(event)
                self._define(value)
            else:
                site = self._sites[site_number >> FILE_SHIFT][site_number % (1 << FILE_SHIFT)]
                event = Event(kind, time, frame, site, site.line, value, thread=thread)
                self.by_site.setdefault(site, []).append(event)
                if kind == "enter":
                    _, event.line, arguments = value
                    event.value = Frame(site, frame, event.line, arguments, event)
                    self.frames.append(event.value)
            frame.events.append(event)
        self.last_time = time if self._bottoms else -1

    def _define(self, entry: Entry) -> None:
        if "group" in entry and "def" in entry:
            define_group(self.groups, entry)
            self.backends[entry["def"]] = entry.get("backend", "")

    @property
    def main(self) -> Optional[Frame]:
        """The bottom of the main thread, which makes the first event."""
        return next(iter(self._bottoms.values()), None)

    @property
    def is_cut(self) -> bool:
        """Whether the rank could have made more calls."""
        return bool(self.end.get("end") == "cut")

    def group(self, event: Event) -> Optional[GroupKey]:
        """Returns the group of a call; None for an entry that is not a call."""
        if "call" in event.entry:
            return self.groups.get(event.entry["g"])
        return NEW_GROUP if "new_group" in event.entry else None

    def signature(self, event: Event) -> tuple[Any, ...]:
        """Returns the properties that must be equal on all members of the group."""
        entry = event.entry
        if "new_group" in entry:
            return ("new_group", self.groups.get(entry["new_group"], ((),))[0])
        if entry["call"] in ("all_to_all", "barrier"):
            return (entry["call"], None, None, None)
        return (entry["call"], entry.get("bytes"), entry.get("type"), entry.get("root"))

    def stack(self, at: Union[Event, str, None]) -> list[Line]:
        """Returns the lines that led to an entry, or to a place, innermost first."""
        place = at.entry.get("l") if isinstance(at, Event) else at
        found = []
        while place is not None:
            definition = self._places[place]
            keys = (definition.get("in", ""), "lib" in definition, definition.get("call", ""))
            found.append(Line(definition["at"], *keys))
            place = definition.get("up")
        return found

    def path_of(self, at: str) -> Optional[str]:
        """Returns the path of the file in a place, if the file was traced."""
        name = at.rpartition(":")[0]
        return next((path for path, known in self.files.items() if known == name), None)


def define_group(groups: dict[str, GroupKey], entry: Entry) -> None:
    """Adds the group that an entry defines, by its id."""
    ranks = tuple(entry["ranks"])
    groups[entry["def"]] = (ranks, sum(key[0] == ranks for key in groups.values()))


def _places(path: Path) -> dict[str, Entry]:
    found = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if "at" in entry:
                found[entry["def"]] = entry
    return found


def read(folder: Path) -> list[Trace]:
    """Returns the traces of all ranks. Raises OSError or StopIteration if a rank died before it
    wrote its trace."""
    world = json.loads((folder / "record.json").read_text(encoding="utf-8"))["world"]
    return [Trace(folder, rank) for rank in range(world)]
