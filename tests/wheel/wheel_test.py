"""The wheel runs anywhere: in each installed Python, on other systems, and in an empty root folder.

    wheel_test.py WHEEL

tests/wheel/run builds the wheel and runs this test with the Python that has pip and auditwheel.
Everything installed comes from the wheel: pip has no index, and PATH has only the system's folders.
"""

import glob
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEEL = pathlib.Path(sys.argv.pop(1)).resolve()
PROCESSOR = "aarch64" if WHEEL.name.endswith("aarch64.whl") else "x86_64"
BARE_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
OLDEST = (3, 9)
RELEASES = ("bullseye", "bookworm", "trixie")
JOB = """
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
"""
TEST = """
import torch.distributed as dist
def job():
    dist.init_process_group("gloo")
    dist.barrier()
def test_job(record):
    assert record(job, ranks=2).check().proved
"""


def run(*command, code=0, **options):
    """Returns the output of the command on both streams. The command must exit with `code`."""
    done = subprocess.run(
        list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False, **{"env": {"PATH": BARE_PATH}, **options},
    )  # fmt: skip
    if done.returncode != code:
        raise AssertionError(f"{command} exited with {done.returncode}:\n{done.stdout}")
    return done.stdout


def version_of(python):
    return tuple(map(int, run(python, "-c", "import sys; print(*sys.version_info[:2])").split()))


def pythons():
    """Returns one interpreter of each supported version, of the system and of pyenv."""
    found = {}
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for path in [*glob.glob("/usr/bin/python3.*"), *glob.glob(f"{pyenv}/versions/*/bin/python3")]:
        if re.search(r"/python3(\.\d+)?$", path) and version_of(path) >= OLDEST:
            found.setdefault(version_of(path), path)
    return found


def with_torch():
    """Returns the interpreters with torch: the system's, and those for the tests of the
    recorder.
    """
    candidates = ["/usr/bin/python3", *glob.glob(str(ROOT / "build/torch-*/bin/python"))]
    return [
        python for python in candidates
        if os.path.exists(python) and "yes" in run(
            python, "-c", "import importlib.util as u; print('yes' if u.find_spec('torch') else 'no')")
    ]  # fmt: skip


installs = unittest.skipIf(PROCESSOR != platform.machine(), f"this is no {PROCESSOR} machine")


class Wheel(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="pipesim_wheel_")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()

    def install(self, python, name="venv"):
        """Returns an environment with only the wheel."""
        venv = self.folder / name
        run(python, "-m", "venv", "--without-pip", venv)
        run(sys.executable, "-m", "pip", "--python", venv / "bin/python", "install", "--no-index", WHEEL)
        return venv

    def test_it_needs_no_library(self):
        shown = run(sys.executable, "-m", "auditwheel", "show", WHEEL)
        self.assertIn("requires no external shared libraries", " ".join(shown.split()))
        self.assertRegex(
            WHEEL.name,
            rf"^pipesim-[\d.]+-py3-none-manylinux2014_{PROCESSOR}\.musllinux_1_1_{PROCESSOR}\.whl$",
        )

    def test_it_has_one_version(self):
        sources = {
            "CMakeLists.txt": r"\n  VERSION ([0-9.]+)\n",
            "python/pipesim/__init__.py": r'__version__ = "([0-9.]+)"',
            "pyproject.toml": r'\nversion = "([0-9.]+)"',
        }
        for name, version in sources.items():
            found = re.search(version, (ROOT / name).read_text("utf-8")).group(1)
            self.assertEqual(WHEEL.name.split("-")[1], found, name)

    def test_it_holds_all_that_belongs_to_it(self):
        with zipfile.ZipFile(WHEEL) as archive:
            names = archive.namelist()
            text = archive.read(next(n for n in names if n.endswith("/THIRD_PARTY.md"))).decode()
        for ending in (
            ".data/scripts/pipesim",
            "pipesim/recorder/broker.py",
            "pipesim/pytest_plugin.py",
            "pipesim/py.typed",
            "share/pipesim/scenarios/swin_2x2x2.yaml",
            "share/man/man1/pipesim.1",
            "share/man/man1/pipesim-run.1",
            "share/bash-completion/completions/pipesim",
            "share/zsh/site-functions/_pipesim",
            "licenses/LICENSE",
            "licenses/third_party/EPL-1.0.txt",
            "licenses/third_party/LGPL-2.1",
        ):
            self.assertEqual(1, sum(name.endswith(ending) for name in names), ending)
        # Each library in the table has the license that the table states.
        linked = re.findall(r"\]\((\S+)\) \| \S+ \| \d\S* \|", text)
        self.assertGreater(len(linked), 7)
        for license in linked:
            self.assertEqual(1, sum(name.endswith(f"third_party/{license}") for name in names), license)

    def test_the_program_runs_without_a_system(self):
        if os.geteuid() != 0:
            self.skipTest("chroot needs root")
        with zipfile.ZipFile(WHEEL) as archive:
            for name in archive.namelist():
                if name.endswith((".data/scripts/pipesim", "scenarios/swin_2x2x2.yaml")):
                    (self.folder / pathlib.Path(name).name).write_bytes(archive.read(name))
        (self.folder / "pipesim").chmod(0o755)
        (self.folder / "tmp").mkdir()
        inside = ["/usr/sbin/chroot", self.folder, "/pipesim"]
        if PROCESSOR != platform.machine():
            shutil.copy(f"/usr/bin/qemu-{PROCESSOR}-static", self.folder / "qemu")
            inside.insert(2, "/qemu")
        self.assertIn("DEADLOCK at 43.6 us", run(*inside, "run", "/swin_2x2x2.yaml", code=1))
        run(*inside, "draw", "/swin_2x2x2.yaml", "--what", "wait-for", "-o", "/waits.svg")
        self.assertIn("</svg>", (self.folder / "waits.svg").read_text("utf-8"))
        refused = run(*inside, "draw", "/swin_2x2x2.yaml", "-o", "/timeline.png", code=2)
        self.assertIn("install Graphviz", refused)

    @installs
    def test_each_python_takes_it(self):
        found = pythons()
        self.assertTrue(found)
        for version, python in found.items():
            with self.subTest(version=version):
                venv = self.install(python, "python%d.%d" % version)
                scenario = venv / "share/pipesim/scenarios/swin_2x2x2.yaml"
                self.assertIn("DEADLOCK at 43.6 us", run(venv / "bin/pipesim", "run", scenario, code=1))
                module = (venv / "bin/python", "-m", "pipesim")
                run(*module, "draw", scenario, "--what", "wait-for", "-o", self.folder / "waits.svg")
                self.assertIn("</svg>", (self.folder / "waits.svg").read_text("utf-8"))
                where = run(venv / "bin/python", "-c", "import pipesim.recorder.program as p; print(p.find_program())")
                self.assertEqual(str(venv / "bin/pipesim"), where.strip())

    @installs
    def test_it_records_without_its_folder_in_path(self):
        found = with_torch()
        if not found:
            self.skipTest("no torch: tools/setup test installs it")
        (self.folder / "job.py").write_text(JOB)
        (self.folder / "test_job.py").write_text(TEST)
        for number, python in enumerate(found):
            with self.subTest(python=python):
                venv = self.install(python, f"torch{number}")
                # Adds the packages of `python`, including torch.
                others = run(python, "-c", "import torch, pathlib; print(pathlib.Path(torch.__file__).parents[1])")
                [packages] = venv.glob("lib/python3*/site-packages")
                (packages / "torch.pth").write_text(others)
                for command in (
                    ("bin/pipesim", "record"),
                    ("bin/python", "-m", "pipesim", "record"),
                    ("bin/python", "-m", "pipesim.record"),
                ):
                    output = run(venv / command[0], *command[1:], "--ranks", 2, "job.py", cwd=self.folder)
                    self.assertIn("PROVED", output)
                has_pytest = "import importlib.util as u; print(u.find_spec('pytest') is not None)"
                if run(venv / "bin/python", "-c", has_pytest).strip() == "True":
                    passed = run(venv / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_job.py",
                                 cwd=self.folder)  # fmt: skip
                    self.assertIn("1 passed", passed)

    @installs
    def test_a_recorder_without_a_program_keeps_the_record(self):
        found = with_torch()
        if not found:
            self.skipTest("no torch: tools/setup test installs it")
        (self.folder / "job.py").write_text(JOB)
        venv = self.install(found[0])
        (venv / "bin/pipesim").rename(self.folder / "program")
        [packages] = venv.glob("lib/python3*/site-packages")
        (packages / "torch.pth").write_text(
            run(found[0], "-c", "import torch, pathlib; print(pathlib.Path(torch.__file__).parents[1])")
        )
        output = run(venv / "bin/python", "-m", "pipesim.record", "--ranks", 2, "job.py", cwd=self.folder, code=2)
        self.assertIn("install pipesim's wheel", output)
        record = re.search(r"pipesim check (\S+)", output).group(1)
        self.addCleanup(shutil.rmtree, pathlib.Path(record).parent)
        self.assertIn("PROVED", run(self.folder / "program", "check", record))

    @installs
    def test_other_systems_take_it(self):
        mirror = os.environ.get("PIPESIM_CHROOT")
        if not mirror:
            self.skipTest("PIPESIM_CHROOT is not set")
        for release in RELEASES:
            with self.subTest(release=release):
                system = self.folder / release
                run("debootstrap", "--variant=minbase", "--include=python3-venv", release, system, mirror)
                shutil.copy(WHEEL, system / "tmp")
                shutil.copytree(ROOT / "scenarios", system / "tmp/scenarios")
                output = run(
                    "chroot", system, "sh", "-ec",
                    "cd /tmp; python3 -m venv venv; venv/bin/pip install --no-index pipesim-*.whl\n"
                    "venv/bin/pipesim test scenarios/swin_2x2x2.yaml\n"
                    "venv/bin/python -m pipesim draw scenarios/swin_2x2x2.yaml --what wait-for -o waits.svg",
                )  # fmt: skip
                self.assertIn(" passed, 0 failed\n", output)
                self.assertIn("</svg>", (system / "tmp/waits.svg").read_text("utf-8"))


if __name__ == "__main__":
    unittest.main()
