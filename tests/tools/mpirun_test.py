"""mpirun spreads a sweep over processes, each of which takes its shard from the environment
(docs/how-to/sweep.md).

mpirun_test.py PROGRAM
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
TIMINGS = [ROOT / "scenarios" / "swin_2x2x2.yaml", "--vary", "acc=2..4", "--vary", "jitter=0,free",
           "--seeds", "20"]


class Mpirun(unittest.TestCase):
    def test_two_processes_do_what_one_does(self):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        with tempfile.TemporaryDirectory() as folder:
            def run(*command):
                return subprocess.run(
                    command, cwd=folder, capture_output=True, check=False, env=environment,
                    stdin=subprocess.DEVNULL,
                )

            shards = run("mpirun", "--oversubscribe", "-np", "2", PROGRAM, "sweep", *TIMINGS,
                         "--shard", "auto", "-o", "part{shard}.jsonl")
            # Hanging runs do not fail a shard; a failure would make mpirun stop the others.
            self.assertEqual(0, shards.returncode, shards.stderr.decode())
            self.assertIn(b"shard 1/2: 32 runs done", shards.stdout)
            self.assertIn(b"shard 2/2: 31 runs done", shards.stdout)
            self.assertEqual(["part1.jsonl", "part2.jsonl"], sorted(os.listdir(folder)))
            merged = run(PROGRAM, "sweep", "--merge", "part2.jsonl", "part1.jsonl")
            whole = run(PROGRAM, "sweep", *TIMINGS)
            self.assertEqual((1, whole.stdout), (merged.returncode, merged.stdout))
            self.assertIn(b"63 runs", whole.stdout)


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("SKIPPED: mpirun is not here; it comes with the package openmpi-bin")
    else:
        unittest.main()
