"""Growth of work with the input, in instructions: a given number of calls takes about the same
number of instructions, however the calls are spread over ranks and steps.

    work_test.py PROGRAM

callgrind counts them, so the machine and its load do not matter. Skipped without valgrind
(`tools/setup test`), and for programs with sanitizers.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(sys.argv.pop(1))
SANITIZED = b"__asan_init" in open(PROGRAM, "rb").read()

sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True

import inputs  # noqa: E402 - found by the line above


def instructions(arguments, function=None):
    """Returns the instructions from start to exit, or within a function of models/."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "callgrind")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}"]
        if function is not None:
            toggle = f"--toggle-collect=pipesim::models::{function}(*"
            command += ["--collect-atstart=no", toggle]
        done = subprocess.run([*command, PROGRAM, *arguments], capture_output=True, check=False)
        if done.returncode not in (0, 1):
            raise AssertionError(done.stderr.decode())
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                if line.startswith(("totals:", "summary:")):
                    return int(line.split()[1])
    raise AssertionError("callgrind has counted nothing")


@unittest.skipIf(SANITIZED, "valgrind does not run programs with sanitizers")
@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class Work(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def of_record(self, function, *options):
        """Returns the instructions of a function, for a record made by bench/make_record.py."""
        made = self.folder / "record"
        shutil.rmtree(made, ignore_errors=True)
        subprocess.run(
            [sys.executable, "-B", ROOT / "bench" / "make_record.py", made, *options], check=True
        )
        count = instructions(["import", "record", str(made)], function)
        self.assertGreater(count, 0, f"{function} is not called, or has another name")
        return count

    def test_steps_of_a_record_may_be_long(self):
        calls = ("--ranks=1", "--calls=2000")
        short = self.of_record("fold_loops", *calls, "--layers=20")
        long = self.of_record("fold_loops", *calls, "--layers=200")
        self.assertLess(long, 2 * short)

    def test_calls_are_not_compared_with_those_of_all_ranks(self):
        few = self.of_record("check_record", "--ranks=8", "--calls=80")
        many = self.of_record("check_record", "--ranks=64", "--calls=10")
        self.assertLess(many, few)

    def test_ranks_that_stand_still_are_asked_once(self):
        few = self.of_record("add_later_calls", "--ranks=8", "--calls=80", "--hangs")
        many = self.of_record("add_later_calls", "--ranks=64", "--calls=10", "--hangs")
        self.assertLess(many, 2 * few)

    def test_replicas_share_a_digest(self):
        """Checks that a replica costs a little work for each of its ranks, and none for its ops."""

        def run(micro_batches, data):
            file = self.folder / "job.yaml"
            file.write_text(inputs.megatron(8, data, 4, micro_batches))
            return instructions(["run", str(file)])

        ops_of_replicas = run(64, 64) - run(64, 8)
        ops_of_small_replicas = run(4, 64) - run(4, 8)
        self.assertLess(ops_of_replicas, 1.2 * ops_of_small_replicas)


if __name__ == "__main__":
    unittest.main()
