"""Tests of pipesim.explore: it finds answers that hang, and covers scripts that are fixed."""

import importlib
import json
import os
import random
import resource
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "record"))
from recordings import command  # isort: skip

import more_patterns
import numpy
import patterns
import serving
import torch
import torch.distributed as dist
from pipesim import explore

HERE = os.path.dirname(os.path.abspath(__file__))


os.chdir(tempfile.mkdtemp())  # each run gets a copy of the folder, so an empty one is fast


def of(pattern, fixed, **options):
    return explore(patterns.run, args=(pattern, fixed), **{"ranks": 2, **options})


class Patterns(unittest.TestCase):
    """A few of the patterns; all_patterns.py explores all of them."""

    def check(self, pattern, runs, unusual, covered, **options):
        found = of(pattern, False, **options)
        self.assertEqual("hang possible", found.answer, found.text)
        self.assertLessEqual(found.runs, runs)
        self.assertEqual(unusual, len(found.hangs[0].unusual), found.text)
        fixed = of(pattern, True, **options)
        self.assertTrue(fixed.covered, fixed.text)
        self.assertLessEqual(fixed.runs, covered)
        return found, fixed

    def test_a_poll(self):
        found, fixed = self.check(patterns.poll_skip, 2, 1, 1)
        self.assertIn("is_completed() of all_reduce #1", found.hangs[0].unusual[0])
        self.assertEqual({0, 1}, {stuck.rank for stuck in found.hangs[0].stuck})
        self.assertIn("The speed of the ranks decides it, so it is likely.", found.text)

    def test_a_deadline_on_one_rank(self):
        found, _ = self.check(patterns.abort_clock, 2, 1, 17)
        self.assertIn("the deadline in 10 s has passed on rank", found.hangs[0].unusual[0])

    def test_a_timeout_of_a_store(self):
        found, _ = self.check(patterns.timeout30, 2, 1, 3)
        self.assertIn("times out after 30 s", found.hangs[0].unusual[0])

    def test_an_empty_queue(self):
        self.check(patterns.arrival, 5, 2, 9)

    def test_the_order_of_two_ranks(self):
        self.check(patterns.work_steal, 8, 2, 16)
        self.check(patterns.store_add, 2, 1, 6, ranks=3)

    def test_the_order_of_accesses_to_a_file(self):
        found, _ = self.check(patterns.exists, 2, 1, 2)
        self.assertIn("comes before rank", found.hangs[0].unusual[0])

    def test_a_message_from_any_source(self):
        self.check(patterns.any_source, 2, 1, 2, ranks=3)

    def test_failures_and_data_that_ends_early(self):
        self.check(patterns.oom_skip, 2, 1, 22, faults=True)
        self.check(patterns.uneven_data, 2, 1, 4, uneven_data=True)


    def test_a_server_of_a_hundred_lines(self):
        found = explore(serving.main, ranks=2, args=[False])
        self.assertEqual("hang possible", found.answer, found.text)
        self.assertIn("the deadline in 30 s has passed on rank", found.hangs[0].unusual[0])
        self.assertTrue(explore(serving.main, ranks=2, args=[True]).covered)


    def test_more_patterns(self):
        for pattern, options in more_patterns.PATTERNS.items():
            with self.subTest(pattern=pattern.__name__):
                found = of(pattern, False, **options)
                self.assertIn(found.answer, ("hang possible", "hang certain"), found.text)
                self.assertLessEqual(found.runs, 4)
                fixed = of(pattern, True, **options)
                self.assertTrue(fixed.covered, fixed.text)


class Promises(unittest.TestCase):
    def test_a_rank_that_raises_is_not_covered(self):
        def job():
            dist.init_process_group("gloo")
            work = dist.all_reduce(torch.ones(1), async_op=True)
            if not work.is_completed():
                raise ValueError("late")
            work.wait()

        found = explore(job, ranks=2)
        self.assertEqual("not covered", found.answer, found.text)
        self.assertIn("ValueError: late", found.failed[0])

    def test_a_script_that_fails_is_not_covered(self):
        def job():
            raise ValueError("always")

        found = explore(job, ranks=2)
        self.assertEqual(("failed", 1), (found.answer, found.runs))

    def test_the_order_of_a_set(self):
        head = "import torch, torch.distributed as dist\ndist.init_process_group('gloo')\n"
        with tempfile.TemporaryDirectory() as folder:
            module, script = os.path.join(folder, "names.py"), os.path.join(folder, "train.py")
            with open(script, "w") as file:
                file.write(head + "import names\n")
            for items, covered in (("names", False), ("sorted(names)", True)):
                with open(module, "w") as file:
                    file.write("import torch, torch.distributed as dist\nnames = {'b', 'aa'}\n")
                    file.write(f"for n in {items}:\n    dist.all_reduce(torch.ones(len(n)))\n")
                found = explore(script, ranks=2)
                self.assertEqual(covered, found.covered, found.text)
                if not covered:
                    expected = "rank 0's set of 2 items (names.py:3) is in reverse order"
                    self.assertEqual((expected,), found.hangs[0].unusual)

    def test_the_order_of_a_set_in_a_function_is_not_tried(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "set_job.py"), "w") as file:
                file.write("def job():\n    for _ in {'b', 'a'}:\n        pass\n")
            sys.path.insert(0, folder)
            job = importlib.import_module("set_job").job
            try:
                found = explore(job, ranks=2)
            finally:
                sys.path.remove(folder)
                del sys.modules["set_job"]
        self.assertFalse(found.covered, found.text)
        self.assertIn("the order of a set (set_job.py:2)", found.not_tried)

    def test_a_server_that_answers_any_worker(self):
        def job(leaves_early):
            dist.init_process_group("gloo")
            rank, tensor = dist.get_rank(), torch.zeros(1)
            for step in range(2 * (rank > 0)):
                dist.send(tensor, 0)
                dist.recv(tensor, 0)
            for step in range(4 * (rank == 0)):
                worker = dist.recv(tensor)
                if leaves_early and step == 3 and worker == 1:
                    break
                dist.send(tensor, worker)

        fixed = explore(job, ranks=3, args=[False])
        self.assertTrue(fixed.covered, fixed.text)
        found = explore(job, ranks=3, args=[True])
        self.assertEqual("hang possible", found.answer, found.text)
        self.assertIn(1, {stuck.rank for stuck in found.hangs[0].stuck})
        self.assertNotIn(2, {stuck.rank for stuck in found.hangs[0].stuck})

    def test_a_timeout_that_nobody_catches_ends_the_job(self):
        def job():
            dist.init_process_group("gloo")
            work = dist.all_reduce(torch.ones(1), async_op=True)
            work.wait(patterns.datetime.timedelta(seconds=3))

        found = explore(job, ranks=2)
        self.assertTrue(found.covered, found.text)
        self.assertIn("an exception that is an answer", found.text)

    def test_limits_are_reported(self):
        found = of(patterns.abort_clock, True, answers=0)
        self.assertEqual(("not covered", 1), (found.answer, found.runs), found.text)
        self.assertGreater(found.left, 0)
        found = of(patterns.abort_clock, True, runs=3)
        self.assertEqual(("not covered", 3), (found.answer, found.runs), found.text)

    def test_values_that_were_not_exchanged_are_reported(self):
        def job():
            dist.init_process_group("gloo")
            dist.all_reduce(torch.ones(2))

        self.assertIn("values of calls above --limit", explore(job, ranks=2, limit=4).not_free)
        self.assertEqual((), tuple(x for x in explore(job, ranks=2).not_free if "--limit" in x))

    def test_answers_that_are_not_tried_are_not_covered(self):
        def generator():
            return random.Random().random() < 0.5

        def bits():
            return random.getrandbits(1)

        def array():
            return numpy.random.rand(3).sum() < 1

        def exchanged():
            drawn = torch.rand(2)
            dist.all_reduce(drawn)
            return drawn.sum().item() < 1

        def job(draw):
            dist.init_process_group("gloo")
            draw()
            dist.barrier()

        for draw in (generator, bits, array, exchanged):
            found = explore(job, ranks=2, args=[draw])
            self.assertEqual("not covered", found.answer, found.text)
            self.assertIn("explore_test.py:", found.not_tried[0])

    def test_a_copy_of_a_rank_draws_the_same_numbers(self):
        def job():
            dist.init_process_group("gloo")
            dist.distributed_c10d._get_default_store().add("key", 1)
            raise ValueError(f"{random.getrandbits(64)}")

        failed = {explore(job, ranks=2, free=["stores"]).failed for _ in range(2)}
        self.assertEqual(1, len(failed), failed)

    def test_a_model_is_built_once(self):
        reader, writer = os.pipe()

        def job():
            dist.init_process_group("gloo")
            begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            while resource.getrusage(resource.RUSAGE_SELF).ru_utime < begin + 0.3:
                pass
            os.write(writer, str(dist.get_rank()).encode())
            patterns.abort_clock(True)

        found = explore(job, ranks=2)
        self.assertTrue(found.covered, found.text)
        self.assertEqual((17, b"01"), (found.runs, bytes(sorted(os.read(reader, 100)))))

    def test_what_the_user_leaves_out_is_not_free(self):
        found = of(patterns.poll_skip, False, free=["clocks"])
        self.assertTrue(found.covered, found.text)
        self.assertIn("polls", found.not_free)

    def test_a_real_clock_does_not_pass(self):
        def job():
            dist.init_process_group("gloo")
            begin = time.time()
            time.sleep(3600)
            assert time.time() - begin >= 3600
            dist.barrier()

        self.assertTrue(explore(job, ranks=2).covered)


class CommandLine(unittest.TestCase):
    def test_a_run_can_be_replayed(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(HERE, "patterns.py")
            words = ["--ranks", "2", script, "timeout30"]
            done = command("-o", "hang", *words, module="pipesim.explore", cwd=folder)
            self.assertEqual(1, done.returncode, done.stdout + done.stderr)
            self.assertIn("HANG POSSIBLE with other answers", done.stdout)
            with open(os.path.join(folder, "hang/answers.json")) as file:
                answers = json.load(file)
            self.assertIn(["1", "timed out"], answers["plan"])
            again = command("--replay", "hang/answers.json", "--no-why", *words, cwd=folder)
            self.assertEqual(1, again.returncode, again.stdout + again.stderr)
            self.assertIn("HANG CERTAIN", again.stdout)

    def test_a_run_with_threads_can_be_replayed(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["--ranks", "2", os.path.join(HERE, "serving.py")]
            done = command("-o", "hang", *words, module="pipesim.explore", cwd=folder)
            self.assertEqual(1, done.returncode, done.stdout + done.stderr)
            again = command("--replay", "hang/answers.json", "--no-why", *words, cwd=folder)
            self.assertEqual(1, again.returncode, again.stdout + again.stderr)
            self.assertIn("HANG CERTAIN", again.stdout)


if __name__ == "__main__":
    unittest.main()
