"""Small programs of torch.distributed, at least one for each part of its API that gloo supports.

The body of a case runs on each rank, between init_process_group("gloo") and a barrier of all ranks.
It checks the values of calls that return values.
"""

import contextlib
import dataclasses
import os
import tempfile
import threading
import time
from datetime import timedelta
from typing import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

NEW = not torch.__version__.startswith("1.")


@dataclasses.dataclass
class Case:
    name: str
    body: Callable  # takes the rank and the number of ranks
    ranks: int
    skipped: bool  # also run a job in which rank 1 skips the body
    same_calls: bool  # the calls of gloo that the test sees equal the calls in the record
    whole: bool  # the body makes its own process groups
    completes: str  # pipesim's answer for a job that completes


CASES = []


def case(ranks=2, skipped=True, same_calls=True, whole=False, new=False, completes="proved"):
    """Adds a case. `new`: gloo of torch 1 lacks the calls of this case."""

    def add(body):
        if NEW or not new:
            CASES.append(Case(body.__name__, body, ranks, skipped, same_calls, whole, completes))
        return body

    return add


def ones(*shape, **options):
    return torch.ones(shape or (4,), **options)


def expect(tensor, *values):
    assert tensor.flatten().tolist() == list(values), (tensor, values)


# Collectives


@case()
def all_reduce(rank, n):
    for op, result in ((dist.ReduceOp.SUM, 3), (dist.ReduceOp.MAX, 2), (dist.ReduceOp.PRODUCT, 2)):
        t = torch.tensor([rank + 1])
        dist.all_reduce(t, op)
        expect(t, result)


@case()
def works(rank, n):
    first, second = ones(2), ones(3)
    work = dist.all_reduce(first, async_op=True)
    future = dist.all_reduce(second, async_op=True).get_future()
    doubled = future.then(lambda f: f.value()[0] * 2)
    expect(doubled.wait(), 4, 4, 4)
    work.wait()
    work.wait()
    expect(first, 2, 2)


@case()
def poll_of_a_collective(rank, n):
    work = dist.all_reduce(ones(), async_op=True)
    while not work.is_completed():
        time.sleep(0.01)


@case(skipped=False)
def poll_of_a_message(rank, n):  # hangs: is_completed() is never true before the wait
    if rank == 0:
        work = dist.isend(ones(), 1)
        while not work.is_completed():
            time.sleep(0.01)
    else:
        dist.recv(ones(), 0)


@case(ranks=3)
def broadcast_in_a_group(rank, n):
    group = dist.new_group([0, 2])
    if rank != 1:
        t = ones() * rank
        dist.broadcast(t, 2, group=group)
        expect(t, 2, 2, 2, 2)


@case()
def reduce(rank, n):
    t = ones(2)
    dist.reduce(t, 1)
    if rank == 1:
        expect(t, 2, 2)


@case()
def all_gather(rank, n):
    parts = [ones(2) for _ in range(n)]
    dist.all_gather(parts, ones(2) * rank)
    expect(torch.cat(parts), 0, 0, 1, 1)


@case(skipped=False)
def all_gather_of_other_sizes(rank, n):  # raises
    dist.all_gather([ones(k + 1) for k in range(n)], ones(rank + 1))


@case(new=True)
def all_gather_into_tensor(rank, n):
    t = ones(4)
    dist.all_gather_into_tensor(t, ones(2) * rank)
    expect(t, 0, 0, 1, 1)


@case()
def gather(rank, n):
    parts = [ones(1) for _ in range(n)] if rank == 1 else None
    dist.gather(ones(1) * rank, parts, 1)
    if rank == 1:
        expect(torch.cat(parts), 0, 1)


@case()
def scatter(rank, n):
    t = ones(1)
    dist.scatter(t, [ones(1) * k for k in range(n)] if rank == 0 else None, 0)
    expect(t, rank)


@case(skipped=False)
def reduce_scatter(rank, n):  # raises in torch 1
    t = ones(2)
    dist.reduce_scatter(t, [ones(2) * k for k in range(n)])
    expect(t, 2 * rank, 2 * rank)


@case(new=True)
def reduce_scatter_tensor(rank, n):
    t = ones(2)
    dist.reduce_scatter_tensor(t, ones(4))
    expect(t, 2, 2)


@case(skipped=False)
def all_to_all(rank, n):  # raises in torch 1
    parts = [ones(1) for _ in range(n)]
    dist.all_to_all(parts, [ones(1) * rank for _ in range(n)])
    expect(torch.cat(parts), 0, 1)


@case(skipped=False)
def all_to_all_of_other_sizes(rank, n):  # raises
    dist.all_to_all([ones(k + 1) for k in range(n)], [ones(rank + 1) for _ in range(n)])


@case()
def all_to_all_single(rank, n):
    t = ones(2)
    dist.all_to_all_single(t, ones(2) * rank)
    expect(t, 0, 1)


@case(ranks=3)
def all_to_all_with_empty_parts(rank, n):
    gives, gets = [0] * n, [0] * n
    gives[(rank + 1) % n] = gets[rank - 1] = 2
    t = ones(2)
    dist.all_to_all_single(t, ones(2) * rank, gets, gives)
    expect(t, (rank - 1) % n, (rank - 1) % n)


@case(skipped=False)
def types_that_gloo_refuses(rank, n):
    dist.all_reduce(ones(dtype=torch.int16))


@case(same_calls=False)
def monitored_barrier(rank, n):  # gloo sends messages from C++
    dist.monitored_barrier()


# Objects


@case(ranks=3)
def objects_of_all(rank, n):
    found = [None] * n
    dist.all_gather_object(found, {"rank": rank, "text": "x" * rank})
    assert [one["rank"] for one in found] == list(range(n))
    root = [None] * n if rank == 1 else None
    dist.gather_object(rank, root, 1)
    assert rank != 1 or root == list(range(n))


@case()
def objects_of_one(rank, n):
    found = [list(range(50_000)) if rank == 0 else None]  # larger than the recorder's --limit
    dist.broadcast_object_list(found, 0)
    assert found[0][-1] == 49_999
    dist.scatter_object_list(found, ["a", "b"] if rank == 0 else None, 0)
    assert found == ["ab"[rank]]


# Messages


@case()
def messages(rank, n):
    t = ones(3) * rank
    if rank == 0:
        dist.send(t, 1)
        dist.recv(t, 1)
    else:
        dist.recv(t, 0)
        expect(t, 0, 0, 0)
        dist.send(t, 0)


@case()
def tags_in_another_order(rank, n):
    if rank == 0:
        for work in [dist.isend(ones(1) * tag, 1, tag=tag) for tag in (1, 2)]:
            work.wait()
    else:
        for tag in (2, 1):
            t = ones(1)
            dist.recv(t, 0, tag=tag)
            expect(t, tag)


@case(ranks=3)
def ring_of_messages(rank, n):
    send, receive = dist.isend(ones(), (rank + 1) % n), dist.irecv(ones(), (rank - 1) % n)
    send.wait()
    receive.wait()


@case(ranks=3)
def batch_of_messages(rank, n):
    t = ones()
    ops = [
        dist.P2POp(dist.isend, ones() * rank, (rank + 1) % n),
        dist.P2POp(dist.irecv, t, (rank - 1) % n),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    expect(t, *[(rank - 1) % n] * 4)


@case(ranks=3)
def any_source(rank, n):
    if rank != 0:
        return dist.send(ones(1) * rank, 0)
    t, found = ones(1), []
    for _ in range(n - 1):
        source = dist.recv(t)
        expect(t, source)
        found.append(source)
    assert sorted(found) == [1, 2]


@case()
def all_send_first(rank, n):  # hangs
    dist.send(ones(), 1 - rank)
    dist.recv(ones(), 1 - rank)


@case(completes="mismatch")
def a_larger_recv(rank, n):
    if rank == 0:
        dist.send(ones(4), 1)
    else:
        dist.recv(torch.zeros(8), 0)


# Groups and stores


@case(ranks=4)
def halves(rank, n):
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    t = ones(1) * rank
    dist.all_reduce(t, group=groups[rank // 2])
    expect(t, 1 if rank < 2 else 5)


@case(ranks=4)
def subgroups(rank, n):
    group, groups = dist.new_subgroups(2)
    assert len(groups) == 2 and dist.get_world_size(group) == 2
    dist.all_reduce(ones(), group=group)


@case(skipped=False, whole=True)
def again_after_destroy(rank, n):
    for _ in range(2):
        dist.init_process_group("gloo")
        group = dist.new_group()
        dist.all_reduce(ones(), group=group)
        dist.barrier()
        dist.destroy_process_group(group)
        dist.destroy_process_group()
        os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + 1)


@case(skipped=False, whole=True)
def a_store_of_its_own(rank, n):
    store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), n, rank == 0)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=n)
    dist.all_reduce(ones())
    dist.barrier()
    dist.destroy_process_group()  # torch 1 crashes if the store's server lives until the exit


@case(new=True)
def group_that_torch_does_not_know(rank, n):
    from torch.distributed import _dist2

    os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + 1)
    group = _dist2.new_group("gloo", timedelta(seconds=60), torch.device("cpu"))
    t = ones(1) * rank
    group.allreduce(t).wait()
    expect(t, 1)


@case()
def store(rank, n):
    store = dist.distributed_c10d._get_default_store()
    store.set(f"key{rank}", "value")
    store.wait([f"key{k}" for k in range(n)])
    assert store.get(f"key{1 - rank}") == b"value"
    store.add("count", 1)
    dist.barrier()
    assert store.add("count", 0) == n


# Features of torch that use collectives and messages


@case(new=True)
def functional(rank, n):
    import torch.distributed._functional_collectives as functional

    world = dist.group.WORLD
    expect(functional.all_reduce(ones(1), "sum", world).clone(), n)
    expect(functional.all_gather_tensor(ones(1) * rank, 0, world).clone(), 0, 1)
    expect(functional.reduce_scatter_tensor(ones(2), "sum", 0, world).clone(), n)
    expect(functional.all_to_all_single(ones(2) * rank, None, None, world).clone(), 0, 1)
    for t in functional.all_reduce_coalesced([ones(1), ones(2)], "sum", world):
        t.clone()


@case(new=True)
def coalesced(rank, n):
    with dist.distributed_c10d._coalescing_manager():
        dist.all_reduce(ones(1))
        dist.all_reduce(ones(2))


@case()
def differentiable(rank, n):
    import torch.distributed.nn.functional as functional

    t = ones(n, requires_grad=True)
    functional.all_reduce(t).sum().backward()
    functional.broadcast(t, 0).sum().backward()
    sum(part.sum() for part in functional.all_gather(t)).backward()
    assert t.grad is not None


@case(ranks=4, new=True)
def mesh(rank, n):
    from torch.distributed.device_mesh import init_device_mesh

    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    t = ones(1) * rank
    dist.all_reduce(t, group=grid["tp"].get_group())
    dist.all_reduce(t, group=grid.get_group("dp"))
    expect(t, 6)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))


def train(model, steps=2, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(ones(2, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


@case(new=True)
def dtensor(rank, n):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    grid = init_device_mesh("cpu", (n,))
    t = distribute_tensor(torch.arange(16.0).reshape(4, 4), grid, [Shard(0)])
    t.redistribute(grid, [Shard(1)]).redistribute(grid, [Replicate()]).to_local()
    expect(t.full_tensor()[3], 12, 13, 14, 15)


@case(new=True)
def tensor_parallel(rank, n):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import parallel

    plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
    model = parallel.parallelize_module(network(), init_device_mesh("cpu", (n,)), plan)
    model(ones(2, 8)).sum().backward()


@case()
def ddp(rank, n):
    model = DistributedDataParallel(network(), bucket_cap_mb=0.0005)
    train(model, 1)
    with model.no_sync():
        model(ones(2, 8)).sum().backward()
    train(model)


@case()
def ddp_with_parameters_that_are_not_used(rank, n):
    model = network()
    model.extra = nn.Linear(8, 8)
    train(DistributedDataParallel(model, find_unused_parameters=True))


@case()
def ddp_with_buffers_and_a_hook(rank, n):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)))
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    train(model)


@case()
def ddp_of_a_static_graph(rank, n):
    train(DistributedDataParallel(network(), static_graph=True), 3)


@case()
def ddp_with_uneven_inputs(rank, n):
    from torch.distributed.algorithms.join import Join

    model = DistributedDataParallel(network())
    with Join([model]):
        for _ in range(1 + rank):
            model(ones(2, 8)).sum().backward()


@case()
def ddp_with_one_step_more(rank, n):  # hangs
    train(DistributedDataParallel(network()), 1 + rank)


@case()
def zero(rank, n):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = DistributedDataParallel(network())
    train(model, 2, ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1))


@case(new=True)
def fsdp1(rank, n):
    from torch.distributed.fsdp import FullyShardedDataParallel

    train(FullyShardedDataParallel(network(), device_id=torch.device("cpu")))


@case(ranks=4, new=True)
def fsdp2_in_two_dimensions(rank, n):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model, grid = network(), init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "fsdp"))
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=grid)
    train(fully_shard(model, mesh=grid))


def pipeline(rank, n, schedule, stages):
    from torch.distributed import pipelining

    torch.manual_seed(0)
    device = torch.device("cpu")
    own = [
        pipelining.PipelineStage(nn.Linear(8, 8), stage, stages, device)
        for stage in range(rank, stages, n)
    ]
    single = issubclass(schedule, pipelining.schedules.PipelineScheduleSingle)
    made = schedule(own[0] if single else own, 4, loss_fn=nn.functional.mse_loss)
    for _ in range(2):
        given = [ones(8, 8)] if rank == 0 else []
        made.step(*given, **({"target": ones(8, 8)} if rank == n - 1 else {}))


@case(ranks=3, new=True)
def pipeline_1f1b(rank, n):
    from torch.distributed.pipelining import Schedule1F1B

    pipeline(rank, n, Schedule1F1B, n)


@case(new=True)
def pipeline_interleaved(rank, n):
    from torch.distributed.pipelining import ScheduleInterleaved1F1B

    pipeline(rank, n, ScheduleInterleaved1F1B, 2 * n)


@case(new=True)
def checkpoint(rank, n):
    from torch.distributed import checkpoint

    # The parent's id names the folder, because it is the same on all ranks.
    folder = os.path.join(tempfile.gettempdir(), f"checkpoint{os.getppid():08}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)
    state = {"model": network().state_dict()}
    checkpoint.save(state, checkpoint_id=folder)
    checkpoint.load(state, checkpoint_id=folder)


@case()
def a_thread_with_a_group_of_its_own(rank, n):
    group = dist.new_group()
    thread = threading.Thread(target=lambda: dist.all_reduce(ones(), group=group))
    thread.start()
    dist.all_reduce(ones())
    thread.join()
