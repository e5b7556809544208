"""The recorder of one rank. Hooks in torch call it; it writes entries and asks the broker."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import random
import resource
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import reduction
from multiprocessing.connection import Connection
from types import FrameType, TracebackType
from typing import Any, NamedTuple, NoReturn, Optional

import torch

from pipesim.recorder import messages as m
from pipesim.recorder import locks, polls, threads, values
from pipesim.recorder.free import FreeAnswers, failures
from pipesim.recorder.made_up import MadeUp
from pipesim.recorder.of_thread import OfThread
from pipesim.recorder.places import Place, Places, calls_from_cpp
from pipesim.recorder.rank_file import Entry, RankFile
from pipesim.recorder.settings import Settings
from pipesim.recorder.spins import Spins
from pipesim.recorder.works import (
    Coalesced,
    Group,
    KnownWork,
    Pending,
    is_object_call,
    timed_out,
)

# The original os._exit. A call of os._exit by the script is recorded (see `rank`).
exit_process = os._exit

# gloo's error for a call on connections that it has closed (gloo/transport/tcp/pair.cc).
_CLOSED = "Application timeout caused pair closure"

_LOCK_ORDER = "threads share a lock, a queue or a client of the store, and call meanwhile"

# Maximum number of entries after a made-up value: with such a value, `while not all_done:` may
# never end.
_MAX_ENTRIES_AFTER_MADE_UP = 100_000


class _Failed(NamedTuple):
    """A Work whose wait raises."""

    reference: weakref.ref[Any]
    error: str
    future: torch.futures.Future[Any]


class Ended(SystemExit):
    """The end of this rank's record, raised in the script so that its `finally` blocks run."""


def _has_no_future(call: Pending) -> bool:
    """Whether gloo's Work for the call has no future, so torch cannot ask whether the call is
    done."""
    return call.is_message or call.entry["call"] == "reduce_scatter"


def leave_script() -> NoReturn:
    """Leaves the script by an exception. Threads other than the main thread raise SystemExit
    itself, because Python prints no error for it."""
    raise Ended if threading.current_thread() is threading.main_thread() else SystemExit


def blocking_wait() -> bool:
    """Whether NCCL's waits block the host, as the environment asks (ProcessGroupNCCL.hpp)."""
    names = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")
    return any(os.environ.get(name) == "1" for name in names)


class RankRecorder:
    """The recorder in the process of one rank. The patches of `patches` call its methods.

    Several threads can call it. A call of a thread other than the main thread first waits for its
    turn. Each call holds the lock until the entry is made and handed over, but not while it waits
    for a reply.
    """

    batch = OfThread[Optional[int]](None)  # number of the current batch_isend_irecv
    backward_depth = OfThread(0)
    group_being_made = OfThread[Optional[Group]](None)
    device_being_bound = OfThread[Any](None)  # `device_id=` of the group being made
    half_being_made = OfThread[Optional[Group]](None)  # gloo's half of a group with two backends
    devices_being_made = OfThread[list[str]]([])  # kinds of device of the group being made
    _coalescing = OfThread[Optional[list[Pending]]](None)  # calls since `start_coalescing`
    _batch_of_coalescing = OfThread(False)
    _backward_callback_queued = OfThread(False)
    _backward_callback_ran = OfThread(False)
    _in_turn = OfThread(0)

    rank: int
    file: RankFile
    _connection: Connection
    pid = 0  # of the rank's process, after `begin`
    seeds: Sequence[Callable[[int], object]] = ()  # functions that seed random generators

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.world = settings.ranks
        self.backend = ""  # backend of the first group
        self.of_thread = threading.local()
        self.ended = False  # the record is complete: the script continues only to clean up
        self.device = "cpu"
        self.stream: Callable[[], Entry] = dict  # `s` and `k` of an entry; set by `cuda`
        self.launch_backward: Callable[[Any], None] = lambda roots: None  # set by `cuda`
        self._copies: list[int] = []  # processes that `_fork` has made
        self._lock = threading.RLock()  # protects entries, numbers and messages to the broker
        self._replies = threading.Condition()
        self._arrived: dict[tuple[int, ...], m.Reply] = {}  # by thread: the reply
        self._is_read = False  # a thread reads the replies for all threads
        self._open: list[Entry] = []  # entries of unfinished calls and waits
        self._dropped: list[tuple[Pending, Optional[Place]]] = []  # dropped, not recorded yet
        # Destroyed groups that the script may still hold, with the entries of their ends.
        self._destroyed: list[tuple[Any, Group, Entry]] = []
        self.store_client = locks.Use()  # client of the job's store
        self.spins = Spins()
        self._carries_random = False  # the call that is being made hands over random numbers
        self.free = FreeAnswers(self)
        self._made_up = MadeUp(self._note_read)
        self._read_at: set[Optional[Place]] = set()  # places that have read made-up values
        self._stop: Optional[Callable[[], None]] = None  # set by a signal that came during a turn
        self.messages = 2  # file descriptor for messages that the user sees from every rank
        self._places = Places(settings.script_folder)
        self._works_known: dict[int, KnownWork] = {}  # by id() of the Work, as long as it lives
        self._pending: dict[int, Pending] = {}  # by id() of the Work
        self._coalesced: dict[int, Coalesced] = {}  # by id() of the Work
        self._calls = 0
        self._works = 0
        self._numbers: dict[tuple[str, str], int] = {}  # by (group, kind): number of calls
        self._groups = 0
        self._batches = 0
        self._steps = 0
        self._noted: set[str] = set()
        self._closed: set[str] = set()  # gloo groups in which a send or recv has timed out
        self._failed: dict[int, _Failed] = {}  # by id() of the Work
        self._made_up_at: Optional[int] = None  # number of entries before the first made-up value

    def begin(
        self, settings: Settings, rank: int, connection: Connection, out: RankFile
    ) -> None:
        """Makes this process a rank. Until then, the recorder can be in a process that forks
        ranks, with settings that differ in the folder only."""
        self.settings, self.rank, self.file, self._connection = settings, rank, out, connection
        self.pid = os.getpid()
        os.register_at_fork(after_in_child=out.detach)

    # Places and plain entries

    def place(self, frame: Optional[FrameType] = None) -> Optional[Place]:
        """Returns the user's current line; in a thread without one, the line that started the
        thread."""
        found = self._places.current(frame or sys._getframe(1))
        return found or threads.started_at()

    def file_name(self, path: str) -> str:
        """Returns the name of a source file in the record."""
        return self._places.name_of(path)

    def place_raised(self, trace: Optional[TracebackType]) -> Optional[Place]:
        """Returns the user's line that raised an exception."""
        return self._places.raised(trace)

    def add(self, entry: Entry, hold: bool = False, place: Optional[Place] = None) -> Entry:
        """Writes an entry with the current place and stream."""
        with self.turn():
            if (
                self._made_up_at is not None
                and self.file.count - self._made_up_at > _MAX_ENTRIES_AFTER_MADE_UP
            ):
                self.finish({"end": "cut", "why": "made_up"}, unwind=True)
            for key, value in self.stream().items():
                entry.setdefault(key, value)
            if threading.current_thread() is not threading.main_thread():
                self.note("threads", "calls of other threads: their order is one of several")
            place = place or (self.place() if "l" not in entry else None)
            if place is not None and not place.call and "read" in entry:
                place = self._places.calling(place, entry["read"])
            return self.file.add(entry, place, hold)

    def note(self, kind: str, text: str) -> None:
        """Adds a note: something that the verdict rests on. Each kind is added only once, and
        `other` once for each text."""
        known = text if kind == "other" else kind
        if known not in self._noted:
            with self.turn():
                self._noted.add(known)
                self.file.add({"note": kind, "text": text}, self.place())

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Enters a context in which no other thread adds entries.

        Threads other than the main thread first wait until all threads of the job wait. On odd
        ranks, the main thread also waits, and the other threads come first. So two threads that
        race do so in the recording, and always with the same outcome.
        """
        self._check_process()
        if self.ended:
            leave_script()
        if self._destroyed and not self._in_turn:
            self._finish_destroyed()
        if not self._in_turn and self.settings.values == "real":
            if self._needs_turn():
                self._ask(m.Turn())
        with self._lock:
            self._in_turn += 1
            try:
                self._record_dropped()
                yield
            finally:
                self._in_turn -= 1
        self._stop_if_asked()

    def _stop_if_asked(self) -> None:
        if self._stop is None or self._in_turn:
            return
        if threading.current_thread() is threading.main_thread():
            self._stop()

    def _needs_turn(self) -> bool:
        if self.free.explores:
            return threads.may_race()
        return bool(threads.path()) or (self.rank % 2 == 1 and not self._is_alone())

    @staticmethod
    def _is_alone() -> bool:
        return all(map(threads.is_helper, threads.others()))

    def _record_dropped(self) -> None:
        """Records the Works of sends and recvs that Python collected before any wait for them."""
        while self._dropped:
            pending, place = self._dropped.pop(0)
            self.file.add({"drop": pending.work}, place)

    def number(self, group: str, kind: str) -> int:
        """Returns the number of the next call, counted from 1 like the Flight Recorder's."""
        self._numbers[group, kind] = self._numbers.get((group, kind), 0) + 1
        return self._numbers[group, kind]

    def next_batch(self) -> int:
        self._batches += 1
        return self._batches

    # Groups

    def define_group(
        self,
        name: str,
        ranks: Sequence[int],
        backend: str,
        desc: str = "",
        eager: bool = False,
        parent: Optional[Group] = None,
    ) -> Group:
        """Defines a group that this rank knows of, as a member or not. `parent`: the group whose
        communicator NCCL splits to make the group; all ranks of the parent call the split."""
        with self.turn():
            return self._define_group(name, ranks, backend, desc, eager, parent)

    def _define_group(
        self,
        name: str,
        ranks: Sequence[int],
        backend: str,
        desc: str,
        eager: bool,
        parent: Optional[Group],
    ) -> Group:
        split = f"{parent.split or parent.name}:{self.number(parent.id, 'split')}" if parent else ""
        group = Group(f"g{self._groups}", name, tuple(ranks), backend, split)
        self._groups += 1
        self._numbers = {key: n for key, n in self._numbers.items() if key[0] != group.id}
        if not self.backend:
            self.backend = backend
            if backend == "nccl" and self.settings.device == "auto":
                self.finish({"end": "cut", "why": m.NEEDS_CUDA})
            self._tell(m.Init(backend, self.device))
        self.file.define(
            {
                "def": group.id,
                "group": split or name,
                "ranks": list(ranks),
                "backend": None if backend == self.backend else backend,
                "desc": desc or None,
                "eager": eager,
            },
            self.place(),
        )
        return group

    def is_gloo(self, group: Group) -> bool:
        """Whether gloo's rules apply to the group's calls."""
        return (self.settings.rules or group.backend) == "gloo"

    def is_device_group(self, group: Group) -> bool:
        """Whether the group's calls run on the device, so that the host does not wait for them
        (NCCL)."""
        return not self.is_gloo(group) and not blocking_wait()

    def rendezvous(self, name: str, number: int, members: Sequence[int]) -> None:
        """Waits until all members have called, e.g. while gloo connects a group."""
        if self.settings.values == "own":
            return
        with self.turn():
            self._calls += 1
            call = m.Collective(
                self._calls, name, number, tuple(members), (name, tuple(members)), "rendezvous"
            )
            self._tell(call)
        self._ask(m.Need(call.call, device=False))

    # Calls

    def call(
        self,
        group: Group,
        entry: Entry,
        message: Callable[[int, int], Any],
        receive: Callable[[m.Reply], None],
        tensors: list[torch.Tensor],
        device: bool,
        caller: FrameType,
        error: str = "",
    ) -> torch._C._distributed_c10d.Work:
        """Records a call of a group, hands it to the broker, and returns the Work for it.

        `message` takes the call's number in the rank and its number in the group, and returns the
        message to the broker. The Work is made from a future, because DDP's reducer asks it for the
        future. `caller` is the frame that called the group. If it is code of torch except
        distributed_c10d.py, the call came from C++, which waits at once, except for the buckets of
        a backward. `error`: the text of the error that the wait raises once the call is done.
        """
        filename = caller.f_code.co_filename
        native = calls_from_cpp(filename)
        if not native:
            failures.call_may_fail(self.free, entry["call"], caller)
        is_message = entry["call"] in ("send", "recv")
        if group.id in self._closed:
            # gloo raises at once for a send or recv, and in the wait for a collective.
            return self._failed_work(_CLOSED, raises=is_message or native)
        with self.turn():
            self._calls += 1
            self._works += 1
            call, work = self._calls, self._works
            entry["n"] = self.number(group.id, "message" if is_message else "collective")
            handed_over = message(call, entry["n"]) if self.settings.values == "real" else None
            if handed_over is not None:
                handed_over.random, self._carries_random = self._carries_random, False
            entry["after"] = threads.count_call() or None
            hold = device or "any" in entry
            entry = self.add({**entry, "w": work, "batch": self.batch}, hold=hold)
            if handed_over is not None:
                self._tell(handed_over)
        future: torch.futures.Future[Any] = torch.futures.Future()
        handle = torch._C._distributed_c10d._create_work_from_future(future)
        pending = Pending(
            call, work, entry, device, receive, future, tensors, threads.path(), id(handle)
        )
        pending.native, pending.gloo, pending.error = native, self.is_gloo(group), error
        # In 1.13, the script has the Works of a batch; later versions drop them.
        in_batch = self._coalescing is not None and not torch.__version__.startswith("1.")
        if native or not (pending.gloo and is_message) or in_batch:
            pending.handle = handle
        self._pending[pending.key] = pending
        self._remember(handle, pending)
        if self._coalescing is not None:
            self._coalescing.append(pending)
        if native and (self._backward_callback_ran or not self._in_bucket_of_backward(filename)):
            self._finish_in_call(pending)
        elif self.backward_depth and not (
            self._backward_callback_queued or self._backward_callback_ran
        ):
            self._queue_end_of_backward(self.backward_depth)
        return handle

    def fail_in_worker(
        self, group: Group, error: str, caller: FrameType
    ) -> torch._C._distributed_c10d.Work:
        """Counts a collective that fails in gloo's worker thread, without an entry: the next call
        has the next number, and other ranks wait for the failed call forever."""
        self.skip_numbers(group, 1)
        return self._failed_work(error, raises=calls_from_cpp(caller.f_code.co_filename))

    def skip_numbers(self, group: Group, count: int) -> int:
        """Takes `count` numbers of the group's collectives, and returns the first."""
        with self.turn():
            return [self.number(group.id, "collective") for _ in range(count)][0]

    def _failed_work(self, error: str, raises: bool) -> torch._C._distributed_c10d.Work:
        """Returns a Work whose wait raises `error`; with `raises`, raises it at once."""
        if raises:
            raise RuntimeError(error)
        future: torch.futures.Future[Any] = torch.futures.Future()
        future.set_exception(RuntimeError(error))
        handle = torch._C._distributed_c10d._create_work_from_future(future)
        key = id(handle)
        reference = weakref.ref(handle, lambda _: self._failed.pop(key, None))
        self._failed[key] = _Failed(reference, error, future)
        return handle

    def _remember(self, handle: Any, pending: Pending) -> None:
        """Keeps the call of a Work as long as the Work lives. gloo cancels a send or recv whose
        Work is collected before it is done."""
        key = pending.key

        def collected(_: Any) -> None:
            self._works_known.pop(key, None)
            if self._pending.pop(key, None) is not None and not self.ended:
                self._dropped.append((pending, self.place()))

        self._works_known[key] = KnownWork(weakref.ref(handle, collected), pending)

    def start_coalescing(self) -> None:
        """Starts coalescing: NCCL merges all calls until `end_coalescing` into one call."""
        self._coalescing = []
        self._batch_of_coalescing = self.batch is None
        if self._batch_of_coalescing:
            self.batch = self.next_batch()

    def end_coalescing(self) -> Any:
        """Ends coalescing, and returns the Work of the coalesced calls."""
        calls, self._coalescing = self._coalescing or [], None
        if self._batch_of_coalescing:
            self.batch = None
        future: torch.futures.Future[Any] = torch.futures.Future()
        handle = torch._C._distributed_c10d._create_work_from_future(future)
        self._coalesced[id(handle)] = Coalesced(calls, future, handle)
        return handle

    def _wait_for_coalesced(self, work: Any) -> None:
        coalesced = self._coalesced.pop(id(work), None)
        if coalesced is None:
            return
        self._wait_for([p for p in coalesced.calls if p.key in self._pending])
        coalesced.future.set_result([t for p in coalesced.calls for t in p.tensors])

    def _in_bucket_of_backward(self, filename: str) -> bool:
        return self.backward_depth > 0 and f"{os.sep}autograd{os.sep}" in filename

    def _finish_in_call(self, pending: Pending) -> None:
        """Waits in the call itself. No `wait` line follows, unless another thread has called
        meanwhile."""
        self._open.append(pending.entry)
        self._settle(pending)
        with self._lock:
            self._open.remove(pending.entry)
            self._write_end_of(pending.entry)

    def _write_end_of(self, call: Entry) -> None:
        if self.file.last is call:
            del call["w"]
            call["sync"] = True
        else:
            self.file.add({"wait": call["w"], **_thread_of(call)}, self.place())

    def wait(self, work: Any, caller: FrameType, seconds: Optional[float] = None) -> None:
        """Implements `Work.wait`, with a timeout if `seconds` is given."""
        pending = self._pending.get(id(work))
        if pending is None:
            known = self._works_known.get(id(work))
            if id(work) in self._failed:
                raise RuntimeError(self._failed[id(work)].error)
            if known is None:
                self._wait_for_coalesced(work)
            elif known.pending.error:
                raise RuntimeError(known.pending.error)
            elif known.waited and known.pending.gloo and known.pending.is_message:
                # The first wait has consumed the transfer; gloo waits for another one.
                self._wait_in({"wait": known.pending.work}, m.Need(None, False, seconds))
                self._raise_timed_out(known.pending, seconds)
            return
        from_torch = caller.f_code.co_filename.endswith("distributed_c10d.py")
        if from_torch and self.file.last is pending.entry and seconds is None:
            self._finish_in_call(pending)
        else:
            if seconds is not None:
                self._note_timeout()
            self._wait_for([pending], seconds)
        if pending.error:
            raise RuntimeError(pending.error)

    def poll(self, work: Any, caller: FrameType) -> bool:
        """Implements `Work.is_completed`. The answer depends on time, so the verdict rests on it.
        But gloo always answers False for a reduce_scatter, and for a send or recv before its
        wait."""
        known = self._works_known.get(id(work))
        pending = self._pending.get(id(work))
        if pending is None and id(work) in self._coalesced:
            calls = self._coalesced[id(work)].calls
            pending = next((p for p in reversed(calls) if p.key in self._pending), None)
        asked = known.pending if known is not None else pending
        never = (
            asked is not None
            and asked.gloo
            and _has_no_future(asked)
            and (pending is not None or not asked.is_message)
        )
        if asked is None:
            return True
        done = True
        if never or pending is not None:
            with self.turn():
                if not never:
                    self.note("polls", "is_completed() may decide what is called next")
                if not self._is_last({"poll": asked.work, "never": never}):  # one entry per loop
                    self.add({"poll": asked.work, "never": never})
            done = not never
            if self.settings.values != "own":
                forever = self.spins.in_same_state(caller)
                about = f"is_completed() of {asked.entry['call']} #{asked.entry['n']}"
                poll = m.Poll(None if never else asked.call, forever, about)
                done = bool(self._ask(poll).value)
        if done and not asked.polled and polls.is_wait(caller):
            asked.polled = True
            with self.turn():
                self.add({"wait": asked.work, "blocking": True})
        return done

    def _is_last(self, entry: Entry) -> bool:
        """Whether the last entry equals `entry`, and has the current place and thread."""
        last = self.file.last or {}
        return (
            all(last.get(key, False) == value for key, value in entry.items())
            and last.get("l") == self.file.place(self.place())
            and last.get("th", "") == threads.label()
        )

    def take_future(self, work: Any) -> Optional[torch.futures.Future[Any]]:
        """Implements `Work.get_future`. The script can wait for the future, or chain to it. Returns
        None if the call is over or coalesced, unless it has failed."""
        pending = self._pending.get(id(work))
        known = self._works_known.get(id(work))
        if id(work) in self._failed:  # torch's own future has no Python exception
            return self._failed[id(work)].future
        asked = known.pending if known is not None else pending
        if asked is not None and asked.gloo and _has_no_future(asked):
            raise RuntimeError("Work::getFuture not implemented.")
        if pending is None and known is not None and known.pending.error:
            return known.pending.future
        if pending is None:
            self._wait_for_coalesced(work)  # waits earlier than necessary
            return None
        pending.future_taken = True
        if self._backward_callback_ran:
            self._wait_for([pending])
        return pending.future

    def wait_for_futures(self) -> None:
        """Waits for the calls of all futures that this thread has taken: which calls the awaited
        future depends on is unknown."""
        own = threads.path()
        pending = [p for p in self._pending.values() if p.future_taken and p.thread == own]
        self._wait_for(pending)

    def begin_backward(self, roots: Any) -> Callable[[], None]:
        """Prepares a backward, before the engine runs. Returns a function to call after the engine.

        The first hook of the backward queues the callback for its end, before DDP queues its own.
        With static_graph, DDP's callback makes the first reductions and waits for them.
        """
        self.backward_depth += 1
        depth = self.backward_depth
        if depth == 1:
            self._backward_callback_queued = self._backward_callback_ran = False

        def queue(_: torch.Tensor) -> None:
            if not handles:
                return
            while handles:
                handles.pop().remove()
            self._queue_end_of_backward(depth)

        handles: list[Any] = []
        tensors = [roots] if isinstance(roots, torch.Tensor) else list(roots)
        with values.quiet():
            handles += [t.register_hook(queue) for t in tensors if t.requires_grad]

        def end() -> None:
            for handle in handles:
                handle.remove()
            self.backward_depth -= 1
            if self.backward_depth == 0:
                self._backward_callback_queued = self._backward_callback_ran = False

        return end

    def _queue_end_of_backward(self, depth: int) -> None:
        """Queues a callback that runs before the reducer's own callback, which waits for the
        futures of the buckets.

        The buckets' values are not requested earlier: another op of the backward can reduce over a
        second group, and whether this op comes before the bucket differs between ranks.
        """
        self._backward_callback_queued = True
        engine = torch.autograd.Variable._execution_engine
        engine.queue_callback(lambda: self._end_of_backward(depth))

    def _end_of_backward(self, depth: int) -> None:
        self._backward_callback_queued = depth > 1
        self._backward_callback_ran = depth == 1
        own = threads.path()
        pending = [p for p in self._pending.values() if p.native or p.future_taken]
        self._wait_for([p for p in pending if p.thread == own])

    def _wait_for(self, calls: list[Pending], seconds: Optional[float] = None) -> None:
        if not calls:
            return
        works = [pending.work for pending in calls]
        blocking = any(pending.entry.get("blocking") for pending in calls)
        waited = works if len(works) > 1 else works[0]
        with self._open_entry({"wait": waited, "blocking": blocking}) as entry:
            for pending in calls:
                if not self._settle(pending, seconds):
                    entry["timed_out"] = True
                    self._raise_timed_out(pending, seconds)

    def _raise_timed_out(self, pending: Pending, seconds: Optional[float]) -> NoReturn:
        """Raises gloo's error for a wait that timed out. If the call is a send or recv, gloo closes
        the rank's connections in the group."""
        if pending.gloo and pending.is_message:
            self._closed.add(pending.entry["g"])
        raise self.free.as_answer(RuntimeError(timed_out(pending, seconds)))

    def wait_at_exit(self) -> None:
        """Waits for pending collectives of gloo, which gloo finishes before a process exits."""
        with self.turn():  # records pending entries first
            pass
        calls = [p for p in self._pending.values() if p.gloo and not p.is_message]
        if calls:  # no line of the script waits, so the entry has the place of the first call
            self._wait_for_leftovers(calls, calls[0].entry)

    def _wait_for_leftovers(self, calls: list[Pending], at: Entry) -> None:
        entry = {"exit": True, "l": at.get("l")}
        with self._open_entry({"wait": [p.work for p in calls], **entry}) as written:
            late = [p for p in calls if not self._settle(p, closes=True)]
            if late:
                written["wait"], written["timed_out"] = [p.work for p in late], True
        done = [p.work for p in calls if p not in late]
        if late and done:
            self.add({"wait": done, **entry})

    def destroy(self, group: Any, destroyed: Group) -> None:
        """Records destroy_process_group."""
        entry = self.add({"destroy": destroyed.id, "after": threads.count_call() or None})
        if self.is_gloo(destroyed):
            self._destroyed.append((group, destroyed, entry))

    def _finish_destroyed(self) -> None:
        """Waits for the pending collectives of destroyed groups that only the recorder still
        refers to: gloo finishes them when it deletes a group."""
        left, self._destroyed = self._destroyed, []
        for group, destroyed, entry in left:
            if sys.getrefcount(group) > _OWN_REFERENCES:
                self._destroyed.append((group, destroyed, entry))
                continue
            of_group = [p for p in self._pending.values() if p.entry["g"] == entry["destroy"]]
            calls = [p for p in of_group if not p.is_message]
            if calls:
                self._wait_for_leftovers(calls, entry)
            self._tell(m.Freed(destroyed.key))

    @contextlib.contextmanager
    def _open_entry(self, entry: Entry) -> Iterator[Entry]:
        """Adds an entry for a wait, and moves it after the entries that other threads add during
        the wait."""
        entry = self.add(entry, hold=True)
        self._open.append(entry)
        try:
            yield entry
        finally:
            if not self.ended:
                with self._lock:
                    self._open.remove(entry)
                    self.file.move_to_end(entry)
                    self.file.release(entry)

    def _wait_in(self, entry: Entry, question: m.Question) -> m.Reply:
        with self._open_entry(entry) as written:
            reply = self._ask(question)
            if reply.late:
                written["timed_out"] = True
        return reply

    def source_of(self, work: Any) -> int:
        """Returns the rank, in the job, that sent the data of this Work's recv; -1 if it is
        unknown. Only recvs from any source are known, after their wait."""
        known = self._works_known.get(id(work))
        is_known = known is not None and known.waited and "any" in known.pending.entry
        return int(known.pending.entry["peer"]) if known is not None and is_known else -1

    def _settle(
        self, pending: Pending, seconds: Optional[float] = None, closes: bool = False
    ) -> bool:
        """Waits for the result and writes it to the tensors, because the host continues with real
        values. Returns False if the timeout `seconds` expires."""
        if self.settings.values == "own":
            reply = m.Reply()
        else:
            reply = self._ask(m.Need(pending.call, pending.device, seconds, closes))
        if reply.late:
            return False
        self._pending.pop(pending.key, None)
        if pending.key in self._works_known:
            self._works_known[pending.key].waited = True
        if reply.made_up:
            pending.entry["made_up"] = True
            self.note("made_up", "a result was made up because no rank could go on")
            if self._made_up_at is None:
                self._made_up_at = self.file.count
        elif self.settings.values == "own" and "made_up" not in self._noted:
            self.note("made_up", "--values own: each rank made up its results from its own data")
        pending.receive(reply)
        if self._is_made_up(pending, reply):
            self._made_up.mark(pending.tensors, pending.entry["bytes"])
        elif pending.entry["call"] != "send":
            self._made_up.clear(pending.tensors)
        if pending.entry["call"] != "send":
            self.free.draws.receive(pending.tensors, reply.random)
        if reply.source >= 0 and "any" in pending.entry:
            pending.entry["peer"] = reply.source
            if self.free.asks("sources"):  # other senders are other runs of the exploration
                pending.entry["any"] = False
        self.file.release(pending.entry)
        if pending.error:
            pending.future.set_exception(RuntimeError(pending.error))
        else:
            pending.future.set_result(pending.tensors)
        pending.handle = None
        return True

    def _is_made_up(self, pending: Pending, reply: m.Reply) -> bool:
        """Whether the result was made up because it was too large to be carried. The root of a
        broadcast has real values."""
        call = pending.entry["call"]
        if reply.value is not None or reply.made_up or self.settings.values == "own":
            return False
        is_root = call == "broadcast" and pending.entry["root"] == self.rank
        return call not in ("send", "barrier") and not is_root

    def _note_read(self, size: int) -> None:
        """Adds a note, once per place, that the script reads a made-up value, so that its further
        calls mean little."""
        with self.turn():
            place = self.place()
            if place not in self._read_at:
                self._read_at.add(place)
                self.file.add({"note": "cut_read", "bytes": size}, place)

    def carried(
        self, parts: Sequence[Sequence[torch.Tensor]], size: int, gives: bool = True
    ) -> m.Parts:
        """Returns the values of each part, or None if `size`, their total size, exceeds the limit:
        control flow depends on small values. Objects are always carried, because made-up bytes
        cannot be unpickled. `gives`: other ranks get these values."""
        if size > self.settings.limit and not is_object_call(sys._getframe(1)):
            limit = self.settings.limit
            self.note("cut_values", f"results of more than {limit} bytes were made up (--limit)")
            return None
        for part in parts if gives else ():
            self._carries_random |= self.free.draws.is_random(part)
        return [values.read(part) for part in parts]

    # Store

    def store_call(self, call: m.StoreCall, entry: Optional[Entry]) -> m.Reply:
        """Makes a call of a store, and records `entry`, which is None if the call comes from torch
        and not from the user's code."""
        if entry is None:
            with self.turn():
                pass
            return self._ask(call)
        with self._open_entry(entry) as written:
            reply = self._ask(call)
            if call.op == "add":
                written["result"] = reply.value
            if call.op == "compare_set" and reply.value == call.value:
                written["set"] = True
            if call.op == "pop" and reply.value:
                written["key"] = f"{written['key'].rpartition('#')[0]}#{reply.value[0]}"
            if call.op == "set" and reply.value:
                written["differs"] = True
            if reply.late:
                written["timed_out"] = True
        if call.seconds is not None:
            self._note_timeout()
        return reply

    def _note_timeout(self) -> None:
        self.note("timeouts", "a wait has a timeout, which may expire in a real run")
        self.free.note("timeout", "a wait with a timeout")

    # Marks

    def step(self) -> None:
        """Records an optimizer's step, after the step. Ends the record after `--steps` steps."""
        self._steps += 1
        self.add({"step": self._steps})
        if self._steps == self.settings.steps:
            self.finish({"end": "cut", "why": "steps"}, unwind=True)

    # The end

    def finish(
        self,
        entry: Entry,
        traceback: str = "",
        place: Optional[Place] = None,
        unwind: bool = False,
    ) -> NoReturn:
        """Writes the last line and ends the process. `unwind`: the script is still running, so its
        `finally` blocks run before the end."""
        if os.getpid() != self.pid:
            self._leave_fork(traceback)
        if self.ended:
            leave_script()
        if self._made_up_at is not None and entry["end"] in ("raised", "exited"):
            # A failure on made-up values is no evidence of a failure in a real job.
            entry = {"end": "cut", "why": "made_up"}
            traceback = ""
        if entry["end"] == "cut" and self._open:
            entry["l"], place = self._open[-1].get("l"), None
        elif entry["end"] in ("cut", "raised"):
            place = place or self.place()
        with self._lock:
            self._record_dropped()
            if locks.decide_order():
                self.file.add({"note": "lock_order", "text": _LOCK_ORDER}, None)
            self._write_open()
            self.file.end(entry, place)
            self.ended = True
            runtimes = tuple(name for name in m.OTHER_RUNTIMES if name in sys.modules)
            content = self.file.content
            end = m.End(entry, traceback, self.backend, self.device, runtimes, content)
            self._tell(self.free.finish(end))
        if not unwind:
            self.leave()
        if threading.current_thread() is not threading.main_thread():
            # Also makes the main thread unwind, with the signal that the launcher uses.
            os.kill(self.pid, signal.SIGUSR1)
        leave_script()

    def stop(self, entry: Entry, place: Optional[Place]) -> None:
        """Ends the record. A signal handler in the main thread calls this method. If the signal
        comes during a turn, the record ends after the turn."""
        if self.ended:
            leave_script()
        if self._in_turn:
            self._stop = lambda: self.finish(entry, place=place, unwind=True)
        else:
            self.finish(entry, place=place, unwind=True)

    def _write_open(self) -> None:
        """Writes the unfinished calls and waits of all threads, as the last entries."""
        calls = [entry for entry in self._open if "call" in entry]
        for entry in self._open:
            if "call" not in entry:
                self.file.move_to_end(entry)
        for entry in calls:
            self._write_end_of(entry)

    def _leave_fork(self, traceback: str) -> NoReturn:
        """Ends a process that the script forked and that did not end by itself."""
        if traceback:
            error = traceback.strip().splitlines()[-1]
            text = f"a process that rank {self.rank} forked raised an exception:\n  {error}\n"
            os.write(self.messages, text.encode())
        exit_process(1 if traceback else 0)

    def leave(self) -> NoReturn:
        """Ends the process at once, after flushing its output."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        exit_process(0)

    def ask(self, question: m.Question) -> m.Reply:
        """Asks a question that only an exploration asks."""
        with self.turn():
            pass
        return self._ask(question)

    # The pipe to the broker

    def _check_process(self) -> None:
        if os.getpid() != self.pid:
            raise RuntimeError(
                "pipesim record: a process that the script forked called torch.distributed. "
                "Only the ranks that 'pipesim record --ranks' starts are recorded; let the script "
                "use torch.multiprocessing.spawn, or call its function for one rank."
            )

    def _tell(self, message: Any) -> None:
        self._check_process()
        try:
            with self._lock:
                self._connection.send_bytes(pickle.dumps(message))
        except OSError:
            self.leave()  # the launcher is gone

    def _ask(self, question: m.Question) -> m.Reply:
        """Asks the broker and waits for the reply. Meanwhile, other threads can call."""
        question.thread = threads.path()
        question.task = threading.get_native_id()
        others = threads.others()
        helpers = [t.native_id or 0 for t in others if threads.is_helper(t)]
        question.helpers, question.alone = tuple(helpers), len(helpers) == len(others)
        if self.free.explores:
            place = self.place()
            question.at = "" if place is None else place.at
            question.now, question.wrote = self.free.clock.now, self.free.wrote
            question.races = threads.may_race()
            question.can_fork = not others and not multiprocessing.active_children()
            question.spent = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        self._tell(question)
        reply = self._receive(question.thread)
        if question.races:
            self._tell(m.Got())
        if self.free.explores:
            self.free.clock.now = max(self.free.clock.now, reply.now)
        if reply.cut is not None:
            if reply.running:
                self._noted.add("running_threads")
                text = "another thread may go on, and call"
                self.file.add({"note": "running_threads", "text": text}, self.place())
            end = {"end": "cut", "why": reply.cut}
            self.finish(end, place=self.place(), unwind=True)
        return reply

    def _receive(self, thread: tuple[int, ...]) -> m.Reply:
        """Waits for the reply to this thread. One of the waiting threads reads the replies for all
        of them."""
        with self._replies:
            while thread not in self._arrived:
                if self._is_read:
                    self._replies.wait()
                    continue
                self._is_read = True
                self._replies.release()
                try:
                    reply = self._read_reply()
                except (EOFError, OSError):
                    self.leave()
                finally:
                    self._replies.acquire()
                    self._is_read = False
                self._arrived[reply.thread] = reply
                self._replies.notify_all()
            return self._arrived.pop(thread)

    def _read_reply(self) -> m.Reply:
        while True:
            message = pickle.loads(self._connection.recv_bytes())
            if isinstance(message, m.Reply):
                return message
            self._fork()

    def _fork(self) -> None:
        """Starts a copy of this rank, which continues with another pipe. The rank has no other
        thread."""
        pipe = Connection(reduction.recv_handle(self._connection))
        file = self.file.copy_memory()
        self._copies = [pid for pid in self._copies if os.waitpid(pid, os.WNOHANG) == (0, 0)]
        state = random.getstate()
        pid = os.fork()
        if pid:
            pipe.close()
            os.close(file)
            self._copies.append(pid)
            return
        random.setstate(state)  # Python gives the child of a fork another seed
        self._connection.close()
        self._connection, self._copies, self.pid = pipe, [], os.getpid()
        self.file.attach(file)
        self._tell(m.Hello(self.pid))


# Number of references in _finish_destroyed to a group that only `patches` keeps: its list, a tuple,
# a variable, and the argument of sys.getrefcount.
_OWN_REFERENCES = 4


def _thread_of(entry: Entry) -> Entry:
    return {"th": entry["th"]} if "th" in entry else {}
