"""Random scenarios: the program and a second reader must make the same plan of each scenario. For
small scenarios, check, fix and reduce must agree with a search of all interleavings.

    second_test.py PLAN_OF PIPESIM

PIPESIM_SECOND_FILES and PIPESIM_SECOND_FIRST_SEED choose other scenarios.
"""

import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import random_file  # noqa: E402
import second_reader  # noqa: E402

PLAN_OF = os.path.abspath(sys.argv.pop(1))
PROGRAM = os.path.abspath(sys.argv.pop(1))
FILES = int(os.environ.get("PIPESIM_SECOND_FILES", "200"))
SEARCHED = min(FILES, 150 + FILES // 4)
FIRST = int(os.environ.get("PIPESIM_SECOND_FIRST_SEED", "1"))
NAMED = re.compile(r"(operation|connection|type|tag) (:?[^,]*)")


def same_line(ours, theirs, names):
    """Whether the lines match: our numbers of operations, types and tags correspond to their
    names.
    """
    if NAMED.sub(r"\1", ours) != NAMED.sub(r"\1", theirs):
        return False
    for (kind, number), (_, name) in zip(NAMED.findall(ours), NAMED.findall(theirs)):
        space = names.setdefault(kind, {})
        if space.setdefault(number, name) != name or list(space.values()).count(name) != 1:
            return False
    return True


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def answer_of(ends):
    if "unknown" in ends:
        return None
    if "hangs" not in ends:
        return "proved"
    return "hang possible" if "completes" in ends else "hang certain"


class Second(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_it(self, *command):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def test_plans(self):
        paths, trees = [], []
        for seed in range(FIRST, FIRST + FILES):
            tree = random_file.scenario(random.Random(seed))
            trees.append(tree)
            paths.append(self.write(f"{seed}.yaml", random_file.yaml(tree, random.Random(seed))))
        run = self.run_it(PLAN_OF, "plan", *paths)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        plans = run.stdout.split("FILE\n")[1:]
        self.assertEqual(len(plans), FILES)
        for path, tree, plan in zip(paths, trees, plans):
            ours, theirs, names = plan.split("\n")[:-2], second_reader.plan_text(tree), {}
            for mine, its in zip(ours, theirs):
                if not same_line(mine, its, names):
                    self.fail(f"{text_of(path)}\n{mine}\nsecond reader: {its}")
            self.assertEqual(len(ours), len(theirs), path)

    def ends(self, path, *patches):
        """Returns the ends of all interleavings: as planned, with one collective at a time, and
        with one launch queue for a device; and the end of the run."""
        run = self.run_it(PLAN_OF, "ends", path, *patches)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return [line.partition(":")[2].split() for line in run.stdout.splitlines()]

    def answer(self, path, *patches):
        """Returns the answer that check must give, or None if there are too many interleavings."""
        planned, one_at_a_time, one_queue, _ = self.ends(path, *patches)
        if "unknown" in planned + one_at_a_time + one_queue:
            return None
        if answer_of(planned) == "proved" and "hangs" in one_at_a_time + one_queue:
            return "hang possible"
        return answer_of(planned)

    def test_searches(self):
        seen = dict.fromkeys(("proved", "hang possible", "hang certain"), 0)
        seed = FIRST
        while sum(seen.values()) < SEARCHED or not all(seen.values()):
            seed += 1
            tree = random_file.scenario(random.Random(seed), small=True)
            path = self.write("small.yaml", random_file.yaml(tree, random.Random(seed)))
            answer = self.answer(path)
            if answer is None:
                continue
            seen[answer] += 1
            with self.subTest(seed=seed, text=text_of(path)):
                check = json.loads(self.run_it(PROGRAM, "check", path, "--json").stdout)
                # The interleavings are those of the file's reading. If ranks share the lock of a
                # process, or an all_to_all connects them, only a fresh job may hang.
                one = check.get("readings", {}).get(tree["reading"], check)
                self.assertEqual(one["answer"].replace("_", " "), answer)
                if answer != "proved":
                    self.check_fixes(path)
                    self.check_reduced(path)

    def check_fixes(self, path):
        folder = os.path.join(self.folder, "fixes")
        for old in glob.glob(f"{folder}/*"):
            os.remove(old)
        self.run_it(PROGRAM, "fix", path, "-o", folder)
        for patch in glob.glob(f"{folder}/*.yaml"):
            with self.subTest(patch=text_of(patch)):
                self.assertIn(self.answer(path, patch), ("proved", None))

    def check_reduced(self, path):
        small = os.path.join(self.folder, "reduced.yaml")
        if os.path.exists(small):
            os.remove(small)
        run = self.run_it(PROGRAM, "reduce", path, "-o", small)
        hangs = "hangs" in self.ends(path)[3]
        self.assertEqual(run.returncode == 0, hangs, run.stderr)
        if hangs:
            self.assertIn("hangs", self.ends(small)[3])


if __name__ == "__main__":
    unittest.main()
