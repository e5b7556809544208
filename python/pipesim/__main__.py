"""`python3 -m pipesim`: the program pipesim of this environment, which records with this Python."""

from __future__ import annotations

import os
import sys

from pipesim.recorder import program


def main() -> None:
    try:
        found = program.find_program()
        os.environ["PYTHON"] = sys.executable
        os.execvp(found, [found, *sys.argv[1:]])
    except (program.ProgramNotFound, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
