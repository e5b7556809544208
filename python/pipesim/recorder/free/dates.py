"""Dates: each reading of a clock as a date is free, because dates are not followed."""

from __future__ import annotations

import datetime
import dis
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pipesim.recorder.free.clocks import taken
from pipesim.recorder.places import is_users

if TYPE_CHECKING:
    from pipesim.recorder.free import FreeAnswers


class _Like(type):
    """The type of replaced classes: their objects are those of the original class."""

    def __instancecheck__(cls, instance: Any) -> bool:
        original = vars(cls).get("original")  # a class that a script derives has none
        if original is None:
            return super().__instancecheck__(instance)
        return isinstance(instance, original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        original = vars(cls).get("original")
        if original is None:
            return super().__subclasscheck__(subclass)
        return issubclass(subclass, original)


def install(free: FreeAnswers) -> dict[int, Any]:
    """Replaces the functions that read a clock as a date. Returns the classes for the script by the
    id of the class that they replace."""
    readings = {"now": _now, "today": _now, "utcnow": _utcnow}
    made = {
        "date": _made_class(free, datetime.date, {"today": _today}),
        "datetime": _made_class(free, datetime.datetime, readings),
    }
    _show_to_script(made)
    _replace(free, "strftime", 1)
    for name in ("localtime", "gmtime", "ctime"):
        _replace(free, name, 0)
    return {id(each.original): each for each in made.values()}


def _show_to_script(made: dict[str, Any]) -> None:
    """Lets the module `datetime` give the classes only to names in the user's code. Compiled
    classes, such as those of pandas, cannot derive from them, and pickle expects the classes of its
    objects. Code in C has no frame, so the caller's instruction decides."""
    names = {dis.opmap.get(each) for each in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")}

    def shown(name: str) -> property:
        original = vars(datetime)[name]

        def get(_: ModuleType) -> Any:
            caller = sys._getframe(1)
            is_name = is_users(caller) and caller.f_code.co_code[caller.f_lasti] in names
            return made[name] if is_name else original

        return property(get)

    body = {name: shown(name) for name in made}
    datetime.__class__ = type("datetime", (ModuleType,), body)


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


def _made_class(
    free: FreeAnswers, original: Any, readings: dict[str, Callable[..., Any]]
) -> Any:
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
    return made


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
