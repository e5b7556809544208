"""Programs with several threads. All recordings of a program must have the same bytes, unless its
threads race for a lock or a queue, and the verdict must agree with real gloo.

    threads_test.py PIPESIM [NAME...]

The test makes five recordings of each program; PIPESIM_THREAD_RECORDINGS sets another number
(tests/run --all: 100). The order in which the operating system runs the threads must not matter, so
some threads sleep, for different times in consecutive recordings.
"""

import concurrent.futures
import functools
import os
import pathlib
import queue
import shutil
import sys
import tempfile
import threading
import time

import with_torch  # isort: skip  # noqa: F401

import real_gloo
import torch
import torch.distributed as dist
from api_cases import NEW, network, ones, train
from pipesim import RecordingFailed, record
from pipesim.recorder import launcher


def in_thread(body, *arguments):
    thread = threading.Thread(target=body, args=arguments)
    thread.start()
    return thread


def all_reduces(group, pause):
    for _ in range(5):
        dist.all_reduce(ones(), group=group)
        time.sleep(pause)


def groups_of_their_own(pause):
    groups = [dist.new_group() for _ in range(2)]
    threads = [in_thread(all_reduces, group, pause * i) for i, group in enumerate(groups)]
    all_reduces(None, 0)
    for thread in threads:
        thread.join()


def one_group(pause):
    thread = in_thread(all_reduces, None, pause)
    all_reduces(None, 0)
    thread.join()


def pool(pause):
    groups = [dist.new_group() for _ in range(3)]
    with concurrent.futures.ThreadPoolExecutor(3) as executor:
        list(executor.map(lambda group: all_reduces(group, pause), groups))


def tags_of_their_own(pause):
    def exchange(tag):
        other = 1 - dist.get_rank()
        for _ in range(3):
            work = dist.isend(ones(), other, tag=tag)
            time.sleep(pause)
            dist.recv(ones(), other, tag=tag)
            work.wait()

    thread = in_thread(exchange, 1)
    exchange(2)
    thread.join()


def still_in_a_call_at_the_end(pause):
    def receive():
        time.sleep(pause)
        dist.recv(ones(), 1 - dist.get_rank())

    in_thread(receive)


def lock_in_opposite_orders(pause):
    """Rank 0's first thread takes the lock first; rank 1's does if it does not sleep."""
    groups = [dist.new_group() for _ in range(2)]
    lock = threading.Lock()

    def reduce(index):
        if dist.get_rank() == 1 and index == 0:
            time.sleep(50 * pause)
        elif index == 1:
            time.sleep(25 * pause)
        with lock:
            dist.all_reduce(ones(), group=groups[index])

    for thread in [in_thread(reduce, index) for index in range(2)]:
        thread.join()


def queue_in_opposite_orders(pause):
    """One thread makes the calls in the order in which two others ask for them."""
    groups = [dist.new_group() for _ in range(2)]
    items = queue.Queue()

    def ask(index):
        if dist.get_rank() == 1 and index == 0:
            time.sleep(50 * pause)
        elif index == 1:
            time.sleep(25 * pause)
        items.put(groups[index])

    def answer():
        for _ in range(2):
            dist.all_reduce(ones(), group=items.get())

    asking = [in_thread(ask, index) for index in range(2)]
    for thread in [*asking, in_thread(answer)]:
        thread.join()


def store_of_two_threads(pause):
    """A client of the store makes one call at a time: a thread that waits for a key keeps the
    other from setting it."""
    store = dist.distributed_c10d._get_default_store()
    thread = in_thread(store.get, f"key {dist.get_rank()}")
    time.sleep(25 * pause)
    store.set(f"key {dist.get_rank()}", "x")
    thread.join()


def lock_without_calls(pause):
    """The threads hold the lock only while nothing waits."""
    groups = [dist.new_group() for _ in range(2)]
    lock, counts = threading.Lock(), []

    def reduce(group):
        with lock:
            counts.append(1)
        all_reduces(group, pause)

    for thread in [in_thread(reduce, group) for group in groups]:
        thread.join()


def store_beside_collectives(pause):
    def announce():
        store = dist.distributed_c10d._get_default_store()
        for step in range(3):
            time.sleep(pause)
            store.set(f"{dist.get_rank()} {step}", "x")
            store.wait([f"{1 - dist.get_rank()} {step}"])

    thread = in_thread(announce)
    all_reduces(None, 0)
    thread.join()


def checkpoint_of_a_group_of_its_own(pause):
    from torch.distributed import checkpoint

    group = dist.new_group()
    model = torch.nn.parallel.DistributedDataParallel(network())
    with tempfile.TemporaryDirectory() as folder:
        folders = [folder]
        dist.broadcast_object_list(folders, 0)
        saved = checkpoint.async_save(
            {"model": model.module.state_dict()}, checkpoint_id=folders[0], process_group=group
        )
        time.sleep(pause)
        train(model)
        saved.result()
        dist.barrier()


PROGRAMS = [
    groups_of_their_own,
    one_group,
    pool,
    tags_of_their_own,
    still_in_a_call_at_the_end,
    lock_in_opposite_orders,
    queue_in_opposite_orders,
    store_of_two_threads,
    lock_without_calls,
    store_beside_collectives,
]
if NEW:
    PROGRAMS.append(checkpoint_of_a_group_of_its_own)

# Expected answers of `check` by gloo's verdict.
ANSWERS = {"complete": ["proved"], "hang": ["hang certain"]}
# Additional answers for the programs in which two threads share a group, a lock, a queue or a store.
OPEN = dict.fromkeys(
    [one_group, lock_in_opposite_orders, queue_in_opposite_orders, store_of_two_threads],
    ["undecided", "hang possible"],
)
# Programs whose threads race for a lock or a queue: the first to come depends on time.
RACES = (lock_in_opposite_orders, queue_in_opposite_orders)


def contents(path):
    return {file.name: file.read_bytes() for file in sorted(pathlib.Path(path).iterdir())}


def run(body, pause):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    body(pause)


def faults(body, verdict, recordings):
    """Yields the faults of a program's recordings, in words."""
    answers = ANSWERS.get(verdict, []) + OPEN.get(body, [])
    first = None
    for number in range(recordings):
        job = functools.partial(run, body, (number % 3) * 0.01)
        recorded = record(job, ranks=2, rules="gloo")
        found = contents(recorded.path)
        first = first or found
        for name, text in found.items():
            if text != first[name] and body not in RACES:
                yield f"recording {number} differs from the first in {name}"
        if number and found == first:
            continue
        try:
            report = recorded.check(rules="gloo")
        except RecordingFailed as error:
            yield f"recording {number}: {error}"
            continue
        if report.answer not in answers:
            said = f"gloo {verdict}, pipesim {report.answer}"
            yield f"recording {number}: {said}\n{report.text}{recorded.output}"


def main():
    program, *names = sys.argv[1:]
    os.environ["PIPESIM"] = os.path.abspath(program)
    launcher.import_torch()
    recordings = int(os.environ.get("PIPESIM_THREAD_RECORDINGS", "5"))
    programs = [body for body in PROGRAMS if not names or body.__name__ in names]
    here = tempfile.mkdtemp()
    jobs = []
    for body in programs:
        folder = os.path.join(here, body.__name__)
        os.mkdir(folder)
        jobs.append(real_gloo.Job(folder, 2, functools.partial(run, body, 0.01), __file__))
    failed = 0
    for body, outcome in zip(programs, real_gloo.run_jobs(jobs)):
        found = list(faults(body, outcome.verdict, recordings))
        failed += bool(found)
        for fault in found:
            print(f"{body.__name__}: {fault}", flush=True)
    shutil.rmtree(here)
    print(f"{recordings} recordings of each program, {failed} programs with faults")
    return 1 if failed else 0


if __name__ == "__main__":
    real_gloo.run_test(main)
