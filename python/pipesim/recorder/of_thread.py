"""Thread-local attributes of objects."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

Kept = TypeVar("Kept")


class OfThread(Generic[Kept]):
    """A thread-local attribute of an object whose `of_thread` is a threading.local()."""

    def __init__(self, default: Kept) -> None:
        self._default = default
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type) -> Kept:
        kept: Kept = owner.of_thread.__dict__.get(self._name, self._default)
        return kept

    def __set__(self, owner: Any, value: Kept) -> None:
        setattr(owner.of_thread, self._name, value)
