"""Provokes the hangs that explore finds in the patterns, with real gloo on this machine, by hand.

    python3 tests/explore/real_delays.py build/release/bin/pipesim [NAME...]

Delays before a line of a rank, clocks that are ahead, seeds, missing data and failed calls make the
unusual answers of explore's first hang come true. The job must then hang in the lines that explore
reports, or fail there if gloo notices the mismatch; the fixed form must complete under the same
conditions. Prints a row for each pattern. `arrival` is left out, because no delay can empty its
queue, and `nccl_order`, because it needs NCCL.
"""

import collections
import dataclasses
import inspect
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "record"))
import recordings  # noqa: F401  # isort: skip

import patterns
import real_gloo
import torch
import torch.distributed as dist
import torch.nn.parallel
import torch.utils.data
from pipesim import explore

AT_ONCE = 4
PATIENCE = 12.0  # seconds without progress: longer than each delay


@dataclasses.dataclass
class At:
    """An injection each time before a line of a rank runs, or in round `only` of it. `line`: text
    in the line."""

    rank: int
    line: str = ""
    late: float = 0.0  # seconds
    ahead: float = 0.0  # seconds by which the rank's clocks jump
    fails: bool = False  # the first time
    in_thread: bool = False  # the line of a thread that the pattern starts
    only: int = 0  # 0: in each round
    seed: int = 0  # of random numbers, from the beginning on
    missing: int = 0  # items of the data, from the beginning on


def seed_for(wanted):
    """Returns the first seed after which `random` draws what is wanted."""
    return next(seed for seed in range(1, 10**6) if wanted(random.Random(seed)))


SEED_THREE = seed_for(lambda drawn: drawn.randint(0, 3) == 3)
SEED_ZERO = seed_for(lambda drawn: drawn.randint(0, 3) == 0)
SEED_DROP = seed_for(lambda drawn: drawn.random() < 0.05)
SEED_KEEP = seed_for(lambda drawn: min(drawn.random() for _ in range(3)) >= 0.05)
CALL, POLL = "work = dist.all_reduce(torch.ones(8)", "if fixed or not work.is_completed()"
SEND, STEAL = "dist.send(torch.tensor([rank]), 0)", "while store().add("
CASES = {
    "poll_skip": [At(1, CALL, late=1, only=1), At(1, POLL, late=1, only=1)],
    "poll_isend": [],
    "any_source": [At(1, SEND, late=1)],
    "store_add": [At(0, "first = store()", late=1), At(2, "first = store()", late=2)],
    "exists": [At(1, "found = os.path.exists(", late=1)],
    "work_steal": [At(1, STEAL, late=1)],
    "wallclock": [At(0, "late = time.monotonic()", ahead=4000, only=1)],
    "timeout30": [At(0, 'store().set("request"', late=3)],
    "abort_clock": [At(0, "left = [begin", ahead=11, only=1)],
    "async_save": [At(0, "saved = pool.submit", late=5, in_thread=True)],
    "zero_tokens": [At(0, seed=SEED_THREE), At(1, seed=SEED_ZERO)],
    "layer_drop": [At(0, seed=SEED_DROP), At(1, seed=SEED_KEEP)],
    "oom_skip": [At(0, "loss = model(", fails=True)],
    "uneven_data": [At(0, missing=2)],
    "scale_down": [At(0, 'store().set("stop"', late=1)],
    "queue_timeout": [At(0, "threading.Thread(target=lambda", late=7, in_thread=True, only=1)],
}


class Injections:
    """The injections of one rank."""

    def __init__(self, pattern, rank, cases):
        lines, first = inspect.getsourcelines(pattern)
        self._at = collections.defaultdict(list)
        for each in cases:
            if each.rank != rank:
                continue
            if each.seed:
                random.seed(each.seed)
            if each.missing:
                vars(patterns)["range"] = lambda n, less=each.missing: range(n - less)
            if each.line:
                numbers = [first + i for i, line in enumerate(lines) if each.line in line]
                self._at[numbers[0]].append(each)
        self._rounds = collections.Counter()
        self._ahead = 0.0
        for name in ("monotonic", "perf_counter"):
            setattr(time, name, self._moved(getattr(time, name)))

    def _moved(self, clock):
        of_pattern = patterns.__file__

        def read():
            is_users = sys._getframe(1).f_code.co_filename == of_pattern
            return clock() + (self._ahead if is_users else 0.0)

        return read

    def trace(self, frame, event, argument):
        if frame.f_code.co_filename != patterns.__file__:
            return None
        if event == "line":
            self._inject(frame.f_lineno, threading.current_thread() is not threading.main_thread())
        return self.trace

    def _inject(self, line, in_thread):
        for each in self._at.get(line, ()):
            if each.in_thread != in_thread:
                continue
            self._rounds[line] += 1
            if each.only not in (0, self._rounds[line]):
                continue
            time.sleep(each.late)
            self._ahead += each.ahead
            if each.fails and self._rounds[line] == 1:
                raise patterns.OUT_OF_MEMORY("injected")


def job_of(name, fixed, ranks):
    folder = tempfile.mkdtemp()

    def run():
        os.chdir(folder)
        torch.set_num_threads(1)
        injections = Injections(getattr(patterns, name), int(os.environ["RANK"]), CASES[name])
        if name == "timeout30":
            short = patterns.datetime.timedelta(seconds=1)
            patterns.datetime = type("Short", (), {"timedelta": lambda **_: short})
        threading.settrace(injections.trace)
        sys.settrace(injections.trace)
        patterns.run(getattr(patterns, name), fixed)
        sys.settrace(None)
        # A rank that ends closes its connections, and gloo would tell the others.
        time.sleep(1000)

    return real_gloo.Job(folder, ranks, run, "patterns.py")


def verdict(outcome):
    """Returns "completes", or what the ranks do instead."""
    found = []
    for rank in sorted({*outcome.stuck, *outcome.errors}):
        if rank in outcome.errors:
            found.append(f"rank {rank} fails: {outcome.errors[rank][:60]}")
        elif outcome.stuck[rank] is not None:
            found.append(f"rank {rank} hangs at {outcome.stuck[rank]}")
    return "; ".join(found) or "completes"


def expected(name, options, ranks):
    """Returns explore's first hang, as `verdict` would describe it, and its unusual answers."""
    pattern = getattr(patterns, name)
    found = explore(patterns.run, args=(pattern, False), **{**options, "ranks": ranks})
    hang = found.hangs[0]
    at = {each.rank: each.at.partition("patterns.py:")[2].split()[0] for each in hang.stuck}
    return "; ".join(f"rank {rank} hangs at {line}" for rank, line in sorted(at.items())), hang.unusual


def main():
    chosen = sys.argv[1:] or list(CASES)
    options = {pattern.__name__: given for pattern, given in patterns.PATTERNS.items()}
    ranks = {name: options[name].get("ranks", 2) for name in chosen}
    os.chdir(tempfile.mkdtemp())
    forms = [(name, fixed) for name in chosen for fixed in (False, True)]
    real = {}
    for begin in range(0, len(forms), AT_ONCE):
        part = forms[begin : begin + AT_ONCE]
        jobs = [job_of(name, fixed, ranks[name]) for name, fixed in part]
        outcomes = real_gloo.run_jobs(jobs, PATIENCE, quick_end=True)
        real.update(zip(part, map(verdict, outcomes)))
    wrong = []
    for name in chosen:
        hang, unusual = expected(name, options[name], ranks[name])
        same = real[name, False] == hang
        agrees = real[name, False] != "completes" and real[name, True] == "completes"
        print(f"{name}: {'same lines' if same and agrees else 'hangs' if agrees else 'WRONG'}")
        print(f"  if {'; '.join(unusual) or 'always'}")
        print(f"  explore: {hang}\n  gloo:    {real[name, False]}\n  fixed:   {real[name, True]}")
        if not agrees:
            wrong.append(name)
    print("wrong:", ", ".join(wrong) or "none")
    return bool(wrong)


if __name__ == "__main__":
    real_gloo.run_test(main)
