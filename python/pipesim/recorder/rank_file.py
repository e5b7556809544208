"""Files of ranks, in the format of docs/reference/record-format.md."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from pipesim.recorder import locks, threads
from pipesim.recorder.places import Place

if TYPE_CHECKING:
    from pipesim.why.tracer import Tracer

Entry = dict[str, Any]


class _Line:
    """A line that can still change, and its state in the file."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.held = False
        self.changed = True
        self.size = 0  # bytes in the file


class RankFile:
    """A rank's file, with a JSON object per line. The last entry and held entries can still change.

    Entries are written at once, because the process can end at any time; lines that change later
    are written again.
    """

    def __init__(self, path: Optional[Path], rank: int, world: int) -> None:
        """`path`: None keeps the file in memory, for `content`."""
        self._is_memory = path is None
        if path is None:
            self._fd = os.memfd_create(f"rank{rank}")
        else:
            self._fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        self._size = 0  # bytes before the lines that can change
        self._lines: list[_Line] = []
        self._places: dict[Place, str] = {}
        self.count = 0
        self.content = b""  # the whole file after its end, if it is kept in memory
        self.tracer: Optional[Tracer] = None  # also gets each entry and definition
        self._append({"record": 1, "rank": rank, "world": world}, None)
        self._write()

    @property
    def last(self) -> Optional[Entry]:
        """Returns the latest entry."""
        return self._lines[-1].entry if self._lines else None

    def place(self, place: Optional[Place]) -> Optional[str]:
        """Returns the id of the place. The first use defines it, after the places that called
        it."""
        if place is None:
            return None
        chain = []
        at: Optional[Place] = place
        while at is not None and at not in self._places:
            chain.append(at)
            at = at.up
        for each in reversed(chain):
            self._places[each] = f"l{len(self._places) + 1}"
            definition: Entry = {"def": self._places[each], "at": each.at}
            if each.function:
                definition["in"] = each.function
            if each.call:
                definition["call"] = each.call
            if each.library:
                definition["lib"] = True
            if each.up is not None:
                definition["up"] = self._places[each.up]
            self._lines.append(_Line(definition))
        return self._places[place]

    def define(self, definition: Entry, place: Optional[Place] = None) -> None:
        """Adds the definition of a group, stream or event. Keys without a value are omitted."""
        self._append(definition, place)
        if self.tracer is not None:
            self.tracer.add_entry(definition)

    def add(self, entry: Entry, place: Optional[Place], hold: bool = False) -> Entry:
        """Adds an entry. With `hold`, the entry can be changed until `release`."""
        if self._lines:
            self._lines[-1].changed = True
        line = self._append(entry, place)
        locks.note_call()
        if threads.label():
            entry["th"] = threads.label()
        line.held = hold
        self.count += 1
        self._write()
        if self.tracer is not None:
            self.tracer.add_entry(entry)
        return entry

    def release(self, entry: Entry) -> None:
        """Releases a held entry, which will not change again."""
        line = self._line_of(entry)
        if line is not None:
            line.held, line.changed = False, True

    def move_to_end(self, entry: Entry) -> None:
        """Moves a held entry after the entries that other threads have made meanwhile."""
        line = self._line_of(entry)
        if line is None or line is self._lines[-1]:
            return
        at = self._lines.index(line)
        self._lines.remove(line)
        self._lines.append(line)
        for each in self._lines[at:]:
            each.changed = True
        self._write()

    def end(self, entry: Entry, place: Optional[Place]) -> None:
        """Writes the last line, and closes the file."""
        for line in self._lines:
            line.held, line.changed = False, True
        self._append(entry, place)
        self._write()
        if self._is_memory:
            self.content = self._read()
        os.close(self._fd)
        self._fd = -1
        if self.tracer is not None:
            self.tracer.write(entry)

    def detach(self) -> None:
        """Discards further writes, in a process that the script forked: its calls are not the
        rank's."""
        self._fd = os.open(os.devnull, os.O_RDWR)

    def copy_memory(self) -> int:
        """Returns a copy of a file in memory, for `attach` in a copy of the rank."""
        copy = os.memfd_create("copy")
        os.write(copy, self._read())
        return copy

    def attach(self, copy: int) -> None:
        """Continues in a copy of the file."""
        os.close(self._fd)
        self._fd = copy

    def _read(self) -> bytes:
        return os.pread(self._fd, os.fstat(self._fd).st_size, 0)

    def _append(self, entry: Entry, place: Optional[Place]) -> _Line:
        l = self.place(place)
        if l is not None:
            entry["l"] = l
        for key in [k for k, value in entry.items() if value is None or value is False]:
            del entry[key]
        self._lines.append(_Line(entry))
        return self._lines[-1]

    def _line_of(self, entry: Entry) -> Optional[_Line]:
        return next((line for line in reversed(self._lines) if line.entry is entry), None)

    def _write(self) -> None:
        """Writes the first changed line and all later lines, and forgets lines that can no longer
        change."""
        first = next((i for i, line in enumerate(self._lines) if line.changed), len(self._lines))
        begin = self._size + sum(line.size for line in self._lines[:first])
        before = begin + sum(line.size for line in self._lines[first:])
        texts = []
        for line in self._lines[first:]:
            texts.append(_text(line.entry))
            line.size, line.changed = len(texts[-1]), False
        os.pwrite(self._fd, b"".join(texts), begin)
        after = begin + sum(map(len, texts))
        if after < before:
            os.ftruncate(self._fd, after)
        while len(self._lines) > 1 and not self._lines[0].held:
            self._size += self._lines.pop(0).size


def _text(entry: Entry) -> bytes:
    """Returns the line of an entry. Names of files and strings of the script can contain bytes that
    are not valid UTF-8; the line has "?" instead."""
    text = json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n"
    return text.encode("utf-8", "replace")
