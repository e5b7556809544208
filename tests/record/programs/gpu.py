"""A training script for GPUs. It asserts that tensors and devices look like those of real GPUs."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("nccl")
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
device = torch.device("cuda", local)
model = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4)).to(device)
assert all(p.is_cuda and p.device == device for p in model.parameters())
# torch 1.13 does not offer record_stream to function modes in hooks.
model[0].weight.register_hook(
    lambda _: torch.ones(1, device=device).record_stream(torch.cuda.current_stream())
)
model = nn.parallel.DistributedDataParallel(model, device_ids=[local])
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.cuda.amp.GradScaler()
side = torch.cuda.Stream()
for _ in range(3):
    x = torch.randn(8, 16).cuda(non_blocking=True)
    y = torch.randint(0, 4, (8,), device="cuda")
    with torch.cuda.amp.autocast():
        loss = nn.functional.cross_entropy(model(x), y)
    assert loss.device == device
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        mean = loss.detach().clone()
        dist.all_reduce(mean)
    torch.cuda.current_stream().wait_stream(side)
    assert mean.cpu().device.type == "cpu" and not mean.cpu().is_cuda
    assert loss.detach().to("cpu", torch.float64).dtype == torch.float64
event = torch.cuda.Event()
event.record()
event.synchronize()
torch.cuda.synchronize()
if "--crossed" in sys.argv:
    # Ranks use two groups in opposite orders. Under NCCL no host waits for a collective, so the
    # recorder makes values up, and the script continues.
    world = list(range(dist.get_world_size()))
    groups = [dist.new_group(world), dist.new_group(world)]
    for group in groups if dist.get_rank() % 2 else reversed(groups):
        t = torch.ones(1, device="cuda")
        dist.all_reduce(t, group=group)
        t.item()
