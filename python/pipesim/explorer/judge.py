"""Judges runs: checks each different record once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from pipesim.explorer.broker import ExploringBroker
from pipesim.explorer.run import Run
from pipesim.recorder import messages as m
from pipesim.recorder import program
from pipesim.recorder.launcher import outcome_of, remove_record, write_record
from pipesim.recorder.rank import rank_file_name
from pipesim.recorder.settings import Settings

PROVED, HANG, FAILED, TORN_DOWN, UNDECIDED = "proved", "hang", "failed", "torn down", "undecided"
_ANSWERS = {"proved": PROVED, "hang possible": HANG, "hang certain": HANG, "mismatch": HANG}


@dataclasses.dataclass
class Verdict:
    """The verdict on a run. `stuck`: rank, blocked call and place. `why`: the failure, or the
    reason for an undecided verdict."""

    kind: str
    stuck: list[tuple[int, str, str]] = dataclasses.field(default_factory=list)
    why: str = ""
    traceback: str = ""


class Judge:
    """Judges runs. `folder`: where the record of the latest checked run is written."""

    def __init__(self, settings: Settings, folder: Path, check: Sequence[str]) -> None:
        self._settings = dataclasses.replace(settings, out=str(folder))
        self._folder, self._check = folder, check
        self._verdicts: dict[bytes, Verdict] = {}
        self._digests: dict[int, tuple[m.End, bytes]] = {}  # by id() of the end
        self.notes: set[str] = set()  # kinds of notes in all records

    @property
    def records(self) -> int:
        """Returns the number of different records."""
        return len(self._verdicts)

    def judge(self, run: Run) -> Verdict:
        ends = run.broker.ends
        cut = [rank for rank, end in ends.items() if end.entry.get("why") in ("killed", "seconds")]
        if cut:
            return Verdict(UNDECIDED, why=f"rank {min(cut)} did not end, or died")
        raised = [r for r, end in sorted(ends.items()) if end.entry["end"] in ("raised", "exited")]
        if raised:
            return self._failure(ends, raised)
        key = b"".join(self._digest(ends[rank]) for rank in sorted(ends))
        if key not in self._verdicts:
            self._verdicts[key] = self._checked(run)
        return self._verdicts[key]

    def key(self, run: Run) -> bytes:
        """Returns a key that is equal for runs with the same record."""
        return b"".join(self._digest(end) for _, end in sorted(run.broker.ends.items()))

    def write(self, run: Run, folder: Path) -> None:
        """Writes the record of a run."""
        folder.mkdir(parents=True, exist_ok=True)
        remove_record(folder)
        for rank, end in run.broker.ends.items():
            (folder / rank_file_name(rank)).write_bytes(end.lines)
        inits = [run.inits[rank] for rank in sorted(run.inits)]
        settings = dataclasses.replace(self._settings, out=str(folder))
        write_record(settings, outcome_of(run.broker.ends, inits))

    @staticmethod
    def _failure(ends: Mapping[int, m.End], raised: Sequence[int]) -> Verdict:
        """Judges a run in which ranks failed. The launcher ends such a job."""
        first = next((rank for rank in raised if not ends[rank].is_answer), raised[0])
        end = ends[first]
        text = end.entry.get("text") or f"exit status {end.entry.get('code')}"
        kind = TORN_DOWN if all(ends[rank].is_answer for rank in raised) else FAILED
        return Verdict(kind, why=f"rank {first} fails: {text}", traceback=end.traceback)

    def _checked(self, run: Run) -> Verdict:
        self.write(run, self._folder)
        answer = program.check_as_json(str(self._folder), *self._check)
        if answer is None:
            return Verdict(UNDECIDED, why="pipesim check refuses the record")
        kind = _ANSWERS.get(answer["answer"], UNDECIDED)
        if kind == PROVED and run.broker.stuck:
            kind = UNDECIDED
        why = "" if kind != UNDECIDED else f"pipesim check answers '{answer['answer']}'"
        return Verdict(kind, _stuck(answer.get("hang")) or _waiting(run.broker), why)

    def _digest(self, end: m.End) -> bytes:
        known = self._digests.get(id(end))
        if known is None:
            known = self._digests[id(end)] = (end, digest(end.lines, self.notes))
        return known[1]


def digest(lines: bytes, notes: set[str]) -> bytes:
    """Returns a digest of the calls in a rank's file and their places, without free answers. Adds
    the kinds of the file's notes to `notes`."""
    places: dict[str, Any] = {}
    found = hashlib.sha256()
    for text in lines.splitlines():
        line = json.loads(text)
        if "at" in line and "def" in line:
            places[line["def"]] = (line["at"], places.get(line.get("up", "")))
        elif "note" in line:
            notes.add(line["note"])
        elif not {"ask", "poll"} & line.keys():
            line["l"] = places.get(line.get("l", ""))
            found.update(json.dumps(line, sort_keys=True).encode())
    return found.digest()


def _stuck(hang: Optional[Mapping[str, Any]]) -> list[tuple[int, str, str]]:
    found = []
    for rank in hang["ranks"] if hang is not None else ():
        for thread in rank["threads"]:
            at = thread.get("at")
            if at is not None and not thread["finished"]:
                found.append((rank["rank"], at.get("name", at["op"]), at.get("at", "")))
    return found


def _waiting(broker: ExploringBroker) -> list[tuple[int, str, str]]:
    return [(rank, "waits", at) for rank, at in sorted(broker.stuck.items())]
