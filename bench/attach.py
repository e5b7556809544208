"""The cost of attach: processor time of the calling thread per call, with and without attach.

    bench/attach.py [JOBS]      # with the Python that has torch

Two processes make all_reduces of one float with gloo, before and after they make a DDP module. JOBS
jobs (default 3) without attach take turns with JOBS jobs with it. Each figure is the smallest of
all rounds of 100 calls, so it depends little on other load.
"""

import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/record")]

import real_gloo  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

JOBS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
ROUNDS, CALLS = 40, 100


def reduce(x):
    dist.all_reduce(x)


def wait(x):
    work = dist.all_reduce(x, async_op=True)
    work.wait()


def functional(x):
    torch.ops._c10d_functional.wait_tensor(
        torch.ops._c10d_functional.all_reduce(x, "sum", dist.group.WORLD.group_name)
    )


KINDS = {"all_reduce": reduce, "all_reduce, async_op and wait": wait, "functional": functional}


def measure(folder, attached):
    torch.set_num_threads(1)
    if attached:
        os.environ.update(PIPESIM_ATTACH=str(folder / "rec"), PIPESIM_ATTACH_BUDGET="1000")
        import pipesim.attach  # noqa: F401
    dist.init_process_group("gloo")
    measure_calls("")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    model(torch.ones(1, 2)).sum().backward()
    measure_calls(" after a DDP module")


def measure_calls(when):
    x = torch.ones(1)
    for name, call in KINDS.items():
        if name == "functional" and torch.__version__.startswith("1."):
            continue
        best = float("inf")
        for _ in range(ROUNDS):
            begin = time.thread_time()
            for _ in range(CALLS):
                call(x)
            best = min(best, time.thread_time() - begin)
        if dist.get_rank() == 0:
            print(f"{name}{when}\t{best / CALLS * 1e6:.1f}", flush=True)


def main():
    found = [{}, {}]
    for _ in range(JOBS):
        for attached, best in zip((False, True), found):
            folder = pathlib.Path(tempfile.mkdtemp())
            job = real_gloo.Job(folder, 2, lambda f=folder, a=attached: measure(f, a), "attach.py")
            real_gloo.run_jobs([job], seconds=60, quick_end=True)
            for line in (folder / "0.log").read_text().splitlines():
                if "\t" in line:
                    name, time = line.split("\t")
                    best[name] = min(float(time), best.get(name, float("inf")))
    for name, alone in found[0].items():
        print(f"{name}: {alone} us, attached {found[1].get(name)} us")


if __name__ == "__main__":
    real_gloo.run_test(main)
