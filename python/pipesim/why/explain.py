"""Explains a hang: records the script again with a trace, and analyzes that recording.

The explanation is about the traced recording only, because clocks and threads can make it differ
from the record. If the traced recording also hangs, it replaces the record, and `why.json` in the
record has the result.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from pipesim.recorder import launcher, program
from pipesim.recorder.nursery import Nursery
from pipesim.recorder.settings import Settings
from pipesim.why.report import Analysis, mismatch_lines, reason_lines

# The result, and its text, which `pipesim why RECORD` prints.
JSON_FILE, TEXT_FILE = "why.json", "why.txt"

_OTHER_RUN = [
    "Why: unknown. The script ran once more, with a trace of its branches, and did",
    "  not hang. So a clock, chance, files or the order of threads decide.",
]
_INTERRUPTED = ["Why: unknown. The second run of the script, with a trace, was interrupted."]
_NO_TRACE = ["Why: unknown. The trace of the script's branches is not complete: a rank died."]

# Calls of a script can be nested as deeply as its own recursion limit allows.
_RECURSION_LIMIT = 20_000


class Reason(NamedTuple):
    """The explanation of a hang. `mismatch` and `lines`: the text. `is_new_record`: the record must
    be judged again. `analysis`: None if there is no explanation. `seconds`: duration of the second
    run."""

    lines: list[str]
    mismatch: Sequence[str] = ()
    is_new_record: bool = False
    analysis: Optional[Analysis] = None
    seconds: float = 0.0


def hangs(
    record: str, check: Sequence[str], folder: Optional[str] = None, by_buffers: bool = True
) -> bool:
    """Whether `pipesim check` finds a hang or a mismatch, or ranks that wait for one that failed.
    `by_buffers`: a hang that NCCL's buffers hide counts also."""
    judged = program.check_as_json(record, *check, folder=folder)
    if judged is None:
        return False
    if judged["answer"] == "failed":
        return "first_difference" in (judged["hang"] or {})
    if judged["answer"] == "runs by buffers":
        return by_buffers
    return judged["answer"] in ("hang possible", "hang certain", "mismatch")


def explain(settings: Settings, nursery: Optional[Nursery], check: Sequence[str]) -> Reason:
    """Returns the explanation of a record's hang. `check`: options of `pipesim check`.

    Call `launcher.prepare_process` in this process before."""
    kept = Path(settings.out)
    with tempfile.TemporaryDirectory(prefix="pipesim-why-") as scratch:
        traced = Path(scratch) / "record"
        traced.mkdir()
        files = _installed_files(kept)
        again = dataclasses.replace(settings, out=str(traced), trace=files, output="none")
        began = time.monotonic()
        if launcher.run(again, None, nursery).interrupted:
            return Reason(_INTERRUPTED)
        seconds = time.monotonic() - began
        is_new = any(
            (kept / name).read_bytes() != (traced / name).read_bytes() for name in _names(kept)
        )
        if is_new and not hangs(str(traced), check):
            return Reason(_OTHER_RUN)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))
        try:
            analysis = Analysis(traced)
        except (FileNotFoundError, StopIteration):
            return Reason(_NO_TRACE)
        for name in _names(traced):
            shutil.copyfile(traced / name, kept / name)
    result = analysis.result
    mismatch, lines = mismatch_lines(result), reason_lines(result)
    text = "".join(f"{line}\n" for line in [*mismatch, *lines])
    _write(kept / TEXT_FILE, text)
    _write(kept / JSON_FILE, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return Reason(lines, mismatch, is_new, analysis, seconds)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace")


def insert(reason: Reason, report: bytes, changed: bool = False) -> bytes:
    """Returns the report of `pipesim check` with the reason after the paragraphs that have the
    verdict, and who waits for whom. `changed`: the reason has changes of the script, so advice to
    search for some is dropped."""
    first, _, rest = report.partition(b"\n\n")
    says_who = b" does not match:" in first
    if b"FAILED" in first.split(b"\n")[0]:
        who, _, rest = rest.partition(b"\n\n")
        first, says_who = b"\n\n".join((first, who)), True
    if changed:
        first = re.sub(rb"\n\S*Next:.*'pipesim fix(?:.*\n  )*.*", b"", first)
    lines = [*(() if says_who else reason.mismatch), *reason.lines]
    text = "\n".join(lines).encode("utf-8", "replace")
    return b"\n\n".join((first, text, rest))


def _names(folder: Path) -> list[str]:
    """Returns the names of a record's files, without those of its trace."""
    files = re.compile(r"rank\d+\.jsonl|record\.json")
    return [name for name in os.listdir(folder) if files.fullmatch(name)]


def _installed_files(folder: Path) -> tuple[str, ...]:
    """Returns the files of installed packages from which groups were called: the second run also
    traces them."""
    found: dict[str, Any] = {}
    for name in sorted(_names(folder)):
        with (folder / name).open(encoding="utf-8") as file:
            for line in file:
                if '"lib":true' in line:
                    found[json.loads(line)["at"].rpartition(":")[0]] = None
    return tuple(found)
