"""tools/setup with a fake system: installs nothing and asks nobody."""

import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "setup"

# Commands of the real system that the script and the fake commands use.
REAL = ("bash", "cat", "env", "grep", "head", "sed", "sort", "touch")
# Tools that were installed in another way than as a package.
COMPILERS = ("g++", "ninja", "pkg-config")


class Setup(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.root = pathlib.Path(self.temporary.name)
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for name in REAL:
            (self.bin / name).symlink_to(self.which(name))
        # Files hold the installed packages and the package lists; apt-get writes both and logs its
        # calls.
        self.installed = self.root / "installed"
        self.listed = self.root / "listed"
        self.log = self.root / "log"
        self.log.touch()
        self.pretend("id", "echo 0")
        self.pretend(
            "dpkg-query",
            'shift 3; for p in "$@"; do\n'
            f'  if grep -qxF -- "$p" "{self.installed}"; then echo "installed $p"; fi\n'
            "done; exit 1",
        )
        self.pretend("apt-cache", f'test -f "{self.listed}"')
        self.pretend(
            "apt-get",
            f'echo "apt-get $*" >>"{self.log}"\n'
            f'case "$*" in *update) touch "{self.listed}";; *libfmt-dev*) exit "${{BROKEN:-0}}";; esac',
        )
        self.installed.write_text("", "utf-8")
        self.listed.touch()

    @staticmethod
    def which(name):
        return next(
            path
            for folder in os.environ["PATH"].split(":")
            if (path := pathlib.Path(folder, name)).exists()
        )

    def pretend(self, name, script):
        file = self.bin / name
        file.write_text(f"#!{self.which('bash')}\n{script}\n", "utf-8")
        file.chmod(0o755)

    def run_setup(self, which="run", **environment):
        done = subprocess.run(
            [TOOL, which],
            env={"PATH": str(self.bin), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,  # without a terminal
        )
        self.assertEqual(done.stdout, "")  # standard output belongs to the program
        return done.returncode, done.stderr

    def run_on_terminal(self, answer):
        """Runs like run_setup, on a terminal where a user types `answer`."""
        try:
            child, terminal = pty.fork()
        except OSError as error:
            self.skipTest(f"no terminal can be made here: {error}")
        if child == 0:
            os.execve(TOOL, [str(TOOL), "run"], {"PATH": str(self.bin)})
        output = b""
        try:
            while chunk := os.read(terminal, 4096):
                output += chunk
                if chunk.rstrip().endswith(b"[Y/n]"):
                    os.write(terminal, answer)
        except OSError:  # Linux reports the closed other side in this way
            pass
        _, status = os.waitpid(child, 0)
        os.close(terminal)
        return os.waitstatus_to_exitcode(status), output.decode()

    def all_installed(self):
        text = TOOL.read_text("utf-8")
        lists = text[text.index("run_packages=(") : text.index("say()")]
        self.installed.write_text(
            "\n".join(line.split("#")[0].split("=")[0].strip() for line in lists.split("\n")),
            "utf-8",
        )

    def apt_calls(self):
        calls = self.log.read_text("utf-8").split("\n")[:-1]
        return [call.replace("-q -o DPkg::Lock::Timeout=300 ", "") for call in calls]

    def test_says_nothing_where_nothing_is_missing(self):
        self.all_installed()
        for which in ("run", "test", "bench"):
            self.assertEqual(self.run_setup(which), (0, ""))
        self.assertEqual(self.apt_calls(), [])

    def test_root_without_a_terminal_installs_what_is_missing(self):
        code, errors = self.run_setup()
        self.assertEqual(code, 0, errors)
        self.assertIn("cmake g++ ninja-build pkg-config libboost-dev", errors)
        (call,) = self.apt_calls()
        self.assertTrue(call.startswith("apt-get install -y --no-install-recommends cmake g++ "))
        self.assertNotIn("catch2", call)

    def test_the_tests_need_more(self):
        self.run_setup("test")
        (call,) = self.apt_calls()
        for package in ("cmake", "catch2", "clang-tidy", "python3"):
            self.assertIn(f" {package}", call)

    def test_only_who_asks_for_it_gets_a_browser(self):
        self.run_setup("test")
        self.run_setup("test", PIPESIM_BROWSER="yes")
        self.run_setup("run", PIPESIM_BROWSER="yes")
        without, with_browser, only_run = self.apt_calls()
        self.assertNotIn("chromium", without)
        self.assertIn(" chromium chromium-driver", with_browser)
        self.assertNotIn("chromium", only_run)

    def test_the_benchmarks_need_more(self):
        self.run_setup("bench")
        (call,) = self.apt_calls()
        for package in ("cmake", "libbenchmark-dev", "libsimgrid-dev", "valgrind"):
            self.assertIn(f" {package}", call)

    def test_a_tool_that_is_there_need_not_be_a_package(self):
        for name in COMPILERS:
            self.pretend(name, "true")
        self.pretend("cmake", "echo cmake version 3.25.1")
        self.run_setup()
        (call,) = self.apt_calls()
        self.assertTrue(call.startswith("apt-get install -y --no-install-recommends libboost-dev "))

    def test_an_old_cmake_does_not_count(self):
        self.pretend("cmake", "echo cmake version 3.9.6")
        self.run_setup()
        self.assertIn(" cmake ", self.apt_calls()[0])

    def test_a_fresh_machine_has_no_package_lists(self):
        self.listed.unlink()
        self.assertEqual(self.run_setup()[0], 0)
        self.assertEqual(self.apt_calls()[0], "apt-get update")
        self.assertIn("install", self.apt_calls()[1])

    def test_old_package_lists_are_renewed_once(self):
        code, errors = self.run_setup(BROKEN="100")
        self.assertEqual(code, 2)
        self.assertEqual([call.split()[1] for call in self.apt_calls()], ["install", "update", "install"])
        self.assertIn("apt-get could not install the packages", errors)

    def test_without_root_and_sudo_it_prints_the_command_and_stops(self):
        self.pretend("id", "echo 1000")
        code, errors = self.run_setup()
        self.assertEqual((code, self.apt_calls()), (2, []))
        self.assertIn("su -c 'apt-get update && apt-get install -y ", errors)

    def test_sudo_that_wants_a_password_without_a_terminal_stops(self):
        self.pretend("id", "echo 1000")
        self.pretend("sudo", "exit 1")
        code, errors = self.run_setup()
        self.assertEqual((code, self.apt_calls()), (2, []))
        self.assertIn("sudo apt-get update && sudo apt-get install -y ", errors)

    def test_sudo_without_a_password_installs(self):
        self.pretend("id", "echo 1000")
        self.pretend("sudo", '[[ $1 == -n ]] && shift; "$@"')
        self.assertEqual(self.run_setup()[0], 0)
        self.assertEqual(len(self.apt_calls()), 1)

    def test_nothing_is_installed_where_it_is_forbidden(self):
        code, errors = self.run_setup(PIPESIM_SETUP="no")
        self.assertEqual((code, self.apt_calls()), (2, []))
        self.assertIn("apt-get install -y", errors)

    def test_on_a_terminal_it_asks_and_no_means_no(self):
        code, output = self.run_on_terminal(b"n\n")
        self.assertEqual((code, self.apt_calls()), (2, []), output)
        self.assertIn("nothing was installed", output)
        self.assertIn("apt-get install -y", output)

    def test_on_a_terminal_return_means_yes(self):
        code, output = self.run_on_terminal(b"\n")
        self.assertEqual((code, len(self.apt_calls())), (0, 1), output)

    def test_another_system_is_fine_with_its_tools(self):
        (self.bin / "apt-get").unlink()
        code, errors = self.run_setup()
        self.assertEqual(code, 2)
        self.assertIn("not found: cmake g++ ninja pkg-config", errors)
        for name in COMPILERS:
            self.pretend(name, "true")
        self.pretend("cmake", "echo cmake version 3.30.0")
        self.assertEqual(self.run_setup(), (0, ""))


if __name__ == "__main__":
    unittest.main()
