"""What one rank records: the hooks in torch call it, it writes entries and asks the broker."""

from __future__ import annotations

import dataclasses
import os
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from types import FrameType, TracebackType
from typing import Any, NoReturn, Optional

import torch

from pipesim.recorder import messages as m
from pipesim.recorder import values
from pipesim.recorder.places import Place, Places, is_torch
from pipesim.recorder.rank_file import Entry, RankFile
from pipesim.recorder.settings import Settings

# After a made-up value, `while not all_done:` may go on forever.
_MAX_ENTRIES_AFTER_MADE_UP = 100_000


@dataclasses.dataclass(frozen=True)
class Group:
    """A process group as the record names it."""

    id: str  # in this rank's file
    name: str  # in torch
    ranks: tuple[int, ...]
    backend: str
    split: str = ""  # of a communicator that was split: which split of which

    @property
    def key(self) -> str:
        """By which its members find each other. Without a split that is the name alone, a key in
        torch's store. After one, ranks can have different names for a group."""
        return f"{self.split} of {list(self.ranks)}" if self.split else self.name


@dataclasses.dataclass
class Pending:
    """A call whose result the host has not asked for."""

    call: int  # the number that the broker knows
    work: int  # the id in the record
    entry: Entry
    device: bool  # under NCCL: the host does not wait for it
    receive: Callable[[m.Reply], None]  # puts the result where it belongs
    future: torch.futures.Future[Any]
    tensors: list[torch.Tensor]
    native: bool = False  # called by C++, which waits for the future
    future_taken: bool = False
    handle: Any = None  # the Work: the reference keeps it alive until it is waited for


@dataclasses.dataclass
class Coalesced:
    """Calls for which torch 2.x has one Work: a batch of messages on GPUs, say."""

    calls: list[Pending]
    future: torch.futures.Future[Any]
    handle: Any  # the Work, as above


def _waits_for_thread(frame: Optional[FrameType]) -> bool:
    """As `join` does, and not `start`."""
    calls = set()
    while frame is not None and frame.f_code.co_filename == threading.__file__:
        calls.add(frame.f_code.co_name)
        frame = frame.f_back
    return bool(calls) and "start" not in calls


def blocking_wait() -> bool:
    """The script asked NCCL's waits to block the host (ProcessGroupNCCL.hpp)."""
    names = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")
    return any(os.environ.get(name) == "1" for name in names)


class RankRecorder:
    """Lives in the process of one rank. Its methods are called by what `patches` put into torch."""

    def __init__(
        self, settings: Settings, rank: int, connection: Connection, out: RankFile
    ) -> None:
        self.settings = settings
        self.rank = rank
        self.world = settings.ranks
        self.file = out
        self.backend = ""  # what the script asked for first
        self.batch: Optional[int] = None  # the number of the batch_isend_irecv that is under way
        self.backward_depth = 0
        self.group_being_made: Optional[Group] = None
        self.half_being_made: Optional[Group] = None  # gloo's, if the group has two backends
        self.device_being_bound: Any = None  # likewise, of `device_id=`
        self.devices_being_made: list[str] = []  # likewise, the kinds of device it takes
        self.device = "cpu"
        self.stream: Callable[[], Entry] = dict  # `s` and `k` of an entry; set by `cuda`
        self._connection = connection
        self._lock = threading.RLock()
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=out.detach)
        self.messages = 2  # a file for what the user has to see, whatever the rank
        self._places = Places(settings.script_folder)
        self._pending: dict[int, Pending] = {}  # by id() of the Work
        self._coalescing: Optional[list[Pending]] = None  # since `_start_coalescing`
        self._coalesced: dict[int, Coalesced] = {}  # by id() of the Work
        self._batch_of_coalescing = False
        self._sources: dict[int, tuple[Any, int]] = {}  # of recvs from any source, likewise
        self._calls = 0
        self._works = 0
        self._numbers: dict[tuple[str, str], int] = {}  # of calls: (group, kind)
        self._groups = 0
        self._batches = 0
        self._steps = 0
        self._backward_callback_queued = False
        self._backward_callback_ran = False
        self._noted: set[str] = set()
        self._made_up_at: Optional[int] = None  # entries until then

    # Places and plain entries

    def place(self, frame: Optional[FrameType] = None) -> Optional[Place]:
        """The user's line now."""
        return self._places.current(frame or sys._getframe(1))

    def place_raised(self, trace: Optional[TracebackType]) -> Optional[Place]:
        """The user's line that raised an exception."""
        return self._places.raised(trace)

    def add(self, entry: Entry, hold: bool = False, place: Optional[Place] = None) -> Entry:
        """Writes an entry with the current place and stream."""
        self._check_process()
        with self._lock:
            if (
                self._made_up_at is not None
                and self.file.count - self._made_up_at > _MAX_ENTRIES_AFTER_MADE_UP
            ):
                self.finish({"end": "cut", "why": "made_up"})
            for key, value in self.stream().items():
                entry.setdefault(key, value)
            if threading.current_thread() is not threading.main_thread():
                self.note("threads", "calls of other threads: their order is one of several")
            place = place or self.place()
            if place is not None and not place.call and "read" in entry:
                place = self._places.calling(place, entry["read"])
            return self.file.add(entry, place, hold)

    def note(self, kind: str, text: str) -> None:
        """Something on which the verdict rests; each kind once."""
        if kind not in self._noted:
            self._noted.add(kind)
            self.file.add({"note": kind, "text": text}, self.place())

    def number(self, group: str, kind: str) -> int:
        """The number of the next call, from 1, as the Flight Recorder counts."""
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
        """A group of which this rank knows, whether it is a member or not. `parent`: whose
        communicator NCCL splits for it, a call of all its ranks, in order."""
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

    def is_device_group(self, group: Group) -> bool:
        """Its calls run on the device, and the host does not wait for them (NCCL)."""
        return (self.settings.rules or group.backend) == "nccl" and not blocking_wait()

    def rendezvous(self, name: str, number: int, members: Sequence[int]) -> None:
        """The host waits until all members are here, e.g. while gloo connects a group."""
        if self.settings.values == "own":
            return
        self._calls += 1
        call = m.Collective(
            self._calls, name, number, tuple(members), (name, tuple(members)), "rendezvous"
        )
        self._tell(call)
        self._ask(m.Need(call.call, device=False))

    # Calls

    def call(
        self,
        entry: Entry,
        message: Callable[[int], Any],
        receive: Callable[[m.Reply], None],
        tensors: list[torch.Tensor],
        device: bool,
        caller: FrameType,
    ) -> torch._C._distributed_c10d.Work:
        """Records a call of a group, hands it to the broker, and returns the Work for it.

        A Work made from a future is a genuine one: DDP's reducer asks it for the future. `caller`
        is the frame that called the group. If that is torch's code, but not distributed_c10d.py,
        the call came from C++, which waits at once, except for the buckets of a backward.
        """
        filename = caller.f_code.co_filename
        native = is_torch(filename) and not filename.endswith("distributed_c10d.py")
        self._calls += 1
        self._works += 1
        handed_over = message(self._calls) if self.settings.values == "real" else None
        recv_any = "any" in entry
        entry = self.add({**entry, "w": self._works, "batch": self.batch}, hold=device or recv_any)
        if handed_over is not None:
            self._tell(handed_over)
        future: torch.futures.Future[Any] = torch.futures.Future()
        pending = Pending(self._calls, self._works, entry, device, receive, future, tensors, native)
        pending.handle = torch._C._distributed_c10d._create_work_from_future(future)
        self._pending[id(pending.handle)] = pending
        if self._coalescing is not None:
            self._coalescing.append(pending)
        if native and (
            self._backward_callback_ran or not self._in_bucket_of_backward(filename)
        ):
            self._finish_in_call(pending)
        elif self.backward_depth and not (
            self._backward_callback_queued or self._backward_callback_ran
        ):
            self._queue_end_of_backward(self.backward_depth)
        return pending.handle

    def start_coalescing(self) -> None:
        """The calls until `end_coalescing` are one for NCCL."""
        self._coalescing = []
        self._batch_of_coalescing = self.batch is None
        if self._batch_of_coalescing:
            self.batch = self.next_batch()

    def end_coalescing(self) -> Any:
        """The Work of all of them."""
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
        self._wait_for([p for p in coalesced.calls if id(p.handle) in self._pending])
        coalesced.future.set_result([t for p in coalesced.calls for t in p.tensors])

    def _in_bucket_of_backward(self, filename: str) -> bool:
        return self.backward_depth > 0 and f"{os.sep}autograd{os.sep}" in filename

    def _finish_in_call(self, pending: Pending) -> None:
        """The call itself waits: no `wait` line follows."""
        del pending.entry["w"]
        pending.entry["sync"] = True
        self._settle(pending)

    def wait(self, work: Any, caller: FrameType) -> None:
        """`Work.wait`."""
        pending = self._pending.get(id(work))
        if pending is None:
            return self._wait_for_coalesced(work)
        from_torch = caller.f_code.co_filename.endswith("distributed_c10d.py")
        if from_torch and self.file.last is pending.entry:
            self._finish_in_call(pending)
        else:
            self.add({"wait": pending.work})
            self._settle(pending)

    def poll(self, work: Any) -> bool:
        """`Work.is_completed`. Its answer depends on time, so the verdict rests on it."""
        pending = self._pending.get(id(work))
        if pending is None and id(work) in self._coalesced:
            calls = self._coalesced[id(work)].calls
            pending = next((p for p in reversed(calls) if id(p.handle) in self._pending), None)
        if pending is None:
            return True
        self.note("polls", "is_completed() may decide what is called next")
        self.add({"poll": pending.work})
        if self.settings.values == "own":
            return True
        return bool(self._ask(m.Poll(pending.call)).value)

    def take_future(self, work: Any) -> Optional[torch.futures.Future[Any]]:
        """`Work.get_future`: somebody may wait for it, or chain to it."""
        pending = self._pending.get(id(work))
        if pending is None:
            self._wait_for_coalesced(work)  # earlier than needed
            return None
        pending.future_taken = True
        if self._backward_callback_ran:
            self._wait_for([pending])
        return pending.future

    def wait_for_futures(self) -> None:
        """A future is waited for in Python: which calls it stands for is not known, so for all."""
        self._wait_for([p for p in self._pending.values() if p.future_taken])

    def begin_backward(self, roots: Any) -> Callable[[], None]:
        """Before the engine runs. Returns what is to be called after it.

        The end of the backward is queued by the first hook of it, so that it comes before what DDP
        queues: with static_graph its first reductions, for which it waits in its callback.
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
        """It runs before the reducer's own callback, which waits for the futures of the buckets.

        Their values are not asked for earlier: another op of backward may reduce over a second
        group, and whether it comes before the bucket differs between ranks.
        """
        self._backward_callback_queued = True
        engine = torch.autograd.Variable._execution_engine
        engine.queue_callback(lambda: self._end_of_backward(depth))

    def _end_of_backward(self, depth: int) -> None:
        self._backward_callback_queued = depth > 1
        self._backward_callback_ran = depth == 1
        self._wait_for([p for p in self._pending.values() if p.native or p.future_taken])

    def _wait_for(self, calls: list[Pending]) -> None:
        if not calls:
            return
        works = [pending.work for pending in calls]
        self.add({"wait": works if len(works) > 1 else works[0]})
        for pending in calls:
            self._settle(pending)

    def source_of(self, work: Any) -> int:
        """The rank in the job from which a recv of this Work came, -1 if it is not known."""
        return self._sources.get(id(work), (None, -1))[1]

    def _settle(self, pending: Pending) -> None:
        """Waits for the result, as the host has to go on with real values, and puts it in place."""
        self._pending.pop(id(pending.handle), None)
        if self.settings.values == "own":
            reply = m.Reply()
        else:
            reply = self._ask(m.Need(pending.call, pending.device))
        if reply.made_up:
            pending.entry["made_up"] = True
            self.note("made_up", "a result was made up because no rank could go on")
            if self._made_up_at is None:
                self._made_up_at = self.file.count
        elif self.settings.values == "own" and "made_up" not in self._noted:
            self.note("made_up", "--values own: each rank made up its results from its own data")
        pending.receive(reply)
        if reply.source >= 0 and "any" in pending.entry:
            pending.entry["peer"] = reply.source
        self.file.release(pending.entry)
        if "any" in pending.entry:
            self._sources[id(pending.handle)] = (pending.handle, pending.entry["peer"])
        pending.future.set_result(pending.tensors)

    def carried(self, parts: Sequence[Sequence[torch.Tensor]], size: int) -> m.Parts:
        """The values of each part if `size`, of all, is small: control flow hangs on small ones."""
        if size > self.settings.limit:
            limit = self.settings.limit
            self.note("cut_values", f"results of more than {limit} bytes were made up (--limit)")
            return None
        return [values.read(part) for part in parts]

    # Store

    def store_call(self, call: m.StoreCall, entry: Optional[Entry]) -> Any:
        """A call of a store; `entry` if the user made it, and not torch."""
        written = self.add(entry) if entry is not None else None
        value = self._ask(call).value
        if written is not None and call.op == "add":
            written["result"] = value
        if written is not None and call.op == "pop":
            written["key"] = f"{written['key'].rpartition('#')[0]}#{value[0]}"
        if written is not None and call.op == "compare_set" and value == call.value:
            written["set"] = True
        return value

    # Marks

    def step(self) -> None:
        """After an optimizer's step."""
        self._steps += 1
        self.add({"step": self._steps})
        if self._steps == self.settings.steps:
            self.finish({"end": "cut", "why": "steps"})

    # The end

    def finish(self, entry: Entry, traceback: str = "", place: Optional[Place] = None) -> NoReturn:
        """Writes the last line and ends the process, without what the script would still do."""
        if os.getpid() != self._pid:
            self._leave_fork(traceback)
        if self._made_up_at is not None and entry["end"] in ("raised", "exited"):
            # That a program fails on made-up values says nothing about a real job.
            entry = {"end": "cut", "why": "made_up"}
            traceback = ""
        if entry["end"] in ("cut", "raised"):
            place = place or self.place()
        self.file.end(entry, place)
        runtimes = tuple(name for name in m.OTHER_RUNTIMES if name in sys.modules)
        self._tell(m.End(entry, traceback, self.backend, self.device, runtimes))
        self._leave()

    def _leave_fork(self, traceback: str) -> NoReturn:
        """The end of a process that the script forked and that did not end itself."""
        if traceback:
            error = traceback.strip().splitlines()[-1]
            text = f"a process that rank {self.rank} forked raised an exception:\n  {error}\n"
            os.write(self.messages, text.encode())
        os._exit(1 if traceback else 0)

    def _leave(self) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        os._exit(0)

    # The pipe to the broker

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError(
                "pipesim record: a process that the script forked called torch.distributed. "
                "Only the ranks that 'pipesim record --ranks' starts are recorded; let the script "
                "use torch.multiprocessing.spawn, or call its function for one rank."
            )

    def _tell(self, message: Any) -> None:
        self._check_process()
        try:
            self._connection.send_bytes(pickle.dumps(message))
        except OSError:
            self._leave()  # the launcher is gone

    def _ask(self, message: Any) -> m.Reply:
        with self._lock:
            self._tell(message)
            try:
                reply: m.Reply = pickle.loads(self._connection.recv_bytes())
            except (EOFError, OSError):
                self._leave()
            if reply.cut is not None:
                if "threads" in self._noted and self._others_run():
                    self.note("running_threads", "another thread may go on, and call")
                self.finish({"end": "cut", "why": reply.cut}, place=self.place())
        return reply

    def _others_run(self) -> bool:
        """Whether a thread of this rank does anything but wait for another, as `join` does. It may
        also stand before a call, for which this one holds the pipe."""
        return any(
            thread != threading.get_ident() and not _waits_for_thread(frame)
            for thread, frame in sys._current_frames().items()
        )
