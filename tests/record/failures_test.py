"""Scripts that fail: which ranks, at which line, and who waits for them.

    failures_test.py PIPESIM

Needs torch: this interpreter's, or that of /usr/bin/python3.
"""

import os
import runpy
import sys
import unittest

from with_torch import ROOT  # isort: skip

import torch
from pipesim import record

os.environ["PIPESIM"] = os.path.abspath(sys.argv.pop(1))
PROGRAM = ROOT / "tests/record/programs/ends.py"
# A fork cannot use the threads of its parent's OpenMP.
torch.set_num_threads(1)


def ends(how):
    """Returns the result of `check` for ends.py on 3 ranks; rank 1 ends in this way."""

    def run():
        sys.argv = [str(PROGRAM), how]
        runpy.run_path(str(PROGRAM), run_name="__main__")

    recorded = record(run, ranks=3)
    return recorded.check()


def line_of(text):
    """The number of the line of the program that has this text."""
    lines = PROGRAM.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


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
        at = line_of("raise ValueError")
        self.assertRegex(
            text, f"FAILED: rank 1 raised ValueError at .*ends.py:{at}; ranks 0 and 2 wait for it"
        )
        self.assertIn("waits in barrier #1 on the world group", text)
        self.assertIn(f"ends.py:{line_of('dist.barrier()  #')}", text)
        self.assertNotIn("HANG", text)

    def test_an_exit_status_is_named(self):
        self.assertIn("FAILED: rank 1 exited with status 3; ranks 0 and 2 wait", ends("exit").text)


if __name__ == "__main__":
    unittest.main()
