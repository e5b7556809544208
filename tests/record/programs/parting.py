"""Hangs whose ranks part, chosen by name. `# parts NAME` marks the line at which they part, and
`# from NAME` a line that decides it. The recording of none of them depends on time."""

import os
import random
import sys
import threading

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()


def mean(value):
    total = torch.tensor([float(value)])
    dist.all_reduce(total)
    return total / world


def branch():
    if rank == 0:  # both ways have no call: not the cause
        print("begin")
    if rank != 0:
        dist.barrier()
    if rank == 0:
        dist.barrier()  # one barrier on every rank: not the cause either
    for step in range(3):
        mean(step)
        if step == limit_of(rank):  # parts branch
            mean(0)
    dist.barrier()


def limit_of(number):
    return 1 if number == 1 else 5  # from branch


def leave():
    def generate(steps, last):
        for position in range(steps):
            mean(position)
            if position == last:  # parts leave
                return

    generate(4, last=3 if rank else 1)  # from leave
    dist.broadcast(torch.zeros(4), src=0)


def loop():
    lengths = [900, 800, 700] if rank == 0 else [300, 200]
    count = sum(lengths) // 500  # from loop
    for step in range(count):  # parts loop
        mean(step)
    dist.broadcast(torch.zeros(4), src=0)


def generator():
    def batches():
        for item in range(6):
            if item % 3 == rank:  # parts generator
                continue
            yield item

    for item in batches():
        if item == 0:
            mean(item)
        dist.broadcast(torch.zeros(item + 1), src=0)


def while_loop():
    left = 3 - rank  # from while_loop
    while left > 0:  # parts while_loop
        mean(left)
        left -= 1
    dist.broadcast(torch.zeros(4), src=0)


def swallowed():
    table = {0: 1.0}
    try:
        value = table[rank]
        mean(value)
    except KeyError:  # parts swallowed
        pass
    dist.broadcast(torch.zeros(4), src=0)


def comprehension():
    found = [mean(x) for x in range(3) if x > rank]  # parts comprehension
    dist.broadcast(torch.zeros(4 + len(found)), src=0)


def size():
    random.seed(10 + rank)
    kept = int(random.random() * 50)  # from size
    dist.all_reduce(torch.zeros(1 + kept))  # parts size


def order():
    names = ["a", "b"]
    if rank == 1:  # from order
        names.reverse()
    for name in names:
        dist.all_reduce(torch.zeros(1 if name == "a" else 2))  # parts order


def groups():
    pairs = [dist.group.WORLD, dist.new_group([0, 1])]
    first = rank % 2  # from groups
    for step in range(2):
        which = (first + step) % 2
        dist.all_reduce(torch.zeros(4 + rank * which * 0), group=pairs[which])  # parts groups


class Trainer:
    is_first = rank == 0  # from attribute

    def save(self):
        if self.is_first:  # parts attribute
            dist.barrier()


def attribute():
    Trainer().save()
    dist.all_reduce(torch.zeros(1))


def busy():
    total = 0
    for step in range(3000):  # more events than are kept
        total += step
        if total < 0:
            total = 0
    if rank == 0 and total:  # parts busy
        mean(total)
    dist.broadcast(torch.zeros(4), src=0)


def messages():
    other = torch.zeros(4)
    dist.send(torch.ones(4), (rank + 1) % world)
    dist.recv(other, (rank - 1) % world)


def other_tag():
    if rank == 0:
        dist.send(torch.ones(4), 1, tag=3)
    else:
        dist.recv(torch.zeros(4), 0, tag=4)


def from_any():
    if rank == 0:
        dist.recv(torch.zeros(4))
    else:
        dist.barrier()


def members_only():
    if rank < 2:  # parts members_only
        dist.new_group([0, 1])
    dist.barrier()


def key():
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:  # parts key
        dist.barrier()
        store.set("ready", "1")
    else:
        store.wait(["ready"])
        dist.barrier()


def refused():
    splits = [1 + rank, 2]  # from refused
    dist.all_to_all_single(torch.empty(sum(splits)), torch.ones(2), splits, [1, 1])  # parts refused


def drawn():
    kept = 4 if rank else 3  # from drawn
    items = list(range(kept))
    few = items[1:]
    size = len(few)
    dist.all_reduce(torch.zeros(1 + size))  # parts drawn


def two_threads():
    thread = threading.Thread(target=lambda: mean(1), name="saver")
    thread.start()
    dist.barrier()
    thread.join()


def joined_thread():
    thread = threading.Thread(target=lambda: mean(1), name="saver")
    thread.start()
    thread.join()
    if rank == 0:  # parts joined_thread
        dist.barrier()
    dist.broadcast(torch.zeros(4), src=0)


def made_up():
    value = torch.full((100_000,), 1.0 - rank)
    dist.broadcast(value, src=0)  # larger than --limit, so not carried
    if value[0].item() > 0.5:
        dist.barrier()
    dist.broadcast(torch.zeros(4), src=0)


def fails():
    raise ValueError("wrong on every rank")


def hangs_once():
    if len(open(os.environ["RUNS"]).read().split()) <= world and rank == 0:
        dist.barrier()
    dist.broadcast(torch.zeros(4), src=0)


runs = os.environ.get("RUNS")
if runs:
    with open(runs, "a") as file:
        file.write(f"{rank}\n")
globals()[sys.argv[1]]()
