#!/usr/bin/env python3
"""Sums up the results that CTest wrote with --output-junit, one file per build.

    tools/test_summary.py build/release/test_results.xml ...

Prints the failed and skipped tests and, as the last line, "N passed, N failed". A missing file
means that the build could not be tested, and counts as one failure. Exits with 1 after a failure.
"""

import pathlib
import sys
import xml.etree.ElementTree


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


def main(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    print()
    for path in paths:
        build = pathlib.Path(path).parent.name
        if not pathlib.Path(path).is_file():
            print(f"{build}: failed before its tests could run")
            counts["failed"] += 1
            continue
        for test in xml.etree.ElementTree.parse(path).iter("testcase"):
            outcome = outcome_of(test)
            counts[outcome] += 1
            if outcome != "passed":
                print(f"{build}: {outcome}: {test.get('name')}")
    if not counts["skipped"]:
        print("no test was skipped")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
