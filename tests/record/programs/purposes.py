"""Jobs whose ranks have different purposes, chosen by name: each rank writes what it computed to
OUT/RANK. With BUG=1 they hang. An edit that removes the hang must not change what they write."""

import os
import random
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
stage, is_last = rank // (world // 2), rank >= world // 2
bug = os.environ.get("BUG") == "1"
log = []


def total(value):
    values = torch.tensor([float(value)])
    dist.all_reduce(values)
    return values.item()


def pipeline():
    other = (rank + world // 2) % world
    for batch in range(2):
        x = torch.full((4,), float(batch + rank))
        if stage == 0:
            dist.send(x * 2, other)
        else:
            dist.recv(x, other)
            log.append(("loss", x.sum().item()))
        if bug and is_last:
            log.append(("mean", total(x.sum().item())))
    dist.barrier()


def logging():
    for step in range(2):
        value = total(step + rank)
        if rank == 0:
            log.append((step, value))
            if bug:
                dist.barrier()
    dist.broadcast(torch.zeros(4), src=0)


def checkpoint():
    if rank != 0:
        dist.barrier()
    log.append("loads" if rank else "downloads")
    if rank == 0:
        dist.barrier()
    for epoch in range(2):
        if rank == 0:
            state = {"epoch": epoch, "rank": rank}
            if bug:
                total(epoch)
            log.append(state)
    dist.broadcast(torch.zeros(4), src=0)


def shards():
    items = list(range(8))[rank::world]
    if bug:
        items = items[: random.Random(rank).randint(1, 3)]
    for item in items:
        log.append((item, total(item)))
    dist.broadcast(torch.zeros(4), src=0)


def noise():
    torch.manual_seed(rank)
    for step in range(3):
        value = torch.rand(1).item()
        stop = bug and value > 0.6
        if stop:
            break
        log.append((round(value, 4), total(1)))
    dist.broadcast(torch.zeros(4), src=0)


def experts():
    expert = [str.upper, str.lower, str.title, str.swapcase][rank % 4]
    for tokens in (["aB", "Cd"], [] if bug and random.Random(rank).random() > 0.5 else ["eF"]):
        if not tokens:
            continue
        log.append([expert(token) for token in tokens])
        log.append(total(len(tokens)))
    dist.broadcast(torch.zeros(4), src=0)


def leaders():
    members = [0, world - 1]
    if not bug or rank in members:
        group = dist.new_group(members)
        if rank in members:
            values = torch.ones(1)
            dist.all_reduce(values, group=group)
            log.append(values.item())
    log.append(total(rank))


def rates():
    rate = 0.1 if stage == 0 else 0.2
    names = ["weight", "bias"]
    if bug and stage == 1:
        names.reverse()
    for name in names:
        values = torch.ones(4 if name == "weight" else 2)
        dist.all_reduce(values)
        log.append(round(values.sum().item() * rate, 4))


def server():
    for step in range(2):
        if rank == 0:
            gradients = [torch.zeros(1) for _ in range(world)]
            dist.gather(torch.full((1,), float(rank)), gradients, dst=0)
            log.append([each.item() for each in gradients])
            if bug:
                dist.barrier()
        else:
            dist.gather(torch.full((1,), float(rank)), dst=0)
    dist.broadcast(torch.zeros(4), src=0)


def metric():
    score = rank + 1
    if rank == 0 and bug:
        log.append(("mean", total(score) / world))
    if rank == 0:
        log.append(("own", score))
    dist.broadcast(torch.zeros(4), src=0)


globals()[sys.argv[1]]()
with open(f"{os.environ['OUT']}/{rank}", "w") as file:
    file.write(repr(log))
