"""The man pages have the content of --help, in roff without warnings from groff and man.

man_test.py PROGRAM
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()


def run(*command, **options):
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True, **options)


def pages():
    """Yields pairs of a command (None: the program) and its page."""
    names = run(PROGRAM, "help", "--list").stdout.split()
    assert len(names) > 10
    for name in [None, *names]:
        yield name, run(PROGRAM, "help", "--man", *([name] if name else [])).stdout


def rendered(page):
    # -c and -P-cbou: no escape sequences and no overstriking.
    text = run("groff", "-man", "-Tascii", "-P-cbou", "-rLL=300n", "-rHY=0", input=page).stdout
    return re.sub(r"[ \n]+", " ", text)


class Pages(unittest.TestCase):
    maxDiff = None

    def test_groff_has_no_warnings(self):
        for name, page in pages():
            with self.subTest(page=name):
                self.assertTrue(page.isascii())
                self.assertEqual("", run("groff", "-man", "-ww", "-z", "-Tutf8", input=page).stderr)

    def test_man_has_no_warnings(self):
        if shutil.which("man") is None:
            self.skipTest("no man")
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"}
        with tempfile.TemporaryDirectory() as folder:
            for name, page in pages():
                with self.subTest(page=name):
                    file = pathlib.Path(folder) / "page.1"
                    file.write_text(page, "utf-8")
                    done = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", file, env=environment)
                    self.assertEqual("", done.stderr)

    def test_a_page_has_every_word_of_the_help(self):
        for name, page in pages():
            with self.subTest(page=name):
                text = rendered(page)
                help_text = run(PROGRAM, *(["help", name] if name else ["--help"])).stdout
                # Compares whole lines, because users copy them.
                for line in help_text.splitlines():
                    line = re.sub(r"^(pipesim|Usage|Exit status): |^Examples:$", "", line)
                    self.assertIn(re.sub(" +", " ", line.strip()), text)

    def test_sections_are_those_of_man_pages(self):
        for name, page in pages():
            with self.subTest(page=name):
                sections = re.findall(r"^\.SH (.*)$", page, re.M)
                self.assertEqual(["NAME", "SYNOPSIS", "DESCRIPTION"], sections[:3])
                self.assertIn("EXAMPLES", sections)
                self.assertEqual("SEE ALSO", sections[-1])
                self.assertEqual(len(sections), len(set(sections)))
                title = f"pipesim\\-{name}" if name else "pipesim"
                self.assertTrue(page.split(".SH NAME\n")[1].startswith(f"{title} \\- "))


if __name__ == "__main__":
    if shutil.which("groff") is None:
        print("SKIPPED: no groff")
        sys.exit()
    unittest.main()
