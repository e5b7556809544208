#!/usr/bin/env python3
"""Sums up the results that CTest wrote with --output-junit, one file per build.

    tools/test_summary.py build/release/test_results.xml ...

Prints the end of what each failed test wrote, the failed and skipped tests and, as the last line,
"N passed, N failed". A missing file means that the build could not be tested, and counts as one
failure. Exits with 1 after a failure.
"""

import pathlib
import sys
import xml.etree.ElementTree

LINES_SHOWN = 60


def outcome_of(test):
    """Returns 'passed', 'failed' or 'skipped'. A test that could not start counts as failed."""
    status = test.get("status")
    if status == "run":
        return "passed"
    if status == "disabled":
        return "skipped"
    reason = test.find("skipped")
    if status == "notrun" and reason is not None and "SKIP_" in reason.get("message", ""):
        return "skipped"
    return "failed"


def end_of_output(test):
    """Returns the last lines of what a test wrote: tests print their failures last."""
    output = test.find("system-out")
    return ((output.text if output is not None else None) or "").splitlines()[-LINES_SHOWN:]


def main(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    listed = []
    print()
    for path in paths:
        build = pathlib.Path(path).parent.name
        if not pathlib.Path(path).is_file():
            listed.append(f"{build}: failed before its tests could run")
            counts["failed"] += 1
            continue
        for test in xml.etree.ElementTree.parse(path).iter("testcase"):
            outcome = outcome_of(test)
            counts[outcome] += 1
            if outcome == "passed":
                continue
            listed.append(f"{build}: {outcome}: {test.get('name')}")
            if outcome == "failed":
                print(listed[-1], *end_of_output(test), "", sep="\n")
    print(*listed, *([] if counts["skipped"] else ["no test was skipped"]), sep="\n")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
