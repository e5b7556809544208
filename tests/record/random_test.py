"""Random programs with all that is odd about gloo, run for real, and recorded and judged.

    random_test.py PIPESIM [SEED...]

What hangs or fails in gloo is never proved, and what completes is never certain to hang. Other
answers are counted: a run is one of many, so a program that completed may well be able to hang.
Ten fixed seeds; PIPESIM_RANDOM_PROGRAMS sets how many (tests/run --all: 200). With seeds, only
these, and each program is printed with what became of it.
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

AT_ONCE = 10


def answer_of(path, ranks):
    """pipesim's answer and report, from a recording in processes forked from this one."""
    try:
        recorded = record(lambda: runpy.run_path(str(path), run_name="__main__"), ranks=ranks,
                          seconds=20)  # fmt: skip
        report = recorded.check(rules="gloo")
        return report.answer, report.text + recorded.output
    except RecordingFailed as error:
        return "no answer", str(error)


def fault_of(outcome, answer):
    """In words, nothing if the answer fits."""
    if answer == "no answer":
        return "no answer"
    # The answer "mismatch" also says that nothing hangs.
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
    launcher.import_torch()  # or the processes would import what they need at once, for long
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
            jobs[seed] = real_gloo.Job(folder, generator.ranks, run)
        for (seed, job), outcome in zip(jobs.items(), real_gloo.run_jobs(list(jobs.values()))):
            answer, report = answer_of(job.folder / "program.py", job.ranks)
            fault = fault_of(outcome, answer)
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
