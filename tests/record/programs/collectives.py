"""Calls of torch.distributed that return values: each rank asserts the values that it gets."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
others = [r for r in range(world) if r != rank]
total = sum(range(world))
old = torch.__version__ < "2"  # gloo of this version lacks some calls


def full(value: float, size: int = 3) -> torch.Tensor:
    return torch.full((size,), float(value))


# Reductions
for op, expected in [("SUM", total), ("MAX", world - 1), ("MIN", 0), ("PRODUCT", 0)]:
    t = full(rank)
    dist.all_reduce(t, op=getattr(dist.ReduceOp, op))
    assert t.tolist() == [expected] * 3, op
t = torch.tensor([1 << rank])
dist.all_reduce(t, op=dist.ReduceOp.BOR)
assert t.item() == (1 << world) - 1
t = full(rank)
dist.reduce(t, dst=1)
assert t.tolist() == [total if rank == 1 else rank] * 3

# Broadcast, gather, scatter; a tensor that is not contiguous
t = torch.arange(6.0).reshape(2, 3).t() if rank == 2 else torch.zeros(2, 3).t()
dist.broadcast(t, src=2)
assert t.tolist() == [[0, 3], [1, 4], [2, 5]]
parts = [full(-1) for _ in range(world)]
dist.all_gather(parts, full(rank))
assert [p[0].item() for p in parts] == list(range(world))
if not old:
    out = torch.empty(3 * world)
    dist.all_gather_into_tensor(out, full(rank))
    assert out.reshape(world, 3)[:, 1].tolist() == list(range(world))
parts = [full(-1) for _ in range(world)] if rank == 0 else None
dist.gather(full(rank), parts, dst=0)
assert parts is None or [p[2].item() for p in parts] == list(range(world))
t = full(-1)
dist.scatter(t, [full(10 * r) for r in range(world)] if rank == 1 else None, src=1)
assert t.tolist() == [10 * rank] * 3

# Reduce-scatter, all-to-all
if not old:
    t = full(-1)
    dist.reduce_scatter(t, [full(r + rank) for r in range(world)])
    assert t.tolist() == [world * rank + total] * 3
    t = full(-1)
    dist.reduce_scatter_tensor(t, torch.cat([full(r + rank) for r in range(world)]))
    assert t.tolist() == [world * rank + total] * 3
sizes = [r + 1 for r in range(world)]
out = full(-1, sum(sizes))
given = torch.cat([full(10 * rank + r, rank + 1) for r in range(world)])
dist.all_to_all_single(out, given, sizes, [rank + 1] * world)
parts = out.split(sizes)
assert [p.tolist() for p in parts] == [[10.0 * r + rank] * (r + 1) for r in range(world)]
out = torch.empty(total)
dist.all_to_all_single(out, full(rank, rank * world), list(range(world)), [rank] * world)
assert out.tolist() == [float(r) for r in range(world) for _ in range(r)]

# Objects
objects: list = [None] * world
dist.all_gather_object(objects, {"rank": rank})
assert [o["rank"] for o in objects] == list(range(world))
objects = ["a", 7] if rank == 0 else [None, None]
dist.broadcast_object_list(objects, src=0)
assert objects == ["a", 7]

# Messages: out of order by tags, from any source, async, in a batch
if rank == 0:
    dist.send(full(1), 1, tag=1)
    dist.send(full(2), 1, tag=2)
    works = [dist.isend(full(3), r, tag=r) for r in others]
    for work in works:
        work.wait()
else:
    if rank == 1:
        t = full(0)
        dist.recv(t, 0, tag=2)
        assert t[0].item() == 2
        dist.recv(t, 0, tag=1)
        assert t[0].item() == 1
    t = full(0)
    work = dist.irecv(t, 0, tag=rank)
    work.wait()
    assert t[0].item() == 3
dist.barrier()
if rank == 0:
    seen = set()
    for _ in others:
        t = full(0)
        seen.add(dist.recv(t))
        assert t[0].item() in others
    assert seen == set(others)
else:
    dist.send(full(rank), 0)
t = full(0)
works = dist.batch_isend_irecv(
    [
        dist.P2POp(dist.isend, full(rank), (rank + 1) % world),
        dist.P2POp(dist.irecv, t, (rank - 1) % world),
    ]
)
for work in works:
    work.wait()
assert t[0].item() == (rank - 1) % world

# Groups, futures, polls
pair = [rank - rank % 2, rank - rank % 2 + 1]
groups = [dist.new_group([r, r + 1]) for r in range(0, world, 2)]
t = full(rank)
dist.all_reduce(t, group=groups[rank // 2])
assert t[0].item() == sum(pair)
t = full(rank)
halved = dist.all_reduce(t, async_op=True).get_future().then(lambda f: f.value()[0] / 2)
assert halved.wait()[0].item() == total / 2
t = full(rank)
work = dist.all_reduce(t, async_op=True)
while not work.is_completed():
    pass
work.wait()
assert t[0].item() == total
dist.monitored_barrier()

# Stores: one made by the script, and the default store of torch
store = dist.TCPStore("localhost", 12345, world, rank == 0)
arrived = store.add("arrived", 1)
assert arrived == rank + 1  # the recorder answers in the order of ranks
if rank == 0:
    store.set("go", "1")
store.wait(["go"])
assert store.get("go") == b"1"
assert dist.distributed_c10d._get_default_store().add("other", 2) == 2 * (rank + 1)
dist.destroy_process_group()
if rank == 0:
    print("all values are right")
