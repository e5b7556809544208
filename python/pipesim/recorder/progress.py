"""The progress line on the terminal. The script's output overwrites it."""

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
    """The progress line on stderr; not shown if stderr is not a terminal."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._begin = time.monotonic()
        self._next = 0.0
        self.interval = 1.0 if settings.progress else math.inf  # seconds between two updates

    def show(self, calls: int) -> None:
        """Updates the line, at most once per second."""
        now = time.monotonic()
        if not self._settings.progress or now < self._next:
            return
        self._next = now + self.interval
        ranks, seconds = self._settings.ranks, now - self._begin
        self.say(f"recording {ranks} ranks: {calls:,} calls, {seconds:.0f} s")

    def say(self, text: str) -> None:
        """Replaces the line by `text`."""
        if self._settings.progress:
            sys.stderr.write(_CLEAR + text)
            sys.stderr.flush()

    def clear(self) -> None:
        """Removes the line."""
        self.say("")


class Clearing(io.TextIOWrapper):
    """A rank's output stream to the terminal, which clears the progress line before each write."""

    def write(self, text: str) -> int:
        os.write(self.fileno(), _CLEAR.encode())
        return super().write(text)


def clear_before_output() -> None:
    """Makes stdout and stderr clear the progress line, in the process of a rank whose output is
    shown."""
    for name in ("stdout", "stderr"):
        stream = cast(io.TextIOWrapper, getattr(sys, name))
        encoding, errors = stream.encoding, stream.errors
        setattr(sys, name, Clearing(stream.detach(), encoding, errors, line_buffering=True))
