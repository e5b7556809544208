"""`pipesim lint` of PyTorch scripts.

    script_lint_test.py PROGRAM

Each rule has a script that just breaks it, and a similar script that is right. The expected findings
of the scripts of public reports, in ../shared/data if it exists, come from reading them.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
sys.path.insert(0, str(ROOT / "python"))

from pipesim import lint  # noqa: E402

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()

START = """\
import threading, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
x = torch.ones(4)
"""
LINE = START.count("\n") + 1

# Rule, a script that breaks it in its first line, and a script that does not.
RULES = [
    ("rank-collective", "if rank == 0: dist.all_reduce(x)\n", "if rank == 0: print(x)\ndist.all_reduce(x)\n"),
    ("rank-collective", "if rank: dist.broadcast(x, 0)\nelse: dist.all_reduce(x)\n",
     "if rank: dist.broadcast(x, 0)\nelse: dist.broadcast(x + 1, 0)\n"),
    ("rank-collective", "rank == 0 and dist.all_reduce(x)\n", "world > 1 and dist.all_reduce(x)\n"),
    ("rank-barrier", "if rank != 0: dist.barrier()\n",
     "if rank != 0: dist.barrier()\nprint('download')\nif rank == 0: dist.barrier()\n"),
    ("rank-barrier", "if rank == 0: dist.barrier()\nif rank == 0: dist.barrier()\n",
     "if rank == 0: dist.barrier()\nelse: dist.barrier()\n"),
    ("rank-group", "if rank < 2: pair = dist.new_group([0, 1])\n",
     "pair = dist.new_group([0, 1])\nif rank < 2: dist.all_reduce(x, group=pair)\n"),
    ("rank-exit", "if rank == 3: exit()\ndist.barrier()\n",
     "if rank > world: raise ValueError(rank)\ndist.barrier()\n"),
    ("rank-loop", "for i in range(rank): dist.all_reduce(x)\n", "for i in range(world): dist.all_reduce(x)\n"),
    ("rank-order", "for y in ([x, x + 1] if rank else [x + 1, x]): dist.all_reduce(y)\n",
     "for y in [x, x + rank]: dist.all_reduce(y)\n"),
    ("set-order", "for name in {'a', 'b'}: dist.all_reduce(x)\n",
     "for name in sorted({'a', 'b'}): dist.all_reduce(x)\n"),
    ("local-branch", "if time.time() > 9: dist.barrier()\n", "if time.time() > 9: print('late')\n"),
    ("dropped-work", "dist.all_reduce(x, async_op=True)\n", "dist.all_reduce(x, async_op=True).wait()\n"),
    ("dropped-work", "work = dist.isend(x, 1)\n", "work = dist.isend(x, 1)\nwork.wait()\n"),
]  # fmt: skip

# The same for scripts whose finding is not in the first line.
LONGER = [
    ("rank-exit", 2, "for i in range(3):\n    if rank == i: continue\n    dist.all_reduce(x)\n",
     "for i in range(3):\n    if rank == i: continue\n    print(i)\ndist.all_reduce(x)\n"),
    ("rank-exit", 2, "def step(end):\n    if end: return\n    dist.all_reduce(x)\nstep(rank == 1)\n",
     "def step(end):\n    if end: return\n    dist.all_reduce(x)\nstep(world == 1)\n"),
    ("rank-barrier", 3, "def save():\n    dist.barrier()\nif rank == 0: save()\n",
     "def save():\n    if rank == 0: print(x)\n    dist.barrier()\nsave()\n"),
    ("rank-collective", 4, "class Job:\n    def __init__(self): self.main = rank == 0\n"
     "    def log(self):\n        if self.main: dist.all_reduce(x)\nJob().log()\n",
     "class Job:\n    def __init__(self): self.main = rank == 0\n"
     "    def log(self):\n        dist.all_reduce(x)\n        if self.main: print(x)\nJob().log()\n"),
    ("local-branch", 3, "late = torch.tensor(time.time() > 9)\n\nif late.item(): dist.barrier()\n",
     "late = torch.tensor(time.time() > 9)\ndist.broadcast(late, 0)\nif late.item(): dist.barrier()\n"),
    ("local-branch", 2, "loss = torch.nn.functional.mse_loss(x, x)\nif loss.item() < 1: dist.barrier()\n",
     "loss = torch.nn.functional.mse_loss(x, x)\ndist.all_reduce(loss)\nif loss.item() < 1: dist.barrier()\n"),
    ("swallowed-error", 4, "for i in range(3):\n    try:\n        y = torch.load('x')\n"
     "    except OSError: continue\n    dist.all_reduce(y)\n",
     "for i in range(3):\n    try:\n        y = torch.load('x')\n"
     "    except OSError: raise\n    dist.all_reduce(y)\n"),
    ("swallowed-error", 3, "try:\n    dist.all_reduce(x)\nexcept RuntimeError: print('failed')\ndist.barrier()\n",
     "try:\n    import numpy\nexcept ImportError: print('no numpy')\ndist.barrier()\n"),
    ("poll-message", 2, "work = dist.isend(x, 1)\nwhile not work.is_completed(): time.sleep(1)\n",
     "work = dist.all_reduce(x, async_op=True)\nwhile not work.is_completed(): time.sleep(1)\n"),
    ("thread-group", 2, "def save(): dist.all_reduce(x)\nthreading.Thread(target=save).start()\ndist.barrier()\n",
     "own = dist.new_group()\ndef save(): dist.all_reduce(x, group=own)\n"
     "threading.Thread(target=save).start()\ndist.barrier()\n"),
]  # fmt: skip

# Correct scripts with code that depends on the rank.
RIGHT = {
    "send and recv": "if rank == 0: dist.send(x, 1)\nelif rank == 1: dist.recv(x, 0)\n",
    "a pipeline": "if rank > 0: dist.recv(x, rank - 1)\nx = x * 2\nif rank < world - 1: dist.send(x, rank + 1)\n",
    "a parity": "if rank % 2: dist.recv(x, rank - 1); dist.send(x, rank - 1)\n"
    "else: dist.send(x, rank + 1); dist.recv(x, rank + 1)\n",
    "print and save": "for i in range(3):\n    dist.all_reduce(x)\n    if rank == 0:\n        print(x)\n"
    "        torch.save(x, 'x')\n    dist.barrier()\n",
    "a progress bar": "from tqdm import tqdm\nbatches = range(9)\nif rank == 0:\n    batches = tqdm(batches)\n"
    "for i in batches:\n    dist.all_reduce(x)\n",
    "zero first": "import contextlib\n@contextlib.contextmanager\ndef zero_first(local_rank):\n"
    "    if local_rank not in [-1, 0]:\n        dist.barrier()\n    yield\n"
    "    if local_rank == 0:\n        dist.barrier()\nwith zero_first(rank):\n    print('download')\n",
    "not distributed": "local_rank = -1\ndef main(local_rank):\n    if local_rank != -1:\n        dist.barrier()\nmain(rank)\n",
    "groups of members": "groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]\n"
    "if rank in (0, 1):\n    dist.all_reduce(x, group=groups[0])\nelse:\n    dist.all_reduce(x, group=groups[1])\n",
    "objects of rank 0": "settings = [{'lr': 1}] if rank == 0 else [None]\n"
    "dist.broadcast_object_list(settings, src=0)\nif settings[0]:\n    dist.barrier()\n",
    "the same calls": "if rank == 0:\n    dist.broadcast(x, 0)\n    dist.barrier()\nelse:\n    y = torch.zeros(4)\n"
    "    dist.broadcast(y, 0)\n    dist.barrier()\n",
    "an agreed stop": "import random\nfor i in range(9):\n    stop = torch.tensor(int(random.random() < 0.1 or rank == i))\n"
    "    dist.all_reduce(stop, op=dist.ReduceOp.MAX)\n    if stop.item():\n        break\n    dist.all_reduce(x)\n",
    "a worker that ends": "if rank != 0:\n    dist.barrier()\n    raise SystemExit(0)\nprint('rank 0')\ndist.barrier()\n",
    "a helper's result": "def setup():\n    return dist.get_rank(), dist.get_world_size()\n"
    "me, size = setup()\nif size > 1:\n    dist.barrier()\n",
}  # fmt: skip

# Rules and lines found in scripts of public reports, and of others with known faults.
REPORTS = {
    "data/reports/Cornstarch_76/plan.py": [("rank-group", 15)],
    "data/reports/DeepSpeed_8262/rollout.py": [("rank-exit", 22)],
    "data/reports/KempnerForge_104/save.py": [("thread-group", 17)],
    "data/reports/Megatron-LM_6616/grad_norm.py": [("rank-order", 17)],
    "data/reports/TensorRT-LLM_14020/executor.py": [("rank-collective", 24), ("rank-collective", 26)],
    "data/reports/autocast_386/fit.py": [("rank-barrier", 20)],
    "data/reports/own_mixed_backends/mix.py": [],
    "data/reports/torchtitan_775/one_f_one_b.py": [],
    "data/record/programs/ddp_toy.py": [("rank-collective", 22)],
    "data/record/programs/overflow.py": [],
    "data/record/programs/stencil.py": [],
    "data/record/programs/streams.py": [("rank-order", 29)],
    "prototypes/cause/thread_own_group.py": [],
    # Rank 0 alone calls a barrier; all_reduce of a log on rank 0, of a norm of one rank, a random
    # checkpoint, a stop by the loss of one rank.
    "prototypes/cause/big/helpers.py": [("rank-barrier", 47)],
    "prototypes/cause/big/train.py": [
        ("rank-collective", 94), ("rank-collective", 99), ("local-branch", 123), ("rank-exit", 125),
    ],
}  # fmt: skip

EXAMPLES = {"examples/record_ddp.py": [("local-branch", 41)]}


def found(*paths):
    """Returns rules and lines of the findings in each of the scripts."""
    results = lint.lint([str(path) for path in paths])
    return [[(each["rule"], each["line"]) for each in result["findings"]] for result in results]


class Scripts(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, "utf-8")
        return path


class Rules(Scripts):
    def found(self, text):
        return found(self.write("train.py", START + text))[0]

    def test_each_rule_finds_its_script_and_not_the_right_one(self):
        rows = [(rule, 1, wrong, right) for rule, wrong, right in RULES] + LONGER
        for rule, line, wrong, right in rows:
            with self.subTest(rule=rule, script=wrong):
                self.assertIn((rule, LINE - 1 + line), self.found(wrong))
                self.assertEqual([], self.found(right))

    def test_each_rule_has_a_script(self):
        listed = subprocess.run([PROGRAM, "lint", "--list"], capture_output=True, text=True, check=True).stdout
        rules = {line.split()[0] for line in listed.splitlines() if " script: " in line}
        self.assertEqual(rules, {row[0] for row in RULES + LONGER})

    def test_right_scripts_have_no_findings(self):
        for name, text in RIGHT.items():
            with self.subTest(name):
                self.assertEqual([], self.found(text))

    def test_modules_of_the_script_are_read(self):
        self.write("helpers.py", "import torch.distributed as dist\ndef mean(t):\n    dist.all_reduce(t)\n"
                   "def is_main():\n    return dist.get_rank() == 0\n")  # fmt: skip
        text = "from helpers import is_main, mean\nif is_main():\n    mean(1)\n"
        self.assertEqual([[("rank-collective", 2)]], found(self.write("train.py", text)))

    def test_examples(self):
        self.assertEqual(list(EXAMPLES.values()), found(*(ROOT / path for path in EXAMPLES)))

    @unittest.skipUnless((SHARED / "data" / "reports").is_dir(), f"no {SHARED}/data")
    def test_scripts_of_public_reports(self):
        scripts = {*SHARED.glob("data/reports/*/*.py"), *SHARED.glob("data/record/programs/*.py")}
        self.assertLessEqual(scripts, {SHARED / path for path in REPORTS})
        for path, expected in REPORTS.items():
            with self.subTest(path):
                self.assertEqual([expected], found(SHARED / path))


class Command(Scripts):
    def pipesim(self, *arguments, code):
        environment = {**os.environ, "PYTHON": sys.executable}
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True,
                              env=environment, stdin=subprocess.DEVNULL, check=False)  # fmt: skip
        self.assertEqual(code, done.returncode, done)
        return done

    def setUp(self):
        super().setUp()
        self.write("train.py", START + "if rank == 0:\n    dist.barrier()\n")
        self.write("right.py", START + "dist.barrier()\n")

    def test_text(self):
        lines = self.pipesim("lint", "train.py", code=1).stdout.splitlines()
        self.assertEqual("train.py:6:4: suspect: only ranks with 'rank == 0' call barrier (line 7)", lines[0])
        self.assertEqual("     ^", lines[lines.index("  if rank == 0:") + 1])
        self.assertIn("  see docs/reference/lint.md#rank-barrier", lines)
        self.assertIn("train.py: 1 finding", lines)

    def test_json(self):
        report = json.loads(self.pipesim("lint", "train.py", "--json", code=1).stdout)
        self.assertEqual("train.py", report["script"])
        [finding] = report["findings"]
        self.assertEqual(("rank-barrier", 6, 4), (finding["rule"], finding["line"], finding["column"]))
        self.assertEqual(["autocast#386"], finding["reports"])

    def test_formats_for_ci(self):
        github = self.pipesim("lint", ".", "--format", "github", code=1).stdout
        self.assertTrue(github.startswith("::warning file=train.py,line=6,col=4,title=pipesim rank-barrier::"))
        sarif = json.loads(self.pipesim("lint", ".", "--format", "sarif", code=1).stdout)
        self.assertEqual(["rank-barrier"], [result["ruleId"] for result in sarif["runs"][0]["results"]])
        junit = self.pipesim("lint", ".", "--format", "junit", code=1).stdout
        cases = [case.get("name") for case in xml.etree.ElementTree.fromstring(junit).iter("testcase")]
        self.assertEqual(["right.py", "train.py:6 rank-barrier"], cases)

    def test_ignored_rules(self):
        self.assertIn("no findings", self.pipesim("lint", "train.py", "--ignore", "rank-barrier", code=0).stdout)

    def test_a_folder_has_scenarios_and_scripts(self):
        self.write("a.yaml", "schema: 1\nactors: {a: {source: 3}}\n")
        out = self.pipesim("lint", ".", code=1).stdout
        for line in ("a.yaml: no findings", "right.py: no findings", "train.py: 1 finding"):
            self.assertIn(f"{line}\n", out)

    def test_errors_of_a_script(self):
        self.write("bad.py", "x = 1\nif x == 0 print(x)\n")
        done = self.pipesim("lint", "bad.py", code=2)
        self.assertRegex(done.stderr, r"^bad\.py:2:11: error\[E1601\]: invalid Python: ")
        self.assertIn("\n  if x == 0 print(x)\n            ^\n", done.stderr)
        self.assertEqual("", done.stdout)
        self.pipesim("lint", "none.py", code=74)
        self.assertIn("'--set'", self.pipesim("lint", "train.py", "--set", "a=1", code=2).stderr)

    def test_files_of_the_folder_do_not_replace_standard_modules(self):
        if sys.version_info < (3, 11):
            self.skipTest("needs Python 3.11 (PYTHONSAFEPATH)")
        self.write("json.py", "raise ValueError\n")
        self.pipesim("lint", "right.py", code=0)


if __name__ == "__main__":
    unittest.main()
