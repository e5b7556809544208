"""The notes of one rank. The wrappers of `patches` call its methods, which never raise."""

from __future__ import annotations

import collections
import itertools
import json
import os
import platform
import re
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Callable, NamedTuple, Optional

import torch

from pipesim.attach.calls import Call, Group, NotKnown, device_of
from pipesim.attach.keeper import Keeper
from pipesim.attach.notes import THREADS, Full, Notes
from pipesim.recorder.places import Place, Places
from pipesim.recorder.values import dtype_name

DEFAULT_FOLDER = "pipesim-attach"
_MAX_WORKS = 1 << 16  # number of known Works, after which the oldest are forgotten
_MAX_MESSAGE = 300  # characters
_SAMPLED = 0x7F  # calls whose positions have these bits unset are measured

# Errors of a call whose cause is another rank (gloo, torch and NCCL), and errors of timeouts.
_BY_OTHERS = re.compile(
    r"[Cc]onnection (?:closed|reset|refused)|Broken pipe|[Tt]imed out|[Tt]imeout|"
    r"NCCL communicator was aborted|remote process exited"
)


def by_others(error: BaseException) -> bool:
    """Whether another rank has caused this error of a call."""
    return _BY_OTHERS.search(str(error)) is not None


class Thread:
    """A thread that has called. A thread that C++ started counts as the main thread, because it
    runs a backward of the main thread."""

    def __init__(self, number: int, label: str) -> None:
        self.number = number  # number in the record; 0: the main thread
        self.label = label
        self.works = 0  # number of calls
        self.last = -1  # position of the last call
        self.slot = number if number < THREADS else 0
        self.depth = 0  # number of nested backwards
        self.futures = 0  # number of futures taken since the last wait for them
        self.line_of_wait = 0  # number of the line that says that a call waits for itself


class _Own(threading.local):
    """The state of the current thread."""

    def __init__(self) -> None:
        self.inside = False  # whether the thread is in a noted call: nested calls are torch's
        self.poll: Optional[tuple[Any, int]] = None  # the last poll, and its position
        self.thread: Optional[Thread] = None
        self.in_batch = False  # whether the thread is in batch_isend_irecv
        self.in_native = False  # whether it is in a function of torch whose C++ waits for its calls
        self.coalesced_since = 0  # number of the thread's calls before _start_coalescing


class Counted:
    """A group, and the number of its calls that torch has counted at the end of its last noted
    call. Calls that torch counts in between are missing in the record."""

    def __init__(self, pg: Any, group: Group) -> None:
        self.pg = weakref.ref(pg)
        self.group = group
        # 1.13 sets a random number after it has made the group.
        self.calls = None if torch.__version__.startswith("1.") else self.read()

    def read(self) -> Optional[int]:
        """Returns torch's number; None: the group is gone."""
        pg = self.pg()
        return None if pg is None else pg._get_sequence_number_for_group()


class Known(NamedTuple):
    """A Work that the script may hold."""

    reference: Any
    thread: Thread
    numbers: tuple[int, ...]  # numbers among the thread's calls; several for a coalesced Work
    is_message: bool
    group: Group
    counted: Optional[Counted] = None
    waited: bool = False


class Noting:
    """The notes of this process."""

    def __init__(self) -> None:
        said = os.environ.get("PIPESIM_ATTACH", "")
        self.is_off = said.lower() in ("off", "0", "no", "false")
        self.folder = DEFAULT_FOLDER if self.is_off or not said else said
        self.active = False
        self.own = _Own()
        # Groups of each kind of device, by id() and by name of torch's group.
        self.groups: dict[Any, dict[str, Group]] = {}
        self.counted: dict[Any, Counted] = {}  # by the same keys
        self.cost = [0, 0]  # nanoseconds, and number of calls, that were measured
        self._pid = os.getpid()
        self._main = threading.main_thread().ident
        self._threads = itertools.count(1)
        self._labels: collections.Counter[str] = collections.Counter()
        self._main_thread = Thread(0, "")
        self._works: dict[int, Known] = {}  # by id() of the Work
        self._dropped: collections.deque[tuple[Thread, int]] = collections.deque()
        self._defined = 0  # number of groups
        self._ended = False
        self._code: Any = None  # status of sys.exit
        self._noted: set[str] = set()
        self.notes: Any = None
        self.keeper: Any = None
        self.on_group: Optional[Callable[[Any], None]] = None  # called with each new group
        self.at_end: list[Callable[[], None]] = []  # called before the interpreter ends

    # Beginning, end, and errors of attach

    def begin(self, rank: int, world: int, backend: str) -> None:
        """Opens the file. If that fails, nothing is noted."""
        if self.is_off or self.notes is not None or self._ended:
            return
        try:
            self._begin(rank, world, backend)
        except Exception as error:
            self._say(f"nothing is noted: {type(error).__name__}: {error}")
            self._ended = True

    def _begin(self, rank: int, world: int, backend: str) -> None:
        self._rank = rank
        folder = Path(self.folder).absolute()
        restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        if restart != "0":
            folder = folder / f"restart{restart}"
        folder.mkdir(parents=True, exist_ok=True)
        _remove_other_ranks(folder, rank, world)
        script = os.path.abspath(sys.argv[0])
        self._places = Places(Path(script).resolve().parent)
        self.notes = Notes(folder / f"rank{rank}.calls", rank, world)
        about = {
            "record": 1,
            "world": world,
            "command": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
            "backend": backend,
            "device": "cuda" if backend == "nccl" else "cpu",
            "torch": torch.__version__.split("+")[0],
            "python": platform.python_version(),
        }
        part = folder / f"record.json.{rank}.part"
        part.write_text(json.dumps(about) + "\n")
        os.replace(part, folder / "record.json")
        self.keeper = Keeper(self, folder / f"rank{rank}.steps")
        self.active = True
        self.keeper.start()

    def fail(self, error: BaseException) -> None:
        """Switches attach off after an error of attach."""
        if isinstance(error, NotKnown):
            self.incomplete(f"{error} is not noted")
            return
        why = "too many different lines" if isinstance(error, Full) else repr(error)
        self.stop(why)

    def stop(self, why: str) -> None:
        """Stops taking notes, and says why once."""
        if not self.active:
            return
        self.incomplete(f"attach stopped: {why}")
        self.active = False
        self._say(f"stopped, and the job goes on: {why}")

    def incomplete(self, text: str) -> None:
        """Notes once that the record lacks calls, so nothing can be proved with it."""
        if text in self._noted or not self.active:
            return
        self._noted.add(text)
        try:
            self._put("E", self.thread(), {"note": "incomplete", "text": text}, None)
        except Exception:
            self.active = False  # the file is full

    @staticmethod
    def _say(text: str) -> None:
        try:
            print(f"pipesim attach: {text}", file=sys.stderr, flush=True)
        except Exception:
            pass

    def leave_fork(self) -> None:
        """Stops in a process that the rank has forked, such as a worker of a data loader: it shares
        the mapped file."""
        self.active = False
        self._ended = True

    def exited(self, code: Any) -> None:
        """Remembers the status of sys.exit."""
        self._code = code

    def raised(self, kind: type, error: BaseException, trace: Optional[TracebackType]) -> None:
        """Notes that an exception ends the script."""
        text = " ".join(f"{kind.__name__}: {error}".split())[:_MAX_MESSAGE]
        try:
            place = self._places.raised(trace) if self.active else None
        except Exception:
            place = None
        self.finish({"end": "raised", "text": text}, place)

    def finish(self, end: Optional[dict[str, Any]] = None, place: Optional[Place] = None) -> None:
        """Notes the end, and stops."""
        if self._ended or os.getpid() != self._pid:
            return
        if end is None:
            code = self._code if self._code is None or isinstance(self._code, int) else 1
            end = {"end": "exited", "code": code} if code else {"end": "finished"}
        try:
            if self.active:
                for counted in set(self.counted.values()):
                    self._compare(counted)
                self._put("E", self._main_thread, end, place)
                self.active = False
                self.keeper.end()
        except Exception as error:
            self._say(repr(error))
        self.active, self._ended = False, True

    def clean_up(self) -> None:
        """Ends the notes, and removes all that C++ could call while the interpreter ends."""
        self.finish()
        if os.getpid() == self._pid:
            for action in self.at_end:
                action()

    # Threads and places

    def thread(self) -> Thread:
        """Returns the current thread."""
        own = self.own
        if own.thread is None:
            current = threading.current_thread()
            if current.ident == self._main or isinstance(current, threading._DummyThread):
                own.thread = self._main_thread
            else:
                self._labels[current.name] += 1
                times = self._labels[current.name]
                label = current.name if times == 1 else f"{current.name}#{times}"
                own.thread = Thread(next(self._threads), label)
        return own.thread

    def calls_of_thread(self) -> int:
        """Returns the number of the current thread's calls."""
        return self.own.thread.works if self.own.thread is not None else 0

    def place_line(self, place: Optional[Place]) -> int:
        """Returns the number of the line that defines a place, after its callers; 0: no place."""
        if place is None:
            return 0
        known = self.notes.lines.get(place)
        if known is not None:
            return int(known)
        up = self.place_line(place.up)
        definition: dict[str, Any] = {"at": place.at}
        if place.function:
            definition["in"] = place.function
        if place.call:
            definition["call"] = place.call
        if place.library:
            definition["lib"] = True
        if up:
            definition["up"] = f"l{up}"
        # The line's id is its number, which `define` gives: the reader adds it.
        return int(self.notes.define(place, "L\t" + json.dumps(definition)[1:-1]))

    def line_of_frame(self, frame: Optional[FrameType]) -> int:
        """Returns the number of the line that defines the place of a frame."""
        return self.place_line(self._places.current(frame))

    def _put(
        self,
        head: str,
        thread: Thread,
        entry: dict[str, Any],
        place: Optional[Place],
    ) -> tuple[int, int]:
        """Notes a line. `head`: its kind and the arguments of the kind. Returns the number and the
        position of the line."""
        key = (head, thread.number, tuple(entry.items()), place)
        number = self.notes.lines.get(key)
        if number is None:
            number = self._define(key, head, thread, entry, place)
        return number, self.notes.add(number)

    def _define(
        self, key: Any, head: str, thread: Thread, entry: dict[str, Any], place: Optional[Place]
    ) -> int:
        line = self.place_line(place)
        entry = dict(entry)
        if line:
            entry["l"] = f"l{line}"
        if thread.label:
            entry["th"] = thread.label
        kind, _, arguments = head.partition(" ")
        text = f"{kind} {thread.number} {arguments}".rstrip()
        number = int(self.notes.define(key, f"{text}\t{json.dumps(entry)[1:-1]}"))
        if kind == "S":
            self.notes.steps.add(number)
        return number

    def _put_reference(
        self, kind: str, known: Known, thread: Thread, place: Optional[Place]
    ) -> tuple[int, int]:
        """Notes a line that refers to a Work: by the Work's thread, and by the number of that
        thread's calls after the Work's call. So the lines of equal steps are equal."""
        works, numbers = known.thread.works, known.numbers
        if len(numbers) == 1:
            backs: tuple[int, ...] = (works - numbers[0],)
        else:
            backs = tuple([works - number for number in numbers])
        key = (kind, known.thread.number, backs, thread.number, place)
        number = self.notes.lines.get(key)
        if number is None:
            head = f"{kind} {known.thread.number} {','.join(map(str, backs))}"
            number = self._define(key, head, thread, {}, place)
        return number, self.notes.add(number)

    # Groups

    def define_group(
        self, name: str, ranks: Sequence[int], backend: str, desc: str = "", eager: bool = False
    ) -> Optional[Group]:
        """Defines a group. The caller notes how it is made."""
        if not self.active:
            return None
        try:
            group = Group(f"g{self._defined}", name, tuple(ranks), backend)
            self._defined += 1
            entry: dict[str, Any] = {"def": group.id, "group": name, "ranks": list(ranks)}
            entry["backend"] = backend
            entry.update({"desc": desc} if desc else {}, **({"eager": True} if eager else {}))
            place = self.place_line(self._places.current(sys._getframe(1)))
            if place:
                entry["l"] = f"l{place}"
            self.notes.define(group.id, "D\t" + json.dumps(entry)[1:-1])
            return group
        except Exception as error:
            self.fail(error)
            return None

    def add_group(self, pg: Any, by_device: dict[str, Group]) -> None:
        """Knows torch's group by its id() and its name."""
        keys = {id(pg), getattr(pg, "group_name", "") or id(pg)}
        try:
            counted = Counted(pg, next(iter(by_device.values())))
        except Exception:  # the backend does not count
            counted = None
        for key in keys:
            self.groups[key] = by_device
            if counted is not None:
                self.counted[key] = counted
        if self.on_group is not None:
            try:
                self.on_group(pg)
            except Exception as error:
                self.fail(error)

    def remove_group(self, pg: Any) -> None:
        """Forgets a group that is destroyed, because another one can get its id()."""
        by_device = self.groups.get(id(pg))
        counted = self.counted.get(id(pg))
        if counted is not None:
            self.compare(counted)
        for key in [key for key, known in self.groups.items() if known is by_device]:
            del self.groups[key]
            self.counted.pop(key, None)

    def compare(self, counted: Counted) -> None:
        """Notes that the record is incomplete if torch has counted calls that were not noted."""
        try:
            if self.active:
                self._compare(counted)
        except Exception as error:
            self.fail(error)

    def _compare(self, counted: Counted) -> None:
        calls = counted.read()
        if calls is None or counted.calls is None or calls <= counted.calls:
            return
        # A call that another thread is making may be counted already. It is in `threads` before it
        # is counted, and leaves after `counted.calls` includes it.
        if (self._labels and any(self.notes.threads.tolist())) or calls <= counted.calls:
            return
        group = counted.group.name
        self.incomplete(f"torch has counted more calls on group {group} than are noted")

    def expect(self, known: Optional[Known]) -> None:
        """Accepts that torch will count a call that C++ is about to make."""
        if known is not None and known.counted is not None and known.counted.calls is not None:
            known.counted.calls += 1

    def accept(self, pg: Any) -> None:
        """Accepts what torch has counted for a batch of this group."""
        counted = self.counted.get(id(pg))
        if counted is not None:
            try:
                counted.calls = counted.read()
            except Exception as error:
                self.fail(error)

    def recount(self, known: Optional[Known]) -> None:
        """Accepts what torch has counted since the call began."""
        if known is None:
            return
        counted = known.counted
        if counted is not None and counted.calls is not None:
            try:
                pg = counted.pg()
                counted.calls = None if pg is None else pg._get_sequence_number_for_group()
            except Exception as error:
                self.fail(error)

    def mark(self, entry: dict[str, Any], head: str = "E", stands: bool = False) -> None:
        """Notes an entry other than a call. With `stands`, the thread is in this entry until
        `leave`."""
        if not self.active:
            return
        try:
            thread = self.thread()
            number, _ = self._put(head, thread, entry, self._places.current(sys._getframe(1)))
            if stands:
                self.notes.threads[thread.slot] = number
        except Exception as error:
            self.fail(error)

    def leave(self) -> None:
        """Notes that this thread is no longer in a call or wait."""
        if self.notes is None:
            return
        try:
            self.notes.threads[self.thread().slot] = 0
        except Exception as error:
            self.fail(error)

    # Calls and waits

    def call(
        self,
        describe: Callable[..., Call],
        key: Any,
        arguments: Sequence[Any],
        frame: FrameType,
        native: bool = False,
    ) -> Optional[Known]:
        """Notes a call, before it is made. Returns the argument for `returned`. `key`: the group's
        key in `groups`. `native`: C++ waits for the call; in a backward, at the end of the
        backward."""
        try:
            if self._main_thread.works & _SAMPLED:
                return self._call(describe, key, arguments, frame, native)
            begin = time.thread_time_ns()
            known = self._call(describe, key, arguments, frame, native)
            self.cost[0] += time.thread_time_ns() - begin
            self.cost[1] += 1
            return known
        except Exception as error:
            self.fail(error)
            return None

    def _call(
        self,
        describe: Callable[..., Call],
        key: Any,
        arguments: Sequence[Any],
        frame: FrameType,
        native: bool,
    ) -> Optional[Known]:
        by_device = self.groups.get(key)
        if by_device is None:
            raise NotKnown("a call of a group that attach has not seen")
        group = by_device.get("")
        if group is None:
            group = by_device.get(device_of(arguments)) or next(iter(by_device.values()))
        thread = self.own.thread or self.thread()
        counted = self.counted.get(key)
        if counted is not None and counted.calls is not None:
            pg = counted.pg()
            if pg is not None and pg._get_sequence_number_for_group() != counted.calls:
                self._compare(counted)
        if self._dropped:
            self._note_dropped()
        call = describe(group, *arguments)
        place = self._places.current(frame)
        line = (call, group.id, place, thread.number, native)
        number = self.notes.lines.get(line)
        if number is None:
            number = self._define_call(line, call, group, thread, place)
        thread.works += 1
        thread.last = self.notes.add(number)
        self.notes.threads[thread.slot] = number
        is_message = call.peer is not None or call.any_source
        known = (None, thread, (thread.works,), is_message, group, counted, False)
        return tuple.__new__(Known, known)  # in half of the time of Known(...)

    def _define_call(
        self, key: Any, call: Call, group: Group, thread: Thread, place: Optional[Place]
    ) -> int:
        entry: dict[str, Any] = {"call": call.op, "g": group.id}
        if call.type is not None:
            entry.update(bytes=call.size, type=dtype_name(call.type))
        if call.root is not None:
            entry["root"] = call.root
        if call.any_source:  # the wait says who the sender was
            entry.update(any=True, peer=next(r for r in group.ranks if r != self._rank))
        elif call.peer is not None:
            entry["peer"] = call.peer
        if call.tag:
            entry["tag"] = call.tag
        if call.splits is not None:
            entry.update(to=list(call.splits[0]), **{"from": list(call.splits[1])})
        head = f"{'N' if key[-1] else 'C'} {group.id} "
        head += "message" if "peer" in entry else "collective"
        return self._define(key, head, thread, entry, place)

    def returned(self, known: Optional[Known], work: Any) -> None:
        """Notes that a call has returned. A call without a Work has waited for itself."""
        if known is None:
            return
        try:
            self.notes.threads[known.thread.slot] = 0
            if work is None:
                self._put_own_wait(known.thread)
            else:
                self._keep(work, known)
        except Exception as error:
            self.fail(error)

    def _keep(self, work: Any, known: Known) -> None:
        key = id(work)
        if known.is_message:  # gloo cancels a send or recv whose Work is collected early

            def collected(_: Any) -> None:
                gone = self._works.get(key)
                if gone is not None and gone.reference is reference:
                    del self._works[key]
                    if not gone.waited:
                        self._dropped.append((gone.thread, gone.numbers[0]))

            reference = weakref.ref(work, collected)
            known = known._replace(reference=reference)
        if len(self._works) >= _MAX_WORKS:
            self._works.clear()
        self._works[key] = known

    def keep_results(self, results: Any, known: Known) -> None:
        """Keeps the call of a functional collective by the memory of its results, until a wait for
        one of them."""
        try:
            for tensor in [results] if isinstance(results, torch.Tensor) else results:
                if len(self._works) >= _MAX_WORKS:
                    self._works.clear()
                self._works[-tensor.untyped_storage().data_ptr()] = known
        except Exception as error:
            self.fail(error)

    def wait_for_result(self, tensor: Any, frame: Any) -> Optional[tuple[Thread, int]]:
        """Notes a wait for the result of a functional collective."""
        try:
            known = self._works.pop(-tensor.untyped_storage().data_ptr(), None)
            if known is None:
                return None
            return self._put_wait(known, self.own.thread or self.thread(), frame)
        except Exception as error:
            self.fail(error)
            return None

    def _put_own_wait(self, thread: Thread) -> int:
        """Notes that the thread waits for its last call, within this call."""
        if not thread.line_of_wait:
            thread.line_of_wait = self._define(("Y", thread.number), "Y", thread, {}, None)
        at: int = self.notes.add(thread.line_of_wait)
        return at

    def _put_wait(self, known: Known, thread: Thread, frame: Any) -> tuple[Thread, int]:
        place = self._places.current(frame)
        number, at = self._put_reference("W", known, thread, place)
        self.notes.threads[thread.slot] = number
        return thread, at

    def _note_dropped(self) -> None:
        while self._dropped:
            thread, number = self._dropped.popleft()
            self._put(f"X {thread.number} {thread.works - number}", self.thread(), {}, None)

    def wait(self, work: Any, frame: Any, has_timeout: bool) -> Optional[tuple[Thread, int]]:
        """Notes a wait, before it begins. `frame`: the frame of the wait. Returns the argument for
        `waited`."""
        try:
            known = self._works.get(id(work))
            if known is None:
                return None
            if known.is_message:  # a second wait is for another transfer
                self._works[id(work)] = known._replace(waited=True)
            else:
                del self._works[id(work)]
            thread = self.own.thread or self.thread()
            if has_timeout:
                self._note_once("timeouts", "a wait has a timeout, which may expire")
            elif (
                known.thread is thread
                and known.numbers[-1] == thread.works
                and len(known.numbers) == 1
                and self.notes.is_last(thread.last)
                and frame.f_back.f_code.co_filename.endswith("distributed_c10d.py")
            ):
                at = self._put_own_wait(thread)
                self.notes.threads[thread.slot] = thread.line_of_wait
                return thread, at
            return self._put_wait(known, thread, frame)
        except Exception as error:
            self.fail(error)
            return None

    def waited(self, noted: Optional[tuple[Thread, int]]) -> None:
        """Notes that a wait is over. If other threads have called meanwhile, the wait's place in
        the record is here."""
        if noted is None:
            return
        thread, at = noted
        try:
            self.notes.threads[thread.slot] = 0
            if not self.notes.is_last(at):
                self._put("Z", thread, {}, None)
        except Exception as error:
            self.fail(error)

    def failed(self, error: BaseException, has_timeout: bool = False) -> None:
        """Notes that this thread's last call or wait has raised."""
        if not self.active:
            return
        try:
            why = "timeout" if has_timeout else "others" if by_others(error) else "error"
            thread = self.thread()
            self._put(f"R {why}", thread, {}, None)
            self.notes.threads[thread.slot] = 0
        except Exception as another:
            self.fail(another)

    def received(self, work: Any, source: int) -> None:
        """Notes the rank of the group whose send matched a recv from any source."""
        known = self._works.get(id(work))
        if known is None or not self.active or source < 0:
            return
        try:
            back = known.thread.works - known.numbers[0]
            self._put(
                f"V {known.thread.number} {back} {known.group.ranks[source]}",
                self.thread(),
                {},
                None,
            )
        except Exception as error:
            self.fail(error)

    def poll(self, work: Any, frame: FrameType) -> None:
        """Notes that the script asks whether a Work is complete."""
        known = self._works.get(id(work))
        if known is None or not self.active:
            return
        try:
            thread = self.thread()
            place = self._places.current(frame)
            if place is not None and not place.call:
                place = self._places.calling(place, "is_completed")
            key = (known, thread.works, place)
            last = self.own.poll
            if last is not None and last[0] == key and self.notes.is_last(last[1]):
                return  # one entry per loop
            self.own.poll = (key, self._put_reference("P", known, thread, place)[1])
        except Exception as error:
            self.fail(error)

    def take_future(self, work: Any) -> None:
        """Notes that the script takes the future of a Work."""
        known = self._works.get(id(work))
        if known is None or not self.active:
            return
        try:
            self._put_reference("F", known, self.thread(), None)
            self.thread().futures += 1
        except Exception as error:
            self.fail(error)

    def wait_for_futures(self) -> bool:
        """Notes a wait for all futures that this thread has taken, as the recorder does: which
        calls a chain of futures depends on is unknown. Returns whether it waits."""
        thread = self.own.thread
        if thread is None or not thread.futures or not self.active:
            return False
        thread.futures = 0
        self.mark({}, "A", stands=True)
        return True

    def coalesced(self, pg: Any, since: int, work: Any) -> None:
        """Keeps the Work of the calls that this thread has made since its call `since`."""
        thread = self.own.thread
        by_device = self.groups.get(id(pg))
        if thread is None or work is None or not by_device:
            return
        numbers = tuple(range(since + 1, thread.works + 1))
        if numbers:
            group = next(iter(by_device.values()))
            self._works[id(work)] = Known(None, thread, numbers, False, group)

    def begin_backward(self) -> Optional[Thread]:
        """Notes the beginning of a backward. Returns the thread that `end_backward` needs."""
        try:
            thread = self.thread()
        except Exception as error:
            self.fail(error)
            return None
        thread.depth += 1
        if thread.depth == 1:
            self.mark({"backward": "begin"}, "B begin")
        return thread

    def end_backward(self, thread: Optional[Thread], how: str) -> None:
        """Notes the end of a backward."""
        if thread is None:
            return
        thread.depth -= 1
        if thread.depth == 0:
            self.mark({"backward": "end"}, f"B {how}")

    def _note_once(self, kind: str, text: str) -> None:
        if kind not in self._noted:
            self._noted.add(kind)
            self._put("E", self.thread(), {"note": kind, "text": text}, None)


def _remove_other_ranks(folder: Path, rank: int, world: int) -> None:
    """Removes files of an earlier job: this rank's steps and, on rank 0, the files of ranks that
    this job lacks."""
    for path in folder.glob("rank*.*"):
        found = re.fullmatch(r"rank(\d+)\.(?:calls|steps|jsonl)", path.name)
        if found and (int(found[1]) == rank or (rank == 0 and int(found[1]) >= world)):
            path.unlink()
