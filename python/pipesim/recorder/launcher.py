"""The launcher: starts the ranks, runs their broker, and writes `record.json`.

    python3 -m pipesim.record
      ├── rank 0, 2, 4, ...      forked, PYTHONHASHSEED=1
      └── nursery                new process, PYTHONHASHSEED=2
            └── rank 1, 3, ...   forked

In a real job, each process has its own hash seed, so each rank iterates over a set of names in its
own order; this is a real cause of hangs. Ranks forked from one parent would all have the same
order, hence the second parent.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pickle
import platform
import re
import select
import signal
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Optional, Union

from pipesim.recorder import messages as m
from pipesim.recorder.broker import Broker
from pipesim.recorder.imports import import_torch, remember_modules
from pipesim.recorder.nursery import Nursery, breed
from pipesim.recorder.patience import Patience
from pipesim.recorder.progress import Progress
from pipesim.recorder.rank import STOP_SIGNALS, rank_file_name
from pipesim.recorder.settings import Settings
from pipesim.recorder.tasks import Standing, Tasks

# Time after which a rank that does not stop when asked is killed: it can be in C code, or catch all
# exceptions.
_SECONDS_TO_STOP = 2.0

# Limits of the pause between two looks at threads that may continue by themselves, in seconds.
_SHORTEST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.05

# Time for the import of torch in the nursery on a busy machine.
_SECONDS_TO_START = 600.0


@dataclasses.dataclass
class Outcome:
    """The outcome of a recording. `ends`: by rank, the last line of the rank's file."""

    ends: list[dict[str, Any]]
    tracebacks: dict[str, list[int]]  # by traceback: ranks that ended with it
    backend: str
    device: str
    died: list[int]  # ranks whose process died, or was killed because it did not stop
    stopped: list[int]  # ranks that were stopped after too long without progress
    runtimes: list[str]  # runtimes other than torch.distributed, from `messages.End`
    interrupted: bool = False


def prepare_process(settings: Settings) -> None:
    """Sets the environment and folder of the ranks, imports torch, and creates the record's
    folder."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a fork cannot share a GPU's context
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    if settings.chdir is not None:
        os.chdir(settings.chdir)
    import_torch(settings)
    if settings.script:  # for a function, `pipesim.api` has done so
        remember_modules()
    Path(settings.out).mkdir(parents=True, exist_ok=True)


def remove_record(folder: Path) -> None:
    """Removes the files of an earlier record, and no other file: the user can name any folder."""
    for path in folder.iterdir():
        if re.fullmatch(r"(rank|trace)\d+\.jsonl|(record|why)\.json|why\.txt", path.name):
            path.unlink()


def run(
    settings: Settings,
    function: Optional[Callable[[], Any]] = None,
    nursery: Optional[Nursery] = None,
) -> Outcome:
    """Records a job. A nursery, if given, starts the odd ranks. If `device` is "auto" and the script
    asks for GPUs, records again with stand-ins for GPUs.

    Call `prepare_process` in this process before.
    """
    outcome = Launcher(settings, function, nursery).run()
    if settings.device == "auto" and any(map(asks_for_cuda, outcome.ends)):
        settings = dataclasses.replace(settings, device="cuda")
        outcome = Launcher(settings, function, nursery).run()
    return outcome


def asks_for_cuda(end: dict[str, Any]) -> bool:
    """Whether the rank ended because its backend is nccl, or because torch refused a call on a GPU
    (torch/cuda/__init__.py, _lazy_init)."""
    refusals = (
        "Torch not compiled with CUDA",
        "No CUDA GPUs are available",
        "NVIDIA driver",
        "accelerator support",  # for `device_id=`, since 2.13
        "number of accelerators available",  # the same, with a build for CUDA
        "Cannot access accelerator device",
        "'torch._C' has no attribute '_cuda_",
    )
    return end.get("why") == m.NEEDS_CUDA or any(text in end.get("text", "") for text in refusals)


def _is_there(pid: int) -> bool:
    """Whether the process still runs. A zombie does not: the child of a nursery becomes one."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        pass
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return not stat.rpartition(")")[2].lstrip().startswith("Z")


class Launcher:
    """A recording of a script or a Python function."""

    def __init__(
        self,
        settings: Settings,
        function: Optional[Callable[[], Any]] = None,
        nursery: Optional[Nursery] = None,
    ) -> None:
        self._settings = settings
        self._function = function
        self._nursery = nursery
        self._connections: dict[int, Connection] = {}
        self._pids: dict[int, int] = {}
        self._inits: dict[int, m.Init] = {}
        self._died: list[int] = []
        self._stopped: list[int] = []
        self._calls = 0
        self._tasks: dict[int, Tasks] = {}
        # Threads whose reply is followed by `Got`, and ranks that have not sent it yet.
        self._racing: set[tuple[int, tuple[int, ...]]] = set()
        self._getting: set[int] = set()
        self._broker = self._make_broker()

    def _make_broker(self) -> Broker:
        settings = self._settings
        if settings.explore is None:
            return Broker(settings.ranks, self._send, self._standing)
        from pipesim.explorer.broker import Choice, ExploringBroker

        plan = [Choice(*each) for each in settings.replay]
        return ExploringBroker(
            settings.ranks, self._send, plan, {}, settings.explore, set(), self._standing
        )

    def run(self) -> Outcome:
        """Runs all ranks to their ends, and writes `record.json`."""
        with self._own_folder():
            return self._run()

    @contextlib.contextmanager
    def _own_folder(self) -> Iterator[None]:
        """Lets the ranks of a replayed run work in a copy of the folder, like the ranks of
        `explore`."""
        if self._settings.explore is None:
            yield
            return
        from pipesim.explorer.folders import make_copy

        with tempfile.TemporaryDirectory(prefix="pipesim-replay-") as scratch:
            make_copy(Path.cwd(), Path(scratch) / "work")
            self._settings = dataclasses.replace(self._settings, folder=f"{scratch}/work")
            yield

    def _run(self) -> Outcome:
        settings = self._settings
        remove_record(Path(settings.out))
        interrupted = False
        try:
            if settings.one_by_one:
                self._broker.started.clear()
                for rank in range(settings.ranks):
                    self._broker.started.add(rank)
                    self._start([rank])
                    self._serve({rank})
            else:
                self._start(list(range(settings.ranks)))
                self._serve(set(range(settings.ranks)))
        except KeyboardInterrupt:
            interrupted = True
            self._stop(self._broker.live, "killed")
        finally:
            self._reap()
        inits = [self._inits[rank] for rank in sorted(self._inits)]
        outcome = outcome_of(self._broker.ends, inits)
        outcome.died, outcome.stopped = self._died, self._stopped
        outcome.interrupted = interrupted
        write_record(settings, outcome)
        return outcome

    # Processes

    def _start(self, ranks: list[int]) -> None:
        there = [rank for rank in ranks if self._nursery is not None and rank % 2 == 1]
        here = [rank for rank in ranks if rank not in there]
        ends = {rank: Pipe() for rank in ranks}
        for rank in ranks:
            self._connections[rank] = ends[rank][0]
        if self._nursery is not None and there:
            self._nursery.breed(self._settings, {rank: ends[rank][1] for rank in there})
        all_ends = [end for rank in ranks for end in ends[rank]] + list(self._connections.values())
        if self._nursery is not None:
            all_ends.append(self._nursery.connection)
        breed(self._settings, {rank: ends[rank][1] for rank in here}, all_ends, self._function)
        for rank in ranks:
            ends[rank][1].close()

    def _stop(self, ranks: set[int], why: str) -> None:
        """Asks ranks to write their last line, and kills the ranks that do not."""
        for rank in ranks:
            self._signal(rank, STOP_SIGNALS[why])
        deadline = time.monotonic() + _SECONDS_TO_STOP
        while self._broker.live & ranks and time.monotonic() < deadline:
            self._read(deadline - time.monotonic())
        for rank in sorted(self._broker.live & ranks):
            self._signal(rank, signal.SIGKILL)
            self._lost(rank, why)

    def _signal(self, rank: int, number: int) -> None:
        if rank in self._pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pids[rank], number)

    def _reap(self) -> None:
        for connection in self._connections.values():
            connection.close()  # a rank that still runs ends at its next message
        # The records are complete; the deadline bounds the time in which scripts clean up.
        deadline = time.monotonic() + _SECONDS_TO_STOP
        for pid in self._pids.values():
            while _is_there(pid) and time.monotonic() < deadline:
                time.sleep(_SHORTEST_PAUSE)
            if _is_there(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):  # can be a child of the nursery
                os.waitpid(pid, 0)

    # Messages

    def _send(self, rank: int, reply: m.Reply) -> None:
        if (rank, reply.thread) in self._racing:
            self._racing.remove((rank, reply.thread))
            self._getting.add(rank)
        with contextlib.suppress(OSError):
            self._connections[rank].send_bytes(pickle.dumps(reply))

    def _standing(self, rank: int, asking: Collection[int], helpers: Collection[int]) -> Standing:
        """Returns the state of a rank's threads."""
        if rank in self._getting:
            return Standing.RUNS
        if rank not in self._tasks:
            self._tasks[rank] = Tasks(self._pids[rank])
        standing = self._tasks[rank].standing(asking, helpers)
        # A thread sends its question before it waits, so an unread message shows that the thread
        # has run.
        return Standing.RUNS if self._connections[rank].poll() else standing

    def _serve(self, ranks: set[int]) -> None:
        """Serves all ranks until `ranks` have ended."""
        patience = Patience(self._settings.seconds, self._pids)
        progress = Progress(self._settings)
        pause = _SHORTEST_PAUSE
        while self._broker.live & ranks:
            if self._broker.settle():
                continue
            progress.show(self._calls)
            starting = len(self._pids) < len(self._connections)
            left = patience.seconds_left(_SECONDS_TO_START if starting else 0.0)
            if left <= 0 and self._broker.unsettled:
                self._broker.give_up()
                patience.renew()
            elif left <= 0:
                # If one_by_one is set, a rank can wait for a rank that has not begun.
                self._stopped = sorted(self._broker.running & ranks or self._broker.live & ranks)
                self._stop(set(self._stopped), "seconds")
                patience.renew()
            elif self._read(min(left, pause if self._broker.unsettled else progress.interval)):
                patience.renew()
                pause = _SHORTEST_PAUSE
            else:
                pause = min(2 * pause, _LONGEST_PAUSE)
        progress.clear()

    def _read(self, seconds: float) -> bool:
        """Handles the ranks' messages; waits up to `seconds` for one. Returns whether there was
        a message."""
        poll = select.poll()
        by_fd = {}
        for rank in self._broker.live & set(self._connections):
            by_fd[self._connections[rank].fileno()] = rank
            poll.register(self._connections[rank].fileno(), select.POLLIN)
        ready = poll.poll(max(0.0, seconds) * 1000)
        for fd, _ in ready:
            rank = by_fd[fd]
            connection = self._connections[rank]
            try:
                while rank in self._broker.live:
                    message = pickle.loads(connection.recv_bytes())
                    if isinstance(message, m.Hello):
                        self._pids[rank] = message.pid
                    elif isinstance(message, m.Init):
                        self._inits[rank] = message
                    elif isinstance(message, m.Got):
                        self._getting.discard(rank)
                    else:
                        if isinstance(message, m.Question) and message.races:
                            self._racing.add((rank, message.thread))
                        self._calls += isinstance(message, (m.Collective, m.Send, m.Recv))
                        self._broker.handle(rank, message)
                    if not connection.poll():
                        break
            except (EOFError, OSError, pickle.UnpicklingError):
                self._lost(rank, "killed")
        return bool(ready)

    def _lost(self, rank: int, why: str) -> None:
        """Writes the last line for a rank whose process ended without writing it."""
        if why == "killed":
            self._died.append(rank)
        end: dict[str, object] = {"end": "cut", "why": why}
        path = Path(self._settings.out) / rank_file_name(rank)
        begin: dict[str, object] = {"record": 1, "rank": rank, "world": self._settings.ranks}
        lines = [end] if path.exists() else [begin, end]
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        self._broker.end(rank, m.End(end))


def outcome_of(by_rank: Mapping[int, m.End], inits: Sequence[m.Init]) -> Outcome:
    """Returns the outcome of a run whose ranks have ended."""
    ends = [by_rank[rank] for rank in sorted(by_rank)]
    known: list[Union[m.End, m.Init]] = [*ends, *inits]
    tracebacks: dict[str, list[int]] = {}
    for rank, end in sorted(by_rank.items()):
        if end.traceback:
            tracebacks.setdefault(end.traceback, []).append(rank)
    backends = [each.backend for each in known if each.backend]
    return Outcome(
        ends=[end.entry for end in ends],
        tracebacks=tracebacks,
        backend=backends[0] if backends else "",
        device="cuda" if any(each.device == "cuda" for each in known) else "cpu",
        died=[],
        stopped=[],
        runtimes=sorted({name for end in ends for name in end.runtimes}),
    )


def write_record(settings: Settings, outcome: Outcome) -> None:
    """Writes `record.json`, the description of the record as a whole."""
    import torch

    record = {
        "record": 1,
        "world": settings.ranks,
        "command": settings.command,
        "backend": outcome.backend or "gloo",
        "device": outcome.device,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "settings": {
            "values": settings.values,
            "limit": settings.limit,
            "seconds": int(settings.seconds),
            **({"one_by_one": True} if settings.one_by_one else {}),
            **({"steps": settings.steps} if settings.steps else {}),
            **({"nodes": settings.nodes} if settings.nodes > 1 else {}),
        },
        "ends": [
            {"rank": rank, **{k: v for k, v in end.items() if k != "l"}}
            for rank, end in enumerate(outcome.ends)
        ],
    }
    path = Path(settings.out) / "record.json"
    with path.open("x", encoding="utf-8", errors="replace") as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
