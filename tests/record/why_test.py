"""Tests of `pipesim.why`, which finds the line at which the ranks of a hang part.

    why_test.py PIPESIM

Programs are recorded with a trace, in processes forked from this one. Their comments mark the
expected lines. The tests of public reports need the shared data, and are skipped without it.
"""

import ast
import asyncio
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from with_torch import ROOT  # isort: skip

import torch

from pipesim.recorder import launcher
from pipesim.recorder.settings import Settings
from pipesim.why import explain, report, sites

PROGRAMS = ROOT / "tests/record/programs"
SHARED = ROOT / "../shared"
PIPESIM = os.path.abspath(sys.argv.pop(1))
os.environ["PIPESIM"] = PIPESIM
torch.set_num_threads(1)
sys.setrecursionlimit(20_000)


def record(script, ranks, *args, trace=(), folder, limit=65536):
    """Records a script in processes forked from this one. Returns the folder of the record."""
    out = pathlib.Path(folder) / ("plain" if trace is None else "traced")
    out.mkdir(exist_ok=True)
    settings = Settings(
        ranks=ranks, out=str(out), script=str(script), args=args, output="none", seconds=20.0,
        trace=trace, limit=limit,
    )  # fmt: skip
    launcher.run(settings)
    return out


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.glob("rank*.jsonl")}


def line_with(text, script=PROGRAMS / "parting.py"):
    """Returns `FILE:LINE` for the line that ends with `text`."""
    for number, line in enumerate(script.read_text().splitlines(), 1):
        if line.endswith(text):
            return f"{script.name}:{number}"
    return None


class TestCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name


class Partings(TestCase):
    """Hangs of programs/parting.py."""

    def analyze(self, name, ranks=2, **options):
        script = PROGRAMS / "parting.py"
        return report.analyze(record(script, ranks, name, folder=self.folder, **options))

    def assert_parts(self, name, kind="parts", ranks=2, source=None):
        result = self.analyze(name, ranks)
        self.assertEqual(result["kind"], kind, result)
        self.assertEqual(result["at"]["at"], line_with(f"# parts {name}"), result)
        decides = line_with(f"# from {name}")
        if decides is not None:
            self.assertIn(decides, [result["trail"][i]["at"] for i in result["shown"]], result)
        if source is not None:
            self.assertEqual(result["source"], source)
        self.assertIn("the ranks part at", "\n".join(report.reason_lines(result)))
        return result

    def test_names_the_branch_and_the_last_test_before_the_rank(self):
        result = self.assert_parts("branch", source="the rank")
        loop = line_with("    for step in range(3):")
        self.assertEqual(f"parting.py:{result['at']['loop']}", loop)
        self.assertEqual(result["at"]["turn"], 2)
        self.assertEqual([side["ranks"] for side in result["sides"]], [[0], [1]])
        self.assertEqual([side["outcome"] for side in result["sides"]], ["false", "true"])
        self.assertEqual(result["sides"][1]["calls"], {"rank": 1, "count": 1})

    def test_puts_ranks_that_go_the_same_way_into_one_class(self):
        result = self.assert_parts("branch", ranks=5)
        self.assertEqual([side["ranks"] for side in result["sides"]], [[0, 2, 3, 4], [1]])

    def test_names_a_return_from_a_loop_and_the_argument(self):
        result = self.assert_parts("leave")
        values = {side["ranks"][0]: side["values"]["last"] for side in result["sides"]}
        self.assertEqual(values, {0: "1", 1: "3"})

    def test_names_a_loop_with_its_numbers_of_turns(self):
        result = self.assert_parts("loop")
        counts = "the loop has at least 2 turns on rank 0 and 1 turn on rank 1"
        self.assertIn(counts, result["headline"])

    def test_names_the_test_inside_a_generator(self):
        result = self.analyze("generator")
        lines = [result["at"]["at"], *(step["at"] for step in result["trail"])]
        self.assertIn(line_with("# parts generator"), lines)

    def test_names_a_while_loop(self):
        self.assert_parts("while_loop")

    def test_names_a_handler_that_swallows_an_exception(self):
        result = self.analyze("swallowed")
        self.assertEqual(result["kind"], "parts")
        self.assertIn("handles KeyError", json.dumps(result["sides"]))

    def test_names_a_filter_of_a_comprehension(self):
        self.assert_parts("comprehension")

    def test_names_a_random_size(self):
        self.assert_parts("size", kind="differs")

    def test_names_the_change_of_a_list(self):
        self.assert_parts("order", kind="differs")

    def test_names_the_choice_of_a_group(self):
        result = self.assert_parts("groups", kind="differs", source="the rank")
        self.assertIn("group 2 of all ranks", result["headline"])

    def test_names_an_attribute_of_a_class(self):
        self.assert_parts("attribute", source="the rank")

    def test_drops_the_same_events_of_busy_loops_on_every_rank(self):
        self.assert_parts("busy")

    def test_blames_no_branch_for_the_order_of_messages(self):
        result = self.analyze("messages", ranks=3)
        self.assertEqual(result["headline"], "no branch decides, the order does")
        self.assertNotIn("at", result)

    def test_names_what_differs_between_a_send_and_a_recv(self):
        result = self.analyze("other_tag")
        self.assertEqual(result["kind"], "order")
        self.assertTrue(result["headline"].endswith("differ in their tag"), result["headline"])
        self.assertEqual(result["messages"][0]["differ"], {"tag": [3, 4]})

    def test_blames_no_branch_with_messages_in_it(self):
        result = self.analyze("from_any")
        self.assertEqual(result["headline"], "no branch decides, the order does")
        self.assertEqual([call["text"][:4] for call in result["calls"]], ["recv", "barr"])

    def test_names_the_branch_of_two_collectives_that_wait_for_each_other(self):
        self.assert_parts("members_only", ranks=3, source="the rank")

    def test_names_the_branch_of_a_call_and_a_key(self):
        self.assert_parts("key", source="the rank")

    def test_names_the_arguments_of_a_call_that_raises(self):
        self.assert_parts("refused")

    def test_shows_the_lines_next_to_the_source_and_names_those_between(self):
        text = "\n".join(report.reason_lines(self.assert_parts("drawn", kind="differs")))
        number = line_with("few = items[1:]").rpartition(":")[2]
        self.assertIn(f"size < few is from line {number}:  few = items[1:]", text)

    def test_blames_no_branch_if_two_threads_call_on_one_group(self):
        result = self.analyze("two_threads")
        self.assertEqual(result["kind"], "threads")
        self.assertEqual({call.get("thread") for call in result["calls"]}, {None, "saver"})
        self.assertNotIn("at", result)

    def test_calls_of_a_joined_thread_are_ordered(self):
        self.assert_parts("joined_thread")

    def test_blames_no_branch_on_made_up_values(self):
        result = self.analyze("made_up")
        self.assertEqual(result["kind"], "made_up")
        self.assertIn("--limit", result["headline"])
        self.assertNotIn("at", result)


class Rewriting(TestCase):
    def test_traced_scripts_make_the_same_record(self):
        script = PROGRAMS / "syntax.py"
        plain = record(script, 2, folder=self.folder, trace=None)
        traced = record(script, 2, folder=self.folder)
        self.assertIn(b'"call":"all_reduce"', files_of(plain)["rank0.jsonl"])
        self.assertEqual(files_of(traced), files_of(plain))
        self.assertIn(b'"end":"finished"', files_of(plain)["rank1.jsonl"])

    def test_rewritten_files_compile_and_keep_their_lines(self):
        folder = pathlib.Path(asyncio.__file__).parent
        for path in [*folder.glob("*.py"), pathlib.Path(ast.__file__)]:
            source = path.read_text(encoding="utf-8")
            tree = sites.rewrite(str(path), source, 0)
            compile(tree, str(path), "exec", dont_inherit=True)
            self.assertLessEqual(_last_line(tree), len(source.splitlines()), path)
            self.assertEqual(ast.dump(sites.tree_of(str(path))), ast.dump(ast.parse(source)))


def _last_line(tree):
    return max(getattr(node, "end_lineno", 0) or 0 for node in ast.walk(tree))


class Reports(TestCase):
    """Public reports of hangs. The lines are those of the reports' fixes (expected.txt)."""

    def check(self, script, ranks, *args, lines=(), kind="parts"):
        path = SHARED / script
        if not path.exists():
            self.skipTest(f"no {path}")
        plain = record(path, ranks, *args, folder=self.folder, trace=None)
        traced = record(path, ranks, *args, folder=self.folder)
        self.assertEqual(files_of(traced), files_of(plain))
        result = report.analyze(traced)
        self.assertEqual(result["kind"], kind, result)
        shown = [result["trail"][i]["at"] for i in result.get("shown", ())]
        found = [at.rpartition(":")[2] for at in [result.get("at", {}).get("at", ""), *shown]]
        self.assertTrue(set(map(str, lines)) & set(found) or not lines, result)
        self.assertEqual("at" in result, bool(lines), result)

    def test_cornstarch_76(self):
        self.check("data/reports/Cornstarch_76/plan.py", 3, lines=[15])

    def test_deepspeed_8262(self):
        self.check("data/reports/DeepSpeed_8262/rollout.py", 2, lines=[22])

    def test_kempnerforge_104(self):
        self.check("data/reports/KempnerForge_104/save.py", 2, kind="threads")

    def test_megatron_6616(self):
        self.check("data/reports/Megatron-LM_6616/grad_norm.py", 4, lines=[10], kind="differs")

    def test_tensorrt_llm_14020(self):
        self.check("data/reports/TensorRT-LLM_14020/executor.py", 4, lines=[24])

    def test_autocast_386(self):
        self.check("data/reports/autocast_386/fit.py", 4, lines=[20])

    def test_torchtitan_775(self):
        self.check("data/reports/torchtitan_775/one_f_one_b.py", 2, "1", kind="order")

    def test_ddp_log_on_rank_0(self):
        self.check("data/record/programs/ddp_toy.py", 4, "--log-on-rank-0", lines=[22])

    def test_overflow_of_one_rank(self):
        self.check("data/record/programs/overflow.py", 2, "--alone", lines=[26])

    def test_crossed_streams(self):
        script = "data/record/programs/streams.py"
        self.check(script, 4, "--crossed", lines=[26], kind="differs")

    def test_stencil(self):
        self.check("data/record/programs/stencil.py", 4, "--order", "send", kind="order")

    def test_seven_bugs_of_a_job_in_two_files(self):
        bugs = {"uneven": 82, "skip": 76, "log": 94, "clip": 99, "save": 47, "patience": 122, "stop": 125}
        for bug, line in bugs.items():
            with self.subTest(bug):
                self.check("prototypes/cause/big/train.py", 3, "--bug", bug, lines=[line])


class Commands(TestCase):
    """`pipesim record` and `pipesim why`."""

    def record(self, name, *options):
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "python"),
            "RUNS": str(pathlib.Path(self.folder) / "runs"),
        }
        command = [sys.executable, "-B", "-m", "pipesim.record", "-n", "2", "-o", "record", *options]
        return subprocess.run(
            [*command, str(PROGRAMS / "parting.py"), name], cwd=self.folder, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def runs(self):
        return len((pathlib.Path(self.folder) / "runs").read_text().split())

    def why(self, *options):
        command = [PIPESIM, "why", "record", *options]
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False
        )

    def test_record_of_a_hang_says_where_the_ranks_part(self):
        done = self.record("branch")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"Why: the ranks part at {line_with('# parts branch')}", done.stdout)
        self.assertIn("HANG", done.stdout.splitlines()[0])
        self.assertEqual(self.runs(), 4)
        text = self.why()
        self.assertEqual(text.returncode, 1, text.stderr)
        self.assertIn(f"Why: the ranks part at {line_with('# parts branch')}", text.stdout)
        self.assertTrue(text.stdout.startswith("Call 5 on the world group does not match:"))
        result = json.loads(self.why("--json").stdout)
        self.assertEqual(result["at"]["at"], line_with("# parts branch"))
        names = sorted(os.listdir(f"{self.folder}/record"))
        self.assertEqual(names, ["rank0.jsonl", "rank1.jsonl", "record.json", "why.json", "why.txt"])

    def test_no_why_runs_the_script_once(self):
        self.record("branch")
        done = self.record("branch", "--no-why")
        self.assertNotIn("Why:", done.stdout)
        self.assertEqual(self.runs(), 4 + 2)
        text = self.why()  # the explanation of the earlier record is gone
        self.assertEqual(text.returncode, 2)
        self.assertIn("'record' does not say where its ranks part", text.stderr)

    def test_a_failure_without_a_hang_is_not_explained(self):
        done = self.record("fails")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertNotIn("Why:", done.stdout)
        self.assertEqual(self.runs(), 2)

    def test_a_run_that_does_not_hang_again_explains_nothing(self):
        # The program hangs only if the file of runs does not have its line yet.
        done = self.record("hangs_once")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Why: unknown.", done.stdout)
        self.assertEqual(self.why().returncode, 2)


class Texts(unittest.TestCase):
    def test_inserts_the_reason_after_the_first_paragraph(self):
        reason = explain.Reason(["Why: it does"], ["Call 1"])
        self.assertEqual(explain.insert(reason, b"A\n\nB\n"), b"A\n\nCall 1\nWhy: it does\n\nB\n")
        given = b"A\nCall 1 on g does not match:\n\nB\n"
        wanted = b"A\nCall 1 on g does not match:\n\nWhy: it does\n\nB\n"
        self.assertEqual(explain.insert(reason, given), wanted)

    def test_inserts_the_reason_after_the_ranks_that_wait(self):
        reason = explain.Reason(["Why: it does"], ["Call 1"])
        given = b"A  FAILED: rank 1 raised\n\n  rank 0  waits\n\nB\n"
        wanted = b"A  FAILED: rank 1 raised\n\n  rank 0  waits\n\nWhy: it does\n\nB\n"
        self.assertEqual(explain.insert(reason, given), wanted)

    def test_drops_the_advice_to_search_for_a_change(self):
        reason = explain.Reason(["Why: it does"])
        given = b"A\nRank 0 waits.\nNext: 'pipesim fix r' searches for a change\n  of it.\n\nB\n"
        wanted = b"A\nRank 0 waits.\n\nWhy: it does\n\nB\n"
        self.assertEqual(explain.insert(reason, given, changed=True), wanted)


if __name__ == "__main__":
    launcher.prepare_process(Settings(ranks=1, out=tempfile.mkdtemp()))
    unittest.main()
