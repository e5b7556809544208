"""Writes a rank's file, in the format of docs/reference/record-format.md."""

from __future__ import annotations

import collections
import json
import os
import threading
from pathlib import Path
from typing import Any, Optional

from pipesim.recorder.places import Place

Entry = dict[str, Any]


class RankFile:
    """One JSON object per line. The last entry, and those held, can still be changed."""

    def __init__(self, path: Path, rank: int, world: int) -> None:
        # Names of files and what a script says may hold bytes that are no UTF-8.
        self._file = path.open("x", encoding="utf-8", errors="replace")
        self._entries: collections.deque[Entry] = collections.deque()
        self._held: set[int] = set()  # ids of entries that cannot be written yet
        self._places: dict[Place, str] = {}
        self._main_thread = threading.main_thread()
        self.count = 0
        self._write({"record": 1, "rank": rank, "world": world})

    @property
    def last(self) -> Optional[Entry]:
        """The latest entry."""
        return self._entries[-1] if self._entries else None

    def place(self, place: Optional[Place]) -> Optional[str]:
        """The id of the place, defined at its first use after those that it was called from."""
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
            self._entries.append(definition)
        return self._places[place]

    def define(self, definition: Entry, place: Optional[Place] = None) -> None:
        """A group, stream or event. Keys without a value are left out."""
        self._append(definition, place)

    def add(self, entry: Entry, place: Optional[Place], hold: bool = False) -> Entry:
        """Adds an entry; one that is held can be changed until `release`."""
        entry = self._append(entry, place)
        thread = threading.current_thread()
        if thread is not self._main_thread:
            entry["th"] = thread.name
        if hold:
            self._held.add(id(entry))
        self.count += 1
        while len(self._entries) > 1 and id(self._entries[0]) not in self._held:
            self._write(self._entries.popleft())
        return entry

    def release(self, entry: Entry) -> None:
        """The entry will not change any more."""
        self._held.discard(id(entry))

    def end(self, entry: Entry, place: Optional[Place]) -> None:
        """The last line."""
        self._append(entry, place)
        for waiting in self._entries:
            self._write(waiting)
        self._file.close()

    def detach(self) -> None:
        """In a process that the script forked: what it does is not the rank's."""
        self._file = open(os.devnull, "w", encoding="utf-8")

    def _append(self, entry: Entry, place: Optional[Place]) -> Entry:
        l = self.place(place)
        if l is not None:
            entry["l"] = l
        for key in [k for k, value in entry.items() if value is None or value is False]:
            del entry[key]
        self._entries.append(entry)
        return entry

    def _write(self, entry: Entry) -> None:
        self._file.write(json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n")
        self._file.flush()
