"""Options and messages of `pipesim collect` and `pipesim watch`."""

from __future__ import annotations

import argparse
import glob
import os
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from typing import NoReturn, Optional

from pipesim.live import access
from pipesim.live.collecting import Facts, facts_name
from pipesim.live.jobs import Job, choose_job, find_jobs
from pipesim.live.processes import Processes

EXIT_USAGE = 2
_LOGS = ("*.log", "*.out", "*.err")  # in the working directory
_MOST_NOTES = 3  # notes on ranks without stacks; all notes are in the facts


def fail(message: str, *, hint: str) -> NoReturn:
    say(f"error: {message}\n  help: {hint}")
    raise SystemExit(EXIT_USAGE)


def say(text: str) -> None:
    """Prints on standard error: standard output is for the diagnosis."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def signal_number(text: str) -> signal.Signals:
    """Returns the signal of a name such as SIGUSR1 or USR1."""
    name = text.upper()
    try:
        return signal.Signals[name if name.startswith("SIG") else "SIG" + name]
    except KeyError:
        raise argparse.ArgumentTypeError(f"unknown signal '{text}'") from None


class Parser(argparse.ArgumentParser):
    """A parser whose errors look like those of the program."""

    def __init__(self, command: str) -> None:
        super().__init__(prog=command, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        fail(message, hint=f"'{self.prog} --help' lists the options")


def add_common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="DIR")
    parser.add_argument("--job", metavar="NAME")
    parser.add_argument("--host", metavar="NAME")
    parser.add_argument("--signal", type=signal_number, metavar="SIGNAL")


def only_job(processes: Processes, wanted: Optional[str], command: str) -> Job:
    """Returns the job on this host, or the one that --job names. Exits with an error if there is no
    job, or if there are several."""
    jobs = find_jobs(processes)
    chosen = choose_job(jobs, wanted)
    if len(chosen) == 1:
        return chosen[0]
    if len(chosen) > 1:
        fail(
            f"{len(chosen)} jobs run on this host",
            hint=f"choose one: {command} --job '{chosen[0].name}'\n" + table_of(chosen),
        )
    if jobs:
        names = ", ".join(f"'{job.name}'" for job in jobs)
        fail(f"no job '{wanted}' on this host", hint=f"these run here: {names}")
    fail("no rank of a PyTorch job was found on this host", hint=_help_without_job(processes))


def table_of(jobs: Sequence[Job]) -> str:
    rows = [f"    {job.name}  {job.launcher}, {count(len(job.ranks), 'rank')} here" for job in jobs]
    return "\n".join(rows)


def _help_without_job(processes: Processes) -> str:
    refused = access.help_for_environ(processes)
    if refused:
        return refused
    logs = [name for pattern in _LOGS for name in glob.glob(pattern) if os.path.isfile(name)]
    newest = max(logs, key=os.path.getmtime, default="LOG")
    return (
        "run it on a host of the job, in its container; ranks are Python processes that torchrun, "
        "srun, mpirun or mp.spawn has started\n"
        f"  help: if the job has ended, its log is evidence: pipesim diagnose {shlex.quote(newest)}"
    )


def count(number: int, noun: str) -> str:
    plural = "es" if noun.endswith("s") else "s"
    return f"{number} {noun}{'' if number == 1 else plural}"


def numbers_text(numbers: Sequence[int]) -> str:
    """Returns "rank 2", "ranks 0 to 3", "ranks 0, 2 and 5"."""
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"ranks {numbers[0]} to {numbers[-1]}"
    return f"ranks {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def new_folder(given: Optional[str], host: str) -> str:
    """Creates and returns the folder for evidence. Several hosts can share a folder; evidence of
    two moments cannot."""
    folder = given or time.strftime("hang-%Y%m%d-%H%M%S")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        fail(f"cannot make '{folder}': {error.strerror}", hint="name another folder with -o")
    if os.path.exists(os.path.join(folder, facts_name(host))):
        fail(
            f"'{folder}' already has evidence from {host}",
            hint="name a new folder with -o; evidence of two moments does not fit together",
        )
    return folder


def summary(facts: Facts, folder: str) -> str:
    """Describes the collected evidence in a few lines."""
    job = facts.job
    if job.world_size is None:
        found = count(len(facts.ranks), "process" if job.launcher == "mp.spawn" else "rank")
    else:
        found = f"{len(facts.ranks)} of {count(job.world_size, 'rank')}"
    lines = [f"{job.name}: {found} on {facts.host} ({job.launcher}), {facts.seconds} s"]
    lines += [
        f"rank {rank.number} has no process left" + (f": {rank.why}" if rank.why else "")
        for rank in facts.gone
    ]
    missing = [n for n in job.missing() if n not in {rank.number for rank in facts.gone}]
    if missing:
        lines.append(f"{numbers_text(missing)} should be on this host, and was not found")
    sources = [it.stacks for it in facts.ranks if it.stacks]
    parts = [f"stacks of {sources.count(source)} ({source})" for source in sorted(set(sources))]
    dumps = sum(it.has_calls for it in facts.ranks)
    parts += [f"calls of {dumps} (Flight Recorder)"] if dumps else []
    parts += ["a report of NCCL's RAS"] if facts.has_ras else []
    parts += [count(len(facts.logs), "log")] if facts.logs else []
    lines.append(f"{', '.join(parts) or 'no stacks, calls or logs'}: in {folder}/")
    lines += job.conflicts
    lines += ["help: " + note for note in facts.notes]
    without = [it for it in facts.ranks if it.notes and not it.stacks]
    for it in without[:_MOST_NOTES]:
        who = f"process {it.rank.pid}" if it.rank.number is None else f"rank {it.rank.number}"
        lines.append(f"{who}: {'; '.join(it.notes)}")
    return "\n".join(_wrapped(line) for line in lines)


def _wrapped(line: str) -> str:
    return textwrap.fill(
        line, 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def run_diagnose(folder: str, options: Sequence[str] = ()) -> int:
    """Runs `pipesim diagnose` on the folder, and returns its exit status."""
    program = find_program()
    if program is None:
        say(f"note: no program 'pipesim' here; where there is one: pipesim diagnose {folder}")
        return 0
    sys.stdout.flush()
    return subprocess.run([program, "diagnose", folder, *options], check=False).returncode


def find_program() -> Optional[str]:
    from pipesim.recorder import program

    try:
        return program.find_program()
    except program.ProgramNotFound:
        return None
