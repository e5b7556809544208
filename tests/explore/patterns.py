"""Eighteen patterns of scripts that hang if the environment answers differently, each with a fix.

    python3 patterns.py NAME [--fixed]       one rank of the script

`PATTERNS` has the options of `explore` that a pattern needs.
"""

import datetime
import os
import queue
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

OUT_OF_MEMORY = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)


def reduced(*values, op=dist.ReduceOp.SUM):
    tensor = torch.tensor([float(value) for value in values])
    dist.all_reduce(tensor, op=op)
    return tensor.tolist()


def agreed(value):
    """Whether all ranks agree."""
    return reduced(int(value), op=dist.ReduceOp.MIN)[0] == 1


def store():
    return dist.distributed_c10d._get_default_store()


def poll_skip(fixed):
    """The loss is reduced only while the gradient's all_reduce is under way."""
    for _ in range(2):
        work = dist.all_reduce(torch.ones(8), async_op=True)
        if fixed or not work.is_completed():
            work.wait()
            reduced(1)


def poll_isend(fixed):
    """An isend is polled; under gloo it is never completed before its wait."""
    if dist.get_rank() == 0:
        work = dist.isend(torch.ones(2), 1)
        while not (fixed or work.is_completed()):
            time.sleep(0.1)
        work.wait()
    elif dist.get_rank() == 1:
        dist.recv(torch.ones(2), 0)


def any_source(fixed):
    """The first worker that reports gets the work, and the server waits for worker 1."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank > 0:
        dist.send(torch.tensor([rank]), 0)
        answer = torch.zeros(1, dtype=torch.int64)
        dist.recv(answer, 0)
        if answer.item():
            dist.send(torch.ones(1), 0)
        return
    report = torch.zeros(1, dtype=torch.int64)
    order = [dist.recv(report) for _ in range(size - 1)]
    for worker in order:
        dist.send(torch.tensor([int(worker == order[0])]), worker)
    dist.recv(torch.zeros(1), order[0] if fixed else 1)


def store_add(fixed):
    """The first rank to arrive loads the weights and is the root; others assume rank 0."""
    rank = dist.get_rank()
    first = store().add("first", 1) == 1
    if fixed and first:
        store().set("root", str(rank))
    root = int(store().get("root")) if fixed else rank if first else 0
    dist.broadcast(torch.zeros(1), root)


def exists(fixed):
    """A rank that looks late finds the index of rank 0, and skips the barrier."""
    found = os.path.exists("index.txt")
    if fixed:
        found = not agreed(not found)
    if not found:
        if dist.get_rank() == 0:
            with open("index.txt", "w") as file:
                file.write("1")
        dist.barrier()


def work_steal(fixed):
    """A rank that got no task from the shared counter does not reduce."""
    done = 0
    while store().add("task", 1) <= 3:
        done += 1
    if fixed or done:
        reduced(done)


def wallclock(fixed):
    """Each rank stops after an hour by its own clock."""
    begin = time.monotonic()
    for _ in range(2):
        late = time.monotonic() - begin > 3600
        if fixed:
            late = not agreed(not late)
        if late:
            break
        reduced(1)


def timeout30(fixed):
    """A rank that gets no request in 30 s reduces something else."""
    if dist.get_rank() == 0:
        store().set("request", "go")
    have = True
    if dist.get_rank() == 1:
        try:
            store().wait(["request"], datetime.timedelta(seconds=30))
        except RuntimeError:
            have = False
    if fixed:
        have = agreed(have)
    dist.all_reduce(torch.ones(8 if have else 1))


def abort_clock(fixed):
    """Each rank drops requests that are older than 10 s on its clock."""
    requests = [time.perf_counter(), time.perf_counter()]
    for _ in range(2):
        left = [begin for begin in requests if time.perf_counter() - begin < 10]
        if fixed:
            left = left[: int(reduced(len(left), op=dist.ReduceOp.MIN)[0])]
        requests = left
        if requests:
            dist.all_reduce(torch.ones(len(requests)))


def arrival(fixed):
    """A rank without a request skips the collective of the step."""
    requests = queue.Queue()
    requests.put(16)
    for _ in range(2):
        try:
            tokens = requests.get_nowait()
        except queue.Empty:
            tokens = 0
        if fixed or tokens:
            dist.all_reduce(torch.ones(4))
    dist.all_reduce(torch.ones(1))


def async_save(fixed):
    """The ranks exchange metadata once their checkpoint is written, early or late."""
    with ThreadPoolExecutor(1) as pool:
        saved = pool.submit(lambda: None)
        for _ in range(2):
            done = saved is not None and saved.done()
            if fixed:
                done = agreed(done)
            if done:
                saved = None
                dist.all_reduce(torch.ones(3))
            dist.all_reduce(torch.ones(1))


def zero_tokens(fixed):
    """A rank to which the router sends no token skips the exchange of tokens."""
    tokens = random.randint(0, 3)
    counts = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, torch.tensor([float(tokens)]))
    if fixed or tokens:
        dist.all_reduce(torch.ones(1))


def layer_drop(fixed):
    """Layers are dropped by random numbers without a common seed."""
    if fixed:
        random.seed(1)
    for _ in range(3):
        if random.random() >= 0.05:
            reduced(1)


def oom_skip(fixed):
    """A rank that runs out of memory skips its backward."""
    model = DistributedDataParallel(torch.nn.Linear(2, 1))
    for _ in range(2):
        loss = None
        try:
            loss = model(torch.ones(1, 2)).sum()
        except OUT_OF_MEMORY:
            pass
        ok = loss is not None
        if fixed:
            ok = agreed(ok)
        if ok:
            loss.backward()


def uneven_data(fixed):
    """One rank runs out of data one batch early."""
    batches = iter(DataLoader(list(range(4)), batch_size=2))
    while True:
        batch = next(batches, None)
        more = batch is not None
        if fixed:
            more = agreed(more)
        if not more:
            break
        reduced(1)


def scale_down(fixed):
    """Rank 0 asks all ranks to stop; the others see this in another step."""
    for step in range(2):
        if dist.get_rank() == 0 and step == 0:
            store().set("stop", "1")
        if fixed:
            dist.barrier()
        if store().check(["stop"]):
            break
        reduced(1)


def queue_timeout(fixed):
    """A rank whose prefetching thread is late skips the step."""
    items = queue.Queue()
    threading.Thread(target=lambda: [items.put(i) for i in range(2)], daemon=True).start()
    got = 0
    while got < 2:
        try:
            items.get(timeout=5)
        except queue.Empty:
            got += not fixed
            continue
        got += 1
        reduced(1)


def nccl_order(fixed):
    """A poll decides which of two groups is called first; NCCL serves them in order."""
    other = dist.new_group(list(range(dist.get_world_size())))
    one, two = torch.ones(1, device="cuda"), torch.ones(1, device="cuda")
    work = dist.all_reduce(one, async_op=True)
    is_late = not fixed and not work.is_completed()
    for group in (other, None) if is_late else (None, other):
        dist.all_reduce(two, group=group)
    torch.cuda.synchronize()


NCCL = {"device": "cuda", "rules": "nccl"}
FAULTS, DATA, THREE = {"faults": True}, {"uneven_data": True}, {"ranks": 3}
PATTERNS = {
    poll_skip: {}, poll_isend: {}, any_source: THREE, store_add: THREE, exists: {}, work_steal: {},
    wallclock: {}, timeout30: {}, abort_clock: {}, arrival: {}, async_save: {}, zero_tokens: {},
    layer_drop: {}, oom_skip: FAULTS, uneven_data: DATA, scale_down: {}, queue_timeout: {},
    nccl_order: NCCL,
}  # fmt: skip


def run(pattern, fixed):
    dist.init_process_group("nccl" if pattern is nccl_order else "gloo")
    pattern(fixed)
    if pattern is not nccl_order:
        dist.barrier()


if __name__ == "__main__":
    run(globals()[sys.argv[1]], "--fixed" in sys.argv)
