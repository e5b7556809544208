"""Tests of reports on failed scripts: the failed ranks, their lines, and the waiting ranks.

    failures_test.py PIPESIM

Needs torch, for this interpreter or for /usr/bin/python3.
"""

import threading
import unittest

from recordings import PROGRAMS, in_fork, line_of  # isort: skip

import torch.distributed as dist
from pipesim import record


def ends(how):
    """Returns the report of `check` on ends.py with 3 ranks, if rank 1 ends in the way `how`."""
    return in_fork(PROGRAMS / "ends.py", 3, how).check()


class Failures(unittest.TestCase):
    def test_all_ranks_raise_before_anything_hangs(self):
        def job():
            raise ValueError("no data")

        recorded = record(job, ranks=2)
        report = recorded.check()
        self.assertEqual(("failed", False, False), (report.answer, report.proved, report.hangs))
        line = job.__code__.co_firstlineno + 1
        self.assertRegex(
            " ".join(report.text.split()),
            f"FAILED: ranks 0 and 1 raised ValueError at .*failures_test.py:{line}; nothing hangs",
        )

    def test_who_waits_for_a_rank_that_failed(self):
        report = ends("raise")
        self.assertEqual("failed", report.answer)
        text = " ".join(report.text.split())
        at = line_of("ends.py", "raise ValueError")
        self.assertRegex(
            text, f"FAILED: rank 1 raised ValueError at .*{at}; ranks 0 and 2 wait for it"
        )
        self.assertIn("wait in barrier #1 on the world group", text)
        self.assertIn(line_of("ends.py", "dist.barrier()  #"), text)
        self.assertNotIn("HANG", text)

    def test_an_exception_of_a_thread_is_named(self):
        def job():
            dist.init_process_group("gloo")
            names = ("loader", "saver") if dist.get_rank() else ("loader",)
            for name in names:
                thread = threading.Thread(target=int, args=("no number",), name=name)
                thread.start()
                thread.join()
            dist.barrier()

        report = record(job, ranks=2).check()
        self.assertTrue(report.proved, report.text)
        text = " ".join(report.text.split())
        for thread in ("rank 0: thread 'loader'", "rank 1: thread 'loader'", "thread 'saver'"):
            self.assertIn(f"{thread} ended with ValueError: invalid literal", text)

    def test_a_second_init_rests_on_the_store(self):
        def job(times):
            for _ in range(times):
                dist.init_process_group("gloo")
                dist.barrier()
                dist.destroy_process_group()

        said = "gone from the store at the second"
        self.assertNotIn(said, " ".join(record(job, ranks=2, args=(1,)).check().text.split()))
        report = record(job, ranks=2, args=(2,)).check()
        self.assertTrue(report.proved, report.text)
        self.assertIn(said, " ".join(report.text.split()))

    def test_an_exit_status_is_named(self):
        self.assertIn("FAILED: rank 1 exited with status 3; ranks 0 and 2 wait", ends("exit").text)


if __name__ == "__main__":
    unittest.main()
