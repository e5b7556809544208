"""A server of data-parallel ranks: requests come from a client, age, and are served in steps.

    serving.py [--fixed]       one rank

All ranks take part in the exchange of a step if one of them has work; an idle rank does a dummy
step. The bug: a rank drops requests that are too old after the ranks have agreed on a step, so it
can be idle in a step in which it promised to work.
"""

import dataclasses
import queue
import sys
import threading
import time

import torch
import torch.distributed as dist

STEPS = 3
MAX_AGE = 30.0  # seconds
WIDTH = 4


@dataclasses.dataclass
class Request:
    number: int
    tokens_left: int
    begin: float

    def is_too_old(self):
        return time.monotonic() - self.begin > MAX_AGE


class Model:
    """A layer of experts: all ranks exchange their tokens."""

    def forward(self, tokens):
        sums = torch.ones(WIDTH) * tokens
        dist.all_reduce(sums)
        return sums


class Server:
    def __init__(self, fixed):
        self.fixed = fixed
        self.model = Model()
        self.arriving = queue.Queue()
        self.running = []
        self.finished, self.dropped = [], []

    def submit(self):
        """Runs in the client's thread."""
        self.arriving.put(Request(dist.get_rank(), 2, time.monotonic()))

    def admit(self):
        try:
            self.running.append(self.arriving.get_nowait())
        except queue.Empty:
            pass

    def drop_old(self):
        old = [request for request in self.running if request.is_too_old()]
        self.dropped += old
        self.running = [request for request in self.running if request not in old]

    def is_any_rank_busy(self):
        busy = torch.tensor([float(len(self.running))])
        dist.all_reduce(busy, op=dist.ReduceOp.MAX)
        return busy.item() > 0

    def step(self):
        self.admit()
        if self.fixed:
            self.drop_old()
        had_work = bool(self.running)
        if not self.is_any_rank_busy():
            return
        if not self.fixed:
            self.drop_old()
        if self.running:
            self.model.forward(len(self.running))
        elif self.fixed or not had_work:
            self.model.forward(0)  # a dummy step: the other ranks wait for this one
        for request in self.running:
            request.tokens_left -= 1
        self.finished += [each for each in self.running if each.tokens_left == 0]
        self.running = [each for each in self.running if each.tokens_left > 0]

    def serve(self):
        client = threading.Thread(target=self.submit)
        client.start()
        client.join()
        for _ in range(STEPS):
            self.step()
        dist.barrier()


def main(fixed):
    dist.init_process_group("gloo")
    server = Server(fixed)
    server.serve()
    served = len(server.finished)
    print(f"rank {dist.get_rank()}: {served} served, {len(server.dropped)} dropped")


if __name__ == "__main__":
    main("--fixed" in sys.argv)
