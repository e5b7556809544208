"""A small training job for live_test.py: each step is an all_reduce, which the test allows.

    training.py FOLDER

The file FOLDER/steps has the number of the last step. If it has "store", all ranks wait for a key that
nobody sets. Each rank has a debug server, as torch.distributed.elastic.control_plane starts it.
"""

import os
import pathlib
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

folder = pathlib.Path(sys.argv[1])
rank = int(os.environ["RANK"])
torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=timedelta(hours=1))
if "TORCH_WORKER_SERVER_SOCKET" in os.environ:
    from torch._C._distributed_c10d import _WorkerServer

    server = _WorkerServer(os.environ["TORCH_WORKER_SERVER_SOCKET"])


def allowed():
    return (folder / "steps").read_text()


def wait_for_checkpoint():
    dist.distributed_c10d._get_default_store().get("checkpoint")


def training_step(x):
    dist.all_reduce(x)


x = torch.ones(8)
done = 0
while True:
    while allowed() == str(done):
        time.sleep(0.01)
    if allowed() == "store":
        (folder / f"done_{rank}").write_text("store")
        wait_for_checkpoint()
    (folder / f"begun_{rank}").write_text(str(done + 1))
    training_step(x)
    done += 1
    (folder / f"done_{rank}").write_text(str(done))
