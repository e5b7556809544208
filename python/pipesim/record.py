"""`python3 -m pipesim.record`: records a PyTorch script as all its ranks, and judges the record.

This module is not for import: `from pipesim import record` gives the function of `pipesim.api`.
"""

from __future__ import annotations

import sys

from pipesim.recorder.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
