"""Checks that the installed library serves a project outside of the source tree.

    consumer_test.py --build DIR --cmake PATH --compiler PATH --flags FLAGS --build-type TYPE

Installs the build in DIR into a temporary folder, and copies this project and examples/own_pass.cpp
to another folder. Builds the copies there with CMake, and one file with the flags of pkg-config.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = pathlib.Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("build", "cmake", "compiler", "flags", "build-type"):
        parser.add_argument("--" + name, required=True)
    return parser.parse_args()


OPTIONS = arguments()


def run(*command, cwd, codes=(0,), env=None):
    """Returns the output of the command, which must exit with one of `codes`."""
    done = subprocess.run(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, encoding="utf-8", check=False,
    )
    if done.returncode not in codes:
        raise AssertionError(f"{command} exited with {done.returncode}:\n{done.stdout}")
    return done.stdout


class Consumer(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="pipesim_consumer_")
        cls.addClassCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name).resolve()
        cls.project = folder / "a project"
        # Moves the installed library to another folder: no installed file may contain the path of
        # the first folder.
        installed = folder / "installed"
        run(OPTIONS.cmake, "--install", OPTIONS.build, "--prefix", str(installed), cwd=folder)
        cls.prefix = installed.rename(folder / "moved")
        shutil.copytree(OURS, cls.project)
        shutil.copy(ROOT / "examples/own_pass.cpp", cls.project)
        # A user's project may have folders with the names of pipesim's folders.
        for name in ("models/graph/task_graph.hpp", "sim/time.hpp"):
            file = cls.project / name
            file.parent.mkdir(parents=True)
            file.write_text("#error This is the header of another project.\n", "utf-8")
        run(
            OPTIONS.cmake, "-G", "Ninja", "-S", ".", "-B", "build",
            f"-DCMAKE_PREFIX_PATH={cls.prefix}",
            f"-DCMAKE_CXX_COMPILER={OPTIONS.compiler}",
            f"-DCMAKE_CXX_FLAGS={OPTIONS.flags} -I{shlex.quote(str(cls.project))}",
            f"-DCMAKE_BUILD_TYPE={OPTIONS.build_type}",
            cwd=cls.project,
        )  # fmt: skip
        run(OPTIONS.cmake, "--build", "build", "-j", "2", cwd=cls.project)

    def test_its_tests_pass(self):
        output = run("build/scheduler_tests", cwd=self.project)
        self.assertIn("All tests passed", output)

    def test_a_test_that_fails_shows_the_report(self):
        # The exit code is the number of failed tests in Catch2 2, and 42 in Catch2 3.
        output = run("build/scheduler_tests", "[.fails]", cwd=self.project, codes=(1, 42))
        # Catch2 wraps long lines.
        output = re.sub(r"\s+", " ", output)
        for part in (
            "REQUIRE_THAT( run(step()), completes() ) with expansion:",
            "step DEADLOCK at 24 us 2 ranks, 16 of 33 ops done",
            "The cycle: 6 waits, ranks 0 and 1",
            "buffer on stream 'backward' instead of 'forward'",
            " completes ",
        ):
            self.assertIn(part, output)

    def test_a_program_with_a_pass_of_its_own_is_pipesim_with_that_pass(self):
        output = run(
            "build/own_pass", "opt", "step.yaml", "--passes", "rename=buffer:to=gradient",
            cwd=self.project,
        )  # fmt: skip
        self.assertIn("gradient: {stream: forward, takes: 1us, reads: [loss]}", output)

    def test_the_program_is_installed(self):
        output = run(self.prefix / "bin/pipesim", "run", "step.yaml", cwd=self.project, codes=(1,))
        self.assertIn("step  DEADLOCK at 24 us", output)

    def test_its_man_pages_and_completions_are_installed(self):
        commands = run(self.prefix / "bin/pipesim", "help", "--list", cwd=self.project).split()
        pages = {"pipesim.1", *(f"pipesim-{command}.1" for command in commands)}
        self.assertEqual(pages, {page.name for page in (self.prefix / "share/man/man1").iterdir()})
        self.assertIn(".TH PIPESIM\\-RUN 1", (self.prefix / "share/man/man1/pipesim-run.1").read_text("utf-8"))
        bash = self.prefix / "share/bash-completion/completions/pipesim"
        self.assertIn("complete -F _pipesim pipesim\n", bash.read_text("utf-8"))
        zsh = self.prefix / "share/zsh/site-functions/_pipesim"
        self.assertTrue(zsh.read_text("utf-8").startswith("#compdef pipesim\n"))

    def test_no_file_says_where_it_was_made(self):
        # Skips the archive and the program, whose debug information contains source paths.
        for file in self.prefix.rglob("*"):
            if file.suffix in (".cmake", ".pc", ".hpp"):
                self.assertNotIn(str(ROOT), file.read_text("utf-8"), file)

    def test_pkg_config_knows_it_too(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("no pkg-config")
        [pc] = self.prefix.rglob("pipesim.pc")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
        flags = run("pkg-config", "--cflags", "--libs", "pipesim", cwd=self.project, env=environment)
        run(
            OPTIONS.compiler, "-std=c++20", *shlex.split(OPTIONS.flags), "own_pass.cpp", "-o",
            "by_pkg_config", *shlex.split(flags), cwd=self.project,
        )  # fmt: skip
        self.assertIn("rename", run("./by_pkg_config", "opt", "--list", cwd=self.project))


if __name__ == "__main__":
    unittest.main(argv=[__file__])
