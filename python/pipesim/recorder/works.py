"""Groups, pending calls and their Works in the recorder."""

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
    """A process group as the record names it."""

    id: str  # in this rank's file
    name: str  # in torch
    ranks: tuple[int, ...]
    backend: str
    split: str = ""  # of a communicator that was split: which split of which

    @property
    def key(self) -> str:
        """The key by which its members find each other. After a split, ranks can have different
        names for a group. Disjoint groups can have one name."""
        return f"{self.split or self.name} of {list(self.ranks)}"


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
    thread: tuple[int, ...]  # that called
    key: int  # id() of the Work
    gloo: bool = False  # by whose rules the Work behaves
    native: bool = False  # called by C++, which waits for the future
    future_taken: bool = False
    handle: Any = None  # the Work: the reference keeps it alive until it is waited for

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
    """Calls for which torch 2.x has one Work: a batch of messages on GPUs, say."""

    calls: list[Pending]
    future: torch.futures.Future[Any]
    handle: Any  # the Work, as above


def is_object_call(frame: Optional[FrameType]) -> bool:
    """Whether torch transfers pickled objects: broadcast_object_list, all_gather_object, ..."""
    while frame is not None:
        filename, name = frame.f_code.co_filename, frame.f_code.co_name
        if "object" in name and filename.endswith("distributed_c10d.py"):
            return True
        if is_users(frame):
            return False
        frame = frame.f_back
    return False


def timed_out(pending: Pending, seconds: Optional[float]) -> str:
    """Returns torch's message (ProcessGroupGloo.cpp; gloo/transport/tcp/unbound_buffer.cc)."""
    if not pending.is_message:
        return "Operation timed out!"
    milliseconds = round((seconds or 0) * 1000)
    call = pending.entry["call"]
    return f"Timed out waiting {milliseconds}ms for {call} operation to complete"
