"""A training script with a bug that no test on one GPU finds, for `pipesim record`:

    pipesim record --ranks 4 examples/record_ddp.py            # hangs, at which lines?
    pipesim record --ranks 4 examples/record_ddp.py --fixed    # proved

Needs PyTorch 1.13 or newer, but no GPU. Like many scripts, it saves a checkpoint if the loss is the
best so far. But each rank has different data, so each rank decides for itself.
"""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="all ranks take one decision")
arguments = parser.parse_args()

dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank, world = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank) if torch.cuda.is_available() else torch.device("cpu")
torch.manual_seed(0)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
torch.manual_seed(rank)  # each rank has its own part of the data
inputs, targets = torch.randn(4, 16, 32, device=device), torch.randn(4, 16, 1, device=device)

best = float("inf")
for step in range(4):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs[step]), targets[step])
    loss.backward()
    optimizer.step()
    current = loss.detach().clone()
    if arguments.fixed:
        dist.all_reduce(current)  # the sum, and so the decision, is the same on all ranks
    if current.item() < best:  # the bug: only some ranks enter this block
        best = current.item()
        dist.barrier()  # waits until rank 0 has written the checkpoint
dist.destroy_process_group()
