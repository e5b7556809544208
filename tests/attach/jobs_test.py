"""Runs random small jobs with real gloo, each without and with attach: with it, none may stand
still, fail, print other results or end with another status.

    jobs_test.py PIPESIM [JOBS [FIRST_SEED [IN_ROW]]]

This process imports torch once, and forks the four ranks of each job. Its runs without and with
attach share the machine, so they run under load. To save processes, IN_ROW jobs can run one after
the other in the same four. JOBS of 0 runs one job by the commands that users type instead: each
rank by `python -m pipesim.attach`, and all by torchrun.
"""

import atexit
import functools
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "record"))

import with_torch  # isort: skip

import random_jobs
import real_gloo

os.environ["PIPESIM_ATTACH"] = "off"  # only ranks switch it on
import pipesim.attach
from pipesim.attach import noting, patches
from pipesim.recorder import launcher

RANKS = 4
PROGRAM = pathlib.Path(random_jobs.__file__)
WHOLE_EACH = 10  # each tenth row of jobs ends its interpreters, and its record is checked
STANDS_STILL = 120.0  # seconds without progress: a starved machine is no fault of attach


def run(seeds, ports, folder):
    """Runs jobs in the process of a rank, with attach if it has a folder. Each job has a port: on
    one that is in use, rank 0 fails, and the other ranks wait for it."""
    if folder is not None:
        os.environ["PIPESIM_ATTACH"] = str(folder / "rec")
        pipesim.attach.attached = noting.Noting()
        patches.install(pipesim.attach.attached)
    status = 0
    for seed, port in zip(seeds[:-1], ports):
        random_jobs.run(seed, end="destroy")
        os.environ["MASTER_PORT"] = str(port)
    if ends_whole(seeds):
        random_jobs.run(seeds[-1])
        return
    try:
        random_jobs.run(seeds[-1])
    except SystemExit as end:
        status = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status)  # the end of the interpreter takes most of a small job's CPU


def ends_whole(seeds):
    """Whether the interpreter ends as usual, and the record is checked."""
    return seeds[0] % (WHOLE_EACH * len(seeds)) == 0


def results(folder):
    """Returns what the script of each rank prints, and what attach prints."""
    texts = [(folder / f"{rank}.log").read_text() for rank in range(RANKS)]
    found = [re.findall(r"^(?:result of .*|\w+Error: .*)", text, re.MULTILINE) for text in texts]
    return found, [line for text in texts for line in text.splitlines() if "pipesim" in line[:14]]


def statuses(outcome):
    """Returns the exit statuses. real_gloo knows the output of a rank that torch itself aborts."""
    return {rank: 0 if status and rank not in outcome.errors else status
            for rank, status in outcome.status.items()}  # fmt: skip


def difference(seeds, here, program):
    """Runs jobs without and with attach. Returns how the runs differ, or an empty text."""
    folders = [here / way for way in ("alone", "attached")]
    for folder in folders:
        folder.mkdir(parents=True)
    runs = []
    for folder in (None, folders[1]):
        ports = [real_gloo.free_port() for _ in seeds[:-1]]
        runs.append(functools.partial(run, seeds, ports, folder))
    jobs = [real_gloo.Job(folder, RANKS, run, PROGRAM.name) for folder, run in zip(folders, runs)]
    alone, attached = real_gloo.run_jobs(jobs, seconds=STANDS_STILL, quick_end=True)
    (expected, _), (found, said) = map(results, folders)
    if attached.stuck or alone.stuck:
        return f"stands still: {attached.stuck} with attach, {alone.stuck} without"
    if statuses(alone) != statuses(attached):
        return f"ends with {attached}, without attach with {alone}"
    if expected != found or said:
        return f"prints {found} {said}, without attach {expected}"
    fails = any(statuses(alone).values())
    return judged(program, folders[1] / "rec", fails) if ends_whole(seeds) else ""


def judged(program, folder, fails):
    """Returns a text if `check` says that a job which has ended is sure to hang."""
    done = subprocess.run([program, "check", str(folder), "--json", "--states", "2000"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    answer = json.loads(done.stdout)["answer"] if done.stdout else done.stderr
    if answer in ("proved", "undecided", "possible") or (fails and answer == "failed"):
        return ""
    return f"check answers {answer} of a job that has ended"


def by_commands():
    """Runs a job by the commands that users type, and alone. Returns whether they differ."""
    here = pathlib.Path(tempfile.mkdtemp())
    seed = str(random.SystemRandom().randrange(1 << 20))
    attach = ["-m", "pipesim.attach", "-o", str(here / "rec"), str(PROGRAM), seed]
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", str(RANKS), "--master-port"]
    ends = {}
    for name, words in {
        "alone": [*torchrun, str(real_gloo.free_port()), str(PROGRAM), seed],
        "torchrun": [*torchrun, str(real_gloo.free_port()), *attach],
        "python": attach,
    }.items():
        ends[name] = run_command(words, one_each=name == "python")
    differ = not ends["alone"] == ends["torchrun"] == ends["python"]
    fault = f"differs: {ends}" if differ else "does not differ"
    print(f"the job with seed {seed} {fault}; {cpu():.0f} s of CPU")
    return 1 if differ else 0


def run_command(words, one_each):
    """Runs a command, or one for each rank. Returns the worst status, and the sorted results."""
    environment = {
        **os.environ, "PYTHONPATH": str(with_torch.ROOT / "python"), "GLOO_SOCKET_IFNAME": "lo",
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(real_gloo.free_port()),
        "WORLD_SIZE": str(RANKS), "PIPESIM_ATTACH": "",
    }  # fmt: skip
    started = [
        subprocess.Popen(
            [sys.executable, "-B", *words], env={**environment, "RANK": str(rank)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        for rank in range(RANKS if one_each else 1)
    ]  # fmt: skip
    outputs = [each.communicate()[0] for each in started]
    status = max(abs(each.returncode) for each in started)
    # Prints of torchrun's ranks can share a line.
    results = sorted(re.findall(r"result of \w+: \[[^]]*\]", "".join(outputs)))
    return status != 0, results


def cpu():
    used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main():
    program, *numbers = sys.argv[1:]
    jobs, first, in_row = map(int, (numbers + ["25", "1", "1"][len(numbers) :])[:3])
    if jobs == 0:
        return by_commands()
    launcher.import_torch()
    here = pathlib.Path(tempfile.mkdtemp())
    failed = 0
    for seed in range(first, first + jobs, in_row):
        seeds = range(seed, min(seed + in_row, first + jobs))
        folder = here / str(seed)
        fault = difference(seeds, folder, os.path.abspath(program))
        if fault:
            failed += 1
            print(f"{seeds}: {fault}; {folder}", flush=True)
        else:
            shutil.rmtree(folder)
    print(f"{jobs} jobs, {failed} differ; {cpu():.0f} s of CPU")
    if not failed:
        shutil.rmtree(here)
    return 1 if failed else 0


if __name__ == "__main__":
    real_gloo.run_test(main)
