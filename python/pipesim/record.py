"""`python3 -m pipesim.record`: records a PyTorch script as all its ranks, and judges the record.

Not to be imported: `from pipesim import record` is the function of `pipesim.api`.
"""

from __future__ import annotations

import sys

from pipesim.recorder.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
