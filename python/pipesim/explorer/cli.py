"""The command line of `python3 -m pipesim.explore`, which `pipesim explore` calls."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from pipesim.recorder import cli, program
from pipesim.recorder.settings import Settings

DEFAULT_RUNS = 1000
DEFAULT_TIME = 300.0
_SECONDS = 30.0  # seconds without progress after which a run is given up


def _kinds(words: str) -> tuple[str, ...]:
    from pipesim.explorer.explore import KINDS, MORE_KINDS

    kinds = tuple(words.split(","))
    unknown = [kind for kind in kinds if kind not in KINDS + MORE_KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown kind '{unknown[0]}': choose from {', '.join(KINDS + MORE_KINDS)}"
        )
    return kinds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pipesim explore",
        usage="pipesim explore --ranks N [options] [-m] SCRIPT [arguments]",
        description="Runs a PyTorch script with other answers of clocks, polls, queues and stores, "
        "until a run hangs or all answers were tried.",
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    cli.add_job_options(parser)
    number = cli.positive
    add("--answers", type=int, metavar="K", help="At most K unusual answers in a run")
    add("--runs", type=number, default=DEFAULT_RUNS, metavar="N", help="Stop after N runs")
    add("--time", type=float, default=DEFAULT_TIME, metavar="SECONDS", help="Stop after this time")
    add(
        "--free",
        metavar="KINDS",
        help="Explore only these answers, e.g. polls,clocks (default: all but data and faults)",
    )
    add(
        "--faults",
        action="store_true",
        help="Modules and collectives fail where the script has a handler",
    )
    add(
        "--uneven-data",
        action="store_true",
        help="A data loader ends one batch early on a rank",
    )
    add("--keep-going", action="store_true", help="Find all hangs, not only the first")
    add(
        "-o",
        "--output",
        metavar="DIR",
        help="Keep the run that hangs: its record, and answers.json for record --replay",
    )
    add(
        "--seconds",
        type=float,
        default=_SECONDS,
        metavar="N",
        help="Give a run up after N seconds without progress",
    )
    add("--json", action="store_true", help="Print the answer as JSON")
    parser.set_defaults(values="real", one_by_one=False, steps=None, all_output=False)
    cli.add_script(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    """Explores a script. Returns the exit status."""
    if argv[:1] == ["--settings"]:  # called by `pipesim.api`
        cli.restart_with_hash_seed(argv, "pipesim.explore")
        given = argparse.Namespace(**json.loads(argv[3]))
        return explore_with(Settings.from_json(argv[1]), given, None, None)
    options = _parser().parse_args(argv)
    kept, options.output = options.output, None
    settings = cli.settings_of(options)
    cli.restart_with_hash_seed(argv, "pipesim.explore")
    try:
        return explore_with(settings, options, kept, None)
    except KeyboardInterrupt:  # before the first run
        return cli.EXIT_INTERRUPTED


def explore_function(
    settings: Settings, options: Mapping[str, Any], function: Callable[[], Any]
) -> int:
    """Explores a function, for `pipesim.api`, and prints the answer as JSON."""
    return explore_with(settings, argparse.Namespace(**options), None, function)


def explore_with(
    settings: Settings, options: argparse.Namespace, kept: Optional[str],
    function: Optional[Callable[[], Any]],
) -> int:  # fmt: skip
    """Explores a script or a function, and reports on stdout."""
    given = settings.script
    with tempfile.TemporaryDirectory(prefix="pipesim-explore-") as scratch:
        settings = dataclasses.replace(settings, out=str(Path(scratch) / "record"), output="none")
        with cli.parents(settings, function) as nursery:
            from pipesim.explorer import report
            from pipesim.explorer.explore import KINDS, Explorer, Limits
            from pipesim.recorder.progress import Progress

            kinds = _kinds(options.free) if options.free else KINDS
            kinds += ("data",) if options.uneven_data else ()
            kinds += ("faults",) if options.faults else ()
            check = program.check_options(options.rules, options.set)
            limits = Limits(options.answers, options.runs, options.time, options.keep_going)
            if given and not settings.module:
                settings = dataclasses.replace(settings, script=str(Path(given).resolve()))
            explorer = Explorer(settings, Path(scratch), limits, kinds, check, function, nursery)
            progress = Progress(settings)
            result = explorer.explore(progress)
            progress.clear()
            if kept is not None and result.hangs:
                explorer.judge.write(result.hangs[0].run, Path(kept))
                answers = json.dumps(report.answers_file(result.hangs[0], result), indent=1)
                (Path(kept) / "answers.json").write_text(answers + "\n", encoding="utf-8")
        name = Path(given).stem if given else "function"
        command = shlex.join([f"--ranks={settings.ranks}", given, *settings.args]) if given else ""
        text = report.text(result, name, command, kept if result.hangs and kept else "")
        if options.json:
            text = json.dumps({**report.to_json(result, name), "text": text}, indent=1) + "\n"
        sys.stdout.write(text)
        sys.stdout.flush()
        return report.exit_status(result)
