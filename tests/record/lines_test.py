"""Tests of places: the lines of a script that led to a call.

    lines_test.py PIPESIM

Needs torch, for this interpreter or for /usr/bin/python3.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from recordings import PROGRAMS, ROOT, line_of  # isort: skip

from pipesim import record

FRAMEWORK = """import torch.distributed as dist


class Trainer:
    def __init__(self, callback=None):
        self.callback = callback

    def train(self, x):
        self.all_reduce(x)
        if self.callback is not None:
            self.callback()

    def all_reduce(self, x):
        dist.all_reduce(x)
"""


def stacks(folder, rank):
    """Returns the stack of each call and exception in a rank's file: a list of (`FILE:LINE`,
    whether it is in a package), innermost first."""
    places, found = {}, []
    for line in map(json.loads, (folder / f"rank{rank}.jsonl").read_text().splitlines()):
        if "at" in line:
            up = places[line["up"]] if "up" in line else []
            places[line["def"]] = [(line["at"], line.get("lib", False)), *up]
        elif "call" in line or line.get("end") == "raised":
            found.append(places[line["l"]])
    return found


class Lines(unittest.TestCase):
    def test_the_stack_of_a_call_has_the_lines_that_led_to_it(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "site-packages/framework")
            package.mkdir(parents=True)
            (package / "trainer.py").write_text(FRAMEWORK)
            out = pathlib.Path(folder, "out")
            arguments = ["--ranks", 1, "--only-record", "-o", out, PROGRAMS / "lines.py", folder]
            ran = subprocess.run(
                [sys.executable, "-B", "-m", "pipesim.record", *map(str, arguments)],
                env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(1, ran.returncode, ran.stderr)

            found = stacks(out, 0)

        def at(text):
            return line_of("lines.py", text), False

        def inside(text):
            return (
                f"framework/trainer.py:{FRAMEWORK[: FRAMEWORK.index(text)].count(chr(10)) + 1}",
                True,
            )

        train, reduce = inside("self.all_reduce(x)"), inside("dist.all_reduce(x)")
        expected = [
            [at("# through a decorator"), at("# shares")],
            [at("# the decorator's own"), at("# counts")],
            [at("# in forward"), at("# calls the model")],
            [reduce, train, at("# trains")],
            [reduce, train, at("# trains with")],
            [at("# in the callback"), inside("self.callback()"), at("# trains with")],
            [at("# raises")],
        ]
        self.assertEqual(expected, found)

    def record_text(self, filename):
        """Records a function that was compiled from text with this file name; returns the stacks
        of its calls."""
        text = "import torch.distributed as dist\ndef job():\n    dist.init_process_group('gloo')\n"
        namespace = {}
        exec(compile(text + "    dist.barrier()\n", filename, "exec"), namespace)
        recorded = record(namespace["job"], ranks=1)
        return stacks(recorded.path, 0)

    def test_lines_that_were_typed(self):
        self.assertEqual([[("<stdin>:4", False)]], self.record_text("<stdin>"))
        self.assertEqual([[("In[12]:4", False)]], self.record_text("<ipython-input-12-3f0a>"))
        self.assertEqual([[("notebook:4", False)]], self.record_text("/tmp/ipykernel_81/92.py"))

        class Shell:  # maps a cell's file name to the number of its execution, like IPython
            class compile:
                _filename_map = {"/tmp/ipykernel_81/92.py": 7}

        class IPython:
            get_ipython = Shell

        sys.modules["IPython"] = IPython
        try:
            self.assertEqual([[("In[7]:4", False)]], self.record_text("/tmp/ipykernel_81/92.py"))
        finally:
            del sys.modules["IPython"]

    def test_code_without_a_line_has_none(self):
        namespace = {}
        text = "import torch.distributed as dist\ndef job():\n    dist.init_process_group('gloo')\n"
        exec(compile(text, "<generated>", "exec"), namespace)
        recorded = record(namespace["job"], ranks=1)
        written = (recorded.path / "rank0.jsonl").read_text()
        # The record has no place at all, not even the line that called record().
        self.assertNotIn('"at"', written)
        self.assertIn('"init"', written)


if __name__ == "__main__":
    unittest.main()
