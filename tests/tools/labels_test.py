"""Labels of wait-for graphs overlap no arrows or nodes in Graphviz's layout.

labels_test.py PROGRAM
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
GRAPHS = [[str(path.relative_to(ROOT))] for path in sorted((ROOT / "scenarios").glob("*.yaml"))] + [
    ["tests/pictures/job.yaml", "--set", "skips=5"],
    ["tests/pictures/job.yaml", "--set", "skips=5", "--set", "pipeline=8", "--set", "data=8"],
    ["tests/pictures/two_cycles.yaml"],
    ["tests/pictures/two_cycles.yaml", "--set", "job_ranks=64"],
]
SPACE = 0.278  # width of a space in Helvetica, relative to the font size


def boxes(edge):
    """Returns (left, low, right, high, text) of the lines of a label, without padding spaces."""
    found, size = [], 0
    for op in edge.get("_ldraw_", []):
        if op["op"] == "F":
            size = op["size"]
        if op["op"] != "T":
            continue
        (x, y), width, text = op["pt"], op["width"], op["text"].replace("\xa0", " ")
        left = {"l": x, "c": x - width / 2, "r": x - width}[op["align"]]
        before, after = (len(text) - len(text.lstrip())), (len(text) - len(text.rstrip()))
        found.append((left + before * SPACE * size, y - 0.2 * size, left + width - after * SPACE * size,
                      y + 0.72 * size, text.strip()))
    return found


def curve(edge, steps=60):
    """Returns points on the Bezier curves of an edge."""
    for op in edge.get("_draw_", []):
        for k in range(0, len(op.get("points", [])) - 3, 3):
            a, b, c, d = op["points"][k : k + 4]
            for i in range(steps + 1):
                t = i / steps
                s = 1 - t
                yield tuple(s**3 * a[n] + 3 * s * s * t * b[n] + 3 * s * t * t * c[n] + t**3 * d[n] for n in (0, 1))


def overlaps(graph):
    names = {found["_gvid"]: found["name"] for found in graph.get("objects", [])}
    edges = graph.get("edges", [])
    curves = [(f"{names[edge['tail']]} -> {names[edge['head']]}", list(curve(edge))) for edge in edges]
    labels = [box for edge in edges for box in boxes(edge)]
    found = []
    for left, low, right, high, text in labels:
        for name, points in curves:
            if any(left < x < right and low < y < high for x, y in points):
                found.append((text, name))
        for node in graph.get("objects", []):
            if "pos" not in node or "width" not in node:
                continue
            x, y = map(float, node["pos"].split(","))
            # Half the width and height of the node, in points.
            across, up = float(node["width"]) * 36, float(node["height"]) * 36
            if left < x + across and right > x - across and low < y + up and high > y - up:
                found.append((text, node["name"]))
    return found, labels


class Labels(unittest.TestCase):
    def laid_out(self, dot):
        run = subprocess.run(["dot", "-Tjson"], input=dot, capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    def test_none_lies_on_an_arrow_or_a_node(self):
        seen = 0
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work, "graph.dot")
            for arguments in GRAPHS:
                with self.subTest(scenario=" ".join(arguments)):
                    subprocess.run([PROGRAM, "draw", *arguments, "--what", "wait-for", "-o", path], cwd=ROOT,
                                   check=True, stdin=subprocess.DEVNULL)
                    found, labels = overlaps(self.laid_out(path.read_text("utf-8")))
                    self.assertEqual([], found)
                    seen += len(labels)
        self.assertGreater(seen, 200)

    def test_what_lies_on_an_arrow_is_found(self):
        graph = 'digraph { a -> b [label="on it", lp="27,50"]; a [pos="27,90"]; b [pos="27,18"]; }'
        run = subprocess.run(["neato", "-n2", "-Tjson"], input=graph, capture_output=True, text=True, check=True)
        self.assertEqual([("on it", "a -> b")], overlaps(json.loads(run.stdout))[0])


if __name__ == "__main__":
    if shutil.which("dot") is None:
        print("SKIPPED: dot is not here; it comes with the package graphviz")
    else:
        unittest.main()
