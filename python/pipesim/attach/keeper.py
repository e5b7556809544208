"""The daemon thread of attach: once a second, it shows that the process is alive, folds the lines
of finished steps, and compares the cost of the notes with the budget.

The lines of a step are a block. The file `rankN.steps` has a text line per item, appended by one
write a second: "b NUMBERS" defines the next block, "r BLOCK TIMES" says how often it followed, and
"p POSITION", the last line of each write, that all lines before this position are in the file.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pipesim.attach.notes import SLOTS

if TYPE_CHECKING:
    from pipesim.attach.noting import Noting

SECONDS = 1.0
_IDLE = 3  # seconds without a new line after which the place of the main thread is noted
_MAX_BLOCK = 4096  # lines
_MAX_BLOCKS = 20_000  # different blocks that are compared with new ones
_MAX_BYTES = 100 << 20
_SECONDS_ABOVE_BUDGET = 10
DEFAULT_BUDGET = 5.0  # percent of the time


class Keeper(threading.Thread):
    """The thread of one rank. It ends when the rank stops taking notes."""

    def __init__(self, noting: Noting, path: Path) -> None:
        super().__init__(name="pipesim-attach", daemon=True)
        self._noting = noting
        self._notes = noting.notes
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        self._main = threading.main_thread().ident or 0
        self._wake = threading.Event()
        self._lock = threading.Lock()  # the main thread flushes at its end
        self._written = 0  # bytes
        self._folded = 0  # position before which all lines are in the file
        self._seen = 0  # position of the first line that the last look did not see
        self._idle = 0  # seconds without a new line
        self._blocks: dict[tuple[int, ...], int] = {}
        self._defined = 0  # number of blocks
        self._steps = False  # whether the script has an optimizer's step
        self._dear = 0  # consecutive seconds above the budget
        said = os.environ.get("PIPESIM_ATTACH_BUDGET", "")
        self._budget = float(said) if said else DEFAULT_BUDGET
        self._notes.beat(int(time.time()), 0, 0, 0)

    def run(self) -> None:
        while not self._wake.wait(SECONDS) and self._noting.active:
            try:
                self._look()
            except Exception as error:
                self._noting.fail(error)

    def end(self) -> None:
        """Writes all lines, and ends the thread."""
        self._wake.set()
        if self.is_alive():  # Python must not end while the thread runs
            self.join(timeout=2 * SECONDS)
        end = self._folded + len(self._notes.lines_from(self._folded))
        self._flush(end)
        self._notes.beat(int(time.time()), self._idle, 0, end)

    def _look(self) -> None:
        end = self._folded + len(self._notes.lines_from(self._folded))
        calls = end - self._seen
        self._idle = 0 if calls else self._idle + 1
        where = 0
        if self._idle >= _IDLE:
            frame = sys._current_frames().get(self._main)
            where = self._noting.line_of_frame(frame) if frame is not None else 0
        self._notes.beat(int(time.time()), self._idle, where, end)
        # Lines of the last second stay: a thread may be about to note that its call has waited.
        self._flush(self._seen)
        self._seen = end
        self._compare_cost(calls)

    def _compare_cost(self, calls: int) -> None:
        nanoseconds, measured = self._noting.cost
        share = nanoseconds / max(1, measured) * calls / (SECONDS * 1e9) * 100
        self._dear = self._dear + 1 if share > self._budget else 0
        if self._dear == _SECONDS_ABOVE_BUDGET:
            self._noting.stop(
                f"the notes of {calls} calls take {share:.0f}% of a second; "
                "PIPESIM_ATTACH_BUDGET=PERCENT allows more"
            )

    def _flush(self, end: int) -> None:
        """Writes the blocks that end before this position, and empties their slots."""
        with self._lock:
            lines = self._notes.lines_from(self._folded)[: max(0, end - self._folded)]
            texts: list[str] = []
            begin = 0
            last, times = 0, 0
            for stop in self._stops(lines):
                block = self._block(tuple(lines[begin:stop]), texts)
                begin = stop
                if block != last and times:
                    texts.append(f"r {last} {times}\n")
                    times = 0
                last, times = block, times + 1
            if not begin:
                return
            texts.append(f"r {last} {times}\np {self._folded + begin}\n")
            data = "".join(texts).encode()
            if self._written + len(data) > _MAX_BYTES:
                self._noting.stop(f"its file has {_MAX_BYTES >> 20} MiB")
                return
            os.write(self._file, data)
            self._written += len(data)
            self._notes.forget(self._folded, self._folded + begin)
            self._folded += begin

    def _stops(self, lines: list[int]) -> list[int]:
        """Returns the ends of blocks: after each optimizer's step or, in a script without steps,
        before the first line of the block recurs."""
        stops, begin = [], 0
        for i, line in enumerate(lines):
            is_step = line in self._notes.steps
            self._steps = self._steps or is_step
            if is_step:
                begin = i + 1
            elif i > begin and (
                (not self._steps and line == lines[begin]) or i - begin >= _MAX_BLOCK
            ):
                begin = i
            if begin > (stops[-1] if stops else 0):
                stops.append(begin)
        return stops

    def _block(self, lines: tuple[int, ...], texts: list[str]) -> int:
        """Returns the number of a block, and defines it if it is new."""
        known = self._blocks.get(lines)
        if known is None:
            if len(self._blocks) == _MAX_BLOCKS:
                self._blocks.clear()
            self._defined += 1
            known = self._blocks[lines] = self._defined
            texts.append(f"b {' '.join(map(str, lines))}\n")
        return known


assert _MAX_BLOCK * 4 < SLOTS
