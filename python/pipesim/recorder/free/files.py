"""Files that ranks share: the order of two accesses is free if one of them is a change."""

from __future__ import annotations

import builtins
import io
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from pipesim.recorder.free import FreeAnswers

# Files that no other rank uses, unless the script runs there. Their names can differ between runs.
_NOT_SHARED = (tempfile.gettempdir(), "/dev", "/proc", "/sys")

_FLAGS_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_EVENTS = frozenset(
    "os.mkdir os.remove os.rename os.rmdir os.truncate os.link os.symlink shutil.copyfile".split()
)

_THERE, _MISSING = "is there", "is missing"
_EXISTENCE = ("exists", "isfile", "isdir", "is_file", "is_dir")
_LOOKS = ("exists", "isfile", "isdir", "getmtime", "getsize")
_CHANGES = ("mkdir", "makedirs", "remove", "unlink", "rename", "replace", "rmdir")

# Methods of pathlib.Path.
_PATH_LOOKS = ("exists", "is_file", "is_dir", "stat", "read_text", "read_bytes", "iterdir")
_PATH_CHANGES = (
    "mkdir",
    "unlink",
    "rename",
    "replace",
    "rmdir",
    "touch",
    "write_text",
    "write_bytes",
)


def install(free: FreeAnswers) -> None:
    def access(name: str, owner: Any, writes: Callable[..., bool]) -> None:
        original = getattr(owner, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if args and free.is_free(sys._getframe(1)):
                paths = args[:2] if name in ("rename", "replace") else args[:1]
                for path in paths:
                    if isinstance(path, (str, os.PathLike)):
                        _access(free, name, os.fspath(path), writes(*args, **kwargs))
                if name in _EXISTENCE and _is_missing(free, original(*args, **kwargs), args[0]):
                    return False
            return original(*args, **kwargs)

        wrapper.__name__ = name
        setattr(owner, name, wrapper)

    if free.explores:
        _watch_changes(free)
        _copy_before_writing(free)
    for name in _LOOKS:
        access(name, os.path, lambda *_, **__: False)
    access("listdir", os, lambda *_, **__: False)
    for name in _CHANGES:
        access(name, os, lambda *_, **__: True)
    access("open", builtins, _opens_to_write)
    for name in _PATH_LOOKS:
        access(name, pathlib.Path, lambda *_, **__: False)
    for name in _PATH_CHANGES:
        access(name, pathlib.Path, lambda *_, **__: True)
    access("open", pathlib.Path, _opens_to_write)
    _replace_save(free)


def _watch_changes(free: FreeAnswers) -> None:
    """Detects all changes of files that Python makes: the messages of ranks can then depend on
    files."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            changes = bool(int(arguments[2] or 0) & _FLAGS_TO_WRITE)
        else:
            changes = event in _EVENTS
        if changes and isinstance(arguments[0], str) and _is_shared(arguments[0]):
            free.wrote = True

    sys.addaudithook(hook)


def _copy_before_writing(free: FreeAnswers) -> None:
    """Replaces links by copies before they are written to: the ranks of an exploration run in a
    folder of links, and must not change the user's files."""
    original = builtins.open

    def open_copy(file: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, (str, os.PathLike)) and _opens_to_write(file, *args, **kwargs):
            _replace_link(os.fspath(file))
        return original(file, *args, **kwargs)

    builtins.open = io.open = open_copy


def _replace_link(path: Any) -> None:
    if os.path.islink(path) and os.path.isfile(path):
        copy = f"{path}.pipesim"
        shutil.copyfile(path, copy)
        os.replace(copy, path)


def _is_shared(path: str) -> bool:
    whole = os.path.abspath(path)
    return not whole.startswith(_NOT_SHARED) or whole.startswith(os.path.join(os.getcwd(), ""))


def _opens_to_write(*args: Any, **kwargs: Any) -> bool:
    mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
    return bool(set("wax+") & set(str(mode)))


def _replace_save(free: FreeAnswers) -> None:
    original = torch.save

    def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(f, (str, os.PathLike)) and free.is_free(sys._getframe(1)):
            _access(free, "save", os.fspath(f), True)
            free.wrote = True
            if free.explores:
                _replace_link(f)
        original(obj, f, *args, **kwargs)

    torch.save = save


def _access(free: FreeAnswers, name: str, path: Any, writes: bool) -> None:
    """Notes or asks for an access. A change of a file also changes the list of its folder."""
    if not isinstance(path, str):
        return
    shown = os.path.relpath(path)
    if not _is_shared(path):
        return
    if not free.explores:
        free.note("file", f"{name}()", path=shown, writes=writes)
    elif free.asks("files"):
        whole = os.path.abspath(path)
        objects: tuple[Any, ...] = ((("file", whole), "write" if writes else "read"),)
        if writes:
            objects += ((("file", os.path.dirname(whole)), "add"),)
        if writes and free.node is not None:
            objects += ((("node", free.node, whole), "write"),)
        free.choose("file", f"{name}('{shown}')", ("go",), objects=objects)


def _is_missing(free: FreeAnswers, is_found: bool, path: Any) -> bool:
    """Whether a file that is there is missing on this node, where no rank has made it."""
    if not is_found or free.node is None or not free.asks("files"):
        return False
    shown, whole = os.path.relpath(path), os.path.abspath(path)
    about = f"'{shown}' on node {free.node}"
    objects = ((("node", free.node, whole), "read"),)
    return free.choose("node", about, (_THERE, _MISSING), objects=objects) == _MISSING
