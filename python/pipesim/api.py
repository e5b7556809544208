"""`from pipesim import record`: records a script or a function, and judges it.

    def test_training_step_cannot_hang():
        assert record("train.py", ranks=8, args=["--steps", "3"]).check().proved

    def test_exchange(record):  # the pytest fixture: a failure prints pipesim's report
        assert record(exchange, ranks=4).check().proved
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from pipesim import notebook
from pipesim.explorer.cli import DEFAULT_RUNS, DEFAULT_TIME, explore_function
from pipesim.recorder import cli, program
from pipesim.recorder.imports import import_parts, import_recorder, remember_modules
from pipesim.recorder.settings import DEFAULT_LIMIT, DEFAULT_SECONDS, Settings

__all__ = [
    "End", "Exploration", "Hang", "Record", "RecordingFailed", "Report", "Stuck", "explore",
    "record",
]  # fmt: skip


class RecordingFailed(Exception):
    """An error: the recorder or the program pipesim did not run. The text includes advice."""


@dataclasses.dataclass(frozen=True)
class End:
    """The end of a rank's record: `finished`, `exited` (with `code`), `raised` (with the exception
    in `text`), or `cut` (`why`: rest, steps, seconds, made_up, killed)."""

    rank: int
    end: str
    code: Optional[int] = None
    text: str = ""
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Stuck:
    """A rank that hangs. `op` is its blocked op, e.g. `all_reduce #23 on the world group`; `at` is
    the line of the script, e.g. `train.py:20 backward`."""

    rank: int
    op: str
    at: str


@dataclasses.dataclass(frozen=True)
class Report:
    """A report of `pipesim check` on a record. `failed`: ranks that raised an exception, or exited
    with an error."""

    answer: str  # "proved", "hang possible", "hang certain", "mismatch", "undecided" or "failed"
    stuck: tuple[Stuck, ...]
    failed: tuple[int, ...]
    rests_on: tuple[str, ...]
    text: str = dataclasses.field(repr=False)
    _wait_for: Optional[Callable[[], str]] = dataclasses.field(
        repr=False, compare=False, default=None
    )  # draws the wait-for graph of the hang as SVG

    @property
    def proved(self) -> bool:
        """Whether no interleaving of the recorded program hangs, and no rank failed, died, or was
        ended because it made no progress."""
        return self.answer == "proved" and not self.failed

    @property
    def hangs(self) -> bool:
        """Whether some interleaving hangs."""
        return self.answer in ("hang possible", "hang certain")

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return notebook.report_html(self)


@dataclasses.dataclass(frozen=True)
class Hang:
    """A run that hangs: its number, the unusual answers in words, and who waits where."""

    run: int
    unusual: tuple[str, ...]
    stuck: tuple[Stuck, ...]


@dataclasses.dataclass(frozen=True)
class Exploration:
    """The answer of `explore`. `left`: alternatives that were not run; `records`: number of
    different records, each checked; `failed`: reasons for which ranks failed; `bounds` and
    `not_free`: limits of the answer; `not_tried`: free answers for which the job is not covered."""

    answer: str  # "covered", "hang possible", "hang certain", "failed" or "not covered"
    hangs: tuple[Hang, ...]
    failed: tuple[str, ...]
    runs: int
    left: int
    records: int
    bounds: tuple[str, ...]
    not_free: tuple[str, ...]
    not_tried: tuple[str, ...]
    text: str = dataclasses.field(repr=False)

    @property
    def covered(self) -> bool:
        """Whether all answers were tried, and no run hangs or fails."""
        return self.answer == "covered"

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Record:
    """A recording: a folder that every command of pipesim accepts as a scenario."""

    path: Path
    world: int
    backend: str
    ends: tuple[End, ...]
    output: str = dataclasses.field(repr=False)  # rank 0's output, exceptions, warnings
    _reports: list[Report] = dataclasses.field(repr=False, compare=False, default_factory=list)

    @property
    def failed(self) -> tuple[int, ...]:
        """Returns the ranks that raised an exception, or exited with an error."""
        return tuple(end.rank for end in self.ends if end.end in ("raised", "exited"))

    def check(
        self, *, rules: Optional[str] = None, parameters: Mapping[str, object] = {}
    ) -> Report:
        """Runs `pipesim check` to find out whether the job can hang. `rules`: "gloo" or "nccl";
        `parameters`: values for --set, by key.

        Raises RecordingFailed if the program pipesim is missing or refuses the record."""
        options = program.check_options(rules, [f"{k}={v}" for k, v in parameters.items()])
        try:
            judged = program.check(str(self.path), "--json", *options, capture=True)
            if not judged.stdout:
                raise RecordingFailed(judged.stderr)
            text = program.check(str(self.path), *options, capture=True).stdout
        except (program.ProgramNotFound, program.ProgramDied, OSError) as error:
            help = "record(..., out=FOLDER) keeps the record for 'pipesim check FOLDER'"
            raise RecordingFailed(f"{error}\n  help: {help}") from error
        answer = json.loads(judged.stdout)
        rests_on = tuple(answer.get("rests_on", ()))
        if answer.get("reading"):
            options += ["--reading", answer["reading"]]  # the NCCL model that hangs
        draw = functools.partial(_draw_waits, self, tuple(options))
        report = Report(answer["answer"], _stuck(answer["hang"]), self.failed, rests_on, text, draw)
        self._reports.append(report)
        return report

    def _repr_html_(self) -> str:
        return notebook.record_html(self)


def record(
    job: Union[str, Path, Callable[..., object]],
    *,
    ranks: int,
    args: Sequence[Any] = (),
    nodes: int = 1,
    device: str = "auto",
    rules: Optional[str] = None,
    values: str = "real",
    one_by_one: bool = False,
    preload: Sequence[str] = (),
    limit: int = DEFAULT_LIMIT,
    steps: Optional[int] = None,
    seconds: float = DEFAULT_SECONDS,
    env: Mapping[str, str] = {},
    chdir: Union[str, Path, None] = None,
    out: Union[str, Path, None] = None,
) -> Record:
    """Runs `job`, a script or a function, once as each of `ranks` ranks.

    A script gets `args` on its command line; a function is called with `args`, in processes forked
    from this one, so it can be a closure. A function sees the state that torch and the test have
    set up, and all ranks have the same hash seed. `out` is the folder of the record; by default,
    the record is deleted together with the returned object. The results of calls of more than
    `limit` bytes are made up. `seconds` is the longest time without progress.

    Raises RecordingFailed if there is no script or no torch, or if the recording was interrupted.
    A rank that fails is not an error here: see `Record.ends`.
    """
    if not callable(job) and not Path(job).is_file():
        raise RecordingFailed(f"cannot read the script '{job}'")
    scratch = tempfile.mkdtemp(prefix="pipesim-record-") if out is None else None
    settings = Settings(
        ranks=ranks,
        out=str(Path(out or f"{scratch}/record").resolve()),
        script="" if callable(job) else str(job),
        args=() if callable(job) else tuple(map(str, args)),
        nodes=nodes,
        device=device,
        rules=rules,
        values="own" if one_by_one else values,
        one_by_one=one_by_one,
        preload=tuple(preload),
        limit=limit,
        steps=steps,
        seconds=seconds,
        env=tuple(env.items()),
        chdir=None if chdir is None else str(chdir),
    )
    try:
        if isinstance(job, (str, Path)):
            output = _record_script(settings)
        else:
            output = _record_function(settings, functools.partial(job, *args))
        recorded = _read(settings, output)
    except BaseException:
        if scratch is not None:
            shutil.rmtree(scratch)
        raise
    if scratch is not None:
        weakref.finalize(recorded, shutil.rmtree, scratch, ignore_errors=True)
    return recorded


def explore(
    job: Union[str, Path, Callable[..., object]],
    *,
    ranks: int,
    args: Sequence[Any] = (),
    nodes: int = 1,
    device: str = "auto",
    rules: Optional[str] = None,
    answers: Optional[int] = None,
    runs: int = DEFAULT_RUNS,
    time: float = DEFAULT_TIME,
    free: Sequence[str] = (),
    faults: bool = False,
    uneven_data: bool = False,
    keep_going: bool = False,
    preload: Sequence[str] = (),
    limit: int = DEFAULT_LIMIT,
    seconds: float = DEFAULT_SECONDS,
    env: Mapping[str, str] = {},
    chdir: Union[str, Path, None] = None,
) -> Exploration:
    """Runs `job` with other answers of clocks, polls, queues, stores, ..., like `pipesim explore`,
    until a run hangs, all answers were tried, or a limit is reached: `answers` unusual answers in a
    run, `runs`, or `time` in seconds. `free` names the kinds to explore; by default, all except
    data and faults. The other arguments are those of `record`.

    Raises RecordingFailed if the job cannot be run."""
    if not callable(job) and not Path(job).is_file():
        raise RecordingFailed(f"cannot read the script '{job}'")
    settings = Settings(
        ranks=ranks,
        out="",
        script="" if callable(job) else str(Path(job).resolve()),
        args=() if callable(job) else tuple(map(str, args)),
        nodes=nodes,
        device=device,
        rules=rules,
        preload=tuple(preload),
        limit=limit,
        seconds=seconds,
        env=tuple(env.items()),
        chdir=None if chdir is None else str(Path(chdir).resolve()),
    )
    options: dict[str, Any] = {
        "answers": answers, "runs": runs, "time": time, "free": ",".join(free) or None,
        "faults": faults, "uneven_data": uneven_data, "keep_going": keep_going, "rules": rules,
        "set": [], "json": True,
    }  # fmt: skip
    if isinstance(job, (str, Path)):
        words = ["--settings", settings.to_json(), "--options", json.dumps(options)]
        done = _run_module("pipesim.explore", words, subprocess.PIPE)
        status, found, errors = done.returncode, done.stdout, done.stderr
    else:
        with contextlib.suppress(ImportError):  # as in `_run_in_child`
            import pipesim.explorer.report  # noqa: F401
        function = functools.partial(job, *args)
        work = functools.partial(explore_function, settings, options, function)
        status, found, errors = _run_in_child(work)
    if not found:
        raise RecordingFailed(errors.strip() or f"the exploration ended with status {status}")
    return _exploration(json.loads(found))


def _exploration(answer: Mapping[str, Any]) -> Exploration:
    hangs = tuple(
        Hang(each["run"], tuple(each["if"]), tuple(Stuck(**stuck) for stuck in each["stuck"]))
        for each in answer["hangs"]
    )
    return Exploration(
        answer=answer["answer"],
        hangs=hangs,
        failed=tuple(each["why"] for each in answer["failures"]),
        runs=answer["runs"],
        left=answer["left"],
        records=answer["records"],
        bounds=tuple(answer["bounds"]),
        not_free=tuple(answer["not_free"]),
        not_tried=tuple(answer["not_tried"]),
        text=answer["text"],
    )


def _record_script(settings: Settings) -> str:
    """Records a script in a new process, so that the state of this process does not change."""
    done = _run_module("pipesim.record", ["--settings", settings.to_json()], subprocess.DEVNULL)
    if done.returncode not in (0, cli.EXIT_FAILED):
        raise RecordingFailed(done.stderr.strip())
    return done.stderr


def _run_module(module: str, words: Sequence[str], stdout: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def _record_function(settings: Settings, function: Callable[[], object]) -> str:
    """Records a function in a child process, which becomes the launcher, the ranks' parent."""
    status, _, errors = _run_in_child(lambda: cli.record_with(settings, function))
    if status not in (0, cli.EXIT_FAILED):
        raise RecordingFailed(errors.strip())
    return errors


def _run_in_child(work: Callable[[], int]) -> tuple[int, str, str]:
    """Runs a function in a child process. Returns its status, and what it wrote to stdout and
    stderr."""
    with contextlib.suppress(ImportError):  # torch is missing; the child reports this
        import_parts(slow=True)  # here, not in the child: once for all recordings of this process
        import_recorder()
        remember_modules()
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.ExitStack() as files:
        outputs = [
            files.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
            for _ in range(2)
        ]
        child = os.fork()
        if child == 0:
            status = 70
            try:
                for fd, output in enumerate(outputs, 1):
                    os.dup2(output.fileno(), fd)
                sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
                sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
                status = work()
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 70
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        texts = []
        for output in outputs:
            output.seek(0)
            texts.append(output.read())
    return os.waitstatus_to_exitcode(status), texts[0], texts[1]


def _read(settings: Settings, output: str) -> Record:
    path = Path(settings.out)
    description = json.loads((path / "record.json").read_text(encoding="utf-8"))
    return Record(
        path=path,
        world=description["world"],
        backend=description["backend"],
        ends=tuple(End(**end) for end in description["ends"]),
        output=output,
    )


def _draw_waits(recorded: Record, options: Sequence[str]) -> str:
    """Returns the wait-for graph of a recorded hang as SVG, or "" if it cannot be drawn."""
    with tempfile.TemporaryDirectory(prefix="pipesim-draw-") as folder:
        picture = Path(folder, "waits.svg")
        command = [program.find_program(), "draw", str(recorded.path), *options]
        command += ["--what", "wait-for", "--output", str(picture)]
        subprocess.run(command, check=False, capture_output=True)
        return picture.read_text(encoding="utf-8") if picture.exists() else ""


def _stuck(hang: Optional[Mapping[str, Any]]) -> tuple[Stuck, ...]:
    stuck = []
    for rank in hang["ranks"] if hang is not None else ():
        for thread in rank["threads"]:
            at = thread.get("at")
            if at is not None and not thread["finished"]:
                stuck.append(Stuck(rank["rank"], at.get("name", at["op"]), at.get("at", "")))
    return tuple(stuck)
