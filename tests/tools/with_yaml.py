"""Imported first by tests that read YAML: makes `yaml` importable, and `jsonschema` with it.

Runs the test again with Debian's Python where this one lacks them. Without any, the test ends as
skipped, and with PIPESIM_SETUP=yes, as .ci/run sets it, as failed.
"""

import os
import sys

try:
    import jsonschema  # noqa: F401
    import yaml  # noqa: F401
except ImportError:
    system = "/usr/bin/python3"  # the one that packages are installed for
    if sys.executable != system and "PIPESIM_PYTHON" not in os.environ and os.path.exists(system):
        os.execve(system, [system, *sys.argv], dict(os.environ, PIPESIM_PYTHON=system))
    if os.environ.get("PIPESIM_SETUP") == "yes":
        raise
    print("SKIPPED: jsonschema and yaml are not here; they come with the packages python3-jsonschema and python3-yaml")
    sys.exit(0)
