"""Makes `yaml` and `jsonschema` importable. Tests that read YAML import this module first.

Reruns the test with Debian's Python if this Python lacks them. If no Python has them, the test ends
as skipped, or as failed with PIPESIM_SETUP=yes, which .ci/run sets.
"""

import os
import sys

try:
    import jsonschema  # noqa: F401
    import yaml  # noqa: F401
except ImportError:
    system = "/usr/bin/python3"  # the Python of the installed packages
    if sys.executable != system and "PIPESIM_PYTHON" not in os.environ and os.path.exists(system):
        os.execve(system, [system, *sys.argv], dict(os.environ, PIPESIM_PYTHON=system))
    if os.environ.get("PIPESIM_SETUP") == "yes":
        raise
    print("SKIPPED: jsonschema and yaml are not here; they come with the packages python3-jsonschema and python3-yaml")
    sys.exit(0)
