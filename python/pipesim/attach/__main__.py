"""`python3 -m pipesim.attach [-o DIR] SCRIPT [arguments]`: runs a script as Python does, and notes
its calls."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from pipesim.attach import attached


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="pipesim attach",
        usage="torchrun ... -m pipesim.attach [-o DIR] [-m MODULE | SCRIPT] [arguments]",
        description="Runs a PyTorch script, and notes the calls of this rank in DIR for "
        "'pipesim check DIR'.",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of the record")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if options.output:
        attached.folder = options.output
    sys.argv = [options.script, *options.arguments]
    try:
        if options.module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(options.script))
            runpy.run_path(options.script, run_name="__main__")
    except SystemExit as end:
        attached.exited(end.code)
        raise


if __name__ == "__main__":
    main(sys.argv[1:])
