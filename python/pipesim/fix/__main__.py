"""`python3 -m pipesim.fix RECORD --script FILE`: finds changes of a recorded script, as JSON.

`pipesim fix RECORD` runs it and prints `text`. `problem` says why there is no answer.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipesim.recorder import cli, program
from pipesim.recorder.rank import rank_file_name
from pipesim.recorder.settings import Settings

_COMPLETES = (
    "ran once more and did not hang: it has changed since, or a clock, chance or files decide"
)
_DIFFERS = (
    "The script ran once more, and its calls differ from the record. What follows is about this "
    "run."
)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m pipesim.fix")
    parser.add_argument("record", type=Path)
    parser.add_argument("--script", required=True)
    parser.add_argument("--rules")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--apply", type=int)
    return parser.parse_args(arguments)


def _settings(options: argparse.Namespace, out: str) -> Settings:
    """Returns the settings of the record, as far as it has them."""
    record = json.loads((options.record / "record.json").read_text(encoding="utf-8"))
    given = record.get("settings", {})
    name, *args = record["command"]
    is_module = name == "-m"
    if is_module:
        name, *args = args
    # Ranks run where the record was made: here, or next to the record.
    module_path = name.replace(".", "/")
    files = [f"{module_path}.py", f"{module_path}/__main__.py"] if is_module else [name]
    is_here = any(Path(file).is_file() for file in files)
    script = options.script if is_here else str(Path(options.script).resolve())
    known = {field.name for field in dataclasses.fields(Settings)} - {"trace", "edits"}
    return Settings(
        ranks=record["world"],
        out=out,
        script=name if is_module else script,
        module=is_module,
        chdir=None if is_here else str(options.record.resolve().parent),
        args=tuple(args),
        device=record.get("device", "auto"),
        rules=options.rules,
        output="none",
        progress=sys.stderr.isatty(),
        **{name: value for name, value in given.items() if name in known},
    )


def _answer(options: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    cli.check_torch()
    from pipesim.fix import command, report
    from pipesim.recorder import launcher
    from pipesim.why import explain

    check = program.check_options(options.rules, options.set)
    with cli.parents(settings) as nursery:
        if launcher.run(settings, None, nursery).interrupted:
            return {"problem": "interrupted"}
        if not explain.hangs(settings.out, check):
            return {"problem": f"{options.script} {_COMPLETES}"}
        reason = explain.explain(settings, nursery, check)
        found = command.find(reason, settings, nursery, check)
        if found is None:
            return {"problem": " ".join(reason.lines)}
        if options.apply is not None:
            try:
                chosen = command.apply(found, options.apply)
            except command.CannotApply as error:
                return {"problem": str(error)}
            lines = report.applied(found.case, chosen)
        else:
            note = [] if _is_same(options.record, settings) else [*textwrap.wrap(_DIFFERS, 80), ""]
            changes = report.lines(found.case, found.search)
            lines = [*note, *reason.mismatch, *reason.lines, "", *changes]
    assert reason.analysis is not None
    return {
        "text": "".join(f"{line}\n" for line in lines),
        "proved": bool(found.search.shown),
        "why": reason.analysis.result,
        **report.to_json(found.case, found.search),
    }


def _is_same(record: Path, settings: Settings) -> bool:
    """Whether the new record has the same calls."""
    names = [rank_file_name(rank) for rank in range(settings.ranks)]
    if not all((record / name).is_file() for name in names):  # notes of a real job
        command = [program.find_program(), "compare", settings.out, str(record)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return all((record / n).read_bytes() == Path(settings.out, n).read_bytes() for n in names)


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    cli.restart_with_hash_seed(arguments, "pipesim.fix")
    with tempfile.TemporaryDirectory(prefix="pipesim-fix-") as scratch:
        settings = _settings(options, os.path.join(scratch, "record"))
        try:
            answer = _answer(options, settings)
        except KeyboardInterrupt:
            answer = {"problem": "interrupted"}
        except SystemExit:  # no torch: the error is on stderr
            answer = {"problem": f"{options.script} cannot be recorded again"}
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
