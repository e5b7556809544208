"""Random programs with unusual features of gloo, run with real gloo, and recorded and judged.

    random_test.py PIPESIM [SEED...]

A program that hangs or fails in gloo must never be proved; a program that completes must never be
"hang certain". The test only counts other answers: a program that completed in one run may hang in
another. It runs seeds 0 to 9; PIPESIM_RANDOM_PROGRAMS sets another number (tests/run --all: 200).
If seeds are given, it runs only these, and prints each program and its outcome.
"""

import collections
import os
import pathlib
import runpy
import shutil
import sys
import tempfile

import with_torch  # isort: skip  # noqa: F401

import real_gloo
import torch
from pipesim import RecordingFailed, record
from pipesim.recorder import launcher
from random_programs import Generator

AT_ONCE = int(os.environ.get("PIPESIM_RANDOM_AT_ONCE", "10"))  # jobs


def answer_of(path, ranks):
    """Returns pipesim's answer and report on a recording in processes forked from this one."""
    try:
        recorded = record(lambda: runpy.run_path(str(path), run_name="__main__"), ranks=ranks,
                          seconds=20)  # fmt: skip
        report = recorded.check(rules="gloo")
        return report.answer, report.text + recorded.output
    except RecordingFailed as error:
        return "no answer", str(error)


def fault_of(outcome, answer, report):
    """Returns the fault of an answer in words, or "" if the answer fits gloo's outcome."""
    if answer == "no answer":
        return "no answer"
    if outcome.verdict == "error" and not any(outcome.status.values()):
        # An exception ended a thread. The job did not hang and exited with 0.
        return "" if "' ended with " in report or answer != "proved" else "silent exception"
    # The answer "mismatch" means that nothing hangs, so it is wrong for a hang.
    proofs = ("proved", "mismatch") if outcome.verdict == "hang" else ("proved",)
    if outcome.verdict != "complete" and answer in proofs:
        return "false proof"
    if outcome.verdict == "complete" and answer == "hang certain":
        return f"false '{answer}'"
    return ""


def described(seed, job, outcome, answer, report):
    text = (job.folder / "program.py").read_text().splitlines()
    return "\n".join([
        f"seed {seed}, {job.ranks} ranks: gloo {outcome.verdict}, pipesim '{answer}'",
        f"stuck lines {outcome.stuck}, status {outcome.status}, errors {outcome.errors}",
        *(f"{number:4} {line}" for number, line in enumerate(text, 1)),
        report,
    ])  # fmt: skip


def main():
    program, *chosen = sys.argv[1:]
    os.environ["PIPESIM"] = os.path.abspath(program)
    launcher.import_torch()  # otherwise, each process would import all of torch again
    newest = not torch.__version__.startswith("1.")
    seeds = [int(seed) for seed in chosen]
    seeds = seeds or range(int(os.environ.get("PIPESIM_RANDOM_PROGRAMS", "10")))
    here, counts, failed = tempfile.mkdtemp(), collections.Counter(), 0
    for first in range(0, len(seeds), AT_ONCE):
        jobs = {}
        for seed in seeds[first : first + AT_ONCE]:
            folder = pathlib.Path(here, str(seed))
            folder.mkdir()
            generator = Generator(seed, newest)
            (folder / "program.py").write_text(generator.text())
            run = real_gloo.script(folder / "program.py")
            jobs[seed] = real_gloo.Job(folder, generator.ranks, run, agent=True)
        outcomes = real_gloo.run_jobs(list(jobs.values()), quick_end=newest)
        for (seed, job), outcome in zip(jobs.items(), outcomes):
            answer, report = answer_of(job.folder / "program.py", job.ranks)
            fault = fault_of(outcome, answer, report)
            failed += bool(fault)
            counts[f"{outcome.verdict}: {answer}"] += 1
            if fault or chosen:
                print(fault or "fits", described(seed, job, outcome, answer, report), flush=True)
    shutil.rmtree(here)
    for what, count in sorted(counts.items()):
        print(f"{count:4} {what}")
    print(f"{len(seeds)} programs, {failed} wrong answers")
    return 1 if failed else 0


if __name__ == "__main__":
    real_gloo.run_test(main)
