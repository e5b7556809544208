"""Jobs that hang, each in its own way, for hangs_test.py.

    hangs.py KIND FOLDER

A rank writes FOLDER/at_RANK right before the call or the loop in which it stays; after that nothing
moves. Each rank has a debug server, as torch.distributed.elastic.control_plane starts it.
"""

import os
import pathlib
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import torch
import torch.distributed as dist

kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
last = world - 1
torch.set_num_threads(1)


def here():
    (folder / f"at_{rank}").touch()


def steps(count, size=64):
    values = torch.ones(size)
    for _ in range(count):
        dist.all_reduce(values)


def load_shard():
    here()
    time.sleep(36_000)


def skipped_call():
    """The last rank skips one all_reduce, so its later ones come one call early."""
    for step in range(6):
        if not (step == 3 and rank == last):
            if step == 5:
                here()
            steps(1)
    load_shard()


def crossed_groups():
    groups = [dist.new_group([0, 1]) for _ in range(2)]
    steps(2)
    here()
    if rank < 2:
        for group in groups if rank == 0 else reversed(groups):
            dist.all_reduce(torch.ones(8), group=group)
    steps(1)


def other_sizes():
    steps(2)
    values = torch.ones(1000 if rank == 1 else 1024)
    here()
    dist.all_gather([torch.empty_like(values) for _ in range(world)], values)


def other_call():
    steps(2)
    here()
    if rank == 1:
        dist.broadcast(torch.ones(64), src=0)
    else:
        steps(1)
    steps(1)


def ring_of_recvs():
    steps(2)
    here()
    dist.recv(torch.ones(64), src=(rank + 1) % world)
    dist.send(torch.ones(64), dst=(rank - 1) % world)


def killed():
    steps(2)
    if rank == last:
        time.sleep(1)
        here()
        os.kill(os.getpid(), signal.SIGKILL)
    here()
    # gloo ends the other ranks of a collective, so they wait for the store.
    dist.distributed_c10d._get_default_store().get("checkpoint")


def raised():
    """Rank 1 raises, and its `finally` does not end."""
    try:
        steps(2)
        if rank == 1:
            raise ValueError("loss is NaN in batch 17")
        here()
        steps(1)
    finally:
        if rank == 1:
            traceback.print_exc()
            load_shard()


def raised_then_barrier():
    try:
        steps(2)
        if rank == 1:
            raise ValueError("loss is NaN in batch 17")
        here()
        steps(2)
    except ValueError:
        traceback.print_exc()
    here()
    dist.barrier()


class SlowData(torch.utils.data.Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        if index >= 6 and rank == last:
            load_shard()
        return torch.ones(8)


def data_loader():
    if rank != last:
        threading.Timer(3, here).start()
    for batch in torch.utils.data.DataLoader(SlowData(), batch_size=2, num_workers=1):
        dist.all_reduce(batch)


def lock_of_a_thread():
    lock = threading.Lock()

    def prefetch():
        with lock:
            load_shard()

    steps(2)
    if rank == 1:
        threading.Thread(target=prefetch, name="prefetch", daemon=True).start()
        while not lock.locked():
            time.sleep(0.01)
        with lock:
            pass
    here()
    steps(1)


def checkpoint_in_a_thread():
    """The last rank decides that it saves nothing."""
    group = dist.new_group(list(range(world)))

    def save():
        dist.gather_object({"rank": rank}, [None] * world if rank == 0 else None, group=group)
        dist.barrier(group=group)

    steps(2)
    here()
    if rank != last:
        ThreadPoolExecutor(1, thread_name_prefix="checkpoint").submit(save).result()
    steps(1)


def two_threads_in_one_group():
    steps(2)
    thread = threading.Thread(target=dist.barrier, name="checkpoint", daemon=True)
    if rank == 0:
        thread.start()
        time.sleep(1)
        here()
        steps(1)
    else:
        here()
        steps(1)
        thread.start()
    thread.join()


def ddp_steps(count):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 16))
    for step in range(count):
        if step == count - 1:
            here()
        model(torch.ones(4, 16)).sum().backward()


def ddp_then_a_metric():
    ddp_steps(4 if rank == 1 else 5)
    steps(1, 1)


def ddp_then_idle():
    ddp_steps(4 if rank == 1 else 5)
    if rank == 1:
        load_shard()
    dist.barrier()


def fsdp_state_on_rank_0():
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (world,))
    model = torch.nn.Sequential(torch.nn.Linear(36, 36), torch.nn.Linear(36, 36))
    for part in [*model, model]:
        fully_shard(part, mesh=mesh)
    model(torch.ones(4, 36)).sum().backward()
    here()
    if rank == 0:
        get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    model(torch.ones(4, 36)).sum().backward()
    dist.barrier()


def full_tensor_on_rank_0():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("dp", "tp"))
    tensor = distribute_tensor(torch.ones(16, 16), mesh["tp"], [Shard(0)])
    steps(2)
    here()
    if rank == 0:
        print(tensor.full_tensor().norm(), flush=True)
    dist.barrier()


def other_micro_batches():
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    stage = PipelineStage(torch.nn.Linear(16, 16), rank, world, torch.device("cpu"))
    schedule = Schedule1F1B(stage, 4 if rank == 1 else 8, loss_fn=lambda a, b: (a - b).sum())
    values = torch.ones(16, 16)
    threading.Timer(3, here).start()
    if rank == 0:
        schedule.step(values)
    elif rank == last:
        schedule.step(target=values, losses=[])
    else:
        schedule.step()
    dist.barrier()


def key_of_the_store():
    steps(2)
    here()
    if rank == 1:
        dist.distributed_c10d._get_default_store().get("epoch_3/checkpoint")
    dist.barrier()


def barrier_on_rank_0():
    steps(2)
    here()
    if rank == 0:
        dist.barrier()
    steps(1)
    load_shard()


def late_for_a_check():
    steps(2)
    if rank == last:
        load_shard()
    here()
    dist.monitored_barrier(timeout=timedelta(hours=1), wait_all_ranks=True)


def batch_without_a_send():
    """Rank 1 skips its send, for which rank 2 waits."""
    steps(2)
    send = dist.P2POp(dist.isend, torch.ones(64), (rank + 1) % world)
    recv = dist.P2POp(dist.irecv, torch.ones(64), (rank - 1) % world)
    here()
    for work in dist.batch_isend_irecv([recv] if rank == 1 else [send, recv]):
        work.wait()
    steps(1)


def endless_loop():
    steps(2)
    here()
    while rank == 1:
        pass
    steps(1)


def second_recv_from_any():
    steps(2)
    here()
    if rank == 0:
        for _ in range(2):
            dist.recv(torch.ones(8))
    elif rank == 1:
        dist.send(torch.ones(8), 0)
    steps(1)


def a_node_never_comes():
    raise AssertionError("init_process_group does not return")


def nobody_listens():
    raise AssertionError("init_process_group does not return")


killed_under_torchrun = killed


if __name__ == "__main__":
    from torch._C._distributed_c10d import _WorkerServer

    server = _WorkerServer(os.environ.get("TORCH_WORKER_SERVER_SOCKET") or f"{folder}/server_{rank}")
    if kind in ("a_node_never_comes", "nobody_listens"):
        here()
    dist.init_process_group("gloo", timeout=timedelta(hours=1))
    globals()[kind]()
    print(f"rank {rank} is done", flush=True)
