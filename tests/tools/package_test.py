"""The Debian packages have the right content, which works wherever it is unpacked.

    package_test.py --build DIR --cmake PATH --compiler PATH --flags FLAGS --build-type TYPE

Makes the packages from the build in DIR, without building again. Without dpkg-dev, everything is
skipped; without lintian, only its checks are. `tools/setup test` installs both.

With PIPESIM_CHROOT=MIRROR, for instance http://deb.debian.org/debian, apt also installs the
packages in a fresh system of this release, made by debootstrap. This needs root and takes some
minutes.
"""

import argparse
import gzip
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ("libpipesim-dev", "pipesim", "python3-pipesim")
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(pipesim 0.1 REQUIRED)
add_executable(own_pass own_pass.cpp)
target_link_libraries(own_pass PRIVATE pipesim::pipesim)
"""


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("build", "cmake", "compiler", "flags", "build-type"):
        parser.add_argument("--" + name, required=True)
    return parser.parse_args()


OPTIONS = arguments()


def run(*command, code=0, **options):
    """Returns the output of the command, which must exit with `code`."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", check=False, **options,
    )  # fmt: skip
    if done.returncode != code:
        raise AssertionError(f"{command} exited with {done.returncode}:\n{done.stdout}")
    return done.stdout


def make_packages(folder):
    """Makes the packages in this folder. Returns them sorted by name."""
    cpack = pathlib.Path(OPTIONS.cmake).with_name("cpack")
    run(
        str(cpack), "--config", "CPackConfig.cmake", "-B", str(folder), cwd=OPTIONS.build,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )  # fmt: skip
    return sorted(folder.glob("*.deb"))


class Package(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="pipesim_package_")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name).resolve()
        cls.packages = make_packages(cls.folder / "packages")
        cls.root = cls.folder / "a clean folder"
        for package in cls.packages:
            run("dpkg-deb", "-x", str(package), str(cls.root))
        cls.usr = cls.root / "usr"

    def pipesim(self, *options, **more):
        """Returns the output of the unpacked program, which finds no other program in PATH."""
        return run(
            str(self.usr / "bin/pipesim"), *options, cwd=self.usr / "share/pipesim",
            env={"PATH": str(self.usr / "bin")}, **more,
        )  # fmt: skip

    def fields(self, package):
        """Returns the control fields of a package."""
        lines = run("dpkg-deb", "-f", str(package)).splitlines()
        return dict(line.split(": ", 1) for line in lines if re.match(r"[\w-]+: ", line))

    def test_there_are_three(self):
        fields = [self.fields(package) for package in self.packages]
        self.assertEqual(PACKAGES, tuple(field["Package"] for field in fields))
        for field in fields:
            self.assertRegex(field["Maintainer"], r"^pipesim developers <[^ >]+@[^ >]+>$")
            self.assertEqual("deterministic simulator of distributed training runtimes", field["Description"])
        # The libraries that the program is linked with, and those for users of the archive.
        self.assertRegex(fields[1]["Depends"], r"\blibc6 .*\blibyaml-cpp")
        self.assertRegex(fields[0]["Depends"], r"\blibyaml-cpp-dev\b")

    def test_lintian_accepts_them(self):
        if shutil.which("lintian") is None:
            self.skipTest("no lintian: tools/setup test installs it")
        if OPTIONS.flags:
            self.skipTest("made with flags of somebody, such as those of sanitizers")
        ignored = []
        # The user asked for lib/pkgconfig, or the build folder is older than the current default.
        if (self.usr / "lib/pkgconfig").exists():
            ignored = ["--suppress-tags", "pkg-config-unavailable-for-cross-compilation"]
        run(
            "lintian", "--allow-root", "--fail-on", "error,warning", *ignored,
            *map(str, self.packages),
        )  # fmt: skip

    def test_the_same_bytes_come_out_again(self):
        for before, after in zip(self.packages, make_packages(self.folder / "again"), strict=True):
            self.assertTrue(before.read_bytes() == after.read_bytes(), after.name)

    def test_no_file_says_where_it_was_made(self):
        if OPTIONS.flags:
            self.skipTest("made with flags of somebody, such as those of sanitizers")
        for file in self.usr.rglob("*"):
            if file.is_file():
                self.assertNotIn(bytes(ROOT), file.read_bytes(), file)

    def test_the_program_runs_from_a_clean_folder(self):
        self.assertIn("swin_2x2x2  DEADLOCK at 43.6 us", self.pipesim("run", "scenarios/swin_2x2x2.yaml", code=1))
        self.assertIn(" passed, 0 failed\n", self.pipesim("test"))

    def test_man_pages_and_completions_are_there(self):
        commands = self.pipesim("help", "--list").split()
        pages = {"pipesim": (), **{f"pipesim-{command}": (command,) for command in commands}}
        found = {file.name: file for file in (self.usr / "share/man/man1").iterdir()}
        self.assertEqual({f"{page}.1.gz" for page in pages}, set(found))
        for page, command in pages.items():
            packed = found[f"{page}.1.gz"].read_bytes()
            self.assertEqual(self.pipesim("help", "--man", *command), gzip.decompress(packed).decode("utf-8"))
        for file, shell in (
            ("bash-completion/completions/pipesim", "bash"),
            ("zsh/site-functions/_pipesim", "zsh"),
        ):
            self.assertEqual(self.pipesim("completion", shell), (self.usr / "share" / file).read_text("utf-8"))

    def test_python_finds_the_recorder(self):
        found = run(
            "python3", "-B", "-m", "pipesim.record", "--help",
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(self.usr / "lib/python3/dist-packages")},
        )  # fmt: skip
        self.assertIn("usage: pipesim record --ranks N", found)

    def test_the_documentation_is_where_people_look(self):
        doc = self.usr / "share/doc/pipesim"
        self.assertTrue((doc / "docs/reference/scenario-format.md").is_file())
        self.assertTrue((doc / "examples/swin_2x2x2.yaml").is_file())
        for package in PACKAGES:
            doc = self.usr / "share/doc" / package
            self.assertIn("License: Apache-2.0", (doc / "copyright").read_text("utf-8"))
            changes = gzip.decompress((doc / "changelog.gz").read_bytes()).decode("utf-8")
            self.assertTrue(changes.startswith("pipesim ("), changes)
            self.assertTrue(changes.endswith("Tue, 14 Nov 2023 22:13:20 +0000\n"), changes)

    def test_cmake_finds_it(self):
        project = self.folder / "by cmake"
        project.mkdir()
        shutil.copy(ROOT / "examples/own_pass.cpp", project)
        (project / "CMakeLists.txt").write_text(PROJECT, "utf-8")
        run(
            OPTIONS.cmake, "-G", "Ninja", "-S", ".", "-B", "build",
            f"-DCMAKE_PREFIX_PATH={self.usr}", f"-DCMAKE_CXX_COMPILER={OPTIONS.compiler}",
            f"-DCMAKE_CXX_FLAGS={OPTIONS.flags}", f"-DCMAKE_BUILD_TYPE={OPTIONS.build_type}",
            cwd=project,
        )  # fmt: skip
        run(OPTIONS.cmake, "--build", "build", cwd=project)
        self.assertIn("\nrename\n", run("build/own_pass", "opt", "--list", cwd=project))

    def test_pkg_config_finds_it(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("no pkg-config")
        [pc] = self.usr.rglob("pipesim.pc")
        flags = run(
            "pkg-config", "--cflags", "--libs", "pipesim",
            env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)},
        )  # fmt: skip
        run(
            OPTIONS.compiler, "-std=c++20", *shlex.split(OPTIONS.flags),
            str(ROOT / "examples/own_pass.cpp"), "-o", "by_pkg_config", *shlex.split(flags),
            cwd=self.folder,
        )  # fmt: skip
        self.assertIn("\nrename\n", run("./by_pkg_config", "opt", "--list", cwd=self.folder))

    def test_apt_installs_them_in_a_fresh_system(self):
        mirror = os.environ.get("PIPESIM_CHROOT")
        if not mirror:
            self.skipTest("PIPESIM_CHROOT is not set")
        release = re.search(
            r"^VERSION_CODENAME=(\w+)$", pathlib.Path("/etc/os-release").read_text("utf-8"), re.M
        ).group(1)
        system = self.folder / "system"
        run("debootstrap", "--variant=minbase", release, str(system), mirror)
        for file in (*self.packages, ROOT / "examples/own_pass.cpp"):
            shutil.copy(file, system / "tmp")
        output = run(
            "chroot", str(system), "sh", "-ec",
            "cd /tmp; export DEBIAN_FRONTEND=noninteractive\n"
            "apt-get install -qy --no-install-recommends ./pipesim_*.deb\n"
            "cd /usr/share/pipesim; pipesim test\n"
            "pipesim draw scenarios/swin_2x2x2.yaml --what wait-for -o /tmp/hang.png\n"
            "apt-get install -qy --no-install-recommends /tmp/libpipesim-dev_*.deb g++ pkg-config\n"
            "cd /tmp; g++ -std=c++20 own_pass.cpp -o own_pass $(pkg-config --cflags --libs pipesim)\n"
            "./own_pass opt --list",
        )  # fmt: skip
        self.assertIn(" passed, 0 failed\n", output)
        self.assertIn("\nrename\n", output)


if __name__ == "__main__":
    if all(map(shutil.which, ("dpkg-deb", "dpkg-shlibdeps"))):
        unittest.main(argv=[__file__])
    print("SKIPPED: no dpkg-dev, which makes Debian packages: tools/setup test installs it")
