"""Reports are read in a terminal: no line is wider than 80 columns, and large jobs need no more
lines than small ones.

    report_width_test.py PROGRAM
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
SCENARIOS = sorted(pathlib.Path("scenarios").glob("*.yaml"))
WIDTH = 80
# Each rank sends to the next before it receives.
RING = """\
schema: 1
name: ring
ranks: {}
groups: {{ring: all}}
programs:
  - on: all
    do:
      - {{send: ring, to: (rank + 1) % ranks, bytes: 1MiB, at: "ring.py:10"}}
      - {{recv: ring, from: (rank + ranks - 1) % ranks, bytes: 1MiB, at: "ring.py:11"}}
"""


def report(*arguments):
    run = subprocess.run(
        [PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False,
        env={"LC_ALL": "C"},
    )
    assert run.returncode in (0, 1), run.stderr.decode()
    return run.stdout.decode()


class ReportWidth(unittest.TestCase):
    def check(self, *arguments):
        text = report(*arguments)
        for line in text.splitlines():
            # Commands and patches are not broken, because users copy them.
            if not line.lstrip().startswith("pipesim ") and not re.match(r"     (actors|schedule): | +- \{", line):
                with self.subTest(arguments=arguments):
                    self.assertLessEqual(len(line), WIDTH, line)
        return text

    def test_all_scenarios(self):
        self.assertGreater(len(SCENARIOS), 20)
        for scenario in SCENARIOS:
            path = str(scenario)
            for arguments in (("run", path), ("run", path, "--all", "--timeline"), ("check", path),
                              ("lint", path)):
                self.check(*arguments)

    def test_other_commands(self):
        swin = "scenarios/swin_2x2x2.yaml"
        self.check("why", swin, "rank 7 H2#4")
        self.check("why", "scenarios/rank_segfault.yaml", "rank 3 step#1")
        self.check("diff", swin, "--set-b", "acc=2", "--all")
        self.check("diff", "scenarios/pipeline_1f1b.yaml", "--set-b", "micro_batches=6")
        self.check("sweep", swin, "--vary", "acc=1,2,4")
        for name in ("buffer_on_the_wrong_stream", "launch_blocking_hides", "launch_queue_full",
                     "pipeline_rendezvous_hang", "rank_segfault", "two_groups_opposite_order"):
            self.check("fix", f"scenarios/{name}.yaml")

    def test_head(self):
        lines = report("run", "scenarios/swin_2x2x2.yaml").split("\n\n")[0].split("\n")
        self.assertIn("DEADLOCK", lines[0])
        self.assertTrue(lines[1].startswith("Ranks 0 and 1 wait for each other: "), lines[1])
        self.assertTrue(any(line.startswith("Fix: ") for line in lines[2:]), lines)

    def test_ring(self):
        lines = {}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ring.yaml"
            for ranks in (8, 512):
                path.write_text(RING.format(ranks))
                lines[ranks] = self.check("run", str(path)).count("\n")
            unfolded = self.check("run", str(path), "--all").count("\n")
        self.assertLess(lines[8], 40)
        # Longer numbers can break a few more lines.
        self.assertLessEqual(lines[512], lines[8] + 3)
        self.assertGreater(unfolded, 2000)


if __name__ == "__main__":
    unittest.main()
