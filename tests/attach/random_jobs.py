"""A random small job, reproducible by seed: collectives, sends and recvs, subgroups, threads, DDP,
FSDP, functional collectives and objects. `jobs_test.py` runs it without and with attach.

    torchrun --nproc-per-node 4 random_jobs.py SEED

Each rank prints its results. All ranks make matching calls, so each job ends.
"""

import os
import random
import sys
import threading
import time

import torch
import torch.distributed as dist

NEWEST = not torch.__version__.startswith("1.")  # 1.13 lacks functional collectives and FSDP2
if NEWEST:
    import torch.distributed._functional_collectives as functional
    import torch.distributed.nn.functional as autograd_functional
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Shard, distribute_tensor


class Call:
    """The random values of one step of a job. They are equal on all ranks."""

    def __init__(self, choices, number):
        self.number = number
        self.kind = choices.choice(KINDS)
        self.group = choices.randrange(3)
        self.size = choices.choice([1, 1, 4, 100, 5000])
        self.root = choices.randrange(2)
        self.times = choices.choice([1, 1, 2, 5, 30])
        self.variant = choices.randrange(4)


class Members:
    """A group, and this rank in it."""

    def __init__(self, group, ranks):
        self.group = group
        self.ranks = ranks
        self.count = len(ranks)
        self.rank = ranks.index(dist.get_rank())

    def at(self, distance):
        """Returns the job's rank of the member at a distance, in a ring."""
        return self.ranks[(self.rank + distance) % self.count]


def values(call):
    return torch.arange(call.size, dtype=torch.float32) % 7 + dist.get_rank()


def collectives(call, of):
    x, g = values(call), of.group
    for _ in range(call.times):
        if call.variant == 0:
            dist.all_reduce(x, op=dist.ReduceOp.MAX, group=g)
        elif call.variant == 1:
            dist.broadcast(x, of.ranks[call.root], group=g)
        elif call.variant == 2:
            dist.reduce(x, of.ranks[call.root], op=dist.ReduceOp.MAX, group=g)
            dist.barrier(group=g)
        else:
            parts = [torch.empty(call.size) for _ in of.ranks]
            dist.all_gather(parts, x, group=g)
            x = sum(parts) % 100
    return x


def rooted(call, of):
    root, x = of.ranks[call.root], values(call)
    if call.variant < 2:
        parts = [torch.empty(call.size) for _ in of.ranks] if dist.get_rank() == root else None
        dist.gather(x, parts, root, group=of.group)
        return sum(parts) if parts else x
    parts = [x + i for i in range(of.count)] if dist.get_rank() == root else None
    dist.scatter(x, parts, root, group=of.group)
    return x


def halves(call, of):
    x = values(call).repeat(of.count)
    result = torch.empty(call.size)
    if not NEWEST:
        dist.all_reduce(x, group=of.group)
    elif call.variant < 2:
        dist.reduce_scatter_tensor(result, x, group=of.group)
        dist.all_gather_into_tensor(x, result, group=of.group)
    else:
        dist.all_to_all_single(x.clone(), x, group=of.group)
    return x


def asynchronous(call, of):
    """Several calls in flight, whose Works are waited for, polled, dropped or used as futures."""
    xs = [values(call) + i for i in range(call.times)]
    works = [dist.all_reduce(x, group=of.group, async_op=True) for x in xs]
    for i, work in enumerate(works):
        if (call.variant + i) % 4 == 0:
            while not work.is_completed():
                time.sleep(0.001)
        elif (call.variant + i) % 4 == 1:
            work.get_future().then(lambda done: done.value()[0]).wait()
        work.wait()
    dropped = torch.ones(call.size)
    dist.all_reduce(dropped, group=of.group, async_op=True)
    dist.barrier(group=of.group)
    return sum(xs)


def ring(call, of):
    x = values(call)
    for tag in range(call.times):
        result = torch.empty(call.size)
        if call.variant == 0:
            ops = [dist.P2POp(dist.irecv, result, of.at(-1), of.group),
                   dist.P2POp(dist.isend, x, of.at(1), of.group)]  # fmt: skip
            works = dist.batch_isend_irecv(ops)
        else:
            works = [dist.isend(x, of.at(1), of.group, tag=tag),
                     dist.irecv(result, of.at(-1), of.group, tag=tag)]  # fmt: skip
        for work in works:
            work.wait()
        x = result + 1
    return x


def chain(call, of):
    """Sends and recvs that wait; in one variant, a recv takes the send of any rank."""
    x = values(call)
    for _ in range(call.times):
        if of.rank > 0:
            source = None if call.variant == 0 and of.count == 2 else of.at(-1)
            dist.recv(x, source, group=of.group)
        if of.rank < of.count - 1:
            dist.send(x + 1, of.at(1), group=of.group)
    dist.barrier(group=of.group)
    return x


def objects(call, of):
    found = [None] * of.count
    dist.all_gather_object(found, {"rank": of.rank, "size": call.size}, group=of.group)
    dist.broadcast_object_list(found, of.ranks[call.root], group=of.group)
    return torch.tensor([float(each["rank"]) for each in found])


def local_error(call, of):
    """An error that the script catches."""
    x = values(call)
    try:
        dist.all_gather([torch.ones(3)] * of.count, torch.ones(1, 2), group=of.group)
    except (RuntimeError, ValueError) as error:
        x = x + len(type(error).__name__)
    dist.all_reduce(x, group=of.group)
    return x


def model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))


def train(module, call, no_sync=None):
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    for step in range(min(call.times, 5)):
        if no_sync is not None and step % 2:
            with no_sync():
                module(torch.ones(2, 8) * dist.get_rank()).sum().backward()
        module(torch.ones(2, 8) * dist.get_rank()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return next(module.parameters()).detach()


def ddp(call, of):
    options = [{}, {"bucket_cap_mb": 0.0001}, {"find_unused_parameters": True},
               {"static_graph": True}][call.variant]  # fmt: skip
    module = torch.nn.parallel.DistributedDataParallel(model(), process_group=of.group, **options)
    return train(module, call, module.no_sync if call.variant == 1 else None)


def fsdp2(call, of):
    if not NEWEST:
        return ddp(call, of)
    module = fully_shard(model(), mesh=DeviceMesh.from_group(of.group, "cpu"))
    return train(module, call).full_tensor()


def functional_ops(call, of):
    x = values(call).repeat(of.count)
    if not NEWEST:
        return x
    for _ in range(call.times):
        if call.variant == 0:
            x = functional.all_reduce(x, "max", of.group) + 0
        elif call.variant == 1:
            part = functional.reduce_scatter_tensor(x, "sum", 0, of.group)
            x = functional.all_gather_tensor(part, 0, of.group) % 100
        elif call.variant == 2:
            x = functional.all_to_all_single(x, None, None, of.group) + 0
        else:
            leaf = x.clone().requires_grad_()
            autograd_functional.all_reduce(leaf, group=of.group).sum().backward()
            x = x + leaf.grad
    return x


def dtensor(call, of):
    if not NEWEST:
        return values(call)
    mesh = DeviceMesh.from_group(of.group, "cpu")
    torch.manual_seed(1)
    left = distribute_tensor(torch.rand(8, 8), mesh, [Shard(0)])
    right = distribute_tensor(torch.rand(8, 8), mesh, [Shard(1)])
    return (left @ right).full_tensor()


def with_a_thread(call, of):
    """A thread calls on a group of its own while the main thread calls on another one."""
    other = values(call)

    def body():
        for _ in range(call.times):
            dist.all_reduce(other, op=dist.ReduceOp.MAX, group=THREADS_GROUP[0])

    thread = threading.Thread(target=body)
    thread.start()
    x = collectives(call, of)
    thread.join()
    return x + other


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.ones(2) * index


def loader(call, of):
    """A data loader forks a worker process."""
    total = torch.zeros(2)
    for batch in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=1):
        x = batch.sum(0)
        dist.all_reduce(x, group=of.group)
        total += x
    return total


def store(call, of):
    """Keys of the script's store, set by one rank and read by all."""
    keys = dist.distributed_c10d._get_default_store()
    key = f"key {call.number}"
    if dist.get_rank() == call.root:
        keys.set(key, str(call.times))
    dist.barrier()
    keys.wait([key])
    return torch.tensor([float(keys.get(key).decode())])


KINDS = [collectives, collectives, rooted, halves, asynchronous, asynchronous, ring, chain, objects,
         local_error, ddp, ddp, fsdp2, functional_ops, functional_ops, dtensor, with_a_thread,
         loader, store]  # fmt: skip
THREADS_GROUP = []


def run(seed, end=None):
    """Runs the job of this rank. `end`: how it ends; None: a random way."""
    torch.set_num_threads(1)
    choices = random.Random(seed)
    calls = [Call(choices, i) for i in range(choices.randint(3, 8))]
    end = end or choices.choice(["return", "destroy", "destroy", "exit", "raise"])
    dist.init_process_group("gloo")
    every = list(range(dist.get_world_size()))
    groups = [Members(dist.group.WORLD, every), Members(dist.new_group(every), every)]
    for ranks in (every[::2], every[1::2]):
        group = dist.new_group(ranks)
        if dist.get_rank() in ranks:
            groups.append(Members(group, ranks))
    if any(call.kind is with_a_thread for call in calls):
        THREADS_GROUP[:] = [dist.new_group(every)]
    for call in calls:
        result = call.kind(call, groups[call.group])
        shown = [round(value, 3) for value in result.flatten()[:6].tolist()]
        print(f"result of {call.kind.__name__}: {shown}", flush=True)
    dist.barrier()
    if end == "destroy":
        THREADS_GROUP.clear()
        dist.destroy_process_group()
    elif end == "exit":
        sys.exit(3)
    elif end == "raise":
        raise ValueError("the job ends with an error")


if __name__ == "__main__" and "RANK" in os.environ and len(sys.argv) == 2:
    run(int(sys.argv[1]))
