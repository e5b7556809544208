"""Compares the notes of attach on real jobs with recordings of the same programs.

    cases_test.py PIPESIM [NAME...]

Each case of tests/record/api_cases.py runs with real gloo under attach, and is recorded by `pipesim
record`. Both records must have the same calls, one by one: operations, groups, bytes, types, peers
and roots. The jobs must end as they do without attach; their bodies check the values of the calls.
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

# Cases whose calls are not compared, and why.
DIFFERS = {
    "monitored_barrier": "attach notes a call, record the messages that gloo makes of it",
    "group_that_torch_does_not_know": "attach does not see the groups of _dist2",
    "store": "attach does not note the script's store",
    "dtensor": "the waits of functional calls are elsewhere, so other loops are found",
    "pipeline_1f1b": "the order of waits differs, so other loops are found",
    "ddp_with_buffers_and_a_hook": "other waits give the calls another channel",
    "ddp_of_a_static_graph": "other waits give the calls another channel",
    "a_thread_with_a_group_of_its_own": "the order of threads differs between runs",
}


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


_CALL = re.compile(
    r"\b(all_gather|all_reduce|all_to_all|barrier|broadcast|create|gather|reduce|reduce_scatter|"
    r"scatter|send|recv): ([^,}\n]+)|\b(to|from|root|bytes|type): (\w+)|repeat: (\d+)"
)


def calls_of(path):
    """Returns the calls of a record, with group, size, type, peer or root, in the order and the
    loops of its scenario."""
    done = subprocess.run(
        [os.environ["PIPESIM"], "import", "record", str(path)], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    programs = done.stdout.partition("\nprograms:")[2]
    return [" ".join(filter(None, call)) for call in _CALL.findall(programs)] or [done.stderr]


def first_difference(attached, recorded):
    for i in range(max(len(attached), len(recorded))):
        pair = [calls[i] if i < len(calls) else "none" for calls in (attached, recorded)]
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
                fault = first_difference(calls_of(path), calls_of(recorded.path))
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
