"""Writes a record of data-parallel training, of a given size.

    bench/make_record.py DIR [--ranks 64] [--calls 1000] [--layers 0] [--log-every 1] [--uneven]
                             [--experts] [--hangs]

A step consists of two synchronous all_reduces per layer, four asynchronous ones, a synchronous one
for the log, and a read on rank 0. --log-every sets the number of steps per log. With --uneven, no
two steps have the same sizes, so that no steps fold into loops. With --experts, the sizes of half
of the calls in layers vary, as those of a mixture of experts do. With --hangs, only rank 0 makes
the last call.
"""

import argparse
import json
import pathlib


def lines_of(rank, asked):
    ranks = asked.ranks
    yield {"record": 1, "rank": rank, "world": ranks}
    for line, call in enumerate(("init_process_group", "backward", "all_reduce", "item")):
        yield {"def": f"l{line}", "at": f"train.py:{10 + line}", "call": call}
    yield {"def": "g0", "group": "0", "ranks": list(range(ranks)), "l": "l0"}
    yield {"init": "g0", "l": "l0"}
    number = 0
    step = 0
    while number < asked.calls:
        for kind in range(2 * asked.layers):
            number += 1
            size = (1 + kind % 2) << 20
            if asked.experts and kind % 2 == 0:
                size += 4 * (number * 7919 % 1000)
            yield {"call": "all_reduce", "g": "g0", "n": number, "bytes": size,
                   "type": "float32", "sync": True, "l": "l1", "k": 4}  # fmt: skip
        works = []
        for bucket in range(4):
            number += 1
            size = (1 << 20) + bucket * 1024 + (4 * number if asked.uneven else 0)
            yield {"call": "all_reduce", "g": "g0", "n": number, "bytes": size, "type": "float32",
                   "w": number, "l": "l1", "k": 12}  # fmt: skip
            works.append(number)
        yield {"wait": works, "l": "l1"}
        step += 1
        if step % asked.log_every > 0:
            continue
        number += 1
        yield {"call": "all_reduce", "g": "g0", "n": number, "bytes": 4, "type": "float32",
               "sync": True, "l": "l2", "k": 3}  # fmt: skip
        if rank == 0:
            yield {"read": "item", "l": "l3"}
    if not asked.hangs:
        yield {"end": "finished"}
        return
    if rank == 0:
        yield {"call": "all_reduce", "g": "g0", "n": number + 1, "bytes": 8, "type": "float32",
               "sync": True, "l": "l2", "k": 3}  # fmt: skip
    yield {"end": "cut", "why": "rest"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--layers", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=1)
    parser.add_argument("--uneven", action="store_true")
    parser.add_argument("--experts", action="store_true")
    parser.add_argument("--hangs", action="store_true")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    job = {"record": 1, "world": asked.ranks, "command": ["train.py"], "backend": "nccl"}
    (asked.folder / "record.json").write_text(json.dumps(job) + "\n")
    for rank in range(asked.ranks):
        lines = lines_of(rank, asked)
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        (asked.folder / f"rank{rank}.jsonl").write_text(text)


main()
