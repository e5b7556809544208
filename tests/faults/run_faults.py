#!/usr/bin/env python3
"""Seeds one fault after the other into the engine and sees whether the twin test catches it.

faults.txt is the list, and says how it is written. For each fault one source is copied with the
fault in it, compiled, and linked with the objects of the twin test; then the test must fail. A
crash or a run without end is a failure too. The sources as they are must pass.

CTest calls it as "faults", where the build is one of g++ without sanitizers (CMakeLists.txt here);
by hand, with the file that CMake has written:

    tests/faults/run_faults.py build/release/tests/faults/link_inputs.txt [--only 'part of a name']

All of them take a quarter of an hour on two cores, so a run tries a sixth: which one depends on the
sources of the engine and nothing else. PIPESIM_FAULTS=all tries all; do so after a change to sim/
or tests/twin/.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARE = 6
# In the timing of the plan, and in random ones.
TESTS = "the engine and the twin agree *"
COUNT = "2 test cases"
FLAGS = ["-std=c++20", "-O1", "-DNDEBUG", "-ffp-contract=off", "-w"]

# The test takes a second or two. A fault can make a run endless, or fill the memory.
SECONDS = 60
BYTES = 2 << 30


@dataclasses.dataclass
class Change:
    find: str
    replacement: str = ""


@dataclasses.dataclass
class Fault:
    line: int
    name: str
    rule: str = ""
    file: str = ""
    changes: list = dataclasses.field(default_factory=list)


class Mistake(Exception):
    """In the list of faults, or in what the runner is given."""


def read_faults(path):
    faults = []
    previous = ""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        kind, _, value = line.partition(" ")
        value = value if kind in "-+" else value.strip()
        if kind == "fault":
            faults.append(Fault(number, value))
        elif kind in ("rule", "file") and faults:
            setattr(faults[-1], kind, value)
        elif kind == "-" and faults:
            if previous == "-":
                faults[-1].changes[-1].find += "\n" + value
            else:
                faults[-1].changes.append(Change(value))
        elif kind == "+" and previous == "-":
            faults[-1].changes[-1].replacement = value
        elif kind == "+" and previous == "+":
            faults[-1].changes[-1].replacement += "\n" + value
        elif line and not line.startswith("#"):
            raise Mistake(f"{path}:{number}: what is this? {line}")
        previous = kind
    return faults


def check(faults, path):
    """Names are unique, and each text to find stands exactly once in its source."""
    mistakes = []
    names = set()
    for fault in faults:
        where = f"{path}:{fault.line}: '{fault.name}'"
        if fault.name in names:
            mistakes.append(f"{where}: this name is taken")
        names.add(fault.name)
        if not fault.rule or not fault.changes or not (ROOT / fault.file).is_file():
            mistakes.append(f"{where}: needs a rule, a file and a change")
            continue
        source = (ROOT / fault.file).read_text()
        for change in fault.changes:
            count = source.count(change.find)
            if count != 1:
                mistakes.append(
                    f"{where}: stands {count} times in {fault.file}, not once:\n{change.find}"
                )
    if mistakes:
        raise Mistake("\n".join(mistakes))


def with_fault(source, fault):
    """The source with all changes made, none of which sees what another has put in."""
    text = ""
    done = 0
    for change in sorted(fault.changes, key=lambda change: source.index(change.find)):
        begin = source.index(change.find)
        text += source[done:begin] + change.replacement
        done = begin + len(change.find)
    return text + source[done:]


class Runner:
    def __init__(self, compiler, link_inputs):
        self.compiler = compiler
        self.link_inputs = link_inputs
        self.sources = sorted(str(path) for path in (ROOT / "sim").rglob("*.cpp"))

    def build(self, folder, file, text):
        """The twin test with `file` replaced. A changed header is compiled into all of sim/."""
        program = folder / "twin_tests"
        sources = self.sources
        if file:
            changed = folder / file
            changed.parent.mkdir()
            changed.write_text(text)
            if file.endswith(".cpp"):
                sources = [str(changed)]
        # What is compiled here stands first, so that the linker takes no other definition.
        command = [self.compiler, *FLAGS, f"-I{folder}", f"-I{ROOT}", "-o", str(program)]
        done = subprocess.run(
            command + sources + self.link_inputs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise Mistake(f"does not compile:\n{done.stdout}")
        return program

    def run(self, program):
        """How the test failed, in words; None if it passed."""

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        try:
            done = subprocess.run(
                [str(program), TESTS],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=SECONDS,
                preexec_fn=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "no end"
        if done.returncode == 0:
            if COUNT not in done.stdout:
                raise Mistake(f"the program has not {COUNT} '{TESTS}'")
            return None
        seed = re.search(r"^\s*seed (\d+)$", done.stdout, re.MULTILINE)
        at = f" at seed {seed[1]}" if seed else ""
        crashed = done.returncode < 0 or "SIG" in done.stdout
        return ("crash" if crashed else "differs") + at

    def try_fault(self, fault):
        with tempfile.TemporaryDirectory(prefix="pipesim_fault_") as folder:
            if fault is None:
                return self.run(self.build(pathlib.Path(folder), None, None))
            text = with_fault((ROOT / fault.file).read_text(), fault)
            return self.run(self.build(pathlib.Path(folder), fault.file, text))


def share_of(faults):
    """Those whose turn it is with these sources."""
    if os.environ.get("PIPESIM_FAULTS") == "all":
        return faults
    sources = hashlib.sha256()
    for path in sorted((ROOT / "sim").rglob("*.?pp")):
        sources.update(path.read_bytes())
    turn = int.from_bytes(sources.digest()[:4], "big") % SHARE
    return [fault for i, fault in enumerate(faults) if i % SHARE == turn]


def run_all(runner, faults, jobs):
    """Prints a line per fault; returns how many were not caught or could not be tried."""
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(runner.try_fault, fault) for fault in faults]
        for fault, future in zip(faults, futures):
            try:
                found = future.result()
            except Mistake as mistake:
                found = None
                print(f"{HERE / 'faults.txt'}:{fault.line}: {mistake}")
            if found is None:
                missed += 1
            print(f"{found or 'NOT CAUGHT':<22} {fault.rule:<4} {fault.name}", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description="Are the seeded faults caught by the twin test?")
    parser.add_argument("link_inputs", type=pathlib.Path, help="file with the objects to link")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="only faults whose name contains this")
    arguments = parser.parse_args()
    path = HERE / "faults.txt"
    try:
        faults = read_faults(path)
        check(faults, path)
        inputs = arguments.link_inputs.read_text().split("\n")
        runner = Runner(arguments.compiler, [line for line in inputs if line])
        found = runner.try_fault(None)
        if found is not None:
            raise Mistake(f"the sources as they are do not pass: {found}")
    except Mistake as mistake:
        print(mistake)
        return 1
    if arguments.only:
        faults = [fault for fault in faults if arguments.only in fault.name]
    else:
        faults = share_of(faults)
    missed = run_all(runner, faults, arguments.jobs)
    print(f"{len(faults)} faults, {len(faults) - missed} caught, {missed} not caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
