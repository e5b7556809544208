"""The pictures of the documentation equal the pictures that the program draws.

    pictures_test.py PROGRAM

Graphviz's layouts differ between versions, so only nodes and edges of its pictures are compared;
all other pictures must have the same bytes.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()


def parts(svg):
    """Returns the names of nodes and edges, which Graphviz writes as titles, and all texts."""
    return sorted(re.findall(r"<(?:title|text)[^>]*>([^<]*)<", svg))


def read(path):
    """Returns the picture without the version in its footer."""
    return re.sub(r"pipesim \d[\w.+-]*:", "pipesim VERSION:", path.read_text(encoding="utf-8"))


class Pictures(unittest.TestCase):
    def test_they_are_what_the_script_draws(self):
        with tempfile.TemporaryDirectory() as work:
            subprocess.run(
                ["tools/pictures", work], cwd=ROOT, check=True,
                env={**os.environ, "PIPESIM": str(PROGRAM)},
            )
            drawn = {path.name: read(path) for path in pathlib.Path(work).iterdir()}
        kept = {path.name: read(path) for path in PICTURES.iterdir()}
        self.assertEqual(sorted(drawn), sorted(kept))
        for name, svg in kept.items():
            with self.subTest(picture=name, hint="run tools/pictures and look at what changed"):
                if "by graphviz" in svg:
                    self.assertEqual(parts(svg), parts(drawn[name]))
                else:
                    self.assertEqual(svg, drawn[name])

    def test_each_is_used_by_a_page(self):
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        text = "".join(page.read_text(encoding="utf-8") for page in pages)
        for path in PICTURES.iterdir():
            self.assertIn(f"pictures/{path.name}", text)


if __name__ == "__main__":
    unittest.main()
