"""Runs one golden case and compares the program's output with the expectation.

    run_golden.py PROGRAM CASE.test

cases.py documents the file. The commands run in a new folder with the case's input files, and
links to the files of the folder CASE, if there is one (samples that pages or other tests also use),
to `scenarios`, and as `golden` to the samples of all cases. OUT is an empty folder. VERSION in an
output is the program's version. PIPESIM_UPDATE_GOLDEN=1 writes the actual output into the case; read
the diff.
"""

import difflib
import itertools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import cases

ROOT = cases.FOLDER.parents[1]
PROJECT = re.search(r"VERSION (\d[\d.]*)\n", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
MADE_BY = re.compile(rb"pipesim " + re.escape(PROJECT[1].encode()) + rb"[\w.+-]*")


def run(program, line, folder):
    """Returns (stdout, stderr, exit) of one command line."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    for name, value in os.environ.items():
        if name.endswith("SAN_OPTIONS"):  # of sanitizers
            environment[name] = value
    words = shlex.split(line)
    given = list(itertools.takewhile(lambda word: word != "pipesim", words))
    environment.update(word.split("=", 1) for word in given)
    run = subprocess.run(
        [program, *words[len(given) + 1 :]], cwd=folder, stdin=subprocess.DEVNULL,
        capture_output=True, env=environment, check=False,
    )
    return run.stdout, run.stderr, run.returncode


def prepare(case, parts, folder):
    """Makes the input files of a case."""
    for name, data in cases.contents(parts).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    samples = case.with_suffix("")
    links = [*(samples.iterdir() if samples.is_dir() else ()), ROOT / "scenarios"]
    for target in links:
        (folder / target.name).symlink_to(target)
    (folder / "golden").symlink_to(cases.FOLDER)
    (folder / "OUT").mkdir()


def main():
    program, case = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    before = case.read_text(encoding="utf-8", errors="surrogateescape")
    comment, parts = cases.read_case(case)
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        prepare(case, parts, folder)

        def text_of(data, removed=()):
            data = MADE_BY.sub(b"pipesim VERSION", data)
            return cases.shown(data.decode("utf-8", "surrogateescape"), folder, removed)

        for part in parts:
            if isinstance(part, cases.Command):
                stdout, stderr, part.exit = run(program, part.line, folder)
                part.stdout, part.stderr = text_of(stdout, part.removed), text_of(stderr)
        for part in parts:
            if isinstance(part, cases.File) and part.how == "written":
                part.text = text_of((folder / part.name).read_bytes())
    after = cases.written(comment, parts)
    if after == before:
        return 0
    if os.environ.get("PIPESIM_UPDATE_GOLDEN") == "1":
        case.write_text(after, encoding="utf-8", errors="surrogateescape")
        return 0 if (comment, parts) == cases.read_case(case) else f"{case}: cannot be read again"
    lines = (text.splitlines(keepends=True) for text in (before, after))
    for line in difflib.unified_diff(*lines, f"{case.name} (expected)", f"{case.name} (found)"):
        sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape"))
    return 1


if __name__ == "__main__":
    sys.exit(main())
