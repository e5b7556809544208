"""Stand-ins for CUDA streams and events, and the CUDA state of a rank."""

from __future__ import annotations

import sys
import threading
from typing import Any, Optional, Union

import torch

from pipesim.recorder import polls, values
from pipesim.recorder.rank_file import Entry
from pipesim.recorder.rank_recorder import RankRecorder

DeviceLike = Union[torch.device, str, int, None]


class Stream:
    """A stand-in for torch.cuda.Stream.

    `id` is the stream's name in the record, None for the default stream."""

    def __init__(self, device: DeviceLike = None, priority: int = 0, **_: Any) -> None:
        self._cuda = installed()
        self.device = torch.device("cuda", self._cuda.index(device))
        self.priority = priority
        self.cuda_stream = self._cuda.next_stream()
        self.id: Optional[str] = f"s{self.cuda_stream}" if self.cuda_stream else None
        if self.id is not None:
            self._cuda.define({"def": self.id, "stream": f"stream {self.cuda_stream}"})

    def record_event(self, event: Optional[Event] = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        self.wait_event(stream.record_event())

    def synchronize(self) -> None:
        self._cuda.add({"synchronize": "stream"}, self)

    def is_capturing(self) -> bool:
        return False

    def query(self) -> bool:
        self._cuda.recorder.note("polls", "query() of a stream may decide what is called next")
        if polls.is_wait(sys._getframe(1)):
            self.synchronize()
        return True

    def __enter__(self) -> Stream:
        self._cuda.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._cuda.stack.pop()


class Event:
    """A stand-in for torch.cuda.Event. A wait for an event that was never recorded does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._cuda = installed()
        self.id = ""

    def record(self, stream: Optional[Stream] = None) -> None:
        if not self.id:
            self.id = self._cuda.next_event()
            self._cuda.define({"def": self.id, "event": ""})
        self._cuda.add({"record": self.id}, stream)

    def wait(self, stream: Optional[Stream] = None) -> None:
        if self.id:
            self._cuda.add({"stream_wait": self.id}, stream)

    def synchronize(self) -> None:
        if self.id:
            self._cuda.add({"synchronize": "event", "e": self.id}, None)

    def query(self) -> bool:
        self._cuda.recorder.note("polls", "query() of an event may decide what is called next")
        if polls.is_wait(sys._getframe(1)):
            self.synchronize()
        return True

    def elapsed_time(self, _: Event) -> float:
        return 1.0


class _Streams(threading.local):
    """The current streams of a thread: the stack that `with stream` pushes to."""

    def __init__(self) -> None:
        self.stack: list[Stream] = []


class Cuda:
    """The CUDA state of one rank: current device and streams, and the ids of streams and events."""

    def __init__(self, recorder: RankRecorder) -> None:
        self.recorder = recorder
        self.current = 0
        self._threads = _Streams()
        self.default_device: Optional[int] = None  # GPU of tensors made without `device=`
        self.kernels: dict[Optional[str], int] = {}  # by stream: kernels since its last entry
        self._streams = -1  # number of the last stream; the default stream comes first, as 0
        self._events = 0

    @property
    def stack(self) -> list[Stream]:
        return self._threads.stack

    def next_stream(self) -> int:
        self._streams += 1
        return self._streams

    def next_event(self) -> str:
        self._events += 1
        return f"e{self._events}"

    def define(self, definition: Entry) -> None:
        self.recorder.file.define(definition, self.recorder.place())

    def add(self, entry: Entry, stream: Optional[Stream]) -> None:
        """Records an entry on `stream`, or on the current stream if it is None."""
        with values.quiet():
            on = stream.id if stream is not None else self.stream_id()
            self.recorder.add({**entry, "s": on, "k": self.kernels.pop(on, None)})

    def launch(self) -> None:
        """Counts a kernel on the current stream."""
        on = self.stream_id()
        self.kernels[on] = self.kernels.get(on, 0) + 1

    def stream_id(self) -> Optional[str]:
        return self.stack[-1].id if self.stack else None

    def of_entry(self) -> Entry:
        """Returns the stream (`s`) and the number of kernels (`k`) for an entry of the recorder."""
        on = self.stream_id()
        return {"s": on, "k": self.kernels.pop(on, None)}

    def index(self, device: DeviceLike) -> int:
        """Returns the index of a device that is given in any form that torch.cuda accepts."""
        if device is None:
            return self.current
        if isinstance(device, int):
            return device if device >= 0 else self.current
        found = torch.device(device).index
        return self.current if found is None else found


_cuda: Optional[Cuda] = None


def install(recorder: RankRecorder) -> Cuda:
    """Creates the CUDA state of this rank; call it before anything else in this module."""
    global _cuda
    _cuda = Cuda(recorder)
    return _cuda


def installed() -> Cuda:
    assert _cuda is not None, "install() comes first"
    return _cuda
