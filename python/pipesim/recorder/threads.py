"""The threads of a rank: their names in the record, and the order of their calls.

The broker identifies a thread by its path (see messages.Question). Each thread knows how many calls
of each other thread came before: from a start, a join, or the result of a future. Other means that
order threads (queues, events) are ignored; see `locks` for those whose order can differ.
"""

from __future__ import annotations

import collections
import concurrent.futures
import concurrent.futures.thread
import functools
import itertools
import threading
from collections.abc import Callable
from typing import Any, Union

# Packages whose threads never call torch.distributed; a rank does not wait for such threads.
_HELPERS = ("IPython", "ipykernel", "multiprocessing", "tensorboard", "tqdm", "torch.utils.data")

_UNKNOWN = 1 << 30  # first number in the path of a thread that C++ or `_thread` has started

# The number of earlier calls of each thread, by the thread's label ("" for the main thread), and of
# its earlier uses of locks, by its path.
Calls = dict[Union[str, tuple[int, ...]], int]


class _Own(threading.local):
    """The recorder's knowledge of the current thread."""

    def __init__(self) -> None:
        thread = threading.current_thread()
        path = getattr(thread, "_pipesim_path", None)
        self.path: tuple[int, ...] = (_UNKNOWN, next(_others)) if path is None else path
        self.started = itertools.count(1)
        self.label = ""
        self.known: Calls = dict(getattr(thread, "_pipesim_known", {}))
        self.said: dict[str, int] = {}


_others = itertools.count()
_has_started: list[bool] = []  # for each started thread, whether it can call
_own = _Own()
_labels: collections.Counter[str] = collections.Counter()


def path() -> tuple[int, ...]:
    """Returns the path of this thread."""
    return _own.path


def label() -> str:
    """Returns the name of this thread, with a number if an earlier thread has the same name; "" for
    the main thread."""
    if _own.path and not _own.label:
        name = threading.current_thread().name
        _labels[name] += 1
        _own.label = name if _labels[name] == 1 else f"{name}#{_labels[name]}"
    return _own.label


def started_at() -> Any:
    """Returns the place at which this thread was started, found by the `place` of `install`."""
    return getattr(threading.current_thread(), "_pipesim_place", None)


def count_call() -> dict[str, int]:
    """Counts a call of this thread, or its destroy of a group. Returns the numbers of other
    threads' earlier calls that have changed since this thread's last call."""
    own = label()
    news = {
        thread: n
        for thread, n in _own.known.items()
        if isinstance(thread, str) and _own.said.get(thread) != n
    }
    news.pop(own, None)
    _own.said.update(news)
    _own.known[own] = _own.known.get(own, 0) + 1
    return news


def count_use() -> int:
    """Counts a use of a lock by this thread. Returns the number of its uses."""
    _own.known[_own.path] = _own.known.get(_own.path, 0) + 1
    return _own.known[_own.path]


def knows(thread: tuple[int, ...], number: int) -> bool:
    """Whether the thread's use of a lock certainly precedes what the current thread does."""
    return _own.known.get(thread, 0) >= number


def _learn(calls: Calls) -> None:
    for thread, number in calls.items():
        _own.known[thread] = max(number, _own.known.get(thread, 0))


def install(place: Callable[[], Any]) -> None:
    """Follows all threads that are started from now on. The calling thread is the main thread."""
    _own.path, _own.known = (), {}
    _install_in_threads(place)
    _install_in_futures()


def _install_in_threads(place: Callable[[], Any]) -> None:
    start, join = threading.Thread.start, threading.Thread.join

    @functools.wraps(start)
    def start_and_tell(self: Any) -> None:
        self._pipesim_place = place()
        self._pipesim_path = (*_own.path, next(_own.started))
        self._pipesim_known = dict(_own.known)
        _has_started.append(not is_helper(self))
        run = self.run

        def run_and_tell() -> None:
            try:
                run()
            finally:
                self._pipesim_known = dict(_own.known)

        self.run = run_and_tell
        start(self)

    @functools.wraps(join)
    def join_and_learn(self: Any, timeout: Any = None) -> None:
        join(self, timeout)
        if not self.is_alive():
            _learn(getattr(self, "_pipesim_known", {}))

    setattr(threading.Thread, "start", start_and_tell)
    setattr(threading.Thread, "join", join_and_learn)


def _install_in_futures() -> None:
    future: Any = concurrent.futures.Future
    item: Any = concurrent.futures.thread._WorkItem

    def telling(original: Any) -> Any:
        """Wraps a method to store the calls that the caller knows of in the object, for the threads
        that use the object later."""

        @functools.wraps(original)
        def tell(self: Any, *args: Any, **kwargs: Any) -> Any:
            self._pipesim_known = dict(_own.known)
            return original(self, *args, **kwargs)

        return tell

    def learning(original: Any, before: bool) -> Any:
        @functools.wraps(original)
        def learn(self: Any, *args: Any, **kwargs: Any) -> Any:
            if before:
                _learn(getattr(self, "_pipesim_known", {}))
            try:
                result = original(self, *args, **kwargs)
            finally:
                if not before and done(self):
                    _learn(getattr(self, "_pipesim_known", {}))
            return result

        return learn

    done = future.done
    for name in ("set_result", "set_exception"):
        setattr(future, name, telling(getattr(future, name)))
    for name in ("result", "exception", "done"):
        setattr(future, name, learning(getattr(future, name), before=False))
    item.__init__ = telling(item.__init__)
    item.run = learning(item.run, before=True)


def others() -> list[threading.Thread]:
    """Returns all other threads of this process that Python knows."""
    if threading.active_count() == 1:
        return []
    own = threading.current_thread()
    return [thread for thread in threading.enumerate() if thread is not own]


def may_race() -> bool:
    """Whether this process has started a thread that can call, also if it has ended since: when a
    thread ends depends on time."""
    return any(_has_started)


def is_helper(thread: threading.Thread) -> bool:
    """Whether the thread belongs to a package whose threads never call torch.distributed."""
    target = getattr(thread, "_target", None)
    modules = (type(thread).__module__, str(getattr(target, "__module__", "")))
    return any(f"{module}.".startswith(f"{name}.") for module in modules for name in _HELPERS)


def join_all() -> None:
    """Joins threads as Python does before a process exits: first the threads of executors, then all
    threads that are not daemons."""
    for call in reversed(getattr(threading, "_threading_atexits", [])):
        call()
    waited: set[int] = set()
    while True:
        left = [t for t in others() if not t.daemon and id(t) not in waited]
        if not left:
            return
        for thread in left:
            waited.add(id(thread))
            if not is_helper(thread):
                thread.join()
