"""Makes torch and the package `pipesim` importable; the recorder's tests import it first.

Restarts the test with the interpreter that CTest names in PIPESIM_TORCH_PYTHON, or with Debian's
interpreter if this one has no torch. Without any torch, the test counts as skipped. In CI it fails
instead, because tools/setup and tools/torch_venv must have installed torch.
"""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))


def run_again(python):
    """Restarts the test with another interpreter; never returns."""
    os.environ.pop("PIPESIM_TORCH_PYTHON", None)
    os.environ["PIPESIM_RETRIED"] = "1"
    python = os.path.abspath(python)  # does not resolve links: an environment's python is a link
    os.execv(python, [python, "-B", *sys.argv])


def end_without_torch(why):
    needed = os.environ.get("CI") == "true" or os.environ.get("PIPESIM_SETUP") == "yes"
    print(f"{'FAILED' if needed else 'SKIPPED'}: {why}")
    sys.exit(1 if needed else 0)


wanted = os.environ.get("PIPESIM_TORCH_PYTHON")
if wanted:
    if not os.path.exists(wanted):
        end_without_torch(f"no {wanted}: tools/torch_venv makes it")
    run_again(wanted)
try:
    import torch  # noqa: F401
except ImportError:
    debian = "/usr/bin/python3"
    if sys.executable != debian and os.path.exists(debian) and "PIPESIM_RETRIED" not in os.environ:
        run_again(debian)
    end_without_torch("no torch: tools/setup test installs it (python3-torch)")
