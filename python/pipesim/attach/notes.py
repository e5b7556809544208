"""The file of a rank: a mapped file of fixed size, which survives the end of its process.

The file has the texts of all different lines, and a ring of their numbers. A note of a call is a
number in the ring: it writes memory only, without a lock or a system call. `keeper` moves the
numbers of finished steps from the ring to a second file. docs/reference/record-format.md describes
both files.
"""

from __future__ import annotations

import itertools
import mmap
import os
import struct
import threading
from collections.abc import Hashable
from pathlib import Path

MAGIC = b"pipesim1"
_HEADER = struct.Struct("<8sIIII")  # magic, rank, world, bytes of texts, slots of the ring
_BEAT = struct.Struct("<QI")  # seconds since 1970, seconds without a new line
_END = struct.Struct("<Q")  # position after the last line at that time
_BEAT_AT, _WHERE_AT, _END_AT, _THREADS_AT, _TEXTS_AT = 24, 36, 40, 64, 128

THREADS = 16  # number of threads whose current line is kept
TEXTS = 1 << 20  # bytes
SLOTS = 1 << 17
_MASK = SLOTS - 1
_PIECE = 1 << 10  # slots that are read at once


class Full(Exception):
    """The texts of the lines fill the file."""


class Notes:
    """The file of a rank while the job runs."""

    def __init__(self, path: Path, rank: int, world: int) -> None:
        size = _TEXTS_AT + TEXTS + 4 * SLOTS
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            os.posix_fallocate(fd, 0, size)  # later, a full disk would be a SIGBUS
            self._map = mmap.mmap(fd, size)
        finally:
            os.close(fd)
        view = memoryview(self._map)
        self._ring = view[_TEXTS_AT + TEXTS :].cast("I")
        self._where = view[_WHERE_AT : _WHERE_AT + 4].cast("I")
        # Line in which each thread is, as long as it is in a call or a wait; else 0.
        self.threads = view[_THREADS_AT:_TEXTS_AT].cast("I")
        self.lines: dict[Hashable, int] = {}  # numbers of lines, by what they consist of
        self.steps: set[int] = set()  # numbers of lines that end a step
        self._used = 0
        self._count = 0  # number of texts
        self._next = itertools.count()
        self._lock = threading.RLock()  # held while a text is added, never during a call
        _HEADER.pack_into(self._map, 0, MAGIC, rank, world, TEXTS, SLOTS)

    def define(self, key: Hashable, text: str) -> int:
        """Adds the text of a new line, and returns the line's number."""
        with self._lock:
            known = self.lines.get(key)
            if known is not None:
                return known
            data = text.encode("utf-8", "replace") + b"\n"
            if self._used + len(data) >= TEXTS:
                raise Full
            begin = _TEXTS_AT + self._used
            self._map[begin : begin + len(data)] = data
            self._used += len(data)
            self._count += 1
            self.lines[key] = self._count
            return self._count

    def add(self, number: int) -> int:
        """Notes a line, and returns its position."""
        at = next(self._next)
        self._ring[at & _MASK] = number
        return at

    def is_last(self, at: int) -> bool:
        """Whether no line follows the line at this position."""
        return self._ring[(at + 1) & _MASK] == 0

    def lines_from(self, at: int) -> list[int]:
        """Returns the numbers of all lines from this position on."""
        numbers: list[int] = []
        while len(numbers) < SLOTS:
            begin = (at + len(numbers)) & _MASK
            found = self._ring[begin : begin + _PIECE].tolist()
            if 0 in found:
                return numbers + found[: found.index(0)]
            numbers += found
        return numbers

    def forget(self, begin: int, end: int) -> None:
        """Empties the slots of lines that are stored elsewhere."""
        while begin < end:
            first = begin & _MASK
            count = min(end - begin, SLOTS - first)
            self._ring[first : first + count] = memoryview(bytes(4 * count)).cast("I")
            begin += count

    def beat(self, now: int, idle: int, where: int, end: int) -> None:
        """Shows that the process is alive. `idle`: seconds without a new line; `where`: the place
        of the main thread, or 0; `end`: the position after the last line."""
        _END.pack_into(self._map, _END_AT, end)
        _BEAT.pack_into(self._map, _BEAT_AT, now, idle)
        self._where[0] = where
