"""More patterns of scripts that hang if the environment answers otherwise, each with a fix."""

import datetime
import os
import random
import threading
import time

import numpy
import torch
import torch.distributed as dist
from patterns import agreed, reduced, store
from torch.utils.data import Dataset


def date(fixed):
    """Each rank stops at a date, by its own clock."""
    end = datetime.datetime.now() + datetime.timedelta(hours=12)
    for _ in range(2):
        late = datetime.datetime.now() > end
        if fixed:
            late = not agreed(not late)
        if late:
            break
        reduced(1)


def nanoseconds(fixed):
    """The same with a clock that counts nanoseconds."""
    begin = time.time_ns()
    for _ in range(2):
        late = time.time_ns() - begin > 3600 * 10**9
        if fixed:
            late = not agreed(not late)
        if late:
            break
        reduced(1)


def clock_in_tensor(fixed):
    """The time since the start is put into a tensor; only the fix reduces the tensor."""
    begin = time.monotonic()
    for _ in range(2):
        elapsed = torch.tensor([time.monotonic() - begin])
        if fixed:
            dist.all_reduce(elapsed, op=dist.ReduceOp.MAX)
        if elapsed.item() > 3600:
            break
        reduced(1)


def whole_seconds(fixed):
    """The clock is rounded before it is compared."""
    begin = int(time.time())
    late = int(time.time()) - begin > 600
    if fixed:
        late = not agreed(not late)
    if not late:
        reduced(1)


def random_tensor(fixed):
    """Layers are dropped by torch's random numbers without a common seed."""
    for _ in range(2):
        drawn = torch.rand(1)
        if fixed:
            dist.broadcast(drawn, 0)
        if drawn.item() >= 0.05:
            reduced(1)


def random_route(fixed):
    """A rank to which no token is routed leaves out the exchange."""
    tokens = (torch.randint(0, 2, (4,)) == dist.get_rank()).sum()
    if fixed:
        dist.all_reduce(tokens)
    if tokens > 0:
        reduced(1)


def random_numpy(fixed):
    """The augmentation of NumPy decides about a collective."""
    if fixed:
        numpy.random.seed(7)
    if numpy.random.rand() < 0.2:
        reduced(1)


def random_steps(fixed):
    """Each rank draws how many steps it does."""
    steps = 1 + int(2 * random.random())
    if fixed:
        agreed_steps = torch.tensor([steps])
        dist.broadcast(agreed_steps, 0)
        steps = int(agreed_steps)
    for _ in range(steps):
        reduced(1)


def thread_order(fixed):
    """A thread saves metadata and calls the store early or late; the step asks whether it has."""
    saved = []

    def save():
        store().set(f"saved{dist.get_rank()}", "1")
        saved.append(1)

    saver = threading.Thread(target=save)
    saver.start()
    if fixed:
        saver.join()
    store().set(f"step{dist.get_rank()}", "1")
    if saved:
        reduced(1)
    saver.join()


def file_of_a_node(fixed):
    """Rank 0 writes an index to its own disk; the ranks of another node do not find it."""
    if dist.get_rank() == 0:
        with open("index.txt", "w") as file:
            file.write("1")
    dist.barrier()
    found = os.path.exists("index.txt")
    if fixed:
        found = agreed(found)
    if found:
        reduced(1)


def length(fixed):
    """The shard of one rank has one item less."""
    steps = len(Items())
    if fixed:
        steps = int(reduced(steps, op=dist.ReduceOp.MIN)[0])
    for _ in range(steps):
        reduced(1)


class Items(Dataset):
    def __len__(self):
        return 2


def failed_call(fixed):
    """A rank whose metrics fail to be reduced goes on without them; the fix tries again."""
    for _ in range(3):
        try:
            reduced(1)
            break
        except RuntimeError:
            if not fixed:
                break
    dist.all_reduce(torch.ones(3))


PATTERNS = {
    date: {}, nanoseconds: {}, clock_in_tensor: {}, whole_seconds: {}, random_tensor: {},
    random_route: {}, random_numpy: {}, random_steps: {}, thread_order: {},
    file_of_a_node: {"nodes": 2}, length: {"uneven_data": True}, failed_call: {"faults": True},
}  # fmt: skip
