"""The messages between a rank's process and the broker: pickled, over one pipe per rank.

A rank hands over its calls without waiting (`Collective`, `Send`, `Recv`), and asks for a result
only when its host needs the result (`Need`). The broker answers each question with a `Reply`, for
which the asking thread waits. A rank is running if none of its threads waits for a reply.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

# Values of a call: the bytes of each tensor. None: not carried, because they exceed the limit.
Parts = Optional[list[bytes]]

# Reason of the end of a rank without stand-ins for GPUs that asks for nccl. No finished record
# contains this reason: the job is recorded again.
NEEDS_CUDA = "needs cuda"


@dataclasses.dataclass
class Hello:
    """The first message of a rank."""

    pid: int


@dataclasses.dataclass
class Init:
    """A note that the rank has called init_process_group, sent at once because the rank can be
    killed later."""

    backend: str
    device: str


@dataclasses.dataclass
class Collective:
    """The `number`-th collective of `group`. Communicator inits and store barriers are also
    collectives."""

    call: int  # number of the call in the rank, which `Need` refers to
    group: str
    number: int
    members: tuple[int, ...]  # ranks of the job, in the order of the group
    signature: tuple[Any, ...]  # properties that have to be equal on all members
    op: str
    root: int = 0
    reduce: str = "SUM"
    types: tuple[str, ...] = ()
    splits: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # bytes to and from each member
    values: Parts = None
    alone: bool = False  # waits for no other rank: gloo, without elements
    size: Optional[int] = None  # bytes, if a receiver's buffer can be larger than the data
    random: bool = False  # an exploration: its values are random numbers


@dataclasses.dataclass
class Send:
    call: int
    channel: tuple[Any, ...]  # the group and, under gloo, the tag
    peer: int
    values: Parts
    random: bool = False


@dataclasses.dataclass
class Recv:
    call: int
    channel: tuple[Any, ...]
    peer: Optional[int]  # the sender; None: any source


@dataclasses.dataclass
class Freed:
    """A note that gloo has freed a destroyed group: the rank has closed its connections in it."""

    group: str


@dataclasses.dataclass
class Question:
    """A question of a thread, which waits for the reply.

    A thread's path consists of the numbers of the starts that led to the thread: the main thread,
    (), starts (1,), (2,), ..., and (2,) starts (2, 1)."""

    thread: tuple[int, ...] = dataclasses.field(default=(), init=False)  # path of the thread
    task: int = dataclasses.field(default=0, init=False)  # the thread's id in the system
    alone: bool = dataclasses.field(default=True, init=False)  # all other threads are helpers
    helpers: tuple[int, ...] = dataclasses.field(default=(), init=False)  # ids of helper threads
    at: str = dataclasses.field(default="", init=False)  # the script's line, for an exploration
    now: float = dataclasses.field(default=0.0, init=False)  # time of the rank's virtual clock
    wrote: bool = dataclasses.field(default=False, init=False)  # the rank has changed a file
    can_fork: bool = dataclasses.field(default=False, init=False)  # whether the rank obeys `Fork`
    spent: float = dataclasses.field(default=0.0, init=False)  # CPU seconds of the rank's process
    # In an exploration: whether another thread of the rank can call, so that all take turns.
    races: bool = dataclasses.field(default=False, init=False)


@dataclasses.dataclass
class Need(Question):
    """A request for the result of a call. `device`: under NCCL, the host would not wait here."""

    call: Optional[int]  # number of the call; None: a call that never completes
    device: bool
    seconds: Optional[float] = None  # timeout of the wait
    closes: bool = False  # the wait also ends when a missing rank has closed its connections


@dataclasses.dataclass
class Poll(Question):
    """A call of `is_completed()`. `call` is None if the answer is always False; `forever`: the
    thread asks until the answer is True."""

    call: Optional[int]
    forever: bool = False
    about: str = ""  # the call in words


@dataclasses.dataclass
class Turn(Question):
    """A thread's request for permission to make a call. Other threads of its rank can be first."""


@dataclasses.dataclass
class Choice(Question):
    """A question that only an exploration asks: which of the options is the answer? The first is
    the usual one. `late`: the last option ends a wait. `objects`: the names that the answer depends
    on or changes, each with "read", "write" or "add" (to a folder). `bound`: other answers that the
    options leave out, for the report."""

    kind: str
    about: str
    options: tuple[str, ...]
    late: bool = False
    objects: tuple[tuple[Any, str], ...] = ()
    bound: str = ""


@dataclasses.dataclass
class StoreCall(Question):
    """A call of a store. `op` is set, get, wait, add, check, compare_set, delete, count, keys or
    append; for a queue, it is push, pop, try_pop or len."""

    op: str
    keys: tuple[str, ...]
    value: bytes = b""
    expected: bytes = b""
    amount: int = 0
    seconds: Optional[float] = None  # timeout of the wait


# Modules through which processes of a job communicate without torch.distributed.
OTHER_RUNTIMES = ("jax", "mpi4py", "ray")


@dataclasses.dataclass
class End:
    """The last message of a rank: the last line of its file, and the traceback of an exception."""

    entry: dict[str, Any]
    traceback: str = ""
    backend: str = ""
    device: str = "cpu"
    runtimes: tuple[str, ...] = ()  # modules of OTHER_RUNTIMES that the script has imported
    lines: bytes = b""  # the rank's file, if it is kept in memory
    is_answer: bool = False  # the exception is an explored answer, e.g. that a wait timed out
    wrote: bool = False  # an exploration: the rank has changed a file
    files: tuple[str, ...] = ()  # an exploration: the user's files that the rank has imported
    not_tried: tuple[str, ...] = ()  # an exploration: free answers that were taken as they came


@dataclasses.dataclass
class Reply:
    """The broker's answer to a question.

    `cut`: reason why the record ends here. `running`: the record is cut although another thread of
    the rank may continue. `made_up`: nothing can be delivered, so the rank makes up a value.
    `late`: the timeout of the wait has expired. `random`: the value is made of random numbers."""

    thread: tuple[int, ...] = ()
    value: Any = None
    source: int = -1
    made_up: bool = False
    cut: Optional[str] = None
    running: bool = False
    late: bool = False
    now: float = 0.0  # time that the rank's virtual clock has reached at least
    random: bool = False


@dataclasses.dataclass
class Got:
    """A note that a thread has its reply, if other threads of its rank ask meanwhile: else the rank
    would seem to wait, before the thread goes on."""


@dataclasses.dataclass
class Fork:
    """A request to a rank that waits for a reply. The rank forks a copy of itself, which continues
    with the pipe that follows the request. The rank itself keeps waiting."""
