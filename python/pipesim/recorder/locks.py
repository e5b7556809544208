"""Locks, queues and stores that let several threads of a rank wait for each other.

In a recording, threads take a lock, or fill a queue, in one of several possible orders. A thread
that holds a lock while it waits for another rank keeps all others that want the lock waiting, and a
thread that takes items of several threads from a queue makes its calls in their order. So the
verdict covers the recorded order only, and the record says so. A client of a TCPStore makes one
call at a time: it is a lock, held while a thread waits for a key.
"""

from __future__ import annotations

import concurrent.futures
import functools
import queue
import sys
import threading
from typing import Any

from pipesim.recorder import threads
from pipesim.recorder.places import is_users

_real_lock, _real_rlock = threading.Lock, threading.RLock


class Use:
    """The threads that use a lock, a queue or a store, by their paths."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, ...], int] = {}  # by thread: its last use
        self.is_raced_for = False  # whether two threads used it in an unknown order

    def use(self) -> None:
        """Notes that the current thread takes the lock, or puts an item."""
        own = threads.path()
        for thread, number in list(self._last.items()):
            if thread != own and not threads.knows(thread, number):
                self.is_raced_for = True
        self._last[own] = threads.count_use()

    def take(self) -> None:
        self.use()
        _own.held.append(self)

    def give(self) -> None:
        if self in _own.held:
            _own.held.remove(self)

    def call_store(self, waits: bool) -> None:
        """Notes a call of a store's client. `waits`: it can wait for a key."""
        self.use()
        if waits:
            _called.add(self)


class _Own(threading.local):
    """The locks that the current thread holds, and the queues from which it has taken items."""

    def __init__(self) -> None:
        self.held: list[Use] = []
        self.queues: set[Use] = set()


_own = _Own()
_called: set[Use] = set()  # locks held in a call, and queues whose items led to one


def note_call() -> None:
    """Notes that the current thread makes a call or waits for one."""
    _called.update(_own.held, _own.queues)


def decide_order() -> bool:
    """Whether the order in which threads took a lock, or filled a queue, decides the order of
    calls."""
    return any(use.is_raced_for for use in _called)


class _Lock:
    """A lock that the script makes; other callers get the original one."""

    original: Any = staticmethod(_real_lock)

    def __new__(cls) -> Any:
        return super().__new__(cls) if is_users(sys._getframe(1)) else cls.original()

    def __init__(self) -> None:
        self._pipesim_lock, self._pipesim_use = self.original(), Use()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        taken = bool(self._pipesim_lock.acquire(blocking, timeout))
        if taken:
            self._pipesim_use.take()
        return taken

    __enter__ = acquire

    def release(self) -> None:
        self._pipesim_use.give()
        self._pipesim_lock.release()

    def __exit__(self, *error: object) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipesim_lock, name)


class _RLock(_Lock):
    original = staticmethod(_real_rlock)


def install() -> None:
    """Follows the locks and queues that the script makes from now on."""
    changed: Any = threading
    changed.Lock, changed.RLock = _Lock, _RLock
    _install_in_conditions()
    _install_in_semaphores()
    _install_in_queues()


def _install_in_conditions() -> None:
    condition: Any = threading.Condition
    init = condition.__init__

    def init_with_lock(self: Any, lock: Any = None) -> None:
        if lock is None and is_users(sys._getframe(1)):
            lock = object.__new__(_RLock)
            lock.__init__()
        init(self, lock)

    condition.__init__ = init_with_lock


def _use_of(owner: Any) -> Use:
    use: Use = getattr(owner, "_pipesim_use", None) or Use()
    owner._pipesim_use = use
    return use


def _install_in_semaphores() -> None:
    semaphore: Any = threading.Semaphore
    acquire = semaphore.acquire

    def acquire_and_note(self: Any, blocking: bool = True, timeout: Any = None) -> bool:
        taken = bool(acquire(self, blocking, timeout))
        if taken and is_users(sys._getframe(1)):
            _use_of(self).take()
        return taken

    semaphore.acquire = semaphore.__enter__ = acquire_and_note
    for owner in (semaphore, threading.BoundedSemaphore):
        setattr(owner, "release", _giving(owner.release))


def _giving(release: Any) -> Any:
    def release_and_note(self: Any, n: int = 1) -> None:
        _use_of(self).give()
        release(self, n)

    return release_and_note


def _install_in_queues() -> None:
    changed: Any = queue.Queue
    put, get = changed.put, changed.get

    def put_and_note(self: Any, *args: Any, **kwargs: Any) -> None:
        _use_of(self).use()
        put(self, *args, **kwargs)

    def get_and_note(self: Any, *args: Any, **kwargs: Any) -> Any:
        item = get(self, *args, **kwargs)
        _take_item(_use_of(self))
        return item

    changed.put, changed.get = put_and_note, get_and_note
    executor: Any = concurrent.futures.ThreadPoolExecutor
    submit = executor.submit

    def submit_and_note(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        use = _use_of(self)
        use.use()

        @functools.wraps(fn)
        def run(*args: Any, **kwargs: Any) -> Any:
            _take_item(use)
            return fn(*args, **kwargs)

        return submit(self, run, *args, **kwargs)

    executor.submit = submit_and_note


def _take_item(use: Use) -> None:
    """Notes that the calls of this thread follow the order of a queue's items. Ignores the main
    thread, which usually collects results, in any order."""
    if threads.path():
        _own.queues.add(use)
