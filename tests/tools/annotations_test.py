"""Annotations for CI: GitHub's format, SARIF and JUnit, for files with errors.

    annotations_test.py PROGRAM

If PIPESIM_SARIF_SCHEMA names OASIS's JSON schema of SARIF 2.1.0, the logs are validated with it.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import xml.etree.ElementTree

import with_yaml  # isort: skip  # noqa: F401

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()

PARAMS = "params: {x: {default: '\u00e4', one_of: ['\u00e4']}, z: 2}"
EXPECT = "expect: {verdict: completed, time: 7us}"
SCENARIOS = {
    "jobs/unused, 50%: \u00e4.yaml": (
        f"schema: 1\nabout: \u00e4\n{PARAMS}\nactors: {{a: {{source: 3}}}}\nexpect: {{verdict: completed}}\n"
    ),
    "jobs/late.yaml": f"schema: 1\nactors: {{a: {{source: 3, takes: 2us}}}}\n{EXPECT}\n",
    "jobs/typo.yaml": "schema: 1\nactors:\n  a: {sourse: 3}\n",
}
# Level, file, line, column and rule of each fault; columns count characters, from 1.
FAULTS = {
    "typo": ("error", "jobs/typo.yaml", 3, 7, "E0201"),
    "x": ("warning", "jobs/unused, 50%: \u00e4.yaml", 3, PARAMS.index("x:") + 1, "unused"),
    "z": ("warning", "jobs/unused, 50%: \u00e4.yaml", 3, PARAMS.index("z:") + 1, "unused"),
    "late": ("error", "jobs/late.yaml", 3, EXPECT.index("7us") + 1, "E0903"),
}
UNUSED, LATE, TYPO = SCENARIOS


def unescaped(text):
    return re.sub("%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), text)


class Annotations(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        for name, text in SCENARIOS.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")

    def pipesim(self, *arguments, code):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, encoding="utf-8",
                              stdin=subprocess.DEVNULL, check=False)  # fmt: skip
        self.assertEqual((code, ""), (done.returncode, done.stderr))
        return done.stdout

    def faults_of_github(self, text):
        """Returns (level, file, line, column, rule) of each annotation; checks its message and
        help."""
        faults = []
        for line in text.splitlines():
            level, properties, message = re.fullmatch(r"::(error|warning) (.*?)::(.*)", line).groups()
            values = {key: unescaped(value) for key, value in (each.split("=", 1) for each in properties.split(","))}
            self.assertGreater(len(unescaped(message).splitlines()), 1, "no help")
            self.assertTrue(values["title"].startswith("pipesim "))
            faults.append((level, values["file"], int(values["line"]), int(values["col"]), values["title"][8:]))
        return faults

    def faults_of_sarif(self, text):
        log = json.loads(text)
        self.validate(log)
        [one] = log["runs"]
        self.assertEqual("unicodeCodePoints", one["columnKind"])
        rules = one["tool"]["driver"]["rules"]
        faults = []
        for result in one["results"]:
            self.assertEqual(result["ruleId"], rules[result["ruleIndex"]]["id"])
            self.assertTrue(rules[result["ruleIndex"]]["shortDescription"]["text"])
            self.assertTrue(rules[result["ruleIndex"]]["help"]["text"])
            self.assertGreater(len(result["message"]["text"].splitlines()), 1, "no help")
            [location] = result["locations"]
            physical = location["physicalLocation"]
            faults.append((
                result["level"], urllib.parse.unquote(physical["artifactLocation"]["uri"]),
                physical["region"]["startLine"], physical["region"]["startColumn"], result["ruleId"],
            ))  # fmt: skip
        return faults

    def validate(self, log):
        schema = os.environ.get("PIPESIM_SARIF_SCHEMA")
        if schema:
            import jsonschema

            jsonschema.validate(log, json.loads(pathlib.Path(schema).read_text("utf-8")))
        # Section 3.13 of SARIF and the sections after it require these properties.
        self.assertEqual("2.1.0", log["version"])
        self.assertIsInstance(log["runs"], list)
        for one in log["runs"]:
            self.assertTrue(one["tool"]["driver"]["name"])
            for result in one["results"]:
                self.assertTrue(result["message"]["text"])
                self.assertIn(result["level"], ("none", "note", "warning", "error"))
                uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
                self.assertRegex(uri, r"^[A-Za-z0-9._~/%-]+$")

    def test_lint_names_each_fault(self):
        expected = [FAULTS["typo"], FAULTS["x"], FAULTS["z"]]
        self.assertEqual(expected, self.faults_of_github(self.pipesim("lint", "jobs", "--format", "github", code=2)))
        self.assertEqual(expected, self.faults_of_sarif(self.pipesim("lint", "jobs", "--format", "sarif", code=2)))

    def test_test_names_each_fault(self):
        expected = [FAULTS["late"], FAULTS["typo"]]
        self.assertEqual(expected, self.faults_of_github(self.pipesim("test", "jobs", "--format", "github", code=2)))
        self.assertEqual(expected, self.faults_of_sarif(self.pipesim("test", "jobs", "--format", "sarif", code=2)))

    def test_without_faults_there_is_an_empty_log(self):
        self.assertEqual("", self.pipesim("lint", LATE, "--format", "github", code=0))
        self.assertEqual([], self.faults_of_sarif(self.pipesim("lint", LATE, "--format", "sarif", code=0)))

    def test_junit_has_a_test_for_each_finding(self):
        root = xml.etree.ElementTree.fromstring(self.pipesim("lint", "jobs", "--format", "junit", code=2))
        cases = [(case.get("name"), [child.tag for child in case]) for case in root.iter("testcase")]
        self.assertEqual(
            [(LATE, []), (f"{TYPO}:3 E0201", ["error"])] + [(f"{UNUSED}:3 unused", ["failure"])] * 2, cases
        )
        self.assertEqual(
            self.pipesim("test", "jobs", "--junit", "-", code=2),
            self.pipesim("test", "jobs", "--format", "junit", code=2),
        )

    def test_text_names_all_files(self):
        done = subprocess.run([PROGRAM, "lint", "jobs"], cwd=self.folder, capture_output=True, text=True,
                              encoding="utf-8", stdin=subprocess.DEVNULL, check=False)  # fmt: skip
        self.assertEqual(2, done.returncode)
        self.assertIn(f"{LATE}: no findings\n", done.stdout)
        self.assertIn(f"{UNUSED}: 2 findings\n", done.stdout)
        self.assertIn(f"{TYPO}:3:7: error[E0201]", done.stderr)


class Action(unittest.TestCase):
    """Runs the commands of action.yml in bash, as GitHub's runner does."""

    def steps(self):
        action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
        return action["inputs"], {step["name"]: step for step in action["runs"]["steps"]}

    def run_step(self, step, folder, paths):
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=ROOT, env={"PATH": os.environ["PATH"], "FOLDER": folder, "PATHS": paths},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def test_findings_warn_and_failures_fail(self):
        inputs, steps = self.steps()
        for step in steps.values():
            self.assertEqual(set(step["env"]) - {"PIPESIM_SETUP"}, set(re.findall(r"\$\{?([A-Z]+)", step["run"])))
            for value in step["env"].values():
                for name in re.findall(r"inputs\.(\w+)", value):
                    self.assertIn(name, inputs)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "bin").mkdir()
            (pathlib.Path(folder) / "bin/pipesim").symlink_to(PROGRAM)
            lint, test = steps["pipesim lint"], steps["pipesim test"]
            suspect = "scenarios/buffer_on_the_wrong_stream.yaml"
            linted = self.run_step(lint, folder, suspect)
            self.assertEqual(0, linted.returncode, linted)
            self.assertIn(f"::warning file={suspect},line=", linted.stdout)
            self.assertEqual(0, self.run_step(test, folder, suspect).returncode)
            self.assertEqual(74, self.run_step(test, folder, "scenarios/none.yaml").returncode)
            self.assertNotEqual(0, self.run_step(lint, folder, "scenarios/none.yaml").returncode)


if __name__ == "__main__":
    unittest.main()
