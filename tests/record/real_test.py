"""Programs with threads, polls, dropped Works, timeouts and ends, run with real gloo on this
machine, and recorded and judged.

    real_test.py PIPESIM [NAME...]

A program that hangs or fails in gloo must never be proved. The table has pipesim's expected
answers, derived from the rules in docs/explanation/record.md.
"""

import os
import pathlib
import runpy
import shutil
import sys
import tempfile
import textwrap
import time

import with_torch  # isort: skip  # noqa: F401

import torch
from pipesim import record
from pipesim.recorder import launcher
from real_gloo import SECONDS, Job, run_jobs, run_test, script

AT_ONCE = 8
PACE_ALONE = 4

HEAD = """\
import threading, time, torch, torch.distributed as dist
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
dist.init_process_group("gloo")
rank, t, peer = dist.get_rank(), torch.ones(1), 1 - dist.get_rank()
store = dist.distributed_c10d._get_default_store()
"""

# Programs by name: the verdict of real gloo ("hang", "complete", "error", or "either" if it depends
# on timing), pipesim's answer, the source text after HEAD, and the number of ranks, if it is not 2.
CASES = {
    "a thread is in a recv when the script ends": (
        "hang",
        "hang certain",
        """
        threading.Thread(target=lambda: dist.recv(t, peer)).start()
        """,
    ),
    "a thread of an executor is in a recv when the script ends": (
        "hang",
        "hang certain",
        """
        ThreadPoolExecutor(1).submit(dist.recv, t, peer)
        """,
    ),
    "threads with groups of their own": (
        "complete",
        "proved",
        """
        own = dist.new_group()
        def plan():
            out = [None, None]
            dist.all_gather_object(out, {"rank": rank}, group=own)
            assert [o["rank"] for o in out] == [0, 1]
            dist.all_reduce(torch.ones(1), group=own)
        pending = None
        for step in range(3):
            if pending: pending.join()
            pending = threading.Thread(target=plan)
            pending.start()
            total = torch.full((1,), float(rank))
            dist.all_reduce(total)
            assert total.item() == 1
        pending.join()
        """,
    ),
    "threads that need each other": (
        "complete",
        "proved",
        """
        if rank == 0:
            thread = threading.Thread(target=dist.recv, args=(torch.ones(1), 1))
            thread.start()
            time.sleep(0.2)
            dist.send(t, 1)
            thread.join()
        else:
            dist.recv(t, 0)
            dist.send(t, 0)
        dist.barrier()
        """,
    ),
    "a thread that is joined before what it waits for": (
        "hang",
        "hang certain",
        """
        if rank == 0:
            thread = threading.Thread(target=dist.recv, args=(torch.ones(1), 1))
            thread.start()
            thread.join()
            dist.send(t, 1)
        else:
            dist.recv(t, 0)
            dist.send(t, 0)
        """,
    ),
    "threads that race for the numbers of one group": (
        "either",
        "hang possible",
        """
        thread = threading.Thread(target=lambda: dist.broadcast(torch.ones(3), 0), name="saver")
        thread.start()
        dist.all_reduce(t)
        thread.join()
        dist.barrier()
        """,
    ),
    "an isend that is polled": (
        "hang",
        "hang certain",
        """
        if rank == 0:
            work = dist.isend(t, 1)
            while not work.is_completed(): time.sleep(0.01)
        else: dist.recv(t, 0)
        dist.barrier()
        """,
    ),
    "an irecv that is polled": (
        "hang",
        "hang certain",
        """
        if rank == 0:
            work = dist.irecv(t, 1)
            while not work.is_completed(): time.sleep(0.01)
        else: dist.send(t, 0)
        dist.barrier()
        """,
    ),
    "a poll that counts": (
        "complete",
        "proved",
        """
        if rank == 0:
            work, n = dist.isend(t, 1), 0
            while not work.is_completed() and n < 200: n += 1
            work.wait()
            assert work.is_completed()
        else: dist.recv(t, 0)
        dist.barrier()
        """,
    ),
    "a collective that is polled": (
        "complete",
        "proved",
        """
        work = dist.all_reduce(t, async_op=True)
        while not work.is_completed(): time.sleep(0.01)
        """,
    ),
    "an isend that nobody keeps": (
        "hang",
        "hang possible",
        """
        if rank == 0:
            dist.isend(t, 1)
            store.set("sent", "1")
        else:
            store.get("sent")
            time.sleep(0.2)
            dist.recv(t, 0)
        dist.barrier()
        """,
    ),
    "an irecv that nobody keeps takes a message": (
        "hang",
        "hang certain",
        """
        if rank == 0: dist.send(t, 1)
        else:
            dist.irecv(t, 0)
            dist.recv(t, 0)
        """,
    ),
    "an irecv that nobody keeps meets its send later": (
        "hang",
        "undecided",
        """
        if rank == 0:
            dist.irecv(t, 1)
            dist.broadcast(t, 1)
        else:
            time.sleep(0.3)
            dist.send(t, 0)
            dist.broadcast(t, 1)
        """,
    ),
    "an irecv that nobody keeps, and nothing after it": (
        "complete",
        "proved",
        """
        if rank == 0: dist.irecv(t, 1)
        else:
            time.sleep(0.3)
            dist.send(t, 0)
        """,
    ),
    "a second wait for a message": (
        "hang",
        "hang certain",
        """
        if rank == 0:
            work = dist.isend(t, 1)
            work.wait()
            work.wait()
        else: dist.recv(t, 0)
        """,
    ),
    "a second wait for a collective": (
        "complete",
        "proved",
        """
        work = dist.all_reduce(t, async_op=True)
        work.wait()
        work.wait()
        """,
    ),
    "a collective that is pending at the end": (
        "hang",
        "hang certain",
        """
        if rank == 0: dist.all_reduce(t, async_op=True)
        else: dist.recv(t, 0)
        """,
    ),
    "a collective that is pending when the other rank has ended": (
        "complete",
        "proved",
        """
        if rank == 0: dist.all_reduce(t, async_op=True)
        """,
    ),
    "a collective that is pending in a group that goes": (
        "hang",
        "hang certain",
        """
        group = dist.new_group([0, 1])
        if rank == 0:
            dist.all_reduce(t, group=group, async_op=True)
            dist.destroy_process_group(group)
            del group
            dist.send(torch.ones(1), 1)
        else:
            dist.recv(torch.ones(1), 0)
            dist.all_reduce(t, group=group)
        """,
    ),
    "a collective that is pending in a group that is kept": (
        "complete",
        "proved",
        """
        group = dist.new_group([0, 1])
        if rank == 0:
            dist.all_reduce(t, group=group, async_op=True)
            dist.destroy_process_group(group)
            dist.send(torch.ones(1), 1)
        else:
            dist.recv(torch.ones(1), 0)
            dist.all_reduce(t, group=group)
        """,
    ),
    "a thread that a destroy overtakes in the recording": (
        "either",
        "hang possible",
        """
        def call():
            time.sleep(0.1)
            dist.barrier()
        if rank == 0:
            threading.Thread(target=call).start()
            dist.destroy_process_group()
        else: dist.barrier()
        """,
    ),
    "a thread that a destroy may overtake": (
        "either",
        "undecided",
        """
        def call():
            time.sleep(0.1)
            dist.barrier()
        if rank == 1:
            threading.Thread(target=call).start()
            dist.destroy_process_group()
        else: dist.barrier()
        """,
    ),
    "a thread that is joined before a destroy": (
        "complete",
        "proved",
        """
        thread = threading.Thread(target=dist.barrier)
        thread.start()
        thread.join()
        dist.destroy_process_group()
        """,
    ),
    "a timeout of the store": (
        "complete",
        "proved",
        """
        if rank == 1:
            try: store.wait(["never"], timedelta(seconds=1))
            except RuntimeError: pass
            else: raise AssertionError
        dist.barrier()
        """,
    ),
    "a timeout of a wait": (
        "complete",
        "proved",
        """
        work = dist.all_reduce(t, async_op=True) if rank == 0 else None
        if rank == 0:
            try: work.wait(timedelta(seconds=1))
            except RuntimeError: store.set("late", "1")
            work.wait()
        else:
            store.get("late")
            dist.all_reduce(t)
        """,
    ),
    "calls after a wait for a message that timed out": (
        "complete",
        "undecided",
        """
        if rank == 0:
            work = dist.irecv(t, 1)
            try: work.wait(timedelta(seconds=1))
            except RuntimeError: pass
            else: raise AssertionError
            works = [dist.all_reduce(t, async_op=True), dist.barrier(async_op=True)]
            for call in (lambda: dist.send(t, 1), lambda: dist.irecv(t, 1), dist.barrier,
                         works[0].wait, works[1].wait):
                try: call()
                except RuntimeError as error: assert "pair closure" in str(error)
                else: raise AssertionError
            store.set("late", "1")
        else: store.get("late")
        """,
    ),
    "a send to a rank whose wait for it timed out": (
        "complete",
        "undecided",
        """
        if rank == 0:
            work = dist.irecv(t, 1)
            try: work.wait(timedelta(seconds=1))
            except RuntimeError: pass
            store.set("late", "1")
            store.get("sent")
        else:
            store.get("late")
            try: dist.send(t, 0)
            except RuntimeError: pass
            store.set("sent", "1")
        """,
    ),
    "a broadcast into a larger tensor": (
        "complete",
        "mismatch",
        """
        tensor = torch.full((4 + 4 * rank,), float(rank))
        dist.broadcast(tensor, 0)
        assert tensor.tolist() == [0] * 4 + [1] * 4 * rank
        dist.barrier()
        """,
    ),
    "a gather of a smaller tensor": (
        "complete",
        "mismatch",
        """
        parts = [torch.zeros(4), torch.zeros(4)] if rank == 0 else None
        dist.gather(torch.ones(4 - 2 * rank), parts, 0)
        if rank == 0: assert [part.tolist() for part in parts] == [[1] * 4, [1, 1, 0, 0]]
        dist.barrier()
        """,
    ),
    "a scatter into a larger tensor": (
        "complete",
        "mismatch",
        """
        dist.scatter(torch.zeros(4 + 4 * rank), [torch.ones(4)] * 2 if rank == 0 else None, 0)
        dist.barrier()
        """,
    ),
    "an all_reduce of two types": (
        "complete",
        "mismatch",
        """
        dist.all_reduce(torch.ones(4, dtype=[torch.float32, torch.int32][rank]))
        dist.barrier()
        """,
    ),
    "reduces of no elements to other roots": (
        "complete",
        "proved",
        """
        dist.reduce(torch.ones(0), rank)
        dist.barrier()
        """,
    ),
    "a broadcast into a smaller tensor": (
        "error",
        "hang certain",
        """
        dist.broadcast(torch.ones(8 - 4 * rank), 0)
        """,
    ),
    "a recv that is too small": (
        "error",
        "hang certain",
        """
        if rank == 0: dist.send(torch.ones(8), 1)
        else: dist.recv(torch.ones(4), 0)
        """,
    ),
    "a recv that is too small, and that nothing waits for": (
        "error",
        "hang certain",
        """
        if rank == 0: dist.send(torch.ones(8), 1)
        else:
            dist.kept = dist.irecv(torch.ones(4), 0)
            time.sleep(1)
        """,
    ),
    "a recv that is too small, and that nobody keeps": (
        "either",
        "hang possible",
        """
        if rank == 0: dist.send(torch.ones(8), 1)
        else:
            dist.irecv(torch.ones(4), 0)
            time.sleep(1)
        """,
    ),
    "an all_to_all with more room than data": (
        "complete",
        "mismatch",
        """
        out = torch.zeros(7 if rank else 6)
        takes = [4, 3] if rank else [3, 3]
        dist.all_to_all_single(out, torch.ones(6), takes, [3, 3])
        assert out.tolist() == ([1, 1, 1, 0, 1, 1, 1] if rank else [1] * 6)
        dist.barrier()
        """,
    ),
    "an all_to_all whose own part differs, on one rank": (
        "hang",
        "hang certain",
        """
        takes = [4, 3] if rank == 0 else [3, 3]
        try: dist.all_to_all_single(torch.ones(sum(takes)), torch.ones(6), takes, [3, 3])
        except RuntimeError: pass
        dist.barrier()
        """,
    ),
    "an all_to_all whose splits do not fit its tensor, on one rank": (
        "hang",
        "hang certain",
        """
        given = torch.ones(8 if rank == 0 else 6)
        try: dist.all_to_all_single(torch.ones(6), given, [3, 3], [3, 3])
        except RuntimeError: pass
        dist.all_reduce(t)
        """,
    ),
    "an exit with two pending calls, of which the peer makes one": (
        "complete",
        "proved",
        """
        if rank == 0:
            work, later = (dist.all_reduce(t.clone(), async_op=True) for _ in range(2))
        else:
            dist.all_reduce(t)
        """,
    ),
    "a destroy with two pending calls, after the peer's": (
        "complete",
        "proved",
        """
        group = dist.new_group([0, 1])
        for _ in range(2 if rank else 1):
            dist.broadcast(t.clone(), 1, group=group, async_op=rank == 1)
        dist.destroy_process_group(group)
        del group
        dist.barrier()
        """,
    ),
    "the future of a message": (
        "error",
        "failed",
        """
        work = dist.isend(t, 1) if rank == 0 else dist.irecv(t, 0)
        work.wait()
        work.get_future()
        """,
    ),
    "a type that gloo refuses, on one rank": (
        "hang",
        "hang certain",
        """
        if rank == 0:
            try: dist.all_reduce(torch.ones(4, dtype=torch.int16))
            except RuntimeError: pass
            else: raise AssertionError
        dist.all_reduce(t)
        """,
    ),
    "a type that gloo refuses, on both ranks": (
        "complete",
        "proved",
        """
        work = dist.all_reduce(torch.ones(4, dtype=torch.int16), async_op=True)
        while not work.is_completed(): time.sleep(0.01)
        for wait in (work.wait, work.wait, work.get_future().wait):
            try: wait()
            except RuntimeError: pass
            else: raise AssertionError
        dist.all_reduce(t)
        """,
    ),
    "an operator that gloo refuses, on one rank": (
        "hang",
        "hang certain",
        """
        if rank == 0:
            try: dist.all_reduce(torch.ones(4), op=dist.ReduceOp.BAND)
            except RuntimeError: pass
            else: raise AssertionError
        dist.all_reduce(t)
        """,
    ),
    "sizes that gloo refuses, on one rank": (
        "complete",
        "proved",
        """
        if rank == 0:
            try: dist.all_gather([torch.ones(3), torch.ones(3)], torch.ones(4))
            except (RuntimeError, ValueError): pass
            else: raise AssertionError
        dist.all_reduce(t)
        """,
    ),
    "an all_reduce without elements that the other rank leaves": (
        "complete",
        "proved",
        """
        dist.all_reduce(torch.ones(4 - 4 * rank), async_op=True)
        """,
    ),
    "a monitored_barrier and a barrier": (
        "hang",
        "hang certain",
        """
        if rank == 0: dist.monitored_barrier()
        else: dist.barrier()
        """,
    ),
    "a monitored_barrier behind different collectives": (
        "hang",
        "hang certain",
        """
        if rank == 0: work = dist.all_reduce(t, async_op=True)
        dist.monitored_barrier()
        if rank == 1: dist.all_reduce(t)
        """,
    ),
    "a monitored_barrier that times out": (
        "complete",
        "undecided",
        """
        if rank == 0:
            try: dist.monitored_barrier(timeout=timedelta(seconds=1))
            except RuntimeError: pass
            else: raise AssertionError
            store.set("late", "1")
        else: store.get("late")
        """,
    ),
    "a reduce of few elements that a rank leaves early": (
        "complete",
        "hang possible",
        """
        if rank == 0: dist.recv(torch.ones(1), 2)
        dist.reduce(t, 0)
        if rank == 2: dist.send(torch.ones(1), 0)
        """,
        3,
    ),
    "a reduce of many elements that no rank leaves early": (
        "hang",
        "hang certain",
        """
        if rank == 0: dist.recv(torch.ones(1), 2)
        dist.reduce(torch.ones(30), 0)
        if rank == 2: dist.send(torch.ones(1), 0)
        """,
        3,
    ),
    "a gather that a rank leaves early": (
        "complete",
        "proved",
        """
        if rank == 2: dist.recv(torch.ones(1), 1)
        dist.gather(t, [torch.ones(1) for _ in range(3)] if rank == 0 else None)
        if rank == 1: dist.send(torch.ones(1), 2)
        """,
        3,
    ),
    "a gather whose calls torch compares first": (
        "hang",
        "hang certain",
        """
        dist.set_debug_level(dist.DebugLevel.DETAIL)
        group = dist.new_group()
        if rank == 2: dist.recv(torch.ones(1), 1, group=group)
        dist.gather(t, [torch.ones(1) for _ in range(3)] if rank == 0 else None, group=group)
        if rank == 1: dist.send(torch.ones(1), 2, group=group)
        """,
        3,
    ),
    "asynchronous calls that torch compares first": (
        "hang",
        "hang certain",
        """
        dist.set_debug_level(dist.DebugLevel.DETAIL)
        groups = [dist.new_group(), dist.new_group()]
        for group in groups if rank else groups[::-1]:
            dist.all_reduce(t, group=group, async_op=True)
        """,
    ),
    "threads that a lock orders": (
        "complete",
        "undecided",
        """
        turn = threading.Semaphore(0)
        def save():
            turn.acquire()
            dist.broadcast(torch.ones(3), 0)
        thread = threading.Thread(target=save)
        thread.start()
        dist.all_reduce(t)
        turn.release()
        thread.join()
        dist.barrier()
        """,
    ),
    "an isend that nobody keeps, whose recv was posted before": (
        "complete",
        "hang possible",
        """
        if rank == 0:
            time.sleep(0.5)
            dist.isend(t, 1)
        else: dist.recv(t, 0)
        dist.barrier()
        """,
    ),
    "an isend that nobody keeps, before another one with its tag": (
        "hang",
        "hang certain",
        """
        if rank == 0:
            dist.isend(t, 1)
            work = dist.isend(t, 1)
            work.wait()
        else:
            time.sleep(0.5)
            dist.recv(t, 0)
        dist.barrier()
        """,
    ),
    "an isend that nobody keeps, before a send with another tag": (
        "complete",
        "undecided",
        """
        if rank == 0:
            dist.isend(t, 1, tag=1)
            dist.send(t, 1, tag=2)
        else:
            time.sleep(0.5)
            dist.recv(t, 0, tag=2)
        dist.barrier()
        """,
    ),
    "an isend that nobody keeps once its function returns": (
        "hang",
        "hang possible",
        """
        def announce():
            work = dist.isend(t, 1)
        if rank == 0: announce()
        else:
            time.sleep(0.5)
            dist.recv(t, 0)
        dist.barrier()
        """,
    ),
    "an irecv that nobody keeps meets an earlier send": (
        "either",
        "undecided",
        """
        if rank == 0: dist.send(t, 1)
        else:
            time.sleep(0.5)
            dist.irecv(t, 0)
        dist.barrier()
        """,
    ),
    "an irecv that nobody keeps, and calls of another group": (
        "complete",
        "proved",
        """
        other = dist.new_group()
        if rank == 0:
            time.sleep(0.5)
            dist.send(t, 1)
        else: dist.irecv(t, 0)
        dist.barrier(other)
        """,
    ),
    "an irecv that nobody keeps, and no send": (
        "complete",
        "proved",
        """
        if rank == 1: dist.irecv(t, 0)
        dist.barrier()
        dist.all_reduce(t)
        """,
    ),
    "an irecv that nobody keeps, and a collective of its sender": (
        "hang",
        "undecided",
        """
        if rank == 0:
            time.sleep(0.5)
            dist.send(t, 1)
        elif rank == 1: dist.irecv(t, 0)
        dist.barrier()
        """,
        3,
    ),
    "a batch that nobody keeps, on one rank late": (
        "hang",
        "undecided",
        """
        time.sleep(0.5 * rank)
        dist.batch_isend_irecv([dist.P2POp(dist.isend, t, peer),
                                dist.P2POp(dist.irecv, torch.ones(1), peer)])
        dist.barrier()
        """,
    ),
    "two ranks set one key": (
        "either",
        "hang possible",
        """
        store.set("k", str(rank))
        dist.barrier()
        n = int(store.get("k")) if rank == 0 else 0
        if rank == 0 and n == 1: dist.barrier()
        """,
    ),
    "a key that is deleted while the other rank may wait": (
        "either",
        "undecided",
        """
        store.set(f"k{rank}", "1")
        store.wait(["k0", "k1"])
        store.delete_key(f"k{rank}")
        """,
    ),
    "objects larger than the limit": (
        "complete",
        "proved",
        """
        objects = [list(range(50000)) if rank == 0 else None]
        dist.broadcast_object_list(objects, src=0)
        assert objects[0][-1] == 49999
        dist.barrier()
        """,
    ),
    "a process that ends at once": (
        "complete",
        "proved",
        """
        dist.all_reduce(t)
        dist.barrier()
        time.sleep(1)
        import os
        os._exit(0)
        """,
    ),
}


def job_of(name, folder, pace=1):
    """Returns a job that runs the program `name` in a new folder. `pace`: factor of its sleeps."""
    _, _, text, *ranks = CASES[name]
    folder.mkdir()
    (folder / "program.py").write_text(HEAD + textwrap.dedent(text))
    sleep, run = time.sleep, script(folder / "program.py")

    def run_at_pace():
        time.sleep = lambda seconds: sleep(seconds * pace)
        run()

    return Job(folder, *(ranks or [2]), run_at_pace, agent=True)


def main():
    program, *names = sys.argv[1:]
    os.environ["PIPESIM"] = os.path.abspath(program)
    launcher.import_torch()
    failed = 0
    # Forked ranks also leave this function, and must not remove the folder.
    here = tempfile.mkdtemp()
    chosen = [name for name in CASES if not names or any(part in name for part in names)]
    jobs = [job_of(name, pathlib.Path(here, str(number))) for number, name in enumerate(chosen)]
    outcomes = []
    newest = not torch.__version__.startswith("1.")
    for first in range(0, len(jobs), AT_ONCE):
        outcomes += run_jobs(jobs[first : first + AT_ONCE], quick_end=newest)
    for name, job, outcome in zip(chosen, jobs, outcomes):
        expected, answer = CASES[name][:2]
        seen = {outcome.verdict}
        if expected not in ("either", outcome.verdict):
            print(f"{name}: gloo: {outcome}")
            # A program's sleeps can be too short on a busy machine, so it runs again, alone, with
            # longer ones.
            again = job_of(name, job.folder / "again", PACE_ALONE)
            (outcome,) = run_jobs([again], SECONDS * PACE_ALONE)
            seen.add(outcome.verdict)
            if outcome.verdict != expected:
                failed += 1
                print(f"{name}: gloo, alone: {outcome}")
        path = str(job.folder / "program.py")
        recorded = record(lambda: runpy.run_path(path, run_name="__main__"), ranks=job.ranks)
        report = recorded.check(rules="gloo")
        if report.answer != answer or (report.proved and seen != {"complete"}):
            failed += 1
            print(f"{name}: pipesim says '{report.answer}'\n{recorded.output}{report.text}")
    shutil.rmtree(here)
    print(f"{len(jobs)} programs, {failed} faults")
    return 1 if failed else 0


if __name__ == "__main__":
    run_test(main)
