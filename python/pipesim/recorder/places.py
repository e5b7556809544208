"""Places: the lines of the script that led to a call."""

from __future__ import annotations

import dataclasses
import dis
import functools
import inspect
import itertools
import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MethodType, TracebackType
from typing import Any, Optional

import pipesim

_PACKAGE = os.path.dirname(os.path.abspath(pipesim.__file__)) + os.sep
_STANDARD_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")

# Our files whose function names mean nothing to the user. Patches have the names of the functions
# that they replace.
_RECORDER = os.path.join(_PACKAGE, "recorder", "rank_recorder.py")
_CUDA = os.path.join(_PACKAGE, "recorder", "cuda_streams.py")

# Functions of rank.py that call the script. Their callers belong to the process that forked.
_RANK = os.path.join(_PACKAGE, "recorder", "rank.py")
_BOTTOM = frozenset({"run_rank", "_run_and_end", "_run_script"})

_INSTALLED = re.compile(rf".*{re.escape(os.sep)}(?:site|dist)-packages{re.escape(os.sep)}")

# File names of notebook cells in older and newer versions of IPython.
_CELL = re.compile(
    r"<ipython-input-(?P<number>\d+)-.*>|.*/(?:ipykernel_\d+|ipython-input-[\w-]+)\b"
)

# Functions of torch between `model(x)` and the model's forward; a place names them "forward".
_CALLS_OF_MODULES = frozenset({"_wrapped_call_impl", "_call_impl"})

# Maximum number of cached stacks, so that code that is generated repeatedly does not fill memory.
_MAX_KNOWN_STACKS = 10_000


@dataclasses.dataclass(frozen=True, eq=False)
class Place:
    """A line of the user's code or of an installed package, and the chain of its callers.

    Equal places are the same object.
    """

    at: str  # "train.py:20"
    function: str  # empty at the top level
    call: str  # name of the function called at this line, or empty
    library: bool  # the line is in an installed package, not in the user's code
    up: Optional[Place]  # the line that called this function


@functools.lru_cache(maxsize=None)
def is_torch(filename: str) -> bool:
    """Whether the file belongs to torch."""
    folder = os.path.join(os.path.dirname(sys.modules["torch"].__file__ or ""), "")
    return filename.startswith(folder)


def calls_from_cpp(filename: str) -> bool:
    """Whether a group was called from C++, if the innermost frame outside the group is in this
    file. A Python call comes from distributed_c10d.py or a file outside torch."""
    return is_torch(filename) and not filename.endswith("distributed_c10d.py")


@functools.lru_cache(maxsize=None)
def is_installed(filename: str) -> bool:
    """Whether the file is in a folder of installed packages, such as site-packages."""
    return _INSTALLED.match(filename) is not None


@functools.lru_cache(maxsize=None)
def _is_shown(filename: str) -> bool:
    """Whether places show lines of this file: all except files of pipesim, torch and the standard
    library, and generated code."""
    if filename.startswith("<"):  # generated code, unless the user typed it
        return filename == "<stdin>" or _CELL.match(filename) is not None
    if is_torch(filename) or filename.startswith(_PACKAGE):
        return False
    return not filename.startswith(_STANDARD_LIBRARY) or is_installed(filename)


def is_users(frame: Optional[FrameType]) -> bool:
    """Whether the frame runs code of the user, or of a package that the user installed."""
    return frame is not None and _is_shown(frame.f_code.co_filename)


def is_users_file(filename: str) -> bool:
    """Whether the file is the user's own, and in no installed package."""
    return _is_shown(filename) and not is_installed(filename)


def is_ours(frame: FrameType) -> bool:
    """Whether the frame runs code of the recorder."""
    return frame.f_code.co_filename.startswith(_PACKAGE)


def _callee(frame: FrameType) -> str:
    name = frame.f_code.co_name
    if name in _CALLS_OF_MODULES and is_torch(frame.f_code.co_filename):
        return "forward"
    if name == "__init__" and "self" in frame.f_locals:
        return type(frame.f_locals["self"]).__name__
    return name


def _wrapped_by(frame: FrameType) -> Iterator[Any]:
    """Yields the objects that a frame may wrap: the variables that its function closes over, and
    `__wrapped__` of a called object. Runs no code of the user's objects."""
    code, local = frame.f_code, frame.f_locals
    for name in code.co_freevars:
        yield local.get(name)
    if code.co_name == "__call__" and code.co_argcount > 0:
        yield inspect.getattr_static(local.get(code.co_varnames[0]), "__wrapped__", None)


def _is_wrapper(frame: FrameType, called: set[CodeType]) -> bool:
    """Whether the frame passes its arguments on to a function that it wraps, as decorators do, and
    that function led to the call. `called`: the code of the frames inside this frame."""
    passes_all = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    if frame.f_code.co_flags & passes_all != passes_all:
        return False
    for function in _wrapped_by(frame):
        function = function.__func__ if isinstance(function, MethodType) else function
        if isinstance(function, FunctionType) and function.__code__ is not frame.f_code:
            if function.__code__ in called:
                return True
    return False


def _cell_name(filename: str) -> Optional[str]:
    """Returns the name of a notebook cell in IPython's tracebacks, e.g. `In[3]`, or None for other
    files. The file name of a cell differs between runs."""
    cell = _CELL.match(filename)
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    number = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(filename)
    if number is None and cell is not None:
        number = cell["number"]
    if number is not None:
        return f"In[{number}]"
    return "notebook" if cell is not None else None


class Places:
    """The finder of places. Paths of files are relative to `folder`; for packages, to the folder in
    which they are installed. Other paths are shortened to their last two parts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, str] = {}
        self._places: dict[tuple[str, str, str, bool, Optional[Place]], Place] = {}
        # Known stacks, by the code's id and the instruction of each frame: the place, and the code
        # objects, kept alive so that the ids stay valid.
        self._known: dict[tuple[int, ...], tuple[Optional[Place], list[CodeType]]] = {}

    def current(self, frame: Optional[FrameType] = None) -> Optional[Place]:
        """Returns the innermost line that `_is_shown` accepts, or None, e.g. in torch's threads."""
        innermost = frame or sys._getframe(1)
        stack: list[int] = []
        add = stack.append
        at: Optional[FrameType] = innermost
        while at is not None:  # most of the cost of a note: known stacks need no more than this
            add(id(at.f_code))
            add(at.f_lasti)
            at = at.f_back
        key = tuple(stack)
        known = self._known.get(key)
        if known is None:
            if len(self._known) == _MAX_KNOWN_STACKS:
                self._known.clear()
            known = self._known[key] = self._new_stack(innermost)
        return known[0]

    def _new_stack(self, frame: FrameType) -> tuple[Optional[Place], list[CodeType]]:
        """Returns the place of a stack, and the code objects of its frames."""
        frames: list[FrameType] = []
        at: Optional[FrameType] = frame
        while at is not None:
            frames.append(at)
            at = at.f_back
        script = itertools.takewhile(lambda each: not _is_bottom(each), frames)
        place = self._place_of([(each, each.f_lineno) for each in script])
        return place, [each.f_code for each in frames]

    def raised(self, trace: Optional[TracebackType]) -> Optional[Place]:
        """Returns the innermost shown line of an exception. The lines come from the traceback,
        because its frames may have continued to other lines."""
        steps: list[tuple[FrameType, int]] = []
        while trace is not None:
            if _is_bottom(trace.tb_frame):
                steps.clear()
            else:
                steps.append((trace.tb_frame, trace.tb_lineno))
            trace = trace.tb_next
        return self._place_of(steps[::-1])

    def calling(self, place: Place, call: str) -> Place:
        """Returns the place with the same line, at which `call` is called."""
        return self._same(place.at, place.function, call, place.library, place.up)

    def _place_of(self, steps: Sequence[tuple[FrameType, int]]) -> Optional[Place]:
        """Returns the place of a stack. `steps`: frames and their lines, innermost first."""
        found: list[tuple[str, str, str, bool]] = []
        called: set[CodeType] = set()
        call = ""
        for frame, line in steps:
            filename = frame.f_code.co_filename
            is_wrapper = _is_wrapper(frame, called)
            called.add(frame.f_code)
            if is_wrapper:
                continue
            name = _callee(frame)
            if _is_shown(filename):
                function = "" if name == "<module>" else frame.f_code.co_name
                at = f"{self.name_of(filename)}:{line}"
                found.append((at, function, _said(call), is_installed(filename)))
                call = name
                continue
            # Keeps the outermost public name of the hidden frames inside the next shown frame: the
            # line of the shown frame contains this name.
            ours = filename == _RECORDER or (filename == _CUDA and name == "add")
            if not ours and (not name.startswith("_") or not call):
                call = name
        place: Optional[Place] = None
        for parts in reversed(found):
            place = self._same(*parts, place)
        return place

    def _same(self, at: str, function: str, call: str, library: bool, up: Optional[Place]) -> Place:
        """Returns the only `Place` object with these fields."""
        key = (at, function, call, library, up)
        if key not in self._places:
            self._places[key] = Place(*key)
        return self._places[key]

    def name_of(self, filename: str) -> str:
        """Returns the name of a file in the record."""
        if filename not in self._names:
            self._names[filename] = self._find_name(filename)
        return self._names[filename]

    def _find_name(self, filename: str) -> str:
        cell = _cell_name(filename)
        if cell is not None or filename.startswith("<"):
            return cell or filename
        path = Path(os.path.abspath(filename))
        installed = _INSTALLED.match(str(path))
        if installed is not None:
            return Path(str(path)[installed.end() :]).as_posix()
        try:
            return path.relative_to(self._folder).as_posix()
        except ValueError:
            return Path(*path.parts[-2:]).as_posix()


def _is_bottom(frame: FrameType) -> bool:
    """Whether this frame of the recorder called the script."""
    return frame.f_code.co_filename == _RANK and frame.f_code.co_name in _BOTTOM


def _said(call: str) -> str:
    """Returns the name of a call, or "" if the name means nothing to the user."""
    return "" if call.startswith(("_", "<")) else call


@functools.lru_cache(maxsize=None)
def is_result_used(code: CodeType, offset: int) -> bool:
    """Whether the code uses the result of the call at `offset`: the next instruction does not drop
    it."""
    later = (i for i in dis.get_instructions(code) if i.offset > offset)
    return next(later).opname != "POP_TOP"
