"""The command line of `python3 -m pipesim.record`, which `pipesim record` calls."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Optional

from pipesim.recorder import program
from pipesim.recorder.settings import DEFAULT_LIMIT, DEFAULT_SECONDS, Settings

if TYPE_CHECKING:  # these import torch, which check_torch looks for first
    from pipesim.recorder.launcher import Outcome
    from pipesim.recorder.nursery import Nursery
    from pipesim.why.explain import Reason

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

_UNITS = {"": 1, "B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}

_EPILOG = """\
The script really runs, once as each rank and in this folder: what it writes, downloads or deletes
happens that many times. After a hang it runs once more, unless --no-why is given, and with --fix
again for each change that is tried. --chdir runs it in another folder, and PIPESIM_RECORD=1 is in
its environment, so that it can do less.

Exit status: that of 'pipesim check' (0 proved, 1 a hang is possible or a rank failed, 3 undecided);
2 the script cannot be recorded; 130 interrupted

Read more: docs/how-to/record.md, docs/explanation/fix-a-script.md
"""


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+) ?(B|KiB|MiB|GiB)?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a size such as 64KiB, found '{text}'")
    return int(match[1]) * _UNITS[match[2] or ""]


def positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, found '{text}'")
    return int(text)


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, found '{text}'")
    return key, value


def add_job_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options about the job and its check. The program's help has the same sentences
    (features/record/script_options.cpp)."""
    add = parser.add_argument
    add("--ranks", "-n", type=positive, metavar="N", help="Number of ranks")
    add("--nnodes", type=positive, default=1, metavar="N", help="Number of nodes, as for torchrun")
    add("-m", action="store_true", dest="module", help="SCRIPT is a module, as python3 -m")
    add(
        "--rules",
        choices=["gloo", "nccl"],
        help="Backend whose rules apply to a record (default: the backend that the script uses)",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Set a parameter of the scenario (repeatable)",
    )
    add(
        "--device",
        choices=["cpu", "cuda"],
        default="auto",
        help="cuda: a stand-in for CUDA; the default for scripts that use NCCL",
    )
    add(
        "--limit",
        type=_size,
        default=DEFAULT_LIMIT,
        metavar="SIZE",
        help="Largest tensor that ranks exchange; for larger ones, each rank keeps its own",
    )
    add(
        "--env",
        type=_assignment,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Set an environment variable (repeatable)",
    )
    add("--chdir", metavar="DIR", help="Run the script in DIR")
    add(
        "--preload",
        action="append",
        default=[],
        metavar="MODULE",
        help="Import a module once for all ranks, e.g. transformers (repeatable)",
    )


def add_script(parser: argparse.ArgumentParser) -> None:
    """Adds the help, the script and its arguments."""
    parser.add_argument("-h", "--help", action="help", help="Print this help")
    parser.add_argument("script", metavar="SCRIPT", nargs="?")
    parser.add_argument("args", metavar="ARGUMENT", nargs=argparse.REMAINDER)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pipesim record",
        usage="pipesim record --ranks N [options] [-m] SCRIPT [arguments]",
        description="Runs all ranks of the script on this machine, without GPUs or a network, and\n"
        "records the calls that each rank makes on its process groups. Then checks whether any\n"
        "interleaving can hang, and at which lines.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    add_job_options(parser)
    add("-o", "--output", metavar="DIR", help="Keep the record")
    add("--only-record", action="store_true", help="Do not check the record")
    add(
        "--replay",
        metavar="FILE",
        help="Give the answers of this run of 'pipesim explore' again",
    )
    add("--steps", type=positive, metavar="N", help="Stop each rank after N optimizer steps")
    add(
        "--seconds",
        type=float,
        default=DEFAULT_SECONDS,
        metavar="N",
        help="End the recording after N seconds without progress",
    )
    add(
        "--values",
        choices=["real", "own"],
        default="real",
        help="real: collectives return real values; own: each rank makes up its own",
    )
    add("--one-by-one", action="store_true", help="Run the ranks one after the other")
    add(
        "--no-why",
        action="store_false",
        dest="why",
        help="Do not run the script once more after a hang, to find where its ranks part",
    )
    add(
        "--fix",
        action="store_true",
        help="After a hang, find changes of the script, and prove each of them",
    )
    add(
        "--apply",
        type=positive,
        metavar="N",
        help="As --fix, and write the N-th change to its file",
    )
    add(
        "--all-output",
        action="store_true",
        help="Show the output of all ranks, not only of rank 0",
    )
    add_script(parser)
    return parser


def _fail(message: str, *, hint: str) -> NoReturn:
    sys.stderr.write(f"error: {message}\n  help: {hint}\n")
    raise SystemExit(EXIT_USAGE)


def settings_of(options: argparse.Namespace) -> Settings:
    script, ranks, nodes = options.script, options.ranks, options.nnodes
    if ranks is None or script is None:
        what = "'--ranks N'" if ranks is None else "the script to record"
        _fail(f"{what} is missing", hint="pipesim record --ranks 8 train.py --epochs 1")
    if ranks % nodes != 0:
        hint = "every node has the same number of ranks"
        _fail(f"{ranks} ranks cannot be on {nodes} nodes", hint=hint)
    if not options.module and not Path(script).is_file():
        _fail(f"cannot read the script '{script}'", hint="for a module: -m PACKAGE.MODULE")
    if options.chdir is not None and not Path(options.chdir).is_dir():
        _fail(f"no such folder: '{options.chdir}'", hint=f"mkdir {options.chdir}")
    return Settings(
        ranks=ranks,
        out="" if options.output is None else str(Path(options.output).resolve()),
        script=script if options.module or not options.chdir else str(Path(script).resolve()),
        args=tuple(options.args),
        module=options.module,
        nodes=nodes,
        device=options.device,
        rules=options.rules,
        values="own" if options.one_by_one else options.values,
        limit=options.limit,
        one_by_one=options.one_by_one,
        steps=options.steps,
        seconds=options.seconds,
        env=tuple(options.env),
        chdir=None if options.chdir is None else str(Path(options.chdir).resolve()),
        preload=tuple(options.preload),
        progress=sys.stderr.isatty(),
        output="all" if options.all_output else "first",
    )


def _with_answers(settings: Settings, path: str) -> Settings:
    """Returns the settings of a run that `pipesim explore` has found."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        kinds, plan = found["kinds"], found["plan"]
    except (OSError, ValueError, KeyError, TypeError):
        _fail(f"cannot read the answers in '{path}'", hint="'pipesim explore -o DIR' writes them")
    if found.get("ranks") != settings.ranks:
        _fail(f"the answers are those of {found.get('ranks')} ranks", hint="use the same --ranks")
    script = settings.script if settings.module else str(Path(settings.script).resolve())
    return dataclasses.replace(
        settings, explore=tuple(kinds), replay=tuple((who, got) for who, got in plan), script=script
    )


def check_torch() -> None:
    """Exits with an error and a hint if torch is missing, too old, or without distributed."""
    hint = "name the interpreter that has it with --python"
    try:
        import torch
    except ImportError as error:
        _fail(f"{sys.executable} cannot import torch ({error})", hint=hint)
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    if (major, minor) < (1, 13):
        _fail(f"torch {torch.__version__} of {sys.executable} is too old", hint="1.13 or newer")
    if not torch.distributed.is_available():
        _fail(f"torch of {sys.executable} was built without torch.distributed", hint=hint)


def restart_with_hash_seed(argv: Sequence[str], module: str = "pipesim.record") -> None:
    """Restarts this process with PYTHONHASHSEED set, unless it is set already."""
    if "PYTHONHASHSEED" in os.environ:
        return
    from pipesim.recorder.nursery import HASH_SEEDS

    os.environ["PYTHONHASHSEED"] = os.environ["PIPESIM_HASH_SEED"] = HASH_SEEDS[0]
    os.execv(sys.executable, [sys.executable, "-m", module, *argv])


def main(argv: Sequence[str]) -> int:
    """Records and checks a script. Returns the exit status that the help text explains."""
    if argv[:1] == ["--settings"]:  # called by `pipesim.api`
        restart_with_hash_seed(argv)
        return record_with(Settings.from_json(argv[1]))
    options = _parser().parse_args(argv)
    settings = settings_of(options)
    if options.replay is not None:
        settings = _with_answers(settings, options.replay)
    restart_with_hash_seed(argv)
    if options.output is not None:
        return _record_and_check(options, settings)
    with tempfile.TemporaryDirectory(prefix="pipesim-record-") as scratch:
        out = os.path.join(scratch, "record")
        return _record_and_check(options, dataclasses.replace(settings, out=out))


def record_with(settings: Settings, function: Optional[Callable[[], object]] = None) -> int:
    """Records a script or a function, and reports on stderr. Returns 0, EXIT_FAILED if a rank
    failed, EXIT_USAGE if there is nothing to judge, or EXIT_INTERRUPTED."""
    with parents(settings, function) as nursery:
        return _record(settings, function, nursery)[0]


@contextlib.contextmanager
def parents(
    settings: Settings, function: Optional[Callable[[], object]] = None
) -> Iterator[Optional[Nursery]]:
    """Prepares the parents of the ranks: this process and, for a script, a second one."""
    from pipesim.recorder import launcher
    from pipesim.recorder.nursery import Nursery
    from pipesim.recorder.progress import Progress

    # Forked ranks would all have this process's hash seed.
    has_two_parents = function is None and "PIPESIM_HASH_SEED" in os.environ and settings.ranks > 1
    nursery = Nursery(settings) if has_two_parents else None
    try:
        Progress(settings).say("importing torch")
        check_torch()
        launcher.prepare_process(settings)
        Progress(settings).clear()
        yield nursery
    finally:
        if nursery is not None:
            nursery.close()


def _record(
    settings: Settings, function: Optional[Callable[[], object]], nursery: Optional[Nursery]
) -> tuple[int, Outcome]:
    """Records once. Returns the status that `record_with` returns, and the outcome."""
    from pipesim.recorder import launcher
    from pipesim.recorder.report import is_empty, report

    outcome = launcher.run(settings, function, nursery)
    sys.stderr.write(report(outcome, settings))
    if outcome.interrupted:
        return EXIT_INTERRUPTED, outcome
    if any(e["end"] in ("raised", "exited") for e in outcome.ends):
        return EXIT_FAILED, outcome
    return EXIT_USAGE if is_empty(settings) else 0, outcome


def _with_changes(
    options: argparse.Namespace, reason: Reason, settings: Settings, nursery: Optional[Nursery],
    check: Sequence[str],
) -> Reason:  # fmt: skip
    """Adds proved changes of the script to an explanation, and applies one of them if asked to."""
    from pipesim.fix import command, report

    found = command.find(reason, settings, nursery, check)
    if found is None:
        return reason
    if options.apply is None:
        return reason._replace(lines=[*reason.lines, "", *report.lines(found.case, found.search)])
    try:
        chosen = command.apply(found, options.apply)
    except command.CannotApply as error:
        _fail(str(error), hint="'--fix' shows the changes and their numbers")
    return reason._replace(lines=[*reason.lines, "", *report.applied(found.case, chosen)])


def _record_and_check(options: argparse.Namespace, settings: Settings) -> int:
    with parents(settings) as nursery:
        status, outcome = _record(settings, None, nursery)
        if status in (EXIT_INTERRUPTED, EXIT_USAGE) or options.only_record:
            return status
        sys.stdout.flush()
        # Reports print the folder as it is given; the path of a temporary folder means nothing.
        folder, name = (None, options.output) if options.output else os.path.split(settings.out)
        given = program.check_options(options.rules, options.set)
        try:
            judged, report = program.check_as_shown(name, *given, folder=folder)
            if judged == EXIT_FAILED and (options.why or options.fix or options.apply):
                from pipesim.why import explain

                by_buffers = options.fix or options.apply is not None
                if explain.hangs(name, given, folder, by_buffers):
                    again = dataclasses.replace(settings, device=outcome.device)
                    reason = explain.explain(again, nursery, given)
                    if reason.is_new_record:
                        judged, report = program.check_as_shown(name, *given, folder=folder)
                    if options.fix or options.apply:
                        reason = _with_changes(options, reason, again, nursery, given)
                    report = explain.insert(reason, report, by_buffers)
        except (program.ProgramNotFound, program.ProgramDied, OSError) as error:
            kept = options.output
            if kept is None:
                kept = shutil.move(settings.out, tempfile.mkdtemp(prefix="pipesim-record-"))
            hint = f"the record is kept; check it with: pipesim check {kept}"
            _fail(str(error), hint=hint)
        sys.stdout.buffer.write(report)
        sys.stdout.flush()
    if options.output is None:
        sys.stderr.write(
            "note: this record is not kept; with '-o record' pipesim run, draw, fix, diff and "
            "'import record' take it\n"
        )
    undecided = 3
    return status or undecided if judged == undecided else judged or status
