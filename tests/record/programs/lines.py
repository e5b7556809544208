"""Calls through decorators, packages, callbacks and a shared helper."""

import functools
import pathlib
import sys

import torch
import torch.distributed as dist

# A package in a folder site-packages, which calls the script back.
sys.path.insert(0, str(pathlib.Path(sys.argv[1], "site-packages")))
from framework.trainer import Trainer  # noqa: E402


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        dist.barrier()  # the decorator's own
        return function(*args, **kwargs)

    return wrapper


class Net(torch.nn.Module):
    @torch.no_grad()
    def forward(self, x):
        dist.all_reduce(x)  # in forward
        return x


@logged
def share(x):
    reduce(x)  # through a decorator


@counted
def nothing():
    pass


def on_step():
    dist.barrier()  # in the callback


dist.init_process_group("gloo")
reduce = logged(dist.all_reduce)
share(torch.ones(1))  # shares
nothing()  # counts
Net()(torch.ones(1))  # calls the model
Trainer().train(torch.ones(1))  # trains
Trainer(on_step).train(torch.ones(1))  # trains with a callback
try:
    raise ValueError("it")  # raises
finally:
    done = True
