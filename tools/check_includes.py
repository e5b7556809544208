#!/usr/bin/env python3
"""Checks the include rule of the layout (docs/explanation/architecture.md).

    tools/check_includes.py [--root DIR]

A kernel folder includes itself and the kernel folders before it in KERNEL. A feature includes the
kernel, itself, and the features that PAIRS names for it. Only LIST, the list of the kinds of input,
includes features. Third-party headers are included in sources only.
"""

import argparse
import pathlib
import re
import sys

KERNEL = """
    sim sim/fixed_order sim/engine sim/waits sim/interleavings
    models models/graph models/lowering models/schedules models/layers models/result
    formats/document formats/scenario viz/report viz/pictures viz/page viz/trace
    app app/output app/input app/commands app/cli
    """.split()
PAIRS = {"check": ["record"], "diagnose": ["record"], "fix": ["check", "record"]}
LIST = "app/input/input_kinds.cpp"


def allowed(path, included):
    """Whether the rule lets the source at `path` include our header `included`."""
    (folder, _, _), (target, _, _) = path.rpartition("/"), included.rpartition("/")
    if not target.startswith("features/"):
        if folder.startswith("features/"):
            return target in KERNEL
        return folder in KERNEL and target in KERNEL[: KERNEL.index(folder) + 1]
    own, other = folder.removeprefix("features/"), target.removeprefix("features/")
    return path == LIST or other in [own, *PAIRS.get(own, [])]


def mistakes(root):
    for folder in ("sim", "models", "formats", "viz", "app", "features"):
        for file in sorted((root / folder).rglob("*.[ch]pp")):
            path = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
                found = re.match(r'#include (?:"([^"]+)"|<([^>]+)>)', line)
                if found and found[1] and not allowed(path, found[1]):
                    yield f"{path}:{number}: error: must not include '{found[1]}'"
                if found and found[2] and path.endswith(".hpp") and re.search("[./]", found[2]):
                    yield f"{path}:{number}: error: third-party <{found[2]}> in a header"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    found = list(mistakes(parser.parse_args().root))
    sys.exit("\n".join(found) if found else 0)
