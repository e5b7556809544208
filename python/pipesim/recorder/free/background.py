"""Queues, threads and futures: work in the background is done early or late."""

from __future__ import annotations

import concurrent.futures
import queue
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipesim.recorder.free import FreeAnswers

_GETS, _EMPTY = "gets an item", "finds nothing"
_SECONDS = 20.0  # longest wait for work in the background that an answer claims to be done


def install(free: FreeAnswers) -> None:
    _replace_queues(free)
    _replace_state(
        free, threading.Thread, "is_alive", done=False, finish=lambda t: t.join(_SECONDS)
    )
    _replace_state(
        free,
        concurrent.futures.Future,
        "done",
        done=True,
        finish=lambda f: concurrent.futures.wait([f], _SECONDS),
    )


def _others_run() -> bool:
    return threading.active_count() > 1


def _replace_queues(free: FreeAnswers) -> None:
    get, empty = queue.Queue.get, queue.Queue.empty

    def can_get(self: Any, about: str) -> bool:
        """Whether the queue's item comes in time. Asks no question if no item can come."""
        if not self.queue and not _others_run():
            return False
        return free.choose("queue", about, (_GETS, _EMPTY)) == _GETS

    def get_free(self: Any, about: str, timeout: Any) -> Any:
        if not free.explores:
            free.note("queue", about)
            return get(self, timeout is not None, timeout)
        if not can_get(self, about):
            free.clock.now += timeout or 0.0
            raise queue.Empty
        return get(self, True, _SECONDS)

    def is_free(frame: Any) -> bool:
        return (free.asks("queues") or not free.explores) and free.is_free(frame)

    def get_with_timeout(self: Any, block: bool = True, timeout: Any = None) -> Any:
        is_timed = not block or timeout is not None
        if not is_timed or not is_free(sys._getframe(1)):
            return get(self, block, timeout)
        return get_free(self, "Queue.get()", timeout if block else None)

    def get_nowait(self: Any) -> Any:
        if not is_free(sys._getframe(1)):
            return get(self, False)
        return get_free(self, "Queue.get_nowait()", None)

    def is_empty(self: Any) -> bool:
        if not is_free(sys._getframe(1)):
            return empty(self)
        if free.explores:
            return not can_get(self, "Queue.empty()")
        free.note("queue", "Queue.empty()")
        return empty(self)

    changed: Any = queue.Queue
    changed.get, changed.get_nowait, changed.empty = get_with_timeout, get_nowait, is_empty


def _replace_state(
    free: FreeAnswers, owner: Any, name: str, done: bool, finish: Callable[[Any], Any]
) -> None:
    """Replaces a method that returns `done` once the work is done, else not `done`."""
    original = getattr(owner, name)

    def state(self: Any) -> bool:
        if not free.is_free(sys._getframe(1)):
            return bool(original(self))
        if not free.explores:
            free.note("thread", f"{owner.__name__}.{name}()")
            return bool(original(self))
        if not free.asks("threads") or not _is_begun(self):
            return bool(original(self))
        about = f"{owner.__name__}.{name}()"
        usual = f"is {done}"
        if free.choose("thread", about, (usual, f"is {not done}")) != usual:
            return not done
        finish(self)
        return bool(original(self))

    state.__name__ = name
    setattr(owner, name, state)


def _is_begun(work: Any) -> bool:
    return not isinstance(work, threading.Thread) or work.ident is not None
