#!/usr/bin/env python3
"""Seeds one fault after another and checks that the test named by the fault catches it.

faults.txt is the list, and documents its format. For each fault, the script compiles the changed
sources (for a changed header: the sources that include it, and those of one folder together), links
them with the objects of the tests, and expects the named test to fail. A crash or an endless run
also counts as a failure. Without a fault, each of these tests must pass, on few of its plans: CTest
runs the tests on all plans.

CTest calls the script as "faults" in builds with g++ and without sanitizers (see CMakeLists.txt).
By hand, use the file that CMake has written:

    tests/faults/run_faults.py build/release/tests/faults/link_inputs.txt [--only 'part of a name']

A run tries a tenth of the faults, selected by the commit, so all have their turn.
PIPESIM_FAULTS=all tries all; do so after a change to sim/, models/lowering/ or tests/twin/.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import itertools
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARE = 10
DEFAULT_TEST = "the engine and the twin agree *"
FLAGS = ["-std=c++20", "-O1", "-DNDEBUG", "-ffp-contract=off", "-w"]
INCLUDE = re.compile(r'^#include "(sim/[^"]+)"', re.MULTILINE)

# Limits of a test, which normally takes a few seconds: a fault can make the test endless, or fill
# the memory. SECONDS is processor time, because a slow run on a busy machine must not count as
# caught.
SECONDS = 90
BYTES = 2 << 30

# Environment of the tests, which sets the number of plans: PLANS for a run with a fault, FEW_PLANS
# for a run without a fault.
PLANS = {"PIPESIM_ORDERS_PLANS": "2000"}
FEW_PLANS = {
    "PIPESIM_ORDERS_PLANS": "100",
    "PIPESIM_TWIN_PLANS": "1000",
    "PIPESIM_EXPLORED_PLANS": "200",
}


@dataclasses.dataclass
class Change:
    file: str
    find: str
    replacement: str = ""


@dataclasses.dataclass
class Fault:
    line: int
    name: str
    rule: str = ""
    file: str = ""  # file of the next change
    test: str = DEFAULT_TEST
    changes: list = dataclasses.field(default_factory=list)


class Mistake(Exception):
    """An error in the list of faults, or in the arguments of the runner."""


def read_faults(path):
    faults = []
    previous = ""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        kind, _, value = line.partition(" ")
        value = value if kind in "-+" else value.strip()
        if kind == "fault":
            faults.append(Fault(number, value))
        elif kind in ("rule", "file", "test") and faults:
            setattr(faults[-1], kind, value)
        elif kind == "-" and faults:
            if previous == "-":
                faults[-1].changes[-1].find += "\n" + value
            else:
                faults[-1].changes.append(Change(faults[-1].file, value))
        elif kind == "+" and previous == "-":
            faults[-1].changes[-1].replacement = value
        elif kind == "+" and previous == "+":
            faults[-1].changes[-1].replacement += "\n" + value
        elif line and not line.startswith("#"):
            raise Mistake(f"{path}:{number}: what is this? {line}")
        previous = kind
    return faults


def check(faults, path):
    """Checks that names are unique, and that each text to find occurs exactly once in its
    source.
    """
    mistakes = []
    names = set()
    for fault in faults:
        where = f"{path}:{fault.line}: '{fault.name}'"
        if fault.name in names:
            mistakes.append(f"{where}: this name is taken")
        names.add(fault.name)
        if not fault.rule or not fault.changes:
            mistakes.append(f"{where}: needs a rule and a change")
        for change in fault.changes:
            file = ROOT / change.file
            count = file.read_text().count(change.find) if file.is_file() else 0
            # The objects of other folders would keep the old header.
            if not change.file.startswith(("sim/", "features/")) and change.file.endswith(".hpp"):
                mistakes.append(f"{where}: {change.file}: a header that other folders include")
            if count != 1:
                mistakes.append(
                    f"{where}: stands {count} times in {change.file}, not once:\n{change.find}"
                )
    if mistakes:
        raise Mistake("\n".join(mistakes))


def with_fault(source, changes):
    """Returns the source with all changes made; no change applies to inserted text."""
    text = ""
    done = 0
    for change in sorted(changes, key=lambda change: source.index(change.find)):
        begin = source.index(change.find)
        text += source[done:begin] + change.replacement
        done = begin + len(change.find)
    return text + source[done:]


def includes_of_sim():
    """Returns the files of sim/ that each file of sim/ includes, directly or not."""
    direct = {
        str(path.relative_to(ROOT)): set(INCLUDE.findall(path.read_text()))
        for path in (ROOT / "sim").rglob("*.?pp")
    }
    closed = {}
    for file, found in direct.items():
        waiting = list(found)
        while waiting:
            more = direct.get(waiting.pop(), set()) - found
            found = found | more
            waiting += more
        closed[file] = found
    return closed


class Runner:
    def __init__(self, compiler, link_inputs):
        self.compiler = compiler
        self.link_inputs = link_inputs
        self.includes = includes_of_sim()

    def build(self, folder, texts):
        """Builds the tests with these texts in place of the files of these names."""
        program = folder / "tests"
        for file, text in texts.items():
            copy = folder / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
        changed = [
            pathlib.Path(file)
            for file, included in self.includes.items()
            if file.endswith(".cpp") and (file in texts or included & texts.keys())
        ]
        # Outside sim/, the sources of a folder are one object, so all of them are replaced.
        for parent in {pathlib.Path(file).parent for file in texts if not file.startswith("sim/")}:
            changed += [file.relative_to(ROOT) for file in (ROOT / parent).glob("*.cpp")]
        changed.sort(key=lambda file: (file.parent, file))
        # Like the build, uses one translation unit per folder, which takes a third of the time.
        units = []
        for parent, files in itertools.groupby(changed, key=lambda file: file.parent):
            units.append(folder / f"room_{len(units)}_{parent.name}.cpp")
            paths = [folder / file if str(file) in texts else ROOT / file for file in files]
            units[-1].write_text("".join(f'#include "{path}"\n' for path in paths))
        # The new objects come first, so that the linker uses their definitions.
        command = [self.compiler, *FLAGS, f"-I{folder}", f"-I{ROOT}", "-o", str(program)]
        done = subprocess.run(
            command + [str(unit) for unit in units] + self.link_inputs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise Mistake(f"does not compile:\n{done.stdout}")
        return program

    def run(self, program, test, plans):
        """Returns a description of the test's failure; None if it passed."""

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        done = subprocess.run(
            [str(program), test, "--abort"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**plans, **os.environ},
            cwd=ROOT,
            preexec_fn=limit,
            check=False,
        )
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return "no end"
        if done.returncode == 0:
            if not re.search(r"\bin [1-9]\d* test case", done.stdout):
                raise Mistake(f"the program has no test '{test}'")
            return None
        seed = re.search(r"^\s*seed (\d+)$", done.stdout, re.MULTILINE)
        at = f" at seed {seed[1]}" if seed else ""
        crashed = done.returncode < 0 or "SIG" in done.stdout
        return ("crash" if crashed else "differs") + at

    def try_fault(self, fault):
        texts = {
            file: with_fault(
                (ROOT / file).read_text(), [each for each in fault.changes if each.file == file]
            )
            for file in {change.file for change in fault.changes}
        }
        with tempfile.TemporaryDirectory(prefix="pipesim_fault_") as folder:
            return self.run(self.build(pathlib.Path(folder), texts), fault.test, PLANS)

    def try_without_faults(self, tests):
        with tempfile.TemporaryDirectory(prefix="pipesim_fault_") as folder:
            program = self.build(pathlib.Path(folder), {})
            for test in tests:
                found = self.run(program, test, FEW_PLANS)
                if found is not None:
                    raise Mistake(f"without a fault '{test}' does not pass: {found}")


def share_of(faults):
    """Returns the faults that this commit selects."""
    if os.environ.get("PIPESIM_FAULTS") == "all":
        return faults
    done = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    commit = done.stdout.strip() if done.returncode == 0 else "no commit"
    turn = int.from_bytes(hashlib.sha256(commit.encode()).digest()[:4], "big") % SHARE
    return [fault for i, fault in enumerate(faults) if i % SHARE == turn]


def run_all(runner, faults, jobs):
    """Prints a line per fault; returns the number of faults that were not caught or could not be
    tried."""
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
            print(f"{found or 'NOT CAUGHT':<22} {fault.rule:<15} {fault.name}", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description="Do the tests catch the seeded faults?")
    parser.add_argument("link_inputs", type=pathlib.Path, help="file with the objects to link")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="only faults of this rule, or named like this")
    arguments = parser.parse_args()
    path = HERE / "faults.txt"
    try:
        faults = read_faults(path)
        check(faults, path)
        if arguments.only:
            only = arguments.only
            faults = [fault for fault in faults if only in fault.name or only == fault.rule]
        else:
            faults = share_of(faults)
        inputs = arguments.link_inputs.read_text().split("\n")
        runner = Runner(arguments.compiler, [line for line in inputs if line])
        runner.try_without_faults(sorted({fault.test for fault in faults}))
    except Mistake as mistake:
        print(mistake)
        return 1
    missed = run_all(runner, faults, arguments.jobs)
    print(f"{len(faults)} faults, {len(faults) - missed} caught, {missed} not caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
