"""The package, installed as a user would: `pip install ./python` into an environment of its own.

    package_test.py PIPESIM

Needs no network: pip builds with the setuptools that are here. Skipped with a message where venv,
pip or setuptools are missing (tools/setup test installs them).
"""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from with_torch import ROOT  # isort: skip


def run(*words, **options):
    """Output of both streams; any other exit than that expected ends the test with it."""
    expected = options.pop("exit", 0)
    # Only what is installed, not this clone.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_"))}
    done = subprocess.run(
        list(map(str, words)), env={**environment, **options.pop("env", {})},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options,
    )  # fmt: skip
    if done.returncode != expected:
        sys.exit(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def main():
    program = os.path.abspath(sys.argv[1])
    missing = [m for m in ("venv", "ensurepip", "setuptools") if not importlib.util.find_spec(m)]
    has_setuptools = "setuptools" not in missing
    # setuptools builds wheels itself from 70.1 on.
    if has_setuptools and not importlib.util.find_spec("wheel"):
        import setuptools

        if tuple(map(int, setuptools.__version__.split(".")[:2])) < (70, 1):
            missing.append("wheel")
    if missing:
        print(f"SKIPPED: no {', '.join(missing)}: python3-venv, python3-setuptools, python3-wheel")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        # A copy: setuptools builds beside the sources.
        shutil.copytree(ROOT / "python", folder / "source",
                        ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))  # fmt: skip
        run(sys.executable, "-m", "venv", "--system-site-packages", folder / "venv")  # for torch
        python = folder / "venv/bin/python"
        if sys.prefix != sys.base_prefix:
            # "System" is what this interpreter's own environment was made of, which has no torch.
            own = sysconfig.get_path("purelib")
            found = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
            pathlib.Path(found.strip(), "of_the_test.pth").write_text(own + "\n")
        run(python, "-m", "pip", "install", "--no-build-isolation", "--no-index", "--no-deps",
            "--disable-pip-version-check", folder / "source")  # fmt: skip
        where = run(python, "-c", "import pipesim; print(pipesim.__file__)", cwd=folder)
        assert where.startswith(str(folder / "venv")), where
        said = run(python, "-m", "pipesim.record", "--ranks", 4, ROOT / "examples/record_ddp.py",
                   cwd=folder, env={"PIPESIM": program}, exit=1)  # fmt: skip
        assert "HANG CERTAIN" in said, said
        # The fixture is found by its entry point, without a -p.
        if run(python, "-c", "import importlib.util as u; print(u.find_spec('pytest') is not None)",
               cwd=folder) == "True\n":  # fmt: skip
            (folder / "test_job.py").write_text(
                "import torch.distributed as dist\n"
                "def job():\n"
                "    dist.init_process_group('gloo')\n"
                "    dist.barrier()\n"
                "def test_job(record):\n"
                "    assert record(job, ranks=2).check().proved\n"
            )
            run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder / "test_job.py",
                cwd=folder, env={"PIPESIM": program})  # fmt: skip
        listed = run(python, "-m", "pip", "show", "--files", "pipesim", cwd=folder)
        assert "pipesim/recorder/broker.py" in listed and "pipesim/py.typed" in listed, listed
    print("the package installs, records and has its fixture")
    return 0


if __name__ == "__main__":
    sys.exit(main())
