"""Shell completion, in the shells themselves.

    completion_test.py PROGRAM

bash gets the words that readline would pass, split at =, and prints its suggestions. The expected
suggestions come from the program's --help, --params and messages, and from the folder.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SWIN = str(ROOT / "scenarios/swin_2x2x2.yaml")
BREAKS = " \t\n\"'><=;|&(:"  # bash's COMP_WORDBREAKS


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def options_of(command):
    """Returns the pairs (short option or empty, long option) of a command's --help."""
    return re.findall(r"^  (?:(-\w), |    )(--[\w-]+)", run("help", command).split("\nExamples:\n")[0], re.M)


def commands():
    return run("help", "--list").split()


def broken(word):
    """Splits a word as readline does: `acc=2` is three words, and the last can be empty."""
    return [part for part in re.split("(=)", word) if part]


class Bash(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="pipesim_completion_")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.script = cls.folder / "script"
        cls.script.write_text(run("completion", "bash"), "utf-8")
        cls.work = cls.folder / "work"
        cls.work.mkdir()
        (cls.work / "a file.yaml").write_text("schema: 1\nparams: {other: 1}\nactors: {a: {source: other}}\n")
        (cls.work / "broken.yaml").write_text("params: {a: 1")
        (cls.work / "sub").mkdir()
        (cls.work / "schedule.csv").write_text("0F0,0B0\n")

    def offered(self, *words, breaks=True, program=PROGRAM, environment=None):
        """Returns the suggestions for the last of the words."""
        given = [str(program)]
        for word in words:
            given += (broken(word) if breaks else [word]) or [""]
        # Some users remove = from the word breaks.
        at = BREAKS if breaks else BREAKS.replace("=", "")
        code = 'source "$1"; COMP_WORDBREAKS=$2; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        code += '_pipesim; if ((${#COMPREPLY[@]} > 0)); then printf "%s\\n" "${COMPREPLY[@]}"; fi'
        done = subprocess.run(
            ["bash", "--norc", "-u", "-c", code, "bash", self.script, at, *given], cwd=self.work,
            env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        self.assertEqual("", done.stderr)
        return done.stdout.splitlines()

    def test_commands(self):
        self.assertEqual([*commands(), "--help", "--version"], self.offered(""))
        self.assertEqual(["draw"], self.offered("dr"))
        self.assertEqual(commands(), self.offered("help", ""))
        self.assertEqual([], self.offered("nosuch", ""))

    def test_options_of_every_command_are_those_of_its_help(self):
        for command in commands():
            with self.subTest(command=command):
                expected = [form for forms in options_of(command) for form in forms if form]
                self.assertEqual(expected, self.offered(command, "-"))

    def test_values_are_those_that_the_program_takes(self):
        for command, option in (("draw", "--what"), ("run", "--engine"), ("run", "--color"),
                                ("opt", "--verify-each")):  # fmt: skip
            with self.subTest(option=option):
                message = run(command, SWIN, option, "nonsense", "-o", "x.svg") if command == "draw" else \
                    run(command, SWIN, option, "nonsense")  # fmt: skip
                words = message.split("help: possible values: ")[1].rstrip().split(", ")
                self.assertEqual(words, self.offered(command, SWIN, option, ""))
                self.assertEqual(words[-1:], self.offered(command, SWIN, f"{option}={words[-1]}"))
        rules = [line.split()[0] for line in run("lint", "--list").splitlines() if line[:1].strip()]
        self.assertEqual(rules, self.offered("lint", "--ignore", ""))

    def test_first_words(self):
        kinds = [line.split()[0] for line in run("new", "--list").splitlines()]
        self.assertEqual(kinds, self.offered("new", ""))
        self.assertEqual(["torch-schedule"], self.offered("import", "t"))
        self.assertEqual(["oneflow-plan"], self.offered("import", "o"))
        self.assertEqual(["schedule.csv"], self.offered("import", "torch-schedule", "sch"))
        self.assertEqual(["bash", "zsh"], self.offered("completion", ""))

    def test_files_and_folders(self):
        everything = sorted(path.name for path in self.work.iterdir())
        self.assertEqual(everything, sorted(self.offered("run", "")))
        self.assertEqual(["a file.yaml"], self.offered("run", "a"))
        self.assertEqual(everything, sorted(self.offered("run", "x", "--dot", "")))
        self.assertEqual(["broken.yaml"], self.offered("run", "x", "--dot=b"))
        self.assertEqual(["sub"], self.offered("run", "x", "--log-dir", ""))
        self.assertEqual(["broken.yaml"], self.offered("draw", "x", "-o", "b"))
        self.assertEqual(["sub"], self.offered("fix", "x", "-o", ""))
        # An option with an arbitrary value suggests no files.
        self.assertEqual([], self.offered("run", "x", "--until", ""))

    def test_parameters_of_the_scenario(self):
        table = run("run", SWIN, "--params").splitlines()[1:]
        names = [line.split()[0] for line in table if line[:1].strip()]
        self.assertGreater(len(names), 5)
        self.assertEqual([f"{name}=" for name in names], self.offered("run", SWIN, "--set", ""))
        self.assertEqual(["bwd_dst_buffer="], self.offered("run", SWIN, "--set", "bwd_d"))
        # readline inserts the suggestion after the =.
        values = ["forward", "backward", "own"]
        self.assertEqual(values, self.offered("run", SWIN, "--set", "bwd_dst_buffer="))
        self.assertEqual(["own"], self.offered("run", SWIN, "--set", "bwd_dst_buffer=o"))
        self.assertEqual(["own"], self.offered("run", SWIN, "--set=bwd_dst_buffer=o"))
        self.assertEqual(values, self.offered("sweep", "--seeds", "4", SWIN, "--vary", "bwd_dst_buffer="))
        # The file can follow other options with files.
        self.assertEqual(
            ["acc="], self.offered("run", "--patch", "broken.yaml", "--json", SWIN, "--set", "acc=2", "--set", "acc"))
        for name in ("a\\ file.yaml", '"a file.yaml"'):
            self.assertEqual(["other="], self.offered("run", name, "--set", ""))
        home = {"HOME": str(ROOT)}
        self.assertEqual(["acc="], self.offered("run", "~/scenarios/swin_2x2x2.yaml", "--set", "acc", environment=home))
        # A PyTorch schedule has the parameters of the scenario made from it.
        self.assertIn("forward=", self.offered("run", "schedule.csv", "--set", ""))

    def test_where_words_are_not_broken_all_of_it_is_offered(self):
        whole = ["bwd_dst_buffer=own"]
        self.assertEqual(whole, self.offered("run", SWIN, "--set", "bwd_dst_buffer=o", breaks=False))
        self.assertEqual(["--set=" + whole[0]], self.offered("run", SWIN, "--set=bwd_dst_buffer=o", breaks=False))

    def test_mistakes_are_silent(self):
        os.mkfifo(self.work / "fifo")
        self.addCleanup(os.remove, self.work / "fifo")
        for file in ("broken.yaml", "nosuch.yaml", "fifo", "sub", "-"):
            with self.subTest(file=file):
                self.assertEqual([], self.offered("run", file, "--set", ""))
                self.assertEqual("", run("completion", "parameters", str(self.work / file)))
        self.assertEqual([], self.offered("run", SWIN, "--set", "", program="no/such/pipesim"))

    def test_parameters_of_a_large_job_come_at_once(self):
        # 4,000 ranks with 64 micro-batches: reading the whole schedule takes seconds.
        text = (ROOT / "scenarios/pipeline_1f1b.yaml").read_text("utf-8")
        text = text.replace("stages: {default: 4", "stages: {default: 4000")
        (self.work / "large.yaml").write_text(text, "utf-8")
        self.addCleanup(os.remove, self.work / "large.yaml")
        start = time.monotonic()
        self.assertEqual(["kind=", "stages=", "micro_batches=", "messages=", "links="],
                         self.offered("run", "large.yaml", "--set", ""))
        self.assertLess(time.monotonic() - start, 5)


class Zsh(unittest.TestCase):
    def test_every_option_is_there(self):
        script = run("completion", "zsh")
        for command in commands():
            body = script.split(f"\n        {command})\n")[1].split(";;\n")[0]
            for form in (form for forms in options_of(command) for form in forms if form):
                with self.subTest(command=command, option=form):
                    self.assertRegex(body, rf"'\*{re.escape(form)}[=+]?\[")

    def test_zsh_can_load_it(self):
        if shutil.which("zsh") is None:
            self.skipTest("no zsh")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "_pipesim").write_text(run("completion", "zsh"), "utf-8")
            code = f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; "
            code += "autoload +X -Uz _pipesim && print -r -- $_comps[pipesim]"
            done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, check=False)
            self.assertEqual(("_pipesim\n", ""), (done.stdout, done.stderr))


if __name__ == "__main__":
    unittest.main()
