#!/usr/bin/env python3
"""Makes small mistakes in a source, one at a time, and lists those that the tests do not catch.

    tests/faults/mutate.py build/release/tests/faults/link_inputs.txt sim/engine/calls.cpp
        [--lines 100-180] [--test 'following *'] [--most 50] [--seed 1]

Run it by hand after a change to sim/ or models/lowering/. A mistake replaces one operator, negates a
condition, or removes a statement. One that survives either does not change what the code does, or
shows that a test is missing: write the test, and a fault in faults.txt if it stands for a rule.
"""

import argparse
import pathlib
import random
import re
import sys

import run_faults

# Each pattern matches within one line; the replacements of a match are tried one by one.
OPERATORS = {
    r"(?<=[\w)\]] )<(?= [\w(])": ["<=", ">="],
    r" <= ": [" < ", " > "],
    r"(?<=[\w)\]] )>(?= [\w(])": [">=", "<="],
    r" >= ": [" > ", " < "],
    r" == ": [" != "],
    r" != ": [" == "],
    r" && ": [" || "],
    r" \|\| ": [" && "],
    r" \+ ": [" - "],
    r" - ": [" + "],
    r" \+= ": [" -= "],
    r"\+\+": ["--"],
    r"\btrue\b": ["false"],
    r"\bfalse\b": ["true"],
    r"\bmin\(": ["max("],
    r"\bmax\(": ["min("],
    r"(?<=\bif \()(?!const|auto|!)": ["!"],
    r"\bbreak;": ["continue;"],
    r"\bcontinue;": ["break;"],
}
STATEMENT = re.compile(r"^\s+(?!return|const|auto|using|break|continue)[\w.\->\[\]]+(?:\(.*\)| [-+|&]?= .*);$")
NOT_CODE = re.compile(r"^\s*(?://|#|static_assert|template)")


def mutants(text, first, last):
    """Yields (line number, new line) of every mistake in the lines."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not first <= number <= last or NOT_CODE.match(line):
            continue
        code = line.split("  // ")[0]
        for pattern, replacements in OPERATORS.items():
            for found in re.finditer(pattern, code):
                for replacement in replacements:
                    yield number, line[: found.start()] + replacement + line[found.end() :]
        if STATEMENT.match(code):
            yield number, ""


def main():
    parser = argparse.ArgumentParser(description="Do the tests catch small mistakes in a file?")
    parser.add_argument("link_inputs", type=pathlib.Path, help="file with the objects to link")
    parser.add_argument("file", help="source, from the root")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--lines", default="1-1000000", help="lines of the file")
    parser.add_argument("--test", default=run_faults.DEFAULT_TEST, help="test that must fail")
    parser.add_argument("--most", type=int, default=50, help="number of mistakes, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    first, last = map(int, arguments.lines.split("-"))
    text = (run_faults.ROOT / arguments.file).read_text()
    lines = text.splitlines()
    found = list(mutants(text, first, last))
    drawn = random.Random(arguments.seed).sample(found, min(arguments.most, len(found)))
    faults = []
    for number, line in sorted(drawn):
        # Whole texts, because a line can occur several times in a file.
        changed = "\n".join([*lines[: number - 1], line, *lines[number:]]) + "\n"
        name = f"{lines[number - 1].strip()}  ->  {line.strip() or 'nothing'}"
        change = run_faults.Change(arguments.file, text, changed)
        faults.append(
            run_faults.Fault(number, name, f"line {number}", test=arguments.test, changes=[change])
        )
    inputs = [line for line in arguments.link_inputs.read_text().split("\n") if line]
    runner = run_faults.Runner(arguments.compiler, inputs)
    runner.try_without_faults([arguments.test])
    missed = run_faults.run_all(runner, faults, arguments.jobs)
    print(f"{len(found)} mistakes are possible, {len(faults)} tried, {missed} not caught")


if __name__ == "__main__":
    sys.exit(main())
