"""Calls that ProcessGroupGloo may refuse. Writes the error of each call to the file argv[1]."""

import json
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
outcomes = {}


def attempt(name, call):
    try:
        call()
        outcomes[name] = None
    except (RuntimeError, ValueError) as error:
        # Errors about sizes from gloo's C++ contain a path of the build, or the time.
        text = str(error).split("\n")[0]
        text = text[text.find("Check failed") :] if "Check failed" in text else text
        outcomes[name] = "[enforce fail]" if text.startswith("[enforce fail") else text


types = "float16 bfloat16 float32 int8 uint8 int16 int32 int64 bool uint16 float8_e4m3fn".split()
for name in types:
    if not hasattr(torch, name):
        continue
    dtype = getattr(torch, name)

    def new(dtype=dtype):
        return torch.zeros(4, dtype=dtype)

    attempt(f"all_reduce {name}", lambda: dist.all_reduce(new()))
    attempt(f"broadcast {name}", lambda: dist.broadcast(new(), 0))
    attempt(f"all_gather {name}", lambda: dist.all_gather([new()], new()))
    attempt(f"all_to_all_single {name}", lambda: dist.all_to_all_single(new(), new()))
for name in "SUM AVG PRODUCT MIN BAND BOR BXOR".split():
    op = getattr(dist.ReduceOp, name)
    for dtype in (torch.float32, torch.int32, torch.int64):
        t = torch.zeros(4, dtype=dtype)
        attempt(f"all_reduce {name} {dtype}", lambda t=t, op=op: dist.all_reduce(t, op=op))
        attempt(f"reduce {name} {dtype}", lambda t=t, op=op: dist.reduce(t, 0, op=op))


def f(*size):
    return torch.zeros(size)


attempt("reduce_scatter", lambda: dist.reduce_scatter(f(4), [f(4)]))
attempt("reduce_scatter_tensor", lambda: dist.reduce_scatter_tensor(f(4), f(4)))
attempt("reduce_scatter_tensor, larger", lambda: dist.reduce_scatter_tensor(f(4), f(8)))
attempt("reduce_scatter_tensor, smaller", lambda: dist.reduce_scatter_tensor(f(4, 2), f(2, 4)))
attempt("all_to_all", lambda: dist.all_to_all([f(4)], [f(4)]))
attempt("all_to_all, other size", lambda: dist.all_to_all([f(3)], [f(4)]))
attempt("all_gather_into_tensor", lambda: dist.all_gather_into_tensor(f(4), f(4)))
attempt("all_gather, other size", lambda: dist.all_gather([f(3)], f(4)))
attempt("all_gather, other shape", lambda: dist.all_gather([f(2, 2)], f(4)))
attempt("gather, other size", lambda: dist.gather(f(4), [f(3)], 0))
attempt("scatter, other size", lambda: dist.scatter(f(3), [f(4)], 0))
attempt("all_reduce, columns", lambda: dist.all_reduce(f(4, 4)[:, 1]))
attempt("broadcast, columns", lambda: dist.broadcast(f(4, 4).t(), 0))
attempt("all_gather, columns", lambda: dist.all_gather([f(4, 4)[:, 1]], f(4)))
group = dist.distributed_c10d._get_default_group()
attempt("send, columns", lambda: group.send([f(4, 4)[:, 1]], 0, 0))
attempt("recv, columns", lambda: group.recv([f(4, 4)[:, 1]], 0, 0))

with open(sys.argv[1], "w") as out:
    json.dump(outcomes, out)
