"""Messages between a rank's process and the broker, pickled, over one pipe per rank.

A rank hands over its calls without waiting (`Collective`, `Send`, `Recv`), and asks for a result
only when its host needs it (`Need`). Questions are answered by a `Reply`, for which the thread that
asked waits: a rank none of whose threads waits for a reply is running.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

# Values of a call: of each tensor its bytes. None: not carried, as they are larger than the limit.
Parts = Optional[list[bytes]]

# Why a rank without stand-ins for GPUs ends when it asks for them; in no finished record.
NEEDS_CUDA = "needs cuda"


@dataclasses.dataclass
class Hello:
    """The first message of a rank."""

    pid: int


@dataclasses.dataclass
class Init:
    """The rank has called init_process_group. A rank that is killed later says no more."""

    backend: str
    device: str


@dataclasses.dataclass
class Collective:
    """The `number`-th collective of `group`. Also what works as one: creations, store barriers."""

    call: int  # the rank's own number of it, which `Need` names
    group: str
    number: int
    members: tuple[int, ...]  # ranks of the job, in the order of the group
    signature: tuple[Any, ...]  # what has to be the same on all members
    op: str
    root: int = 0
    reduce: str = "SUM"
    types: tuple[str, ...] = ()
    splits: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # bytes to and from each member
    values: Parts = None
    alone: bool = False  # gloo, without elements: waits for nobody
    size: Optional[int] = None  # bytes, if a larger buffer of a receiver is filled in part


@dataclasses.dataclass
class Send:
    call: int
    channel: tuple[Any, ...]  # group, and under gloo the tag
    peer: int
    values: Parts


@dataclasses.dataclass
class Recv:
    call: int
    channel: tuple[Any, ...]
    peer: Optional[int]  # for any source: None


@dataclasses.dataclass
class Question:
    """A question that a thread of the rank waits for. The id of a thread is the path of starts to
    it: (), the main one, starts (1,), (2,), ..., and (2,) starts (2, 1)."""

    thread: tuple[int, ...] = dataclasses.field(default=(), init=False)
    task: int = dataclasses.field(default=0, init=False)  # the thread's id in the system
    alone: bool = dataclasses.field(default=True, init=False)  # the rank has no other thread
    helpers: tuple[int, ...] = dataclasses.field(default=(), init=False)  # tasks that never call


@dataclasses.dataclass
class Need(Question):
    """The host needs the result of this call. `device`: under NCCL it would not wait here."""

    call: Optional[int]  # for a call that never ends: None
    device: bool
    seconds: Optional[float] = None  # after which the host stops to wait
    closes: bool = False  # it also stops once a rank that is missing has ended


@dataclasses.dataclass
class Poll(Question):
    """`is_completed()`. `call`: None if the answer is always False, and `forever` if the thread
    asks until it is True."""

    call: Optional[int]
    forever: bool = False


@dataclasses.dataclass
class Turn(Question):
    """A thread asks to call something. Other threads of its rank can be first."""


@dataclasses.dataclass
class StoreCall(Question):
    """One call of a store. `op` is set, get, wait, add, check, compare_set, delete, count, keys,
    append, or of a queue push, pop, try_pop or len."""

    op: str
    keys: tuple[str, ...]
    value: bytes = b""
    expected: bytes = b""
    amount: int = 0
    seconds: Optional[float] = None  # after which the host stops to wait


# Modules with which processes of a job call each other past torch.distributed.
OTHER_RUNTIMES = ("jax", "mpi4py", "ray")


@dataclasses.dataclass
class End:
    """The rank's last words: the last line of its file, and an exception's traceback."""

    entry: dict[str, Any]
    traceback: str = ""
    backend: str = ""
    device: str = "cpu"
    runtimes: tuple[str, ...] = ()  # modules of others than torch.distributed that were imported


@dataclasses.dataclass
class Reply:
    """`cut`: why the record ends here. `made_up`: make a value up, nothing can be delivered.
    `running`: it is cut although another thread of the rank may go on. `late`: the time that the
    host would wait has passed."""

    thread: tuple[int, ...] = ()
    value: Any = None
    source: int = -1
    made_up: bool = False
    cut: Optional[str] = None
    running: bool = False
    late: bool = False
