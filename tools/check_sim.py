#!/usr/bin/env python3
"""Checks that the engine stays deterministic, and that its second implementation stays separate.

    tools/check_sim.py [--root DIR]

sim/ uses no floating point, no input or output, no host clock, no locale and no random numbers of
the standard library. tests/twin includes nothing but itself and the standard library, except in
the files that compare the two implementations.
"""

import argparse
import pathlib
import re
import sys

BANNED_HEADERS = frozenset(
    """
    chrono ctime clocale cmath cfloat complex filesystem fstream iomanip ios iostream istream
    locale ostream random regex sstream valarray
    """.split()
)
COMPARES = re.compile(r"tests/twin/((to|from)_plan\.[ch]pp|.*_test\.cpp)$")

# Matches comments, string and character literals; a literal can contain text that looks like a
# comment.
COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<end>[^()\s\\]{0,16})\(.*?\)(?P=end)"|"(?:[^"\\\n]|\\.)*"|"""
    r"""(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'""",
    re.DOTALL,
)
FLOATING_POINT = re.compile(r"\b(?:double|float)\b|(?<![\w.])\d[\d']*\.\d")


def mistakes(root):
    for file in sorted((root / "sim").rglob("*.[ch]pp")):
        path = file.relative_to(root).as_posix()
        text = file.read_text("utf-8")
        code = COMMENT_OR_LITERAL.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
        for number, line in enumerate(code.splitlines(), 1):
            if found := FLOATING_POINT.search(line):
                yield f"{path}:{number}: error: floating point in sim: '{found[0]}'"
            found = re.match(r"#include <([^>]+)>", line)
            if found and (found[1] in BANNED_HEADERS or "." in found[1]):
                yield f"{path}:{number}: error: sim must not use <{found[1]}>"
    for file in sorted((root / "tests/twin").rglob("*.[ch]pp")):
        path = file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            found = re.match(r'#include "(?!tests/twin/)([^"]+)"', line)
            if found and not COMPARES.match(path):
                yield f"{path}:{number}: error: the twin shares no code: '{found[1]}'"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    found = list(mistakes(parser.parse_args().root))
    sys.exit("\n".join(found) if found else 0)
