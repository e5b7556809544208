"""tools/test_summary.py: the sum over builds, and its list of skipped tests."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "test_summary.py"

PASSED = '<testcase name="{}" status="run"/>'
FAILED = (
    '<testcase name="{}" status="fail"><failure message="no"/>'
    "<system-out>1 line\nexpected 2</system-out></testcase>"
)
SKIPPED = (
    '<testcase name="{}" status="notrun">'
    '<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>'
)
NOT_STARTED = (
    '<testcase name="{}" status="notrun">'
    '<skipped message="Unable to find executable"/></testcase>'
)


class TestSummary(unittest.TestCase):
    def sum_of(self, builds):
        """Returns exit code and lines for builds, each with its list of test cases (None: no
        file).
        """
        with tempfile.TemporaryDirectory() as root:
            paths = []
            for name, tests in builds.items():
                path = pathlib.Path(root, name, "test_results.xml")
                paths.append(path)
                if tests is not None:
                    path.parent.mkdir()
                    path.write_text(f"<testsuite>{''.join(tests)}</testsuite>", "utf-8")
            done = subprocess.run(
                [sys.executable, TOOL, *paths], capture_output=True, text=True, check=False
            )
            return done.returncode, done.stdout.strip().split("\n")

    def test_adds_up_all_builds(self):
        code, lines = self.sum_of(
            {
                "release": [PASSED.format("a"), PASSED.format("b")],
                "clang": [PASSED.format("a"), SKIPPED.format("b")],
            }
        )
        self.assertEqual((code, lines), (0, ["clang: skipped: b", "3 passed, 0 failed"]))

    def test_a_failure_fails(self):
        code, lines = self.sum_of({"release": [PASSED.format("a"), FAILED.format("b")]})
        self.assertEqual(code, 1)
        shown = ["release: failed: b", "1 line", "expected 2", ""]
        self.assertEqual(
            lines, [*shown, "release: failed: b", "no test was skipped", "1 passed, 1 failed"]
        )

    def test_a_test_that_cannot_start_is_not_skipped_but_failed(self):
        code, lines = self.sum_of({"release": [NOT_STARTED.format("a")]})
        self.assertEqual((code, lines[-1]), (1, "0 passed, 1 failed"))

    def test_a_build_without_results_is_a_failure(self):
        code, lines = self.sum_of({"release": [PASSED.format("a")], "asan": None})
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()
