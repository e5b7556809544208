"""The recorder's data on groups, pending calls, and their Works."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, Optional

import torch

from pipesim.recorder import messages as m
from pipesim.recorder.places import is_users
from pipesim.recorder.rank_file import Entry


@dataclasses.dataclass(frozen=True)
class Group:
    """A process group in the record."""

    id: str  # name of the group in this rank's file
    name: str  # name of the group in torch
    ranks: tuple[int, ...]
    backend: str
    split: str = ""  # "PARENT:N" if the group was made by the N-th split of PARENT

    @property
    def key(self) -> str:
        """Returns the key by which the group's members find each other. Names do not suffice: after
        a split, a group's name can differ between ranks, and disjoint groups can share a name."""
        return f"{self.split or self.name} of {list(self.ranks)}"


@dataclasses.dataclass
class Pending:
    """A call whose result the host has not requested yet."""

    call: int  # number of the call in messages to the broker
    work: int  # id of the Work in the record
    entry: Entry
    device: bool  # the host does not wait for the call (NCCL)
    receive: Callable[[m.Reply], None]  # writes the result to the tensors
    future: torch.futures.Future[Any]
    tensors: list[torch.Tensor]
    thread: tuple[int, ...]  # path of the calling thread
    key: int  # id() of the Work
    gloo: bool = False  # the Work follows gloo's rules
    error: str = ""  # text of the error that the wait raises once the call is done
    native: bool = False  # the call comes from C++, which waits for the future
    polled: bool = False  # a loop has waited for it by is_completed()
    future_taken: bool = False
    handle: Any = None  # the Work: this reference keeps it alive until the wait

    @property
    def is_message(self) -> bool:
        return self.entry["call"] in ("send", "recv")


@dataclasses.dataclass
class KnownWork:
    """A Work that the script may hold."""

    reference: weakref.ref[Any]
    pending: Pending
    waited: bool = False


@dataclasses.dataclass
class Coalesced:
    """Calls that share one Work in torch 2.x, e.g. a batch of sends and recvs on GPUs."""

    calls: list[Pending]
    future: torch.futures.Future[Any]
    handle: Any  # the Work: this reference keeps it alive until the wait


def is_object_call(frame: Optional[FrameType]) -> bool:
    """Whether the current call of torch transfers pickled objects: broadcast_object_list,
    all_gather_object, ..."""
    while frame is not None:
        filename, name = frame.f_code.co_filename, frame.f_code.co_name
        if "object" in name and filename.endswith("distributed_c10d.py"):
            return True
        if is_users(frame):
            return False
        frame = frame.f_back
    return False


def timed_out(pending: Pending, seconds: Optional[float]) -> str:
    """Returns the text of torch's error for a wait that timed out (ProcessGroupGloo.cpp;
    gloo/transport/tcp/unbound_buffer.cc)."""
    if not pending.is_message:
        return "Operation timed out!"
    milliseconds = round((seconds or 0) * 1000)
    call = pending.entry["call"]
    return f"Timed out waiting {milliseconds}ms for {call} operation to complete"
