"""Each command of the program has a page, and page and program name the same options.

    commands_test.py PROGRAM

docs/commands.md has a row for each command, with a link to its page. That page has a section "Options", which
names all options of the command and no others.
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()


def pipesim(*options):
    return subprocess.run(
        [str(PROGRAM), *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        encoding="utf-8", check=True,
    ).stdout  # fmt: skip


def options_of(command):
    """The options of a command in the words of its help, without letters."""
    return set(re.findall(r"^  (?:-\w, |    )(--[\w-]+)", pipesim("help", command), re.MULTILINE))


def pages():
    """The page of each command, as the index links it, in its order."""
    text = (DOCS / "commands.md").read_text("utf-8")
    return dict(re.findall(r"^\| \[(\w+)\]\(([\w-]+\.md)\)", text, re.MULTILINE))


class Commands(unittest.TestCase):
    def test_the_index_has_every_command(self):
        self.assertEqual(set(pipesim("help", "--list").split()), set(pages()))

    def test_each_page_is_there_once(self):
        names = list(pages().values())
        self.assertEqual(sorted(set(names)), sorted(names))
        for name in names:
            self.assertTrue((DOCS / name).is_file(), f"docs/{name}: docs/commands.md links to it")

    def test_page_and_help_name_the_same_options(self):
        for command, name in pages().items():
            with self.subTest(command=command):
                sections = (DOCS / name).read_text("utf-8").split("\n## Options\n")
                self.assertEqual(2, len(sections), f"docs/{name} needs one section 'Options'")
                section = sections[1].split("\n## ")[0]
                # What is another command's is written with its name: `run --replay`, in one pair of quotes.
                named = set(re.findall(r"`(--[\w-]+)", section))
                options = options_of(command)
                self.assertIn("--help", options)
                self.assertEqual(set(), options - named, f"docs/{name} does not name them")
                self.assertEqual(set(), named - options, f"'pipesim {command}' does not have them")


if __name__ == "__main__":
    unittest.main()
