"""Explores all patterns and their fixed forms, by hand: prints runs, CPU seconds and the answer.

    python3 tests/explore/all_patterns.py build/release/bin/pipesim [RANKS]

Runs in an empty folder, because each exploration copies the folder.
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "record"))
import recordings  # noqa: E402, F401  # isort: skip

import patterns  # noqa: E402
from pipesim import explore  # noqa: E402


def main():
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    os.chdir(tempfile.mkdtemp())
    wrong = []
    for pattern, options in patterns.PATTERNS.items():
        for fixed in (False, True):
            begin = os.times()
            given = {**options, "ranks": max(ranks, options.get("ranks", 2))}
            found = explore(patterns.run, args=(pattern, fixed), runs=10_000, **given)
            end = os.times()
            cpu = sum(end[:4]) - sum(begin[:4])
            name = pattern.__name__ + (" fixed" if fixed else "")
            print(f"{name:20} {found.runs:4} runs {cpu:6.2f} s  {found.answer}", flush=True)
            if found.answer.startswith("hang") == fixed or (fixed and not found.covered):
                wrong.append(name)
                print(found.text)
    print("wrong:", ", ".join(wrong) or "none")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
