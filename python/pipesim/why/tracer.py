"""The tracer of one rank: the rewritten source reports to it, and it writes `trace{rank}.jsonl`.

The first line is `{"rank": 0, "files": [[PATH, NAME], ...], "end": {...}, "complete": true}`. Each
other line is an event, `[THREAD, FRAME, KIND, SITE, VALUE]`:

    enter    VALUE is the new frame's number, the line of its caller, and its arguments
    test     VALUE is the outcome, and the operands by index
    item     VALUE is the item's number, its text, and the type of the iterable
    done     VALUE is the number of items
    value    VALUE is the text of an assigned, changed or returned value
    handler  VALUE is the type of the exception
    entry    VALUE is an entry of the record; SITE is the line of the user's frame

Values are short texts; equal texts count as equal values. No method of a user's object is called.
"""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import json
import os
import re
import runpy
import sys
import sysconfig
import threading
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Optional

import torch

from pipesim.recorder import values
from pipesim.recorder.edited import run_script
from pipesim.recorder.free.chance import Chance
from pipesim.recorder.free.clocks import ClockInt, ClockFloat
from pipesim.recorder.places import is_users
from pipesim.why import sites

if TYPE_CHECKING:
    from pipesim.recorder.rank_recorder import RankRecorder

# A site's events in one frame after this number, until the next call of a group, are dropped. All
# ranks drop the same events.
_MAX_EVENTS_PER_SITE = 1000
_MAX_EVENTS = 400_000

_MAX_TEXT = 60
_MAX_ITEMS = 8

_BRACKETS = {list: "[]", tuple: "()", dict: "{}", set: "{}", frozenset: "{}"}
_PLAIN = (int, float, bool, type(None), complex, ClockFloat, ClockInt, Chance)


def trace_file_name(rank: int) -> str:
    return f"trace{rank}.jsonl"


def text_of(value: Any, depth: int = 2) -> str:
    """Returns a short text of a value: exact built-in types, up to `depth` levels, and tensors."""
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)
    if kind in (str, bytes, range, slice):
        text = repr(value)
        return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 4] + "..." + text[-1]
    if kind in _BRACKETS:
        return _collection(value, depth)
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, torch.distributed.ProcessGroup):
        ranks = getattr(getattr(value, "group", None), "ranks", None)
        return "group" if ranks is None else f"group of ranks {list(ranks)}"
    of_script = depth == 2 and kind.__module__ == "__main__"
    fields = getattr(value, "__dict__", None) if of_script else None
    if type(fields) is dict and fields:
        known = [(k, v) for k, v in list(fields.items())[:4] if not k.startswith("_")]
        return f"{kind.__name__}({', '.join(f'{k}={text_of(v, 0)}' for k, v in known)})"
    return str(getattr(kind, "__name__", "object"))


def _collection(value: Any, depth: int) -> str:
    opening, closing = _BRACKETS[type(value)]
    if depth == 0:
        return f"{opening}{len(value)} items{closing}" if value else opening + closing
    try:
        parts = [part for part, _ in zip(value, range(_MAX_ITEMS))]
        if type(value) is dict:
            texts = [f"{text_of(k, depth - 1)}: {text_of(value[k], depth - 1)}" for k in parts]
        else:
            texts = [text_of(part, depth - 1) for part in parts]
    except (RuntimeError, KeyError):  # another thread changes it
        return type(value).__name__
    if len(value) > _MAX_ITEMS:
        texts.append(f"... {len(value)} items")
    comma = "," if type(value) is tuple and len(value) == 1 else ""
    return f"{opening}{', '.join(texts)}{comma}{closing}"


def _tensor(value: torch.Tensor) -> str:
    try:
        with values.quiet():
            if value.numel() <= _MAX_ITEMS and value.layout == torch.strided and not value.is_meta:
                return f"tensor({value.detach().tolist()})"
            return f"tensor of {'x'.join(map(str, value.shape))}"
    except Exception:  # a subclass can refuse any of these
        return "tensor"


class Tracer:
    """The runtime of rewritten source, and the writer of the rank's trace."""

    def __init__(self, recorder: RankRecorder, path: Path) -> None:
        self._rank, self._path = recorder.rank, path
        self._name = recorder.file_name
        self._files: list[tuple[str, str]] = []
        self._events: list[tuple[int, int, str, int, Any]] = []
        self._complete = True
        self._frames: dict[int, int] = {}  # by id of the Python frame, as long as it runs
        self._count = 0  # number of frames
        self._operands: dict[int, dict[int, str]] = {}  # by site
        self._busy: dict[int, list[int]] = {}  # by site: frame, and number of events in it

    def code_of(self, path: str) -> Optional[types.CodeType]:
        """Returns the code of a source file, rewritten; None if the file cannot be rewritten."""
        try:
            source = sites.edited_text(path)
            if source is None:
                source = importlib.util.decode_source(Path(path).read_bytes())
            tree = sites.rewrite(path, source, len(self._files))
            code: types.CodeType = compile(tree, path, "exec", dont_inherit=True)
        except (SyntaxError, RecursionError, ValueError, OSError):
            return None
        self._files.append((os.path.abspath(path), self._name(path)))
        return code

    def run_script(self, path: str) -> None:
        """Runs a script as runpy.run_path does, rewritten if possible."""
        code = self.code_of(path) if os.path.isfile(path) else None
        if code is None:
            runpy.run_path(path, run_name="__main__")
            return
        run_script(path, code)

    def write(self, end: dict[str, Any]) -> None:
        """Writes the file, at the end of the rank's record."""
        head = {"rank": self._rank, "files": self._files, "end": end, "complete": self._complete}
        with self._path.open("w", encoding="utf-8", errors="replace") as file:
            for line in (head, *self._events):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def add_entry(self, entry: dict[str, Any]) -> None:
        """Adds an entry of the record. The entry can change until `write`."""
        if "call" in entry or "new_group" in entry:
            self._busy.clear()  # ranks make a matching call at the same place
        frame: Optional[FrameType] = sys._getframe(1)
        while frame is not None and not is_users(frame):
            frame = frame.f_back
        self._add(self._frame(frame), "entry", frame.f_lineno if frame is not None else 0, entry)

    # Called by rewritten source

    def enter(self, site: int, arguments: tuple[Any, ...]) -> None:
        frame = sys._getframe(1)
        caller: Optional[FrameType] = frame.f_back
        parent = self._frame(caller)
        while caller is not None and id(caller) not in self._frames:
            caller = caller.f_back
        self._count += 1
        self._frames[id(frame)] = self._count
        line = caller.f_lineno if caller is not None else 0
        self._add(parent, "enter", site, (self._count, line, [text_of(each) for each in arguments]))

    def leave(self) -> None:
        self._frames.pop(id(sys._getframe(1)), None)

    def operand(self, site: int, index: int, value: Any) -> Any:
        self._operands.setdefault(site, {})[index] = text_of(value)
        return value

    def test(self, site: int, value: Any) -> bool:
        outcome = bool(value)  # a value such as a tensor may be converted only once
        self._report("test", site, (outcome, self._operands.pop(site, {})))
        return outcome

    def either(self, site: int, value: Any) -> Any:
        """Reports an operand of `and` or `or`, and returns its value."""
        known = type(value) in (*_PLAIN, str, *_BRACKETS)
        outcome = bool(value) if known else None
        self._report("test", site, (outcome, self._operands.pop(site, {})))
        return value

    def items(self, site: int, iterable: Iterable[Any]) -> Iterator[Any]:
        frame, kind = self._frame(sys._getframe(1)), type(iterable).__name__
        return self._items(site, iter(iterable), frame, kind)

    def _items(self, site: int, items: Iterator[Any], frame: int, kind: str) -> Iterator[Any]:
        number = 0
        for item in items:
            number += 1
            if not self._is_busy(frame, site):
                self._add(frame, "item", site, (number, text_of(item), kind))
            yield item
        self._add(frame, "done", site, number)

    def value(self, site: int, value: Any) -> Any:
        self._report("value", site, value)
        return value

    def changed(self, site: int, value: Any) -> None:
        self._report("value", site, value)

    def handler(self, site: int) -> None:
        self._report("handler", site, type(sys.exc_info()[1]).__name__)

    # Tools

    def _report(self, kind: str, site: int, value: Any) -> None:
        frame = self._frame(sys._getframe(2))
        if not self._is_busy(frame, site):
            self._add(frame, kind, site, text_of(value) if kind == "value" else value)

    def _frame(self, frame: Optional[FrameType]) -> int:
        """Returns the number of the innermost rewritten frame; 0 if there is none."""
        while frame is not None:
            number = self._frames.get(id(frame))
            if number is not None:
                return number
            frame = frame.f_back
        return 0

    def _is_busy(self, frame: int, site: int) -> bool:
        events = self._busy.get(site)
        if events is None or events[0] != frame:
            self._busy[site] = [frame, 1]
            return False
        events[1] += 1
        return events[1] > _MAX_EVENTS_PER_SITE

    def _add(self, frame: int, kind: str, site: int, value: Any) -> None:
        if len(self._events) < _MAX_EVENTS:
            self._events.append((threading.get_ident(), frame, kind, site, value))
        else:
            self._complete = False


class _Loader(importlib.machinery.SourceFileLoader):
    tracer: Tracer

    def get_code(self, fullname: str) -> Optional[types.CodeType]:
        return self.tracer.code_of(self.path) or super().get_code(fullname)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the user's modules, and those installed modules whose files are in `installed`."""

    def __init__(self, tracer: Tracer, installed: Iterable[str]) -> None:
        self._tracer, self._installed = tracer, frozenset(installed)
        self._library = os.path.join(sysconfig.get_path("stdlib"), "")
        self._ours = os.path.join(str(Path(__file__).resolve().parents[1]), "")

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        file = spec.loader.path
        package = re.split(r"[/\\](?:site|dist)-packages[/\\]", file)
        if len(package) > 1:
            if package[-1] not in self._installed:
                return None
        elif file.startswith((self._library, self._ours)):
            return None
        spec.loader = _Loader(fullname, file)
        spec.loader.tracer = self._tracer
        return spec


def install(recorder: RankRecorder, folder: Path, installed: Iterable[str]) -> Tracer:
    """Traces the modules that this rank imports from now on. `installed`: files of installed
    packages."""
    tracer = Tracer(recorder, folder / trace_file_name(recorder.rank))
    setattr(builtins, sites.TRACER, tracer)
    sys.meta_path.insert(0, _Finder(tracer, installed))
    recorder.file.tracer = tracer
    return tracer
