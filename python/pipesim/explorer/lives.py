"""The messages of each rank after its replies, and the processes that send them.

A rank is a function of its replies, so a `Node` keeps the messages of a rank after a list of
replies. A reply that the rank has had before needs no process. For a new reply, the process that
waits at this node continues; if there is none, a copy of the nearest earlier process gets the
replies again. A process that has computed for long stays at its next question with several answers,
and only copies of it continue, so the script builds its model once.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
import pickle
import select
import signal
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import Pipe, reduction
from multiprocessing.connection import Connection
from typing import Any, Optional

from pipesim.recorder import messages as m
from pipesim.recorder.nursery import Nursery, breed
from pipesim.recorder.patience import Patience
from pipesim.recorder.settings import Settings
from pipesim.recorder.tasks import Standing, Tasks

_MAX_WAITING = 96  # processes that wait to be copied
_LONG = 0.05  # CPU seconds of a process after which a copy is cheaper than to repeat its work
_PAUSE = 0.0005  # seconds between two looks at a process with several threads

# Fields of a question that differ between two processes of a rank.
_OF_PROCESS = ("task", "helpers", "alone", "can_fork", "spent")


@dataclasses.dataclass(eq=False)
class Node:
    """The state of a rank after some replies."""

    rank: int
    up: Optional[Node] = None
    reply: bytes = b""  # the last reply, pickled
    messages: Optional[list[Any]] = None  # what the rank says then; None: not known yet
    after: dict[bytes, Node] = dataclasses.field(default_factory=dict)
    life: Optional[_Life] = None  # a process that waits here

    @property
    def is_branch(self) -> bool:
        """Whether the rank may get several replies here: its question has several answers."""
        last = self.messages[-1] if self.messages else None
        is_wait = isinstance(last, m.Need) and last.seconds is None
        return not (is_wait or isinstance(last, m.Turn))


@dataclasses.dataclass(eq=False)
class _Life:
    """A process of a rank, and the replies that it still has to get."""

    rank: int
    connection: Connection
    node: Node  # reached, or about to be
    path: collections.deque[Node] = dataclasses.field(default_factory=collections.deque)
    pid: int = 0
    heard: list[Any] = dataclasses.field(default_factory=list)  # messages since the last reply
    asking: dict[tuple[int, ...], m.Question] = dataclasses.field(default_factory=dict)
    tasks: Optional[Tasks] = None
    patience: Optional[Patience] = None
    has_reply: bool = True  # the thread that was answered last has its reply

    @property
    def is_worth_a_copy(self) -> bool:
        """Whether the process can be copied, and its work takes longer than a copy."""
        last = self.heard[-1] if self.heard else None
        return isinstance(last, m.Question) and last.can_fork and last.spent >= _LONG


class Lives:
    """The nodes and processes of all ranks."""

    def __init__(
        self,
        settings: Settings,
        function: Optional[Callable[[], Any]] = None,
        nursery: Optional[Nursery] = None,
    ) -> None:
        self._settings = settings
        self._function = function
        self._nursery = nursery
        self._waiting: collections.OrderedDict[int, _Life] = collections.OrderedDict()  # by id()
        self._active: dict[int, _Life] = {}  # by file descriptor
        self.roots = [Node(rank) for rank in range(settings.ranks)]
        self.remembers = True  # whether nodes and processes of earlier runs are used
        self.diverged = False  # a rank said something else after the same replies
        self.slept = False  # a thread slept when its rank was assumed to wait
        self.started = 0  # number of processes started
        self.said = 0  # number of nodes with messages

    def forget(self, folder: str) -> None:
        """Starts anew in another folder: the messages of a rank also depend on files."""
        self.close()
        self._settings = dataclasses.replace(self._settings, folder=folder)
        self.roots = [Node(rank) for rank in range(self._settings.ranks)]
        self.remembers = False

    def close(self) -> None:
        """Ends all processes."""
        for life in [*self._waiting.values(), *self._active.values()]:
            self._end(life)
        self._waiting.clear()
        self._active.clear()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def begin(self) -> list[Node]:
        """Returns the nodes in which the ranks ask their first questions."""
        for root in self.roots:
            if root.messages is None:
                self._start([root])
        self._work()
        return self.roots

    def advance(self, replies: Iterable[tuple[Node, m.Reply]]) -> list[Node]:
        """Returns the nodes that the ranks reach with these replies."""
        reached = []
        for node, reply in replies:
            data = pickle.dumps(reply)
            after = node.after.get(data)
            if after is None:
                after = node.after[data] = Node(node.rank, node, data)
            reached.append(after)
            if after.messages is None:
                self._go_to(after)
        self._work()
        return reached

    # Processes

    def _go_to(self, target: Node) -> None:
        """Lets a process go to a node: the process at the previous node, or a copy of the nearest
        earlier process."""
        path = [target]
        at = target.up
        while at is not None and at.life is None:
            path.append(at)
            at = at.up
        if at is None:  # `path` ends with the root
            self._start(path[::-1])
            return
        life = at.life
        assert life is not None
        if self.remembers and at.is_branch and life.is_worth_a_copy:
            self._waiting.move_to_end(id(life))
            life = self._copy(life)
        else:
            self._waiting.pop(id(life))
            at.life = None
        life.path.extend(path[::-1])
        self._active[life.connection.fileno()] = life
        self._send_next(life)

    def _start(self, path: list[Node]) -> None:
        ours, theirs = Pipe()
        root, rank = path[0], path[0].rank
        if self._nursery is not None and rank % 2 == 1:
            self._nursery.breed(self._settings, {rank: theirs})
        else:
            inherited = [life.connection for life in self._lives()] + [ours]
            if self._nursery is not None:
                inherited.append(self._nursery.connection)
            breed(self._settings, {rank: theirs}, inherited, self._function)
        theirs.close()
        life = _Life(rank, ours, root, collections.deque(path[1:]))
        self._active[ours.fileno()] = life
        self.started += 1

    def _copy(self, life: _Life) -> _Life:
        ours, theirs = Pipe()
        life.connection.send_bytes(pickle.dumps(m.Fork()))
        reduction.send_handle(life.connection, theirs.fileno(), life.pid)
        theirs.close()
        copy = _Life(life.rank, ours, life.node)
        copy.asking = dict(life.asking)
        self.started += 1
        return copy

    def _lives(self) -> Iterator[_Life]:
        yield from self._waiting.values()
        yield from self._active.values()

    @staticmethod
    def _end(life: _Life) -> None:
        life.connection.close()
        if life.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(life.pid, signal.SIGKILL)

    def _send_next(self, life: _Life) -> None:
        node = life.path.popleft()
        reply = pickle.loads(node.reply)
        question = life.asking.pop(reply.thread, None)
        life.has_reply = question is None or not question.races
        life.node, life.heard = node, []
        life.patience = None
        with contextlib.suppress(OSError):
            life.connection.send_bytes(node.reply)

    # Messages

    def _work(self) -> None:
        """Reads messages until all active processes wait or have ended."""
        while self._active:
            poll = select.poll()
            for fd in self._active:
                poll.register(fd, select.POLLIN)
            is_unsure = any(life.asking for life in self._active.values())
            ready = poll.poll(_PAUSE * 1000 if is_unsure else 1000)
            for fd, _ in ready:
                self._read(self._active[fd])
            if not ready:
                for life in list(self._active.values()):
                    self._look(life)

    def _read(self, life: _Life) -> None:
        try:
            while life.connection.poll():
                message = pickle.loads(life.connection.recv_bytes())
                if isinstance(message, m.Hello):
                    life.pid, life.tasks = message.pid, Tasks(message.pid)
                    continue
                if isinstance(message, m.Got):
                    life.has_reply = True
                    continue
                life.heard.append(message)
                life.patience = None
                if isinstance(message, m.End):
                    return self._arrive(life)
                if isinstance(message, m.Question):
                    life.asking[message.thread] = message
                    if message.alone:
                        return self._arrive(life)
        except (EOFError, OSError, pickle.UnpicklingError):
            self._lose(life, "killed")

    def _look(self, life: _Life) -> None:
        """Finds out whether a rank with several threads waits, or whether a silent rank hangs."""
        if life.patience is None:
            life.patience = Patience(self._settings.seconds, {life.rank: life.pid})
        if life.patience.seconds_left(0.0) <= 0:
            return self._lose(life, "seconds")
        if life.asking and life.tasks is not None and life.has_reply:
            helpers: set[int] = set().union(*(each.helpers for each in life.asking.values()))
            tasks = {each.task for each in life.asking.values()}
            standing = life.tasks.standing(tasks, helpers)
            if standing is Standing.RUNS or life.connection.poll():
                return None
            self.slept |= standing is Standing.DORMANT
            self._arrive(life)
        return None

    def _lose(self, life: _Life, why: str) -> None:
        life.heard.append(m.End({"end": "cut", "why": why}))
        self._arrive(life)

    def _arrive(self, life: _Life) -> None:
        """Stores the messages of a rank, and sends its next reply or lets it wait."""
        node = life.node
        # Threads that ask meanwhile do so in any order.
        life.heard.sort(key=_order)
        if node.messages is None:
            node.messages = life.heard
            self.said += 1
        elif list(map(_key, node.messages)) != list(map(_key, life.heard)):
            self.diverged = True
        if life.heard and isinstance(life.heard[-1], m.End):
            del self._active[life.connection.fileno()]
            return self._end(life)
        if life.path:
            return self._send_next(life)
        del self._active[life.connection.fileno()]
        node.life = life
        self._waiting[id(life)] = life
        self._limit()
        return None

    def _limit(self) -> None:
        """Ends a process if too many wait: the one that has waited longest, of those that are not
        worth a copy if there are any."""
        if len(self._waiting) > _MAX_WAITING:
            life = min(self._waiting.values(), key=lambda each: each.is_worth_a_copy)
            life.node.life = None
            self._end(life)
            del self._waiting[id(life)]


def _order(message: Any) -> tuple[int, tuple[int, ...]]:
    """Returns the sort key of what a rank says: calls, questions by thread, the end."""
    if isinstance(message, m.Question):
        return 1, message.thread
    return 2 if isinstance(message, m.End) else 0, ()


def _key(message: Any) -> bytes:
    """Returns a key that is equal for equal messages of two processes."""
    fields = {k: v for k, v in vars(message).items() if k not in _OF_PROCESS}
    return pickle.dumps((type(message).__name__, fields))
