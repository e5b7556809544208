"""Each command of the program has a section in docs/reference/commands*.md, with its options.

    commands_test.py PROGRAM

commands.md has a row for each command, with a link to its section. The tables of this section, or its
line "Options:", name all options of the command and no others.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INDEX, *OTHERS = [(ROOT / "docs/reference" / name).read_text(encoding="utf-8") for name in ("commands.md", "commands-jobs.md")]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()


def pipesim(*options):
    return subprocess.run(
        [str(PROGRAM), *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        encoding="utf-8", check=True,
    ).stdout  # fmt: skip


def options_of(command):
    """Returns the long options in the help of a command."""
    return set(re.findall(r"^  (?:-\w, |    )(--[\w-]+)", pipesim("help", command), re.MULTILINE))


def sections():
    """Returns the text of each section, by title."""
    return dict(part.split("\n", 1) for page in (INDEX, *OTHERS) for part in page.split("\n## ")[1:])


class Commands(unittest.TestCase):
    def test_the_index_has_every_command(self):
        rows = re.findall(r"^\| \[(\w+)\]\((?:commands-jobs\.md)?#(\w+)\)", INDEX, re.MULTILINE)
        self.assertEqual(set(pipesim("help", "--list").split()), {name for name, _ in rows})
        self.assertEqual([name for name, _ in rows], [anchor for _, anchor in rows])

    def test_section_and_help_name_the_same_options(self):
        for command in pipesim("help", "--list").split():
            with self.subTest(command=command):
                section = sections()[command]
                cells = "".join(re.findall(r"^(?:Options:.*$|\|[^|]*\|)", section, re.MULTILINE))
                named = set(re.findall(r"`(--[\w-]+)", cells))
                options = options_of(command)
                self.assertIn("--help", options)
                self.assertEqual(set(), options - named, "no page names them")
                self.assertEqual(set(), named - options, f"'pipesim {command}' does not have them")

    def test_the_recorder_explains_its_options_as_the_program_does(self):
        for command in ("record", "explore"):
            own = self.options_of_recorder(command)
            self.assertGreater(len(own), 15)
            shown = re.sub(r"\n {20,}", " ", pipesim("help", command))
            for option, text in re.findall(r"^ +(?:-\w, )?(--[\w-]+).*?  +(\w.*)$", shown, re.MULTILINE):
                with self.subTest(command=command, option=option):
                    if option != "--python":  # selects the Python that runs the recorder
                        text = re.sub(r" \[[\w, ]+\]$", "", text)
                        self.assertEqual(own[option], re.sub(r" \(default: \w+\)$", "", text))

    def options_of_recorder(self, command):
        """Returns the help text of each option of the Python module, by option."""
        shown = subprocess.run(
            [sys.executable, "-B", "-m", f"pipesim.{command}", "--help"], stdout=subprocess.PIPE, text=True,
            encoding="utf-8", check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "COLUMNS": "1000"},
        ).stdout  # fmt: skip
        return dict(re.findall(r"^  (?:-\w[^,]*, )?(--[\w-]+)(?:, -\w)?.*?  +(\w.*)$", shown, re.MULTILINE))


if __name__ == "__main__":
    unittest.main()
