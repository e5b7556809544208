"""Explores a script: does runs until one hangs, all answers were tried, or a limit is reached."""

from __future__ import annotations

import collections
import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional

from pipesim.explorer.broker import Step
from pipesim.explorer.folders import make_copy
from pipesim.explorer.judge import FAILED, HANG, PROVED, TORN_DOWN, UNDECIDED, Judge, Verdict
from pipesim.explorer.lives import Lives
from pipesim.explorer.run import Run
from pipesim.explorer.search import Next, Search
from pipesim.explorer.sets import lines_with_sets
from pipesim.recorder.launcher import asks_for_cuda
from pipesim.recorder.nursery import Nursery
from pipesim.recorder.progress import Progress
from pipesim.recorder.settings import Settings

# Kinds of free answers that are explored by default, and those that the user asks for.
KINDS = (
    "polls", "sources", "stores", "timeouts", "clocks", "random", "queues", "threads", "files",
    "sets",
)  # fmt: skip
MORE_KINDS = ("data", "faults")

# Limits of a recording that an exploration shares, by the kind of their note. After those of the
# second kind, nothing is claimed of the answers that were not tried.
_NOTES = {"cut_values": "values of calls above --limit"}
_GRAVE_NOTES = {
    "cut_read": "a value above --limit that the script reads",
    "running_threads": "threads that go on alone",
    "other": "calls past torch",
}


@dataclasses.dataclass(frozen=True)
class Limits:
    answers: Optional[int] = None  # unusual answers in a run
    runs: int = 1000
    seconds: float = 300.0
    keep_going: bool = False  # whether to explore further after the first hang


@dataclasses.dataclass
class Found:
    """A run that is reported, with the steps that matter."""

    number: int
    verdict: Verdict
    run: Run
    orders: dict[int, str]  # words for what a step precedes, by index of the step

    @property
    def steps(self) -> list[Step]:
        return self.run.broker.steps


@dataclasses.dataclass
class Exploration:
    """The answer of an exploration, and its numbers."""

    settings: Settings
    kinds: tuple[str, ...]
    runs: int = 0
    seconds: float = 0.0
    hangs: list[Found] = dataclasses.field(default_factory=list)
    failures: list[Found] = dataclasses.field(default_factory=list)  # first failure of each kind
    usual: Optional[Found] = None  # the first run
    kinds_of_ends: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    left: int = 0  # alternatives that were not run
    unusual: int = 0  # largest number of unusual answers in a run
    records: int = 0
    bounds: set[str] = dataclasses.field(default_factory=set)
    asked: dict[tuple[str, str], set[int]] = dataclasses.field(default_factory=dict)
    not_free: set[str] = dataclasses.field(default_factory=set)
    not_tried: set[str] = dataclasses.field(default_factory=set)  # free answers, as they came
    interrupted: bool = False

    @property
    def is_covered(self) -> bool:
        """Whether all answers were tried, and each run was proved or ended as its answers say."""
        others = set(self.kinds_of_ends) - {PROVED, TORN_DOWN, "pruned"}
        is_open = self.left or others or self.interrupted or self.hangs or self.not_tried
        return not is_open and self.runs > 0


class Explorer:
    """Explores one script. `scratch`: an empty folder. Call `launcher.prepare_process` in this
    process before."""

    def __init__(
        self, settings: Settings, scratch: Path, limits: Limits, kinds: Sequence[str],
        check: Sequence[str] = (), function: Optional[Callable[[], Any]] = None,
        nursery: Optional[Nursery] = None, prunes: bool = True,
    ) -> None:  # fmt: skip
        self._scratch, self._limits, self._check = scratch, limits, check
        self._function, self._nursery = function, nursery
        self._source = Path(settings.chdir or os.getcwd())
        self._work = scratch / "work"
        settings = dataclasses.replace(
            settings, out="", explore=tuple(kinds), folder=str(self._work), chdir=None,
            progress=False,
        )  # fmt: skip
        self.search = Search(prunes)
        self.result = Exploration(settings, tuple(kinds))
        self.judge = Judge(settings, scratch / "checked", check)
        self._lives = Lives(settings, function, nursery)
        self._files: set[str] = set()  # of the user, which ranks have imported
        self.keys: set[bytes] = set()  # keys of the records of all runs

    def explore(self, progress: Optional[Progress] = None) -> Exploration:
        begin = time.monotonic()
        result = self.result
        self._prepare_folder()
        try:
            while len(self.search) and self._may_go_on(begin):
                self._do_next()
                if progress is not None:
                    progress.say(f"exploring: {self._state(time.monotonic() - begin)}")
        except KeyboardInterrupt:
            result.interrupted = True
        finally:
            self._lives.close()
            result.seconds = time.monotonic() - begin
            result.left, result.records = len(self.search), self.judge.records
            self._note_limits()
        return result

    def _may_go_on(self, begin: float) -> bool:
        limits, result = self._limits, self.result
        if result.hangs and not limits.keep_going:
            return False
        if result.usual is not None and result.usual.verdict.kind == FAILED:
            return False  # other answers would hardly show more
        if limits.answers is not None and self.search.unusual > limits.answers:
            return False
        return result.runs < limits.runs and time.monotonic() - begin < limits.seconds

    def _state(self, seconds: float) -> str:
        runs, left = self.result.runs, len(self.search)
        return (
            f"{runs} runs, up to {self.result.unusual} unusual answers, {left} alternatives left, "
            f"{seconds:.0f} s"
        )

    def _do_next(self) -> None:
        following, asleep = self.search.pop()
        run = self._run(following, asleep)
        result, broker = self.result, run.broker
        result.runs += 1
        result.unusual = max(result.unusual, following.unusual)
        self._note_questions(run)
        if broker.diverged:
            result.kinds_of_ends[UNDECIDED] += 1
            result.not_free.add("the script does something else after the same answers")
            return
        self.search.add(following, broker)
        if broker.pruned:
            result.kinds_of_ends["pruned"] += 1
            return
        for end in broker.ends.values():
            result.not_tried.update(end.not_tried)
            self._files.update(end.files)
        verdict = self.judge.judge(run)
        self.keys.add(self.judge.key(run))
        if broker.made_up:
            result.not_free.add("results that NCCL's rules made up")
            if verdict.kind == PROVED:
                verdict = Verdict(UNDECIDED, why="results were made up")
        result.kinds_of_ends[verdict.kind] += 1
        self._keep(Found(result.runs, verdict, run, following.orders))

    def _run(self, following: Next, asleep: Any) -> Run:
        while True:
            if not self._lives.remembers:
                self._prepare_folder()
                self._lives.forget(str(self._work))
            settings = self.result.settings
            run = Run(
                self._lives, following.plan, asleep, settings.explore or (), self.result.bounds
            )
            run.go()
            ends = run.broker.ends.values()
            if settings.device == "auto" and any(asks_for_cuda(end.entry) for end in ends):
                self._use_cuda()
            elif self._lives.remembers and run.broker.wrote:
                self._lives.remembers = False  # files also decide: each run needs all its ranks
                if self.result.runs == 0:  # all ranks have just been started, in a new folder
                    return run
            else:
                return run

    def _use_cuda(self) -> None:
        self._lives.close()
        settings = dataclasses.replace(self.result.settings, device="cuda")
        self.result.settings = settings
        self._lives = Lives(settings, self._function, self._nursery)
        self.judge = Judge(settings, self._scratch / "checked", self._check)

    def _prepare_folder(self) -> None:
        if not make_copy(self._source, self._work):
            self.result.not_free.add("files that earlier runs have changed: the folder is large")

    def _note_questions(self, run: Run) -> None:
        for step in run.broker.steps:
            asker = step.asker
            if asker.at and (len(asker.answers) > 1 or step.objects):
                key = (asker.kind, asker.at)
                self.result.asked.setdefault(key, set()).add(asker.rank)

    def _keep(self, found: Found) -> None:
        result = self.result
        if result.usual is None:
            result.usual = found
        kind = found.verdict.kind
        if kind == HANG:
            stuck = {at for _, _, at in found.verdict.stuck}
            known = [{at for _, _, at in each.verdict.stuck} for each in result.hangs]
            if stuck not in known:
                result.hangs.append(found)
        elif kind in (FAILED, UNDECIDED):
            if found.verdict.why not in [each.verdict.why for each in result.failures]:
                result.failures.append(found)

    def _note_limits(self) -> None:
        result = self.result
        notes = self.judge.notes
        for path in map(Path, () if result.hangs else sorted(self._files)):
            for line in lines_with_sets(path):
                result.not_tried.add(f"the order of a set ({path.name}:{line})")
        result.not_free |= {text for note, text in _NOTES.items() if note in notes}
        result.not_tried |= {text for note, text in _GRAVE_NOTES.items() if note in notes}
        if self._lives.diverged:
            result.kinds_of_ends[UNDECIDED] += 1
            result.not_free.add("the script does something else after the same answers")
        if self._lives.slept:
            result.kinds_of_ends[UNDECIDED] += 1
            result.not_free.add("a thread that sleeps, or waits for outside input")
