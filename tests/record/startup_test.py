"""Tests of the start: imports in the parents of ranks, and the progress line.

startup_test.py PIPESIM
"""

import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

from with_torch import ROOT  # isort: skip

import torch

from pipesim.recorder.imports import needs_all
from pipesim.recorder.nursery import Nursery
from pipesim.recorder.settings import Settings

os.environ["PIPESIM"] = os.path.abspath(sys.argv.pop(1))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
JOB = "import torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n"


class Startup(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def script(self, text, name="job.py"):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def command(self, *arguments):
        return [
            sys.executable, "-B", "-m", "pipesim.record", "--ranks", "2", "--only-record",
            "-o", str(self.folder / "out"), *map(str, arguments),
        ]  # fmt: skip

    def test_the_slow_half_of_torch_is_imported_where_it_is_named(self):
        self.script("def reduce(): pass\n", "plain.py")
        self.script("from torch.distributed.fsdp import fully_shard\n", "sharding.py")
        self.script("from . import inner\n", "package/__init__.py")
        self.script("import sharding\n", "package/inner.py")
        for text, needs in [
            ("", False),
            ("import os, json\nimport numpy as np\nimport plain\n", False),
            ("import numpy, nothing_of_this_name\n", False),
            ("optimizer = torch.optim.SGD(parameters)\n", True),
            ("from torch.nn.parallel import DistributedDataParallel\n", True),
            ("import plain, sharding\n", True),
            ("from package.inner import train\n", True),
            ("    from sharding import shard\n", True),
        ]:
            with self.subTest(text):
                script = self.script(JOB + text)
                self.assertEqual(needs, needs_all(Settings(ranks=2, out="", script=str(script))))
        self.assertTrue(needs_all(Settings(ranks=2, out="", script="train", module=True)))

    def test_parents_preload_modules_once(self):
        self.script("import os\nprint('heavy imported by', os.environ.get('RANK'))\n", "heavy.py")
        script = self.script(JOB + "import heavy\n")
        done = subprocess.run(
            self.command("--preload", "heavy", script),
            env=ENVIRONMENT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(0, done.returncode, done.stderr)
        said = (done.stdout + done.stderr).splitlines()
        self.assertEqual(["heavy imported by None"] * 2, said)  # once in each of the two parents

    def test_one_second_parent_for_all_runs(self):
        # Without --device, the recorder runs the script again if the script asks for a GPU.
        script = self.script(JOB.replace("gloo", "nccl") + "print('end', dist.get_rank())\n")
        counting = self.folder / "sitecustomize.py"
        counting.write_text(f"open({str(self.folder / 'starts')!r}, 'a').write('x')\n")
        path = os.pathsep.join([str(self.folder), ENVIRONMENT["PYTHONPATH"]])
        done = subprocess.run(
            self.command("--all-output", script),
            env={**ENVIRONMENT, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(["[0]: end 0", "[1]: end 1"], sorted(done.stderr.splitlines()))
        starts = len((self.folder / "starts").read_text())
        self.assertEqual(3, starts)  # the command, its restart with a hash seed, the second parent

    def test_a_line_on_the_terminal_that_output_replaces(self):
        script = self.script(JOB + "print('loss 0.5')\n")
        ours, theirs = pty.openpty()
        done = subprocess.Popen(self.command(script), env=ENVIRONMENT, stdout=theirs, stderr=theirs)
        os.close(theirs)
        said = b""
        try:
            while chunk := os.read(ours, 4096):
                said += chunk
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        self.assertEqual(0, done.wait(), said)
        self.assertIn(b"importing torch", said)
        self.assertIn(b"recording 2 ranks: ", said)
        self.assertRegex(said, rb"\r\x1b\[Kloss 0\.5\r\n")

    def test_a_second_parent_that_is_not_needed_ends(self):
        nursery = Nursery(Settings(ranks=2, out=str(self.folder)))
        nursery.close()
        self.assertIsNotNone(nursery._process.returncode)


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
