"""The examples of the documentation print the output that the page shows.

    examples_test.py PROGRAM...

A block that begins with ```console has commands, each after "$ ", followed by its output. The
commands run at the root of the sources, with each PROGRAM called by its name.

A page can also show files: a block that begins with ```yaml ring.yaml is the file ring.yaml. The
commands of such a page run in a separate folder, in the order of the page, with each file as last
shown.

PIPESIM_UPDATE_GOLDEN=1 rewrites the pages to show the current output: read the diff.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS = [pathlib.Path(argument).resolve() for argument in sys.argv[1:]]
del sys.argv[1:]
UPDATE = os.environ.get("PIPESIM_UPDATE_GOLDEN") == "1"


def blocks(page):
    """Yields the words after ``` and the text of each block of a page."""
    text = page.read_text(encoding="utf-8")
    for words, block in re.findall(r"^```(.*)\n((?:.*\n)*?)```$", text, re.MULTILINE):
        yield words.split(), block


def examples(block):
    """Yields pairs of a command and its output."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


class Examples(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="pipesim_examples_")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        programs = self.folder / "bin"
        programs.mkdir()
        for program in PROGRAMS:
            (programs / program.name).symlink_to(program)
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C"}

    def folder_of(self, page):
        """Returns the folder in which the commands of a page run."""
        if all(len(words) < 2 for words, _ in blocks(page)):
            return ROOT
        folder = self.folder / page.stem
        folder.mkdir()
        return folder

    def run_page(self, page):
        """Checks the commands of a page. Returns their number."""
        count = 0
        text = page.read_text(encoding="utf-8")
        folder = self.folder_of(page)
        for words, block in blocks(page):
            if len(words) == 2:
                file = folder / words[1]
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block, encoding="utf-8")
            if words != ["console"]:
                continue
            for command, output in examples(block):
                with self.subTest(page=page.name, command=command):
                    run = subprocess.run(
                        command, shell=True, cwd=folder, env=self.environment, check=False,
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, encoding="utf-8",
                    )  # fmt: skip
                    count += 1
                    if UPDATE:
                        shown = f"$ {command}\n"
                        text = text.replace(shown + output, shown + run.stdout, 1)
                    else:
                        self.assertEqual(output, run.stdout)
        if UPDATE:
            page.write_text(text, encoding="utf-8")
        return count

    def test_what_is_shown_is_what_is_printed(self):
        self.assertGreaterEqual(sum(map(self.run_page, PAGES)), 60)

    def test_the_files_of_a_page_are_seen(self):
        page = self.folder / "page.md"
        page.write_text(
            "```yaml a/b.yaml\nfirst\n```\n\n```console\n$ cat a/b.yaml\nfirst\n$ pwd -P | sed 's:.*/::'\npage\n"
            "```\n\n```yaml a/b.yaml\nsecond\n```\n\n```console\n$ cat a/b.yaml\nsecond\n```\n",
            encoding="utf-8",
        )
        self.assertEqual(3, self.run_page(page))


if __name__ == "__main__":
    unittest.main()
