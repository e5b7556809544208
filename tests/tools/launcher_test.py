"""The launcher ./pipesim in a small tree, with a fake CMake that "builds" at once."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

LAUNCHER = pathlib.Path(__file__).resolve().parents[2] / "pipesim"

# A fake cmake, called as `cmake --fresh -S root -B build ...` and as `cmake --build build ...`.
CMAKE = r"""#!/bin/bash
echo "$1" >>"$CALLS"
if [[ $1 == --fresh ]]; then
  : >"$5/build.ninja"
  echo "CMAKE_HOME_DIRECTORY:INTERNAL=$3" >"$5/CMakeCache.txt"
  exit "${CONFIGURE_STATUS:-0}"
fi
echo "[1/1] a step"
sleep "${BUILD_SECONDS:-0}"
if [[ ${BUILD_STATUS:-0} != 0 ]]; then echo "error: no such thing"; exit 1; fi
mkdir -p "$2/bin"
cat >"$2/bin/pipesim" <<'END'
#!/bin/bash
for argument in "$@"; do echo "argument: $argument"; done
if [[ $1 == cat ]]; then cat; fi
echo "in: $PWD"
exit 7
END
chmod +x "$2/bin/pipesim"
"""


# One file of each kind that goes into the program.
SOURCES = (
    "CMakeLists.txt",
    "cmake/a.cmake",
    "sim/a.hpp",
    "app/cli/main.cpp",
    "app/commands/commands.def",
    "data/new/a.yaml",
    "docs/reference/errors.md",
    "viz/page/page.js",
)


class Launcher(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        base = pathlib.Path(self.temporary.name).resolve()
        self.elsewhere = base / "else where"
        self.root = base / "a check out"
        for folder in ("sim", "models", "formats", "viz/page", "features", "tools", "docs/reference"):
            (self.root / folder).mkdir(parents=True)
        for file in SOURCES:
            (self.root / file).parent.mkdir(parents=True, exist_ok=True)
            self.write_old(file)
        shutil.copy(LAUNCHER, self.root / "pipesim")
        self.write_script(self.root / "tools/setup", '#!/bin/bash\necho setup >>"$CALLS"\n')
        self.elsewhere.mkdir()
        commands = base / "commands"
        commands.mkdir()
        self.write_script(commands / "cmake", CMAKE)
        self.calls = base / "calls"
        self.environment = {
            **os.environ,
            "PATH": f"{commands}:{os.environ['PATH']}",
            "CALLS": str(self.calls),
        }

    def write_old(self, path):
        file = self.root / path
        file.write_text("", "utf-8")
        an_hour_ago = time.time() - 3600
        os.utime(file, (an_hour_ago, an_hour_ago))

    @staticmethod
    def write_script(file, text):
        file.write_text(text, "utf-8")
        file.chmod(0o755)

    def launch(self, *arguments, program=None, stdin="", **environment):
        return subprocess.run(
            [program or self.root / "pipesim", *arguments],
            env={**self.environment, **environment},
            cwd=self.elsewhere,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    def calls_made(self):
        """Returns the calls since the last call of this method."""
        calls = self.calls.read_text("utf-8").split() if self.calls.exists() else []
        self.calls.write_text("", "utf-8")
        return calls

    def test_the_first_call_builds_and_runs(self):
        done = self.launch("run", "a b", "")
        self.assertEqual(self.calls_made(), ["setup", "--fresh", "--build"])
        self.assertEqual(
            done.stdout, f"argument: run\nargument: a b\nargument: \nin: {self.elsewhere}\n"
        )
        self.assertEqual(done.returncode, 7)
        self.assertIn("building the program", done.stderr)
        self.assertIn("a step", done.stderr)

    def test_later_calls_only_run(self):
        self.launch()
        self.calls_made()
        done = self.launch("cat", stdin="from stdin\n")
        self.assertEqual(self.calls_made(), [])
        self.assertEqual(done.stderr, "")
        self.assertIn("from stdin", done.stdout)

    def test_stdin_belongs_to_the_program_at_the_first_call_too(self):
        self.assertIn("from stdin", self.launch("cat", stdin="from stdin\n").stdout)

    def test_a_newer_source_builds_again_without_configuring(self):
        for path in SOURCES:
            self.launch()
            self.calls_made()
            (self.root / path).touch()
            self.launch()
            self.assertEqual(self.calls_made(), ["setup", "--build"], path)

    def test_a_source_changed_during_the_build_is_not_missed(self):
        with subprocess.Popen(
            [self.root / "pipesim"],
            env={**self.environment, "BUILD_SECONDS": "0.6"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ):
            while "--build" not in (self.calls.read_text("utf-8") if self.calls.exists() else ""):
                time.sleep(0.02)
            (self.root / "sim/a.hpp").touch()
        self.calls_made()
        self.launch()
        self.assertEqual(self.calls_made(), ["setup", "--build"])

    def test_a_failed_build_runs_nothing_and_names_the_log(self):
        self.launch()
        (self.root / "sim/a.hpp").touch()
        for _ in range(2):  # the old program must not be used the next time either
            done = self.launch(BUILD_STATUS="1")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            log = self.root / "build/user/log"
            self.assertIn(f"The log: {log}", done.stderr)
            self.assertIn("no such thing", log.read_text("utf-8"))
        self.assertEqual(self.launch().returncode, 7)

    def test_nothing_is_built_where_that_is_not_wanted(self):
        done = self.launch(PIPESIM_BUILD="no")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", ""))
        self.launch()
        self.calls_made()
        (self.root / "sim/a.hpp").touch()
        self.assertEqual(self.launch(PIPESIM_BUILD="no").returncode, 7)
        self.assertEqual(self.calls_made(), [])

    def test_a_failed_configuration_is_tried_again(self):
        done = self.launch(CONFIGURE_STATUS="1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("could not configure", done.stderr)
        self.calls_made()
        self.assertEqual(self.launch().returncode, 7)
        self.assertEqual(self.calls_made(), ["setup", "--fresh", "--build"])

    def test_missing_packages_stop_it(self):
        self.write_script(self.root / "tools/setup", "#!/bin/bash\nexit 2\n")
        done = self.launch()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(self.calls_made(), [])

    def test_it_works_through_a_symbolic_link(self):
        link = self.elsewhere / "ps"
        link.symlink_to("../a check out/pipesim")
        self.assertEqual(self.launch(program=link).returncode, 7)

    def test_a_moved_checkout_is_configured_anew(self):
        self.launch()
        self.calls_made()
        self.root = self.root.rename(self.root.with_name("moved"))
        (self.root / "sim/a.hpp").touch()
        self.assertEqual(self.launch().returncode, 7)
        self.assertEqual(self.calls_made(), ["setup", "--fresh", "--build"])

    def test_two_at_once_build_once(self):
        both = [
            subprocess.Popen(
                [self.root / "pipesim"],
                env={**self.environment, "BUILD_SECONDS": "0.3"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(2)
        ]
        self.assertEqual([process.wait() for process in both], [7, 7])
        self.assertEqual(self.calls_made(), ["setup", "--fresh", "--build"])


if __name__ == "__main__":
    unittest.main()
