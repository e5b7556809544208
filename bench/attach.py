"""The cost of attach: processor time of the calling thread per call, with and without attach.

    bench/attach.py [CALLS]      # with the Python that has torch

Two processes make all_reduces of one float with gloo. Each row is the smallest of five runs of
CALLS calls (default 1000), so it depends little on other load.
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

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


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
    x = torch.ones(1)
    for name, call in KINDS.items():
        if name == "functional" and torch.__version__.startswith("1."):
            continue
        best = float("inf")
        for _ in range(6):
            begin = time.thread_time()
            for _ in range(CALLS):
                call(x)
            best = min(best, time.thread_time() - begin)
        if dist.get_rank() == 0:
            print(f"{name}\t{best / CALLS * 1e6:.1f}", flush=True)


def main():
    found = []
    for attached in (False, True):
        folder = pathlib.Path(tempfile.mkdtemp())
        job = real_gloo.Job(folder, 2, lambda f=folder, a=attached: measure(f, a), "attach.py")
        real_gloo.run_jobs([job], quick_end=True)
        rows = [line.split("\t") for line in (folder / "0.log").read_text().splitlines()]
        found.append({name: float(time) for name, time in rows})
    for name, alone in found[0].items():
        print(f"{name}: {alone} us, attached {found[1].get(name)} us")


if __name__ == "__main__":
    real_gloo.run_test(main)
