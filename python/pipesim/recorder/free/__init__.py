"""Free answers: answers of the environment to the script that can differ in another run.

Polls, orders of store calls and recvs from any source pass through the recorder anyway. The modules
of this package replace the functions that give the other free answers: `clocks`, `dates`, `chance`,
`background` (queues, threads, futures), `files`, `sets` (their order), `failures` (data that ends,
calls that fail). A recording notes each free answer; an exploration (`pipesim.explore`) asks the
broker for it.
"""

from __future__ import annotations

import builtins
import collections
import os
import random
import sys
import threading
import time
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Optional

import torch

from pipesim.recorder import messages as m
from pipesim.recorder.edited import Edits
from pipesim.recorder.places import Place, is_users
from pipesim.recorder.replacing import users_modules

if TYPE_CHECKING:
    from pipesim.recorder.free.clocks import VirtualClock
    from pipesim.recorder.free.draws import TensorDraws
    from pipesim.recorder.rank_recorder import RankRecorder


class FreeAnswers:
    """The free answers of one rank."""

    clock: VirtualClock
    draws: TensorDraws
    dates: dict[int, Any]

    def __init__(self, recorder: RankRecorder) -> None:
        self._recorder = recorder
        self.explores = recorder.settings.explore is not None
        self.kinds = frozenset(recorder.settings.explore or ())
        self.made: list[BaseException] = []  # exceptions that are explored answers
        self.wrote = False  # the rank has changed a file
        self.failures: collections.Counter[Any] = collections.Counter()  # by call and line
        self.left_out: set[str] = set()  # free answers that an exploration takes as they come
        self.edits = Edits(dict(recorder.settings.edits))
        self._noted: set[tuple[str, str, Optional[Place]]] = set()

    @property
    def node(self) -> Optional[int]:
        """Returns the node of this rank, or None if the job has one node."""
        settings = self._recorder.settings
        if settings.nodes == 1:
            return None
        return self._recorder.rank // (settings.ranks // settings.nodes)

    @property
    def script(self) -> Optional[str]:
        """Returns the path of the script; None for a module or a function."""
        settings = self._recorder.settings
        return settings.script if settings.script and not settings.module else None

    def is_free(self, caller: FrameType) -> bool:
        """Whether a call from this frame has a free answer: the script makes the call, in a rank's
        process. A recording ignores all threads except the main thread, to keep their order."""
        recorder = self._recorder
        if not is_users(caller) or recorder.ended or os.getpid() != recorder.pid:
            return False
        return self.explores or threading.current_thread() is threading.main_thread()

    def asks(self, kind: str) -> bool:
        """Whether the broker decides the answers of this kind."""
        return kind in self.kinds

    def note(self, kind: str, about: str, **more: Any) -> None:
        """Notes an answer that the recording did not choose, once per line of the script: the
        number of questions in a loop can depend on time."""
        place = self._recorder.place()
        if (kind, about, place) not in self._noted:
            self._noted.add((kind, about, place))
            self._recorder.add({"ask": kind, "about": about, **more}, place=place)

    def choose(self, kind: str, about: str, options: tuple[str, ...], **more: Any) -> str:
        """Asks the broker which of the options is the answer; the first is the usual one. An
        option continues a sentence that begins with `about`."""
        got = str(self._recorder.ask(m.Choice(kind, about, options, **more)).value)
        if len(options) > 1:
            kind = "clock" if kind == "jump" else kind
            self._recorder.add({"ask": kind, "about": about, "got": got, "of": list(options)})
        return got

    def leave_out(self, kind: str, about: str) -> None:
        """Notes an answer that is taken as it comes, also in an exploration, which then claims
        nothing of the others."""
        if not self.explores:
            self.note(kind, about)
            return
        place = self._recorder.place()
        self.left_out.add(f"{about} ({place.at})" if place is not None else about)

    def as_answer(self, error: Exception) -> Exception:
        """Marks an exception that is an answer of an exploration."""
        if self.explores:
            self.made.append(error)
        return error

    def finish(self, end: m.End) -> m.End:
        """Adds the facts that an exploration needs about a rank that ends."""
        error = sys.exc_info()[1]
        while error is not None and not any(error is made for made in self.made):
            error = error.__cause__ or error.__context__
        end.is_answer, end.wrote = error is not None, self.wrote
        end.not_tried = tuple(sorted(self.left_out))
        if self.explores:
            files = {module.__file__ for module in users_modules()}
            left = (files | {self.script}) - self.edits.edited  # whose sets were free
            end.files = tuple(sorted(file for file in left if file))
        return end


def install(free: FreeAnswers) -> None:
    """Replaces the functions that give free answers, in the process of a rank."""
    numpy = sys.modules.get("numpy")
    of_numpy = () if numpy is None else (numpy, numpy.random)
    changed = (builtins, os, os.path, random, time, torch, *of_numpy)
    before = [dict(vars(module)) for module in changed]
    _replace_all(free)
    replaced = dict(free.dates)
    for module, names in zip(changed, before):
        for name, old in names.items():
            now = vars(module).get(name)
            while now is not old and old is not None:
                replaced[id(old)] = now
                old = getattr(old, "__wrapped__", None)  # `spins` has replaced clocks already
    for module in users_modules():
        _rebind(module, replaced)


def _rebind(module: ModuleType, replaced: dict[int, Any]) -> None:
    """Replaces the functions that a module has imported by name."""
    for name, value in list(vars(module).items()):
        if id(value) in replaced:
            setattr(module, name, replaced[id(value)])


def _replace_all(free: FreeAnswers) -> None:
    from pipesim.recorder.free import background, chance, clocks, dates, draws, failures, files, sets

    clocks.install(free)
    free.dates = dates.install(free)
    chance.install(free)
    free.draws = draws.install(free)
    background.install(free)
    files.install(free)
    if free.asks("sets"):
        sets.install(free)
    if free.asks("data"):
        failures.end_data_early(free)
    if free.asks("faults"):
        failures.let_modules_fail(free)
