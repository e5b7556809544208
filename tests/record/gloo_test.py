"""Random programs, run with real gloo on this machine, and recorded and judged.

    gloo_test.py PIPESIM

Real gloo is an independent oracle: a program must be proved exactly if it completes in gloo, and
the lines of stuck ranks must agree. A program is a list of matching calls (sends with tags,
all_reduce and barrier of several groups, async or not, a backward of DDP). In three of four
programs, one rank then omits a call, swaps two calls, or uses another tag.

Programs use only collectives in which every member waits for all members. In gloo's broadcast, some
ranks can continue although others are missing; in pipesim's they cannot, so lines could differ.

The test runs twenty programs with fixed seeds; PIPESIM_GLOO_PROGRAMS sets another number (tests/run
--all: 300).
"""

import functools
import os
import pathlib
import random
import re
import runpy
import shutil
import sys
import tempfile
import time

import with_torch  # isort: skip  # noqa: F401

import real_gloo
from pipesim import record
from pipesim.recorder import launcher

AT_ONCE = 10  # number of programs that run at the same time


def calls_of(generator, ranks):
    """Returns the groups and, for each rank, the calls of its program. A call is a list: its line
    and, for a wait, the beginning of the line of the awaited call."""
    groups = [None, list(range(ranks)), sorted(generator.sample(range(ranks), 2))]
    programs = [[] for _ in range(ranks)]
    for number in range(generator.randint(3, 8)):
        kind = generator.choice(["collective", "async", "barrier", "message", "message", "isend"])
        if kind in ("message", "isend"):
            source, destination = generator.sample(range(ranks), 2)
            tag = generator.randint(0, 2)
            if kind == "message":
                programs[source].append([f"dist.send(t, {destination}, tag={tag})"])
                programs[destination].append([f"dist.recv(t, {source}, tag={tag})"])
            else:
                for rank, call, peer in (
                    (source, "isend", destination),
                    (destination, "irecv", source),
                ):
                    programs[rank].append([f"w{number} = dist.{call}(t, {peer}, tag={tag})"])
                    programs[rank].append([f"w{number}.wait()", f"w{number} ="])
            continue
        index = generator.randrange(len(groups))
        group = f"group=g{index}"
        for rank in groups[index] or range(ranks):
            if kind == "barrier":
                programs[rank].append([f"dist.barrier({group})"])
            elif kind == "collective":
                programs[rank].append([f"dist.all_reduce(t, {group})"])
            else:
                call = f"w{number} = dist.all_reduce(t, {group}, async_op=True)"
                programs[rank].append([call])
                programs[rank].append([f"w{number}.wait()", f"w{number} ="])
    if generator.random() < 0.75:
        spoil(generator, generator.choice([p for p in programs if len(p) > 1]))
    if generator.random() < 0.3:
        for program in programs:
            program.append(["model(torch.ones(1, 2)).sum().backward()"])
    return groups, programs


def spoil(generator, program):
    """Makes a mistake in one rank's program. A wait stays after its call, and is dropped with
    it."""
    at = generator.randrange(len(program))
    text = program[at][0]
    how = generator.choice(["drop", "swap", "tag"])
    if how == "tag" and "tag=" in text:
        program[at][0] = text.replace("tag=", "tag=3 + ")
    elif how == "swap" and at + 1 < len(program):
        following = program[at + 1]
        if len(following) == 1 or not text.startswith(following[1]):
            program[at], program[at + 1] = following, program[at]
    else:
        name = text.split(".")[0] if text.endswith(".wait()") else text.split(" = ")[0]
        program[:] = [c for c in program if c[0] != text and c[0] != f"{name}.wait()"]


def script_of(seed):
    """Returns the number of ranks and the text of a program."""
    generator = random.Random(seed)
    ranks = generator.randint(2, 4)
    groups, programs = calls_of(generator, ranks)
    lines = [
        "import torch, torch.distributed as dist",
        "dist.init_process_group('gloo')",
        "rank, t, g0 = dist.get_rank(), torch.ones(2), None",
        *(f"g{i} = dist.new_group({g})" for i, g in enumerate(groups) if g is not None),
        f"g9 = dist.new_group({list(range(ranks))})",
        "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1), process_group=g9)",
    ]
    for rank, program in enumerate(programs):
        lines.append(f"if rank == {rank}:")
        lines += [f"    {call[0]}" for call in program] or ["    pass"]
    return ranks, "\n".join(lines) + "\n"


def run_and_stay(folder, ranks):
    """Runs the program as one rank, and then stays until all ranks are done: the end of a process
    would close its connections to ranks that still run."""
    real_gloo.script(folder / "program.py")()
    (folder / f"{os.environ['RANK']}.done").touch()
    while len(list(folder.glob("*.done"))) < ranks:
        time.sleep(0.1)


def run_for_real(folders):
    """Runs the programs with real gloo. Returns the line of each stuck rank, by folder and rank."""
    jobs = [
        real_gloo.Job(folder, ranks, functools.partial(run_and_stay, folder, ranks))
        for folder, ranks in folders.items()
    ]
    stuck = {}
    for job, outcome in zip(jobs, real_gloo.run_jobs(jobs, quick_end=True)):
        assert not outcome.errors, f"gloo failed: {outcome.errors}"
        stuck[job.folder] = {
            rank: line
            for rank, line in outcome.stuck.items()
            if not (job.folder / f"{rank}.done").exists()
        }
    return stuck


def judge(folder, ranks):
    """Returns pipesim's report on a recording in processes forked from this one."""
    return record(
        lambda: runpy.run_path(str(folder / "program.py"), run_name="__main__"), ranks=ranks
    ).check(rules="gloo")


def differences(real, report):
    """Yields the disagreements between gloo and pipesim, in words."""
    ours = {s.rank: int(re.search(r"program\.py:(\d+)", s.at)[1]) for s in report.stuck}
    if bool(real) == report.proved:
        yield f"gloo {'hangs' if real else 'completes'}, pipesim says '{report.answer}'"
    elif real != ours:
        yield f"stuck lines: gloo {real}, pipesim {ours}"


def main():
    program = os.path.abspath(sys.argv[1])
    os.environ["PIPESIM"] = program
    if os.system(f"'{program}' help record >/dev/null 2>&1") != 0:
        print(f"SKIPPED: {program} has no command 'record'")
        return 0
    launcher.import_torch()  # otherwise, each process would import all of torch again
    count, failed, hangs = int(os.environ.get("PIPESIM_GLOO_PROGRAMS", "20")), 0, 0
    here = pathlib.Path(tempfile.mkdtemp())
    for first in range(0, count, AT_ONCE):
        folders = {}
        for seed in range(first, min(first + AT_ONCE, count)):
            folder = here / str(seed)
            folder.mkdir()
            folders[folder], text = script_of(seed)
            (folder / "program.py").write_text(text)
        for folder, real in run_for_real(folders).items():
            hangs += bool(real)
            report = judge(folder, folders[folder])
            for difference in differences(real, report):
                failed += 1
                numbered = enumerate((folder / "program.py").read_text().splitlines(), 1)
                print(f"seed {folder.name}, {folders[folder]} ranks: {difference}")
                print("".join(f"{n:4} {line}\n" for n, line in numbered))
    shutil.rmtree(here)
    print(f"{count} programs, {hangs} hang in gloo, {failed} disagree")
    return 1 if failed or not 0 < hangs < count else 0


if __name__ == "__main__":
    real_gloo.run_test(main)
