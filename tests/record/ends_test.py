"""Tests of the ends of ranks in records, some by lack of progress.

    ends_test.py PIPESIM
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from recordings import PROGRAMS, calls, command, in_fork, line_of, lines  # isort: skip

import torch

from pipesim import RecordingFailed, record


class Ends(unittest.TestCase):
    def ends(self, how, **options):
        recorded = in_fork(PROGRAMS / "ends.py", 3, how, **options)
        return recorded, [(end.end, end.why or end.text or end.code) for end in recorded.ends]

    def test_finished(self):
        recorded, ends = self.ends("none")
        self.assertEqual([("finished", None)] * 3, ends)

    def test_an_exception_on_one_rank(self):
        recorded, ends = self.ends("raise")
        rest = ("cut", "rest")
        self.assertEqual([rest, ("raised", "ValueError: loss is nan in step 3"), rest], ends)
        self.assertEqual((1,), recorded.failed)
        self.assertEqual(line_of("ends.py", "raise ValueError"), lines(recorded, 1)[-1]["l"])
        self.assertEqual(line_of("ends.py", "dist.barrier()  #"), lines(recorded, 0)[-1]["l"])
        self.assertIn("rank 1 raised an exception:\n  Traceback", recorded.output)
        self.assertNotIn("recorder", recorded.output)

    def test_exit(self):
        self.assertEqual(("exited", 3), self.ends("exit")[1][1])
        recorded, ends = self.ends("message")
        self.assertEqual(("exited", 1), ends[1])
        self.assertIn("no such data set", recorded.output)

    def test_a_process_that_dies(self):
        # The command line makes rank 1 a child of the second parent.
        with tempfile.TemporaryDirectory() as folder:
            done = command("--ranks", 3, "--only-record", "-o", folder, PROGRAMS / "ends.py", "die")
            described = json.loads((pathlib.Path(folder) / "record.json").read_text())
        # The reason must not be "rest": a killed rank does not prove a hang.
        self.assertEqual(["killed"] * 3, [end["why"] for end in described["ends"]])
        self.assertIn("the process of rank 1 died", done.stderr)
        self.assertNotIn("no rank called", done.stderr)

    def test_a_rank_that_made_no_progress_is_not_proved(self):
        def job():
            torch.distributed.init_process_group("gloo")
            while True:
                time.sleep(0.05)

        report = record(job, ranks=2, seconds=0.5).check()
        self.assertEqual(("undecided", False), (report.answer, report.proved), report.text)

    def test_of_a_long_exception_the_beginning_is_kept(self):
        def job():
            raise ValueError("\u00e9" * 5000)

        recorded = record(job, ranks=2)
        self.assertEqual(503, len(recorded.ends[0].text))
        self.assertFalse(recorded.check().proved)

    def test_who_comes_first_in_the_store_is_noted_if_the_script_looks(self):
        def job(looks):
            torch.distributed.init_process_group("gloo")
            store = torch.distributed.distributed_c10d._get_default_store()
            if looks and store.add("who", 1) == 1:
                torch.distributed.barrier()
            else:
                store.add("n", 1)
                torch.distributed.barrier()

        for looks in (False, True):
            says = " ".join(record(job, ranks=2, args=[looks]).check().rests_on)
            self.assertEqual(looks, "2 free answers (2 store calls)" in says, says)

    def test_a_store_of_another_size_is_refused(self):
        def job():
            store = torch.distributed.HashStore()
            rank = int(os.environ["RANK"])
            torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=4)

        self.assertIn("world_size=4", record(job, ranks=2).ends[0].text)

    def test_one_by_one_nobody_waits_for_a_rank_that_has_not_begun(self):
        def job():
            store = torch.distributed.HashStore()
            if os.environ["RANK"] == "0":
                store.wait(["later"])
            store.set("later", "1")

        recorded = record(job, ranks=2, one_by_one=True, seconds=0.5)
        self.assertEqual(["seconds", ""], [end.why for end in recorded.ends])

    def test_a_script_that_never_ends(self):
        recorded, ends = self.ends("never", seconds=1)
        self.assertEqual([("cut", "seconds")] * 3, ends)
        self.assertIn("rank 1 did not end", recorded.output)
        self.assertEqual(line_of("ends.py", "time.sleep"), lines(recorded, 1)[-1]["l"])

    def test_a_rank_that_is_ended_cleans_up(self):
        def job(lock, threaded):
            dist = torch.distributed
            dist.init_process_group("gloo")
            path = pathlib.Path(lock, os.environ["RANK"])
            path.touch()
            try:
                if threaded:  # all threads wait; the main thread waits for the other thread
                    threading.Thread(target=dist.recv, args=(torch.ones(1),)).start()
                    threading.enumerate()[-1].join()
                time.sleep(1000)
            finally:
                path.unlink()
                dist.barrier()  # after the record's end, this call leaves the script
                path.touch()

        for threaded, why in ((False, "seconds"), (True, "rest")):
            with tempfile.TemporaryDirectory() as folder:
                recorded = record(job, ranks=2, seconds=2, args=[folder, threaded])
                self.assertEqual([why] * 2, [end.why for end in recorded.ends], recorded.output)
                self.assertEqual([], os.listdir(folder), recorded.output)

    def test_a_rank_that_computes_makes_progress(self):
        def job():  # its child process is like a compiler that a script runs
            torch.distributed.init_process_group("gloo")
            command = "while __import__('time').process_time() < 4: 0"
            subprocess.run([sys.executable, "-c", command], check=True)

        self.assertEqual({"finished"}, {end.end for end in record(job, ranks=2, seconds=2).ends})

    def test_what_a_rank_did_before_it_was_killed_is_kept(self):
        def job(exits):
            torch.distributed.init_process_group("gloo")
            torch.distributed.all_reduce(torch.ones(1))
            if os.environ["RANK"] == "1":
                if exits:
                    os._exit(7)
                torch.distributed.all_reduce(torch.ones(2), async_op=True)
                os.kill(os.getpid(), signal.SIGKILL)

        for exits, end, sizes in ((True, ("exited", 7, None), [4]), (False, ("cut", None, "killed"), [4, 8])):
            recorded = record(job, ranks=2, args=[exits])
            found = recorded.ends[1]
            self.assertEqual(end, (found.end, found.code, found.why or None))
            self.assertEqual(sizes, [c["bytes"] for c in calls(recorded, 1)])

    def test_a_read_of_a_made_up_value(self):
        def job(indirect):
            torch.distributed.init_process_group("gloo")
            t = torch.ones(100_000)
            torch.distributed.all_reduce(t)
            if indirect is not None and (bool((t > 3).any()) if indirect else t[0].item() > 3):
                torch.distributed.barrier()

        for indirect in (False, True):
            report = record(job, ranks=2, args=[indirect]).check(rules="gloo")
            self.assertRegex("undecided " + " ".join(report.rests_on), rf"^{report.answer}.*ranks 0, 1 read a value that was made up \(.*; --limit 400000B carries it")
            self.assertTrue(record(job, ranks=2, limit=400_000, args=[indirect]).check(rules="gloo").proved)
        self.assertTrue(record(job, ranks=2, args=[None]).check(rules="gloo").proved)

    def test_a_script_that_asks_for_ever(self):
        self.assertEqual([("cut", "rest")] * 3, self.ends("poll")[1])

    def test_a_script_that_forks(self):
        self.assertEqual([("finished", None)] * 3, self.ends("fork")[1])
        # The child continues as if it were the rank.
        recorded, ends = self.ends("fork_and_go_on")
        self.assertEqual([("finished", None)] * 3, ends)
        self.assertEqual(1, [list(line)[0] for line in lines(recorded, 1)].count("end"))
        self.assertIn("a process that rank 1 forked raised an exception", recorded.output)
        self.assertTrue(recorded.check(rules="gloo").proved)

    def test_a_script_that_loads_nccl_itself(self):
        recorded, ends = self.ends("nccl")
        self.assertEqual([("finished", None)] * 3, ends)
        says = "the script loads libnccl-none.so: what it calls past torch is not recorded"
        self.assertIn(says, recorded.check().rests_on)

    def test_a_script_without_groups(self):
        with self.assertRaisesRegex(RecordingFailed, "no rank called"):
            record(lambda: None, ranks=2)

    def test_a_script_of_another_runtime(self):
        for name in ("jax", "mpi4py", "ray"):

            def job(name=name):
                sys.modules[name] = sys  # has the effect of an import

            with self.assertRaisesRegex(RecordingFailed, f"(?i)help: the script imports {name}"):
                record(job, ranks=2)

    def test_steps(self):
        def train():
            torch.distributed.init_process_group("gloo")
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            while True:
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()

        recorded = record(train, ranks=2, steps=3)
        self.assertEqual(["steps", "steps"], [end.why for end in recorded.ends])
        steps = [line["step"] for line in lines(recorded, 1) if "step" in line]
        self.assertEqual([1, 2, 3], steps)
        # The wait for DDP's buckets comes at the end of their backward.
        order = [next(iter(line)) for line in lines(recorded, 0)]
        last = len(order) - 1 - order[::-1].index("backward")
        self.assertEqual(["backward", "call", "wait", "backward"], order[last - 3 : last + 1])


if __name__ == "__main__":
    unittest.main()
