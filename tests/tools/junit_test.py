"""The XML of `pipesim test --junit` is well-formed, reports the results, and contains no times.

junit_test.py PROGRAM
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()

SCENARIOS = {
    # Any text of a file can end up in a message: quotes, brackets, characters that XML forbids.
    "a & <b>.yaml": b"""schema: 1
params: {w: {default: 'a<"&', one_of: ['a<"&', "\xc3\xa4"]}}
actors: {a: {source: 3, takes: 2us}}
expect:
  - {verdict: completed}   # \xef\xbf\xbf <&>
  - {with: {w: "\xc3\xa4"}, time: 7us, cycle_through: ["]]>"]}   # \xef\xbf\xbf\x01 ]]>
""",
    "bad.yaml": b"schema: 1\nactors: {a: {source: '<&\">'}}\n",
    "none.yaml": b"schema: 1\nactors: {a: {source: 1}}\n",
}


class JUnit(unittest.TestCase):
    def run_in(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in SCENARIOS.items():
                (pathlib.Path(folder) / name).write_bytes(text)
            run = subprocess.run(
                [PROGRAM, "test", *arguments], cwd=folder, capture_output=True, check=False,
                stdin=subprocess.DEVNULL,
            )
            written = pathlib.Path(folder) / "out.xml"
            return run, written.read_bytes() if written.exists() else b""

    def test_it_is_xml_that_says_what_happened(self):
        run, written = self.run_in("--junit", "out.xml")
        self.assertEqual(2, run.returncode)
        root = xml.etree.ElementTree.fromstring(written)
        self.assertEqual("testsuites", root.tag)
        self.assertEqual(("4", "1", "1", "1"), tuple(root.get(key) for key in (
            "tests", "failures", "errors", "skipped")))
        self.assertEqual(["a & <b>.yaml", "bad.yaml", "none.yaml"],
                         [suite.get("name") for suite in root])
        for suite in root:
            self.assertEqual(int(suite.get("tests")), len(suite.findall("testcase")))
            self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))
            self.assertEqual(int(suite.get("errors")), len(suite.findall("testcase/error")))
            self.assertEqual(int(suite.get("skipped")), len(suite.findall("testcase/skipped")))
        cases = {case.get("name"): case for case in root.iter("testcase")}
        self.assertEqual(["a & <b>.yaml", "a & <b>.yaml [w=\u00e4]", "bad.yaml", "none.yaml"],
                         list(cases))
        failure = cases["a & <b>.yaml [w=\u00e4]"].find("failure")
        self.assertEqual("expected time 7 us, found 6 us (and 1 more)", failure.get("message"))
        self.assertIn("expected a cycle through ']]>'", failure.text)
        self.assertIn("to rerun: pipesim run 'a & <b>.yaml' --set", failure.text)
        self.assertIsNotNone(cases["bad.yaml"].find("error"))
        for element in root.iter():
            self.assertIn(element.get("time"), (None, "0"))

    def test_a_dash_prints_the_same_and_nothing_else(self):
        _, written = self.run_in("--junit", "out.xml")
        printed, _ = self.run_in("--junit", "-")
        self.assertEqual(written, printed.stdout)
        self.assertEqual(b"", printed.stderr)


if __name__ == "__main__":
    unittest.main()
