"""A line on the terminal while the recorder works. Output of the script replaces it."""

from __future__ import annotations

import io
import math
import os
import sys
import time
from typing import cast

from pipesim.recorder.settings import Settings

_CLEAR = "\r\x1b[K"


class Progress:
    """Shows nothing if stderr is not a terminal."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._begin = time.monotonic()
        self._next = 0.0
        self.interval = 1.0 if settings.progress else math.inf  # seconds between two lines

    def show(self, calls: int) -> None:
        """At most once a second."""
        now = time.monotonic()
        if not self._settings.progress or now < self._next:
            return
        self._next = now + self.interval
        ranks, seconds = self._settings.ranks, now - self._begin
        self.say(f"recording {ranks} ranks: {calls:,} calls, {seconds:.0f} s")

    def say(self, text: str) -> None:
        """Shows this text instead."""
        if self._settings.progress:
            sys.stderr.write(_CLEAR + text)
            sys.stderr.flush()

    def clear(self) -> None:
        """Removes the line."""
        self.say("")


class Clearing(io.TextIOWrapper):
    """A rank's stream to the same terminal."""

    def write(self, text: str) -> int:
        os.write(self.fileno(), _CLEAR.encode())
        return super().write(text)


def clear_before_output() -> None:
    """In the process of a rank whose output is shown."""
    for name in ("stdout", "stderr"):
        stream = cast(io.TextIOWrapper, getattr(sys, name))
        encoding, errors = stream.encoding, stream.errors
        setattr(sys, name, Clearing(stream.detach(), encoding, errors, line_buffering=True))
