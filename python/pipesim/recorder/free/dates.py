"""Dates: each reading of a clock as a date is free, because dates are not followed."""

from __future__ import annotations

import copyreg
import datetime
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pipesim.recorder.free.clocks import taken

if TYPE_CHECKING:
    from pipesim.recorder.free import FreeAnswers


class _Like(type):
    """The type of replaced classes: their objects are those of the original class."""

    original: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.original)


def install(free: FreeAnswers) -> None:
    """Replaces the functions that read a clock as a date."""
    _replace_class(free, datetime.date, {"today": _today})
    readings = {"now": _now, "today": _now, "utcnow": _utcnow}
    _replace_class(free, datetime.datetime, readings)
    _replace(free, "strftime", 1)
    for name in ("localtime", "gmtime", "ctime"):
        _replace(free, name, 0)


def _now(date: Any, seconds: float, tz: Any = None) -> Any:
    return date.fromtimestamp(seconds, tz)


def _today(date: Any, seconds: float) -> Any:
    return date.fromtimestamp(seconds)


def _utcnow(date: Any, seconds: float) -> Any:
    return date.fromtimestamp(seconds, datetime.timezone.utc).replace(tzinfo=None)


def _seconds(free: FreeAnswers) -> float:
    """Returns the time now. In an exploration, the clock can be much later."""
    if not free.explores:
        free.note("clock", "a date of now")
    return float(taken(free.clock.read("time")))


def _replace_class(
    free: FreeAnswers, original: Any, readings: dict[str, Callable[..., Any]]
) -> None:
    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return original.__new__(original if cls is made else cls, *args, **kwargs)

    def reading(name: str, read: Callable[..., Any]) -> Any:
        def now(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not free.is_free(sys._getframe(1)):
                return getattr(super(made, cls), name)(*args, **kwargs)  # type: ignore[misc]
            date = original if cls is made else cls
            return read(date, _seconds(free), *args, **kwargs)

        return classmethod(now)

    body = {name: reading(name, read) for name, read in readings.items()}
    made: Any = _Like(original.__name__, (original,), {"__new__": new, **body})
    made.original, made.__module__ = original, "datetime"
    # An object is pickled with the class that its module has by this name.
    copyreg.pickle(original, lambda date: (made, date.__reduce__()[1]))
    setattr(datetime, original.__name__, made)


def _replace(free: FreeAnswers, name: str, given: int) -> None:
    """Replaces a function of `time` that reads the clock if it has just `given` arguments."""
    original = getattr(time, name)
    local = time.localtime

    def show(*args: Any) -> Any:
        if len(args) == given and free.is_free(sys._getframe(1)):
            now = _seconds(free)
            return original(*args, local(now) if given else now)
        return original(*args)

    show.__name__ = name
    setattr(time, name, show)
