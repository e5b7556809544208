"""A file that is too large or cannot be written gives an error message.

    too_large_test.py PROGRAM

The files are sparse, or repeat one item.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
SMALL = "schema: 1\nactors: {a: {source: 1}}\n"


class TooLarge(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def told(self, *arguments, code=2, out=subprocess.DEVNULL):
        """Returns the first line of the program's error."""
        run = subprocess.run(
            [PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.PIPE, check=False,
        )
        self.assertEqual(run.returncode, code, run.stderr[:1000])
        return run.stderr.decode().split("\n")[0]

    def sparse(self, name, size):
        with open(self.folder / name, "wb") as file:
            file.truncate(size)

    def test_files(self):
        self.sparse("big_0", (256 << 20) + 1)
        self.assertEqual(
            self.told("diagnose", "flight-recorder", "big_0"),
            "big_0: error[E0107]: a dump can have at most 256 MiB",
        )
        self.assertEqual(
            self.told("diagnose", "stacks", "big_0"),
            "big_0: error[E0107]: a file of stacks can have at most 256 MiB",
        )
        self.assertEqual(
            self.told("diagnose", "ras", "big_0"),
            "big_0: error[E0107]: a report of RAS can have at most 64 MiB",
        )
        self.assertEqual(
            self.told("diagnose", "facts", "big_0"),
            "big_0: error[E0107]: a file of facts can have at most 64 MiB",
        )
        self.assertEqual(
            self.told("diagnose", "boxing", "big_0"),
            "big_0: error[E0107]: a boxing log can have at most 256 MiB",
        )

    def test_files_of_runs(self):
        (self.folder / "job.yaml").write_text(SMALL)
        self.sparse("big.csv", (256 << 20) + 1)
        self.assertEqual(
            self.told("run", "job.yaml", "--replay", "big.csv"),
            "big.csv: error[E0107]: an order file can have at most 256 MiB",
        )
        self.assertEqual(
            self.told("import", "torch-schedule", "big.csv"),
            "big.csv: error[E0107]: a schedule file can have at most 256 MiB",
        )
        (self.folder / "big.json").write_text('{"fingerprint": "0"')
        os.truncate(self.folder / "big.json", (256 << 20) + 1)
        self.assertEqual(
            self.told("diff", "job.yaml", "big.json"),
            "big.json: error[E0107]: a report can have at most 256 MiB",
        )

    def test_records(self):
        (self.folder / "record").mkdir()
        (self.folder / "record" / "record.json").write_text('{"record": 1, "world": 1}')
        rank = self.folder / "record" / "rank0.jsonl"
        rank.write_text('{"record":1,"rank":0,"world":1}\n{"note":"' + "x" * (4 << 20) + '"}\n')
        self.assertEqual(
            self.told("check", "record"),
            "record/rank0.jsonl:2:1: error[E0107]: a line has at most 4 MiB",
        )
        os.truncate(rank, (256 << 20) + 1)
        self.assertEqual(
            self.told("check", "record"),
            "record/rank0.jsonl:1:1: error[E0107]: a file of a record has at most 256 MiB",
        )

    def test_dumps(self):
        (self.folder / "values_0.json").write_text("[" + "0," * 20_000_000 + "0]")
        self.assertEqual(
            self.told("diagnose", "flight-recorder", "values_0.json"),
            "values_0.json:1:40000000: error[E0107]: this file has more than 20000000 values",
        )
        (self.folder / "values_0").write_bytes(b"\x80\x02" + b"N" * 20_000_001)
        self.assertEqual(
            self.told("diagnose", "flight-recorder", "values_0"),
            "values_0: error[E1103]: byte 20000002: this pickle has more than 20000000 values",
        )
        entries = "0," * 1_000_000 + "0"
        (self.folder / "entries_0.json").write_text(f'{{"version": "2.4", "entries": [{entries}]}}')
        self.assertEqual(
            self.told("diagnose", "flight-recorder", "entries_0.json"),
            "entries_0.json: error[E0107]: a dump may have at most 1000000 entries, found 1000001",
        )

    def test_logs(self):
        with open(self.folder / "stacks_0.txt", "w", encoding="utf-8") as file:
            file.writelines(f'Thread {i} (idle): "x"\n    f (a.py:1)\n' for i in range(1_000_002))
        self.assertEqual(
            self.told("diagnose", "stacks", "stacks_0.txt"),
            "stacks_0.txt: error[E0107]: more than 1000000 threads",
        )
        head = "I20220419 10:11:02.001000   101 kernel.cpp:52] before: "
        with open(self.folder / "ops_0.log", "w", encoding="utf-8") as file:
            file.writelines(f"{head}{i}\n" for i in range(1_000_001))
        self.assertEqual(
            self.told("diagnose", "oneflow", "ops_0.log"),
            "ops_0.log:1000001:1: error[E0107]: more than 1000000 ops in these logs",
        )

    def test_plans(self):
        (self.folder / "tasks").write_text("task{}\n" * 1_000_001)
        self.assertEqual(
            self.told("import", "oneflow-plan", "tasks"),
            "tasks:1000001:1: error[E0107]: a plan can have at most 1000000 tasks",
        )
        (self.folder / "fields").write_text("a:1 " * 10_000_001)
        self.assertEqual(
            self.told("import", "oneflow-plan", "fields"),
            "fields:1:40000001: error[E0107]: more than 10000000 fields",
        )

    def test_patches(self):
        (self.folder / "job.yaml").write_text(SMALL)
        (self.folder / "patch.yaml").write_text("patch: 1\n")
        self.assertEqual(
            self.told("run", "job.yaml", *["--patch", "patch.yaml"] * 256),
            "job.yaml: error[E0107]: a scenario takes at most 255 patches, found 256",
        )

    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "this system has no /dev/full")
    def test_full(self):
        (self.folder / "job.yaml").write_text(SMALL)
        with open("/dev/full", "wb") as full:
            self.assertEqual(
                self.told("run", "job.yaml", code=74, out=full),
                "error[E1507]: cannot write to standard output",
            )


if __name__ == "__main__":
    unittest.main()
