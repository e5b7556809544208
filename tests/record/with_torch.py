"""Imported first by the tests of the recorder: makes torch and the package `pipesim` importable.

Runs the test again with Debian's Python where this one has no torch. Without any, the test ends
as skipped.
"""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

try:
    import torch  # noqa: F401
except ImportError:
    debian = "/usr/bin/python3"
    if sys.executable != debian and os.path.exists(debian) and "PIPESIM_RETRIED" not in os.environ:
        os.environ["PIPESIM_RETRIED"] = "1"
        os.execv(debian, [debian, "-B", *sys.argv])
    print("SKIPPED: no torch: tools/setup test installs it (python3-torch)")
    sys.exit(0)
