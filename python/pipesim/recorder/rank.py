"""The process of one rank: its environment, the run of the script, and the end."""

from __future__ import annotations

import atexit
import io
import os
import pickle
import random
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Optional, TextIO, cast

from pipesim.recorder import edited, locks, threads
from pipesim.recorder.messages import Hello
from pipesim.recorder.progress import clear_before_output
from pipesim.recorder.settings import Settings

if TYPE_CHECKING:  # rank_recorder imports torch, which the command line checks for first
    from pipesim.recorder.rank_recorder import RankRecorder
    from pipesim.why.tracer import Tracer

# Signals that the launcher sends to a rank that does not end by itself, by reason.
STOP_SIGNALS = {"seconds": signal.SIGUSR1, "killed": signal.SIGTERM}

_MAX_MESSAGE = 500  # characters
_MAX_DELAYS = 50
_MAX_DELAY = 0.02  # seconds

_FOLDER = str(Path(__file__).resolve().parent)


def rank_file_name(rank: int) -> str:
    return f"rank{rank}.jsonl"


def environment(settings: Settings, rank: int) -> dict[str, str]:
    """Returns the environment variables that torchrun sets for a rank
    (torch/distributed/elastic/agent/server/local_elastic_agent.py), and those of --env."""
    local = settings.local_ranks
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank % local),
        "GROUP_RANK": str(rank // local),
        "ROLE_RANK": str(rank),
        "ROLE_NAME": "default",
        "WORLD_SIZE": str(settings.ranks),
        "LOCAL_WORLD_SIZE": str(local),
        "GROUP_WORLD_SIZE": str(settings.nodes),
        "ROLE_WORLD_SIZE": str(settings.ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "pipesim",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "PIPESIM_RECORD": "1",
        **dict(settings.env),
    }


def prepare(settings: Settings, delays: Iterator[float] = iter(())) -> RankRecorder:
    """Puts a recorder into this process, which becomes a rank or forks ranks. `delays`: seconds by
    which the first reads of a clock take longer."""
    from pipesim.recorder import free, patches
    from pipesim.recorder.rank_recorder import RankRecorder

    recorder = RankRecorder(settings)
    recorder.seeds = _seeds()
    threads.install(recorder.place)
    locks.install()
    recorder.spins.watch_clocks(delays)
    patches.install(recorder)
    free.install(recorder.free)
    return recorder


def run_rank(
    settings: Settings, rank: int, connection: Connection, function: Optional[Callable[[], Any]],
    prepared: Optional[RankRecorder] = None,
) -> NoReturn:  # fmt: skip
    """Runs the script as one rank, and ends the process. `prepared`: the recorder that `prepare`
    has put into the parent."""
    from pipesim.recorder.rank_file import RankFile
    from pipesim.recorder.rank_recorder import Ended, exit_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the launcher stops the ranks
    connection.send_bytes(pickle.dumps(Hello(os.getpid())))
    messages = os.dup(2)
    _redirect_output(settings, rank)
    atexit._clear()  # the parent's exit functions are for the parent only
    os.environ.update(environment(settings, rank))
    if settings.folder is not None:
        os.chdir(settings.folder)
        sys.dont_write_bytecode = True  # else files would differ between the first runs
    path = Path(settings.out) / rank_file_name(rank) if settings.out else None
    recorder = prepared or prepare(settings, _delays(settings, rank))
    recorder.begin(settings, rank, connection, RankFile(path, rank, settings.ranks))
    for seed in recorder.seeds:
        seed(rank + settings.variation * settings.ranks)
    recorder.messages = messages

    def stop(number: int, frame: Optional[FrameType]) -> None:
        why = "seconds" if number == STOP_SIGNALS["seconds"] else "killed"
        recorder.stop({"end": "cut", "why": why}, recorder.place(frame))

    def leave(code: int) -> NoReturn:
        """Replaces os._exit: records the end, and exits without waits or `finally` blocks."""
        if os.getpid() == recorder.pid and not recorder.ended:
            recorder.finish({"end": "exited", "code": code} if code else {"end": "finished"})
        exit_process(code)

    setattr(os, "_exit", leave)
    for number in STOP_SIGNALS.values():
        signal.signal(number, stop)
    _watch_for_nccl(recorder)
    _watch_for_failed_threads(recorder)
    if settings.device == "cuda":
        from pipesim.recorder import cuda

        cuda.install(recorder)
    tracer: Optional[Tracer] = None
    if settings.trace is not None:
        from pipesim.why import sites
        from pipesim.why import tracer as tracing

        tracer = tracing.install(recorder, Path(settings.out), settings.trace)
        sites.edit(settings.edits)
    try:
        _run_and_end(recorder, settings, function, tracer)
    except Ended:
        recorder.leave()


def _run_and_end(
    recorder: RankRecorder,
    settings: Settings,
    function: Optional[Callable[[], Any]],
    tracer: Optional[Tracer],
) -> NoReturn:
    """Runs the script, and ends as Python does: joins threads, calls exit functions, and waits for
    pending collectives."""
    from pipesim.recorder.rank_recorder import Ended

    try:
        try:
            _run_script(settings, function, tracer, recorder.free.edits)
        except SystemExit as end:
            if isinstance(end, Ended):
                raise
            _end_process(recorder)
            _exit(recorder, end.code)
        _end_process(recorder)
    except Ended:
        raise
    except BaseException as error:
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
        shown = _users_part(error.__traceback__)
        report = "".join(traceback.format_exception(type(error), error, shown))
        place = recorder.place_raised(error.__traceback__)
        line = _one_line(text)
        recorder.finish({"end": "raised", "text": line}, traceback=report, place=place)
    recorder.finish({"end": "finished"})


def _end_process(recorder: RankRecorder) -> None:
    threads.join_all()
    atexit._run_exitfuncs()
    recorder.wait_at_exit()


def _one_line(text: str) -> str:
    """Returns the beginning of a message on one line. A message can have many lines, and bytes that
    are not valid UTF-8."""
    line = " ".join(text.split()).encode("utf-8", "replace").decode()
    return line if len(line) <= _MAX_MESSAGE else line[:_MAX_MESSAGE] + "..."


def _watch_for_nccl(recorder: RankRecorder) -> None:
    """Adds a note if the script loads NCCL itself: direct calls of NCCL are not recorded."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "ctypes.dlopen" or "nccl" not in str(arguments[0]):
            return
        name = os.path.basename(str(arguments[0]))
        recorder.note("other", f"the script loads {name}: what it calls past torch is not recorded")

    sys.addaudithook(hook)


def _watch_for_failed_threads(recorder: RankRecorder) -> None:
    """Adds a note if an exception ends a thread: its process goes on, and can exit with 0."""
    shown = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        shown(args)
        if args.thread is not None and not issubclass(args.exc_type, SystemExit):
            text = _one_line("".join(traceback.format_exception_only(args.exc_type, args.exc_value)))
            name = args.thread.name
            recorder.note("other", f"rank {recorder.rank}: thread '{name}' ended with {text}")

    threading.excepthook = hook


class _Prefixed(io.TextIOBase):
    """An output stream that writes whole lines, each with a prefix that names the rank."""

    def __init__(self, prefix: str, fd: int) -> None:
        self._prefix = prefix
        self._fd = fd
        self._line = ""

    def write(self, text: str) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            os.write(self._fd, f"{self._prefix}{line}\n".encode(errors="backslashreplace"))
        return len(text)

    def fileno(self) -> int:
        return self._fd


def _redirect_output(settings: Settings, rank: int) -> None:
    """Redirects the script's output to stderr, because stdout is for the report. Hides the output
    of ranks whose output is not shown."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if settings.output == "none" or (settings.output == "first" and rank != 0):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        return
    os.dup2(2, 1)
    if settings.progress and settings.output == "first":
        clear_before_output()
    if settings.output == "all":
        sys.stdout = sys.stderr = cast(TextIO, _Prefixed(f"[{rank}]: ", 2))


def _run_script(
    settings: Settings, function: Optional[Callable[[], Any]], tracer: Optional[Tracer],
    edits: edited.Edits,
) -> None:  # fmt: skip
    if function is not None:
        function()
        return
    if tracer is not None:
        edits = edited.Edits({})
    edited.install(edits)
    if settings.module:
        sys.argv = [settings.script, *settings.args]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(settings.script, run_name="__main__", alter_sys=True)
        return
    sys.argv = [settings.script, *settings.args]
    sys.path.insert(0, str(settings.script_folder))
    code = edits.code_of(settings.script)
    if tracer is not None:
        tracer.run_script(settings.script)
    elif code is not None:
        edited.run_script(settings.script, code)
    else:
        runpy.run_path(settings.script, run_name="__main__")


def _exit(recorder: RankRecorder, code: Any) -> NoReturn:
    if code is None or code == 0:
        recorder.finish({"end": "finished"})
    if isinstance(code, int):
        recorder.finish({"end": "exited", "code": code})
    recorder.finish({"end": "exited", "code": 1}, traceback=str(code))  # sys.exit("a message")


def _delays(settings: Settings, rank: int) -> Iterator[float]:
    """Returns the delays of reads of a clock, in seconds, if the recording is to vary."""
    chance = random.Random(settings.variation * settings.ranks + rank)
    count = _MAX_DELAYS if settings.variation else 0
    return iter([chance.random() * _MAX_DELAY for _ in range(count)])


def _seeds() -> list[Callable[[int], object]]:
    """Returns the functions that seed random generators. They are called with the rank, so seeds
    differ between ranks, as in a real job, but not between recordings."""
    import torch

    numpy = sys.modules.get("numpy")
    of_numpy = [] if numpy is None else [numpy.random.seed]
    # torch.manual_seed would also seed GPUs.
    return [random.seed, torch.default_generator.manual_seed, *of_numpy]


def _users_part(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    """Returns the part of the traceback that begins at the script's outermost frame."""
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if not (filename.startswith((_FOLDER, "<frozen runpy>")) or filename == runpy.__file__):
            return trace
        trace = trace.tb_next
    return None
