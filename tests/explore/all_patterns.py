"""Explores all patterns and their fixed forms, by hand: prints runs, CPU seconds and the answer.

    python3 tests/explore/all_patterns.py build/release/bin/pipesim [RANKS]

Runs in an empty folder, because each exploration copies the folder. Counts all processes, also
those that outlive their parent: this process becomes the parent of them.
"""

import ctypes
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "record"))
import recordings  # noqa: E402, F401  # isort: skip

import patterns  # noqa: E402
from pipesim import explore  # noqa: E402

_PR_SET_CHILD_SUBREAPER = 36


def spent():
    """Returns the CPU seconds of this process and of all processes that it has started."""
    try:
        while True:
            os.wait()
    except ChildProcessError:
        return sum(os.times()[:4])


def main():
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    os.chdir(tempfile.mkdtemp())
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wrong = []
    for pattern, options in patterns.PATTERNS.items():
        for fixed in (False, True):
            begin = spent()
            given = {**options, "ranks": max(ranks, options.get("ranks", 2))}
            found = explore(patterns.run, args=(pattern, fixed), runs=10_000, **given)
            cpu = spent() - begin
            name = pattern.__name__ + (" fixed" if fixed else "")
            print(f"{name:20} {found.runs:4} runs {cpu:6.2f} s  {found.answer}", flush=True)
            if found.answer.startswith("hang") == fixed or (fixed and not found.covered):
                wrong.append(name)
                print(found.text)
    print("wrong:", ", ".join(wrong) or "none")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
