"""`python3 -m pipesim.watch`: watches a job on this host, and diagnoses it once it hangs.

`pipesim watch` runs it. Only the standard library is needed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, Optional

from pipesim.live import cli
from pipesim.live.collecting import Collector, host_name
from pipesim.live.jobs import Job, choose_job, find_jobs
from pipesim.live.processes import Processes
from pipesim.live.watching import Limits, State, Watch

EXIT_MOVES = 0
EXIT_HANGS = 1
EXIT_UNDECIDED = 3

# Reasons of roots, and states of processes, after which only a restart helps.
_DEAD_OR_STUCK = ("died", "stopped", "is dead", "is stopped")


def seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"expected seconds, found '{text}'")
    return value


def _parser() -> cli.Parser:
    parser = cli.Parser("pipesim watch")
    cli.add_common_options(parser)
    parser.add_argument("--every", type=seconds, default=1.0)
    parser.add_argument("--quiet", type=seconds, default=Limits.quiet)
    parser.add_argument("--patience", type=seconds, default=Limits.patience)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--record", metavar="DIR|FILE")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--prometheus", metavar="FILE")
    return parser


class Watcher:
    """The command: a watch, and its output."""

    def __init__(self, options: argparse.Namespace, processes: Processes) -> None:
        self.options = options
        self.processes = processes
        self.host = options.host or host_name()
        limits = Limits(options.quiet, max(options.quiet, options.patience))
        self.watch = Watch(processes, self._find, limits)
        self.name = ""
        # A folder that cannot be used is an error now, not when the job hangs.
        self.folder = cli.new_folder(options.output, self.host) if options.output else None

    def _find(self) -> Optional[Job]:
        found = choose_job(find_jobs(self.processes), self.name or self.options.job)
        if len(found) > 1:
            cli.only_job(self.processes, self.options.job, "pipesim watch")  # fails
        if not found:
            return None
        if not self.name:
            self.name = found[0].name
            self._event("watching", ranks=sorted(found[0].numbers))
        return found[0]

    def run(self) -> int:
        while True:
            state = self.watch.poll()
            self._write_metrics(state)
            if state == State.HANGS:
                return self._report()
            if state == State.ENDED:
                self._event("ended")
                return EXIT_MOVES
            if self.options.once and (state == State.MOVES or self._has_no_job()):
                return EXIT_MOVES
            time.sleep(self.options.every)

    def _has_no_job(self) -> bool:
        if self.watch.job is not None:
            return False
        cli.say("note: no rank of a PyTorch job was found on this host")
        return True

    def _event(self, kind: str, **more: Any) -> None:
        """Prints an event as a line of JSON."""
        if self.options.json:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            print(json.dumps({"event": kind, "time": now, "job": self.name, **more}), flush=True)

    def _report(self) -> int:
        """Collects, diagnoses, and reports the hang."""
        job = self.watch.job
        assert job is not None
        progress, working = self.watch.progress, self.watch.working
        seconds = round(progress.waiting() if working else progress.quiet(), 1)
        folder = self.folder or cli.new_folder(None, self.host)
        facts = Collector(
            self.processes, job, folder, self.host, self.options.signal, seen=self.watch.seen
        ).run()
        diagnosis = _diagnosis(folder)
        restart = restart_advice(diagnosis, _answer(self.options.record))
        self._event(
            "hang",
            host=self.host,
            quiet_seconds=seconds,
            working=working,
            ras=None if self.watch.ras is None else dataclasses.asdict(self.watch.ras),
            verdict=diagnosis.get("verdict"),
            cause=diagnosis.get("cause"),
            roots=[
                {"rank": root.get("rank"), "reason": root.get("reason")}
                for root in known_roots(diagnosis)
            ],
            restart=restart,
            folder=folder,
        )
        if not self.options.json:
            who = cli.numbers_text(progress.still(seconds)) if working else "no rank"
            has = "has not moved" if working else "has moved"
            cli.say(f"{self.name} hangs: {who} {has} for {seconds} s")
            cli.say(cli.summary(facts, folder) + "\n")
            cli.run_diagnose(folder)
            if restart:
                print(f"\nRestart: {restart}", flush=True)
        undecided = diagnosis.get("verdict") in (None, "undecided", "nothing wrong found")
        return EXIT_UNDECIDED if undecided else EXIT_HANGS

    def _write_metrics(self, state: State) -> None:
        """Writes the state for Prometheus' textfile collector, which reads whole files."""
        path = self.options.prometheus
        if path is None:
            return
        labels = f'{{job="{_escaped(self.name)}",host="{_escaped(self.host)}"}}'
        job = self.watch.job
        values = {
            "hangs": ("1 if the job hangs", int(state == State.HANGS)),
            "quiet_seconds": ("Seconds for which no rank has moved", self.watch.progress.quiet()),
            "waiting_seconds": (
                "Seconds for which some rank has not moved",
                self.watch.progress.waiting(),
            ),
            "ranks": ("Ranks of the job on this host", 0 if job is None else len(job.ranks)),
            "last_look_timestamp_seconds": ("Time of this look", time.time()),
        }
        ras = self.watch.ras
        if ras is not None:
            values["ras_missing_ranks"] = ("Ranks that do not answer to NCCL's RAS", ras.missing)
            values["ras_dead_ranks"] = ("Ranks that NCCL's RAS considers dead", ras.dead)
            values["ras_lag_collectives"] = ("Collectives that a rank is behind, by RAS", ras.lag)
        text = ""
        for name, (about, value) in values.items():
            metric = f"pipesim_job_{name}"
            text += f"# HELP {metric} {about}\n# TYPE {metric} gauge\n"
            text += f"{metric}{labels} {value:.3f}\n"
        part = f"{path}.{os.getpid()}.part"
        with open(part, "w") as file:
            file.write(text)
        os.replace(part, path)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def known_roots(diagnosis: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the roots with a known reason."""
    return [root for root in diagnosis.get("roots", []) if root.get("reason") != "unexplained"]


def restart_advice(diagnosis: dict[str, Any], answer: Optional[str]) -> Optional[str]:
    """Returns the effect of a restart; None if the evidence does not show it. `answer`: the answer
    of `pipesim check` for a record of the job."""
    reasons = [root.get("reason") for root in diagnosis.get("roots", [])]
    reasons += [process.get("state") for process in diagnosis.get("processes", [])]
    if any(reason in _DEAD_OR_STUCK for reason in reasons):
        return "helps"
    if answer in ("hang certain", "mismatch"):
        return "will hang again"
    return None


def _diagnosis(folder: str) -> dict[str, Any]:
    found = _answer_of(["diagnose", folder, "--json"])
    return found if isinstance(found, dict) else {}


def _answer(record: Optional[str]) -> Optional[str]:
    """Returns the answer of `pipesim check` for a record of the job."""
    found = _answer_of(["check", record, "--json"]) if record else None
    return found.get("answer") if isinstance(found, dict) else None


def _answer_of(words: Sequence[str]) -> Any:
    program = cli.find_program()
    if program is None:
        return None
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        cli.say(done.stderr.strip())
        return None


def main(arguments: Sequence[str]) -> int:
    """Watches until the job hangs or ends, and returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        return Watcher(options, Processes()).run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
