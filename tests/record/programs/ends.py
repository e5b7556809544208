"""A script that ends in the way that its argument names."""

import contextlib
import ctypes
import os
import sys
import time

import torch
import torch.distributed as dist

how = sys.argv[1]
dist.init_process_group("gloo")
rank = dist.get_rank()
if how == "raise" and rank == 1:
    raise ValueError("loss is nan\nin step 3")
if how == "exit" and rank == 1:
    sys.exit(3)
if how == "message" and rank == 1:
    sys.exit("no such data set")
if how == "die" and rank == 1:
    os.kill(os.getpid(), 9)
while how == "never" and rank == 1:
    time.sleep(0.05)
if how == "poll" and rank == 1:
    work = dist.all_reduce(torch.ones(1), async_op=True)
    while not work.is_completed():
        pass
if how == "fork":
    child = os.fork()
    if child == 0:
        try:
            dist.barrier()
        except RuntimeError as error:
            os._exit(0 if "forked" in str(error) else 1)
    assert os.waitpid(child, 0)[1] == 0
if how == "fork_and_go_on" and dist.get_rank() == 1:
    os.fork()
if how == "nccl":
    with contextlib.suppress(OSError):
        ctypes.CDLL("libnccl-none.so")
if how == "names":  # each process of a real job iterates over the set in another order
    for name in {"alpha", "beta", "gamma", "delta", "epsilon"}:
        dist.all_reduce(torch.ones(len(name)))
dist.barrier()  # the last call of each rank that comes here
