"""`python3 -m pipesim.explore`: runs a PyTorch script with other answers, until a run hangs.

This module is not for import: `from pipesim import explore` gives the function of `pipesim.api`.
"""

from __future__ import annotations

import sys

from pipesim.explorer.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
