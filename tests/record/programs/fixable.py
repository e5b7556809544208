"""Hangs that an edit of whole lines removes, chosen by name; fix_test.py has the edits. The
recording of none of them depends on time."""

import os
import random
import sys
import threading
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
stage = rank // 2
log = []


def is_main():
    return dist.get_rank() == 0


def mean(value):
    total = torch.tensor([float(value)])
    dist.all_reduce(total)
    return total.item() / world


def order():
    names = ["a", "b"] if rank == 0 else ["b", "a"]
    for name in names:
        dist.all_reduce(torch.zeros(1 if name == "a" else 2))


def reverse():
    sizes = [1, 2]
    if rank == 1:
        sizes.reverse()
    for size in sizes:
        dist.all_reduce(torch.zeros(size))


def save():
    for step in range(2):
        mean(step)
        # Writes a checkpoint.
        if is_main():
            log.append(step)
            dist.barrier()  # until it is written
            log.append("written")
    dist.broadcast(torch.zeros(4), src=0)


def nested_call():
    if is_main():
        print(mean(1))
    dist.broadcast(torch.zeros(4), src=0)


def with_inputs():
    loss = torch.ones(1)
    if rank == 0:
        total = loss.clone()
        dist.all_reduce(total)
        log.append(total.item())
    dist.broadcast(torch.zeros(4), src=0)


def other_arm():
    if rank != 0:
        log.append(1)
    else: dist.barrier()
    dist.broadcast(torch.zeros(4), src=0)


def group_of_some():
    pair = dist.new_group([0, 1]) if rank < 2 else None
    if pair is not None:
        dist.all_reduce(torch.zeros(1), group=pair)
    dist.broadcast(torch.zeros(4), src=0)


def expression():
    is_main() and dist.barrier()
    dist.broadcast(torch.zeros(4), src=0)


def flag():
    loss = random.Random(rank).random()  # 0.84 on rank 0, 0.13 on rank 1
    for step in range(3):
        stop = loss * step > 0.5
        if stop:
            break
        mean(step)
    dist.broadcast(torch.zeros(4), src=0)


def flag_of_pair():
    pair = dist.new_group([0, 1])
    if rank < 2:
        bad = random.Random(rank).random() > 0.5
        if bad:
            log.append("skipped")
        else:
            dist.all_reduce(torch.zeros(2), group=pair)
        dist.broadcast(torch.zeros(4), src=0, group=pair)
    dist.barrier()


def number():
    count = random.Random(rank).randint(2, 7)
    dist.all_reduce(torch.zeros(count))


def drawn():
    token = torch.randint(2, 50, (1,))
    dist.all_reduce(torch.zeros(token.item()))


def sampled():
    tokens = torch.randint(0, 50, (3,))
    left = int(tokens.sum())
    dist.all_reduce(torch.zeros(1 + left))


def skip():
    for item in range(6):
        if item % 3 == random.Random(rank).randrange(2):
            continue
        mean(item)
    dist.broadcast(torch.zeros(4), src=0)


def loop():
    items = list(range(random.Random(rank).randint(2, 7)))
    for i, item in enumerate(items):
        mean(item)
    dist.broadcast(torch.zeros(4), src=0)


def while_loop():
    left = random.Random(rank).random()
    while left > 0.1:
        mean(1)
        left -= 0.3
    dist.broadcast(torch.zeros(4), src=0)


def send_first():
    other = torch.zeros(4)
    dist.send(torch.ones(4), (rank + 1) % world)
    dist.recv(other, (rank - 1) % world)


def send_in_branch():
    other, right = torch.zeros(4), (rank + 1) % world
    if right is not None:
        dist.send(torch.ones(4), right)
    dist.recv(other, (rank - 1) % world)


def put(value, to):
    dist.send(value, to)


def take(value, at):
    dist.recv(value, at)


def helpers():
    other = torch.zeros(4)
    put(torch.ones(4), (rank + 1) % world)
    take(other, (rank - 1) % world)


def tag():
    if rank == 0:
        dist.send(torch.ones(4), 1, tag=3)
    else:
        dist.recv(torch.zeros(4), 0, tag=4)


def two_threads():
    thread = threading.Thread(target=lambda: dist.all_reduce(torch.ones(1)), name="saver")
    thread.start()
    dist.barrier()
    thread.join()


def clock():
    readings = [0.0, 9.0]
    vars(time)["perf_counter"] = lambda: readings[rank]
    now = time.perf_counter()
    late = now > 5
    dist.all_reduce(torch.zeros(1 + late))


def evaluate():
    from torch.nn.parallel import DistributedDataParallel as DDP

    net = DDP(torch.nn.BatchNorm1d(2))
    net(torch.ones(2, 2))
    if rank == 0:
        log.append(net(torch.zeros(2, 2)).sum().item())
    dist.all_reduce(torch.zeros(8))


def logs_some_steps():
    for step in range(4):
        if step == 3:
            log.append("last")
        elif rank == 0 and step == 1:
            print(mean(step))
        elif step == 2:
            log.append("second")
    dist.broadcast(torch.zeros(4), src=0)


def two_orders():
    pair = dist.new_group([0, 1])
    if rank == 0:
        dist.all_reduce(torch.zeros(1))
        dist.all_reduce(torch.zeros(2), group=pair)
    else:
        dist.all_reduce(torch.zeros(2), group=pair)
        dist.all_reduce(torch.zeros(1))


def root():
    to = 0 if rank == 0 else 1
    dist.reduce(torch.zeros(4), dst=to)


def leaves():
    for step in range(3):
        if rank == 1 and step == 2:
            sys.exit(0)
        mean(step)


def raises():
    for step in range(3):
        if rank == 1 and step == 2:
            raise ValueError("a bad sample")
        mean(step)


def stages():
    # Rank 0 sends the next batch before it takes the result of the last one.
    value = torch.zeros(4)
    if rank == 1:
        dist.recv(value, 0)
    else:
        dist.send(torch.ones(4), 1)
    for step in range(2):
        if rank == 0:
            put(torch.ones(4), 1)
            take(value, 1)
        else:
            put(value, 0)
            take(value, 0)


def key():
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        dist.barrier()
        store.set("ready", "1")
    else:
        store.wait(["ready"])
        dist.barrier()


def guessed_splits():
    to = [2, 1 + rank]
    at = [2, 2]  # right on rank 0 only
    out = torch.empty(sum(at))
    dist.all_to_all_single(out, torch.ones(sum(to)), at, to)


def unused():
    from torch.nn.parallel import DistributedDataParallel as DDP

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.mask = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

        def forward(self, x, masked):
            x = self.body(x)
            return self.mask(x) if masked else x

    net = DDP(Net())
    for step in range(3):
        net(torch.ones(1, 2), rank == 0 or step != 1).sum().backward()


def two_bugs():
    for step in range(2):
        dist.all_reduce(torch.ones(8))
        if rank == 0:
            mean(step)
    if rank == 0:
        dist.barrier()
    dist.broadcast(torch.zeros(16), src=0)


def roles():
    count = 2 if stage == 0 else 3
    for step in range(count):
        mean(step)
    dist.broadcast(torch.zeros(4), src=0)


globals()[sys.argv[1]]()
if "OUT" in os.environ:
    with open(f"{os.environ['OUT']}/{rank}", "w") as file:
        file.write(repr(log))
