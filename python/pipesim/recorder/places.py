"""The user's line: which line of the script led to a call."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from pathlib import Path
from types import FrameType
from typing import NamedTuple, Optional

import pipesim

_PACKAGE = os.path.dirname(os.path.abspath(pipesim.__file__)) + os.sep
_STANDARD_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")

# Where our own names mean nothing to the user; patches have those of what they replace.
_RECORDER = os.path.join(_PACKAGE, "recorder", "rank_recorder.py")
_CUDA = os.path.join(_PACKAGE, "recorder", "cuda_streams.py")

# Functions of torch that wrap others (distributed/c10d_logger.py, utils/_contextlib.py).
_WRAPPERS = frozenset({"wrapper", "inner", "decorate_context"})


class Place(NamedTuple):
    """`at` is `file:line`, `function` empty at the top level, `call` what is called there."""

    at: str
    function: str
    call: str


@functools.lru_cache(maxsize=None)
def is_torch(filename: str) -> bool:
    """A file of torch."""
    folder = os.path.join(os.path.dirname(sys.modules["torch"].__file__ or ""), "")
    return filename.startswith(folder)


@functools.lru_cache(maxsize=None)
def _is_users(filename: str) -> bool:
    """Neither ours nor torch's, nor of the standard library (`contextlib` between the two)."""
    if filename.startswith("<") or is_torch(filename) or filename.startswith(_PACKAGE):
        return False
    in_library = filename.startswith(_STANDARD_LIBRARY)
    return not in_library or "-packages" in filename


def is_users(frame: Optional[FrameType]) -> bool:
    """The frame runs code of the user."""
    return frame is not None and _is_users(frame.f_code.co_filename)


def _callee(frame: FrameType) -> str:
    name = frame.f_code.co_name
    if name == "__init__" and "self" in frame.f_locals:
        return type(frame.f_locals["self"]).__name__
    return name


class Places:
    """Finds places; files are named relative to `folder`, others by their last two parts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, str] = {}

    def current(self, frame: Optional[FrameType] = None) -> Optional[Place]:
        """The innermost frame of the user. None if there is none, e.g. in a thread of torch."""
        call = ""
        frame = frame or sys._getframe(1)
        while frame is not None:
            filename = frame.f_code.co_filename
            if _is_users(filename):
                function = frame.f_code.co_name
                return Place(
                    at=f"{self._name(filename)}:{frame.f_lineno}",
                    function="" if function == "<module>" else function,
                    call="" if call.startswith("_") else call,
                )
            # The outermost name between the user's frame and ours, as the user wrote it.
            name = _callee(frame)
            ours = filename == _RECORDER or (filename == _CUDA and name == "add")
            if not ours and name not in _WRAPPERS and (not name.startswith("_") or not call):
                call = name
            frame = frame.f_back
        return None

    def _name(self, filename: str) -> str:
        if filename not in self._names:
            path = Path(os.path.abspath(filename))
            try:
                name = path.relative_to(self._folder)
            except ValueError:
                name = Path(*path.parts[-2:])
            self._names[filename] = name.as_posix()
        return self._names[filename]
