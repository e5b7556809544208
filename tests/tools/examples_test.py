"""The examples of the documentation do what the page shows.

    examples_test.py PROGRAM...

A block that begins with ```console holds commands, each after "$ ", and below each what it prints. They
run at the root of the sources, with each PROGRAM called by its name.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = [pathlib.Path(argument).resolve() for argument in sys.argv[1:]]
del sys.argv[1:]


def examples(page):
    """Pairs of a command and what it prints."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


class Examples(unittest.TestCase):
    maxDiff = None

    def test_what_is_shown_is_what_is_printed(self):
        count = 0
        with tempfile.TemporaryDirectory() as folder:
            for program in PROGRAMS:
                (pathlib.Path(folder) / program.name).symlink_to(program)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "LC_ALL": "C"}
            for page in PAGES:
                for command, output in examples(page):
                    with self.subTest(page=page.name, command=command):
                        run = subprocess.run(
                            command, shell=True, cwd=ROOT, env=environment, check=False,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, encoding="utf-8",
                        )
                        self.assertEqual(output, run.stdout)
                        count += 1
        self.assertGreaterEqual(count, 5)


if __name__ == "__main__":
    unittest.main()
