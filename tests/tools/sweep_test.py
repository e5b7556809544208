"""A sweep as a process: threads, shards, Ctrl-C; and output files for other programs.

sweep_test.py PROGRAM
"""

import csv
import io
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SWIN = ROOT / "scenarios" / "swin_2x2x2.yaml"

# A sweep long enough to be stopped midway.
LONG = """schema: 1
streams: {s: {}}
actors:
  a: {stream: s, source: 20000, slots: 2, takes: 1us}
  b: {stream: s, reads: [a], takes: 1us}
"""


def sweep(*arguments, folder, expected=(0, 1)):
    run = subprocess.run(
        [PROGRAM, "sweep", *arguments], cwd=folder, capture_output=True, check=False,
        stdin=subprocess.DEVNULL,
    )
    if run.returncode not in expected:
        raise AssertionError(f"{run.returncode}: {run.stderr.decode()}")
    return run.stdout


class Sweep(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def sweep(self, *arguments, **options):
        return sweep(*arguments, folder=self.folder, **options)

    def test_400_timings_are_the_same_by_threads_and_shards(self):
        timings = [SWIN, "--vary", "jitter=free", "--seeds", "400"]
        one = self.sweep(*timings, "--jobs", "1", "--csv", "-")
        self.assertEqual(401, one.count(b"\n"))
        self.assertEqual(one, self.sweep(*timings, "--jobs", "2", "--csv", "-"))
        for index in range(1, 8):
            self.sweep(*timings, "--shard", f"{index}/7", "-o", f"part{index}.jsonl", expected=(0,))
        parts = sorted(self.folder.glob("part*.jsonl"), reverse=True)
        self.assertEqual(one, self.sweep("--merge", *parts, "--csv", "-"))
        text = self.sweep(*timings)
        self.assertEqual(text, self.sweep("--merge", *parts))

    def test_ctrl_c_and_on(self):
        (self.folder / "long.yaml").write_text(LONG)
        timings = ["long.yaml", "--seeds", "300", "-o", "runs.jsonl"]
        runs = self.folder / "runs.jsonl"
        with subprocess.Popen(
            [PROGRAM, "sweep", *timings], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as run:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                if runs.exists() and runs.read_bytes().count(b"\n") > 3:
                    break
                time.sleep(0.005)
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=60)
        self.assertEqual(130, run.returncode, err)
        self.assertEqual(b"", out)
        self.assertRegex(err, rb"^interrupted: \d+ of 300 runs are done; they are in runs.jsonl")
        done = runs.read_bytes()
        self.assertLess(done.count(b"\n"), 301)
        self.assertEqual(b"\n", done[-1:])
        self.assertEqual(self.sweep(*timings[:-2]), self.sweep(*timings))
        self.assertEqual(301, runs.read_bytes().count(b"\n"))
        self.assertLessEqual(set(done.splitlines()), set(runs.read_bytes().splitlines()))

    def test_what_it_writes_can_be_read(self):
        name = '<i> & "ü"'
        (self.folder / "odd.yaml").write_text(
            f"schema: 1\nname: '{name}'\nparams: {{w: {{default: 'a,b', one_of: ['a,b', 'x\"<y']}},"
            " n: 1, t: 1us}\nactors: {a: {source: n, takes: t}}\n")
        options = ["odd.yaml", "--vary", "n=1..3", "--vary", "t=1us,10us,1ms", "--vary", 'w=x"<y',
                   "--seeds", "2"]
        rows = list(csv.DictReader(io.StringIO(self.sweep(*options, "--csv", "-").decode())))
        self.assertEqual(18, len(rows))
        self.assertEqual(("1", "1us", 'x"<y', "10%", "0"),
                         tuple(rows[0][key] for key in ("n", "t", "w", "jitter", "seed")))
        self.assertEqual({"completed"}, {row["verdict"] for row in rows})
        self.assertEqual(len(rows), len({row["fingerprint"] for row in rows}))
        result = json.loads(self.sweep(*options, "--json"))
        self.assertEqual(
            ["schema", "scenario", "path", "settings", "variables", "seeds", "runs",
             "not_completed", "points", "hangs"], list(result))
        self.assertEqual(name, result["scenario"])
        self.assertEqual({"n": "1", "t": "1us", "w": 'x"<y'}, result["points"][0]["parameters"])
        for index, point in enumerate(result["points"]):
            times = sorted(int(row["time_ns"]) for row in rows[2 * index:2 * index + 2])
            self.assertEqual({"shortest": times[0], "median": times[0], "longest": times[1]},
                             point["makespan_ns"])
        self.sweep(*options, "--plot", "odd.svg")
        root = xml.etree.ElementTree.parse(self.folder / "odd.svg").getroot()
        self.assertEqual("{http://www.w3.org/2000/svg}svg", root.tag)
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        for text in (name, "n", "1", "2", "3", "0%", "100%", 't, w', '1us, x"<y', '1ms, x"<y'):
            self.assertIn(text, texts)
        width, height = (float(root.get(key)) for key in ("width", "height"))
        for element in root.iter("{http://www.w3.org/2000/svg}text"):
            self.assertTrue(0 < float(element.get("x")) < width)
            self.assertTrue(0 < float(element.get("y")) < height)

    def test_one_file_is_for_one_process(self):
        (self.folder / "long.yaml").write_text(LONG)
        timings = ["long.yaml", "--seeds", "100000", "-o", "runs.jsonl"]
        runs = self.folder / "runs.jsonl"
        with subprocess.Popen([PROGRAM, "sweep", *timings], cwd=self.folder,
                              stderr=subprocess.PIPE) as first:
            try:
                deadline = time.monotonic() + 60
                while time.monotonic() < deadline and not (runs.exists() and runs.stat().st_size):
                    time.sleep(0.005)
                second = subprocess.run([PROGRAM, "sweep", *timings], cwd=self.folder,
                                        capture_output=True, check=False)
            finally:
                first.send_signal(signal.SIGINT)
                first.communicate(timeout=60)
        self.assertEqual(2, second.returncode)
        self.assertIn(b"runs.jsonl: error[E1601]: another sweep is writing to this file", second.stderr)


if __name__ == "__main__":
    unittest.main()
