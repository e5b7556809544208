"""Records programs for the recorder's tests, and reads the records.

These tests import this module first: it makes torch and the package `pipesim` importable. A test is
called with the path of pipesim.
"""

import json
import os
import runpy
import subprocess
import sys

from with_torch import ROOT  # isort: skip

import torch

from pipesim import record

PROGRAMS = ROOT / "tests/record/programs"
PIPESIM = os.path.abspath(sys.argv.pop(1))
os.environ["PIPESIM"] = PIPESIM
# OpenMP threads of the parent do not exist in a forked child.
torch.set_num_threads(1)


def in_fork(script, ranks, *args, **options):
    """Records a script without starting a new interpreter, so all ranks have one hash seed."""

    def run():
        sys.argv = [str(script), *map(str, args)]
        runpy.run_path(str(script), run_name="__main__")

    return record(run, ranks=ranks, **options)


def command(*arguments, **options):
    """Runs `python3 -m pipesim.record`, or another module, and captures stdout and stderr."""
    module = options.pop("module", "pipesim.record")
    return subprocess.run(
        [sys.executable, "-B", "-m", module, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **options.pop("env", {})},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options,
    )  # fmt: skip


def lines(recorded, rank):
    """Returns the lines of a rank's file, parsed. Places, e.g. `train.py:20`, replace their ids."""
    places, found = {}, []
    for text in (recorded.path / f"rank{rank}.jsonl").read_text().splitlines():
        line = json.loads(text)
        if "at" in line:
            places[line["def"]] = line["at"].rpartition("/")[2]
        if "l" in line:
            line["l"] = places[line["l"]]
        found.append(line)
    return found


def calls(recorded, rank):
    return [line for line in lines(recorded, rank) if "call" in line and "def" not in line]


def line_of(program, text):
    """Returns `PROGRAM:LINE` for the first line of a program that contains `text`."""
    for number, line in enumerate((PROGRAMS / program).read_text().splitlines(), 1):
        if text in line:
            return f"{program}:{number}"
    raise AssertionError(f"{program} has no line with {text}")
