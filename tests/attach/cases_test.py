"""Compares what attach notes of real jobs with what `pipesim record` records of the same programs.

    cases_test.py PIPESIM [NAME...]

Each case of tests/record/api_cases.py runs with real gloo under attach, and is recorded. Both
records must make the same scenario, call by call: operations, groups, bytes, types, tags, waits and
lines. The jobs must end as they do without attach: their bodies check the values of the calls.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "record"))

import with_torch  # isort: skip  # noqa: F401

import api_cases
import real_gloo
import torch
import torch.distributed as dist
from pipesim import record
from pipesim.recorder import launcher

AT_ONCE = 8  # number of jobs that run at the same time

# Cases in which a real job differs from a recording by design, and why.
DIFFERS = {}


def run_case(case):
    torch.set_num_threads(1)
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if case.whole:
        case.body(rank, ranks)
        return
    dist.init_process_group("gloo")
    case.body(rank, ranks)
    dist.barrier()


def run_attached(case, folder):
    os.environ["PIPESIM_ATTACH"] = str(folder / "rec")
    import pipesim.attach  # noqa: F401

    run_case(case)


def scenario_of(path):
    """Returns the lines of the scenario of a record, without assumptions of the verdict."""
    done = subprocess.run(
        [os.environ["PIPESIM"], "import", "record", str(path)], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    text = re.sub(r"^(?:about|rests_on|undecided|name): .*\n|^(?:rests_on|undecided):\n(?:  .*\n)*",
                  "", done.stdout, flags=re.M)  # fmt: skip
    # A record of a function has paths from the current folder, a real job from its script's folder.
    return text.replace("tests/", "").replace("attach/", "").splitlines() or [done.stderr]


def first_difference(attached, recorded):
    for i in range(max(len(attached), len(recorded))):
        pair = [lines[i].strip() if i < len(lines) else "" for lines in (attached, recorded)]
        if pair[0] != pair[1]:
            return f"attach: {pair[0]}\n  record: {pair[1]}"
    return ""


def main():
    program, *names = sys.argv[1:]
    os.environ["PIPESIM"] = os.path.abspath(program)
    launcher.import_torch()
    here = pathlib.Path(tempfile.mkdtemp())
    cases = [case for case in api_cases.CASES if not names or case.name in names]
    failed = 0
    for first in range(0, len(cases), AT_ONCE):
        some, jobs = cases[first : first + AT_ONCE], []
        for case in some:
            folder = here / case.name
            folder.mkdir()
            run = functools.partial(run_attached, case, folder)
            jobs.append(real_gloo.Job(folder, case.ranks, run, "api_cases.py"))
        for case, outcome in zip(some, real_gloo.run_jobs(jobs, quick_end=True)):
            recorded = record(functools.partial(run_case, case), ranks=case.ranks)
            fault = ""
            if outcome.verdict == "complete" and case.name not in DIFFERS:
                path = here / case.name / "rec"
                fault = first_difference(scenario_of(path), scenario_of(recorded.path))
            if not fault:
                output = (here / case.name / "0.log").read_text()
                fault = "pipesim attach" in output and output
            failed += bool(fault)
            if fault:
                print(f"{case.name}: {fault}", flush=True)
    if not failed and not names:
        shutil.rmtree(here)
    print(f"{len(cases)} cases, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    real_gloo.run_test(main)
