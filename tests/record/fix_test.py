"""Tests of `pipesim.fix`: edits of a script that hangs, and their proofs.

    fix_test.py PIPESIM

Hangs of programs/fixable.py are recorded in processes forked from this one. The expected edits are
written by hand. The tests of public reports need the shared data, and are skipped without it.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from with_torch import ROOT  # isort: skip

import torch
from real_gloo import free_port

from pipesim.fix import command, report
from pipesim.fix.case import Case, Proposal
from pipesim.fix.proof import Prover
from pipesim.fix.roles import Roles
from pipesim.fix.source import CannotEdit, Source, diff
from pipesim.recorder import launcher
from pipesim.recorder.settings import Settings
from pipesim.why import explain

SCRIPT = ROOT / "tests/record/programs/fixable.py"
PURPOSES = ROOT / "tests/record/programs/purposes.py"
SHARED = ROOT / "../shared"
PIPESIM = os.path.abspath(sys.argv.pop(1))
os.environ["PIPESIM"] = PIPESIM
torch.set_num_threads(1)
sys.setrecursionlimit(20_000)


class TestCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def settings(self, *args, script=SCRIPT, ranks=2, **more):
        return Settings(
            ranks=ranks, out=str(self.folder / "record"), script=str(script), args=args,
            output="none", seconds=20.0, **more,
        )  # fmt: skip

    def explained(self, *args, **options):
        """Records a hang, and explains it. Returns the settings and the reason."""
        settings = self.settings(*args, **options)
        pathlib.Path(settings.out).mkdir()
        launcher.run(settings)
        return settings, explain.explain(settings, None, [])

    def find(self, *args, **options):
        settings, reason = self.explained(*args, **options)
        return command.find(reason, settings, None, [])

    def shown(self, *args, **options):
        """Returns the changes that the report shows: their titles and the lines that change."""
        found = self.find(*args, **options)
        return [(each.proposal.title, changed(each)) for each in found.search.shown]


def changed(each):
    return [line for line in each.diff[2:] if line[:1] in "+-"]


class Kinds(TestCase):
    """Each kind of edit on a hang that it removes."""

    def assert_shown(self, name, title, *lines, **options):
        self.assertIn((title, list(lines)), self.shown(name, **options))

    def test_sorts_what_ranks_have_in_other_orders(self):
        self.assert_shown(
            "order", "names in sorted order on every rank",
            '-    names = ["a", "b"] if rank == 0 else ["b", "a"]',
            '+    names = sorted(["a", "b"] if rank == 0 else ["b", "a"])',
        )  # fmt: skip

    def test_drops_a_change_of_the_order(self):
        self.assert_shown(
            "reverse", "the same order on every rank",
            "-    if rank == 1:",
            "-        sizes.reverse()",
        )  # fmt: skip

    def test_moves_a_call_out_of_a_branch_and_keeps_its_comments(self):
        self.assert_shown(
            "save", "all ranks make this call",
            "-            dist.barrier()  # until it is written",
            "+        dist.barrier()  # until it is written",
            "+        if is_main():",
        )  # fmt: skip

    def test_keeps_the_output_of_a_branch_in_it(self):
        self.assert_shown(
            "nested_call", "all ranks make this call",
            "+    result = mean(1)",
            "-        print(mean(1))",
            "+        print(result)",
        )  # fmt: skip

    def test_moves_what_a_call_reads_also(self):
        self.assert_shown(
            "with_inputs", "all ranks make this call",
            "+    total = loss.clone()",
            "+    dist.all_reduce(total)",
            "-        total = loss.clone()",
            "-        dist.all_reduce(total)",
        )  # fmt: skip

    def test_moves_a_call_out_of_the_other_arm(self):
        self.assert_shown(
            "other_arm", "all ranks make this call",
            "+    dist.barrier()",
            "-    else: dist.barrier()",
        )  # fmt: skip

    def test_creates_a_group_on_all_ranks(self):
        self.assert_shown(
            "group_of_some", "all ranks create this group",
            "-    pair = dist.new_group([0, 1]) if rank < 2 else None",
            "+    pair = dist.new_group([0, 1])",
            ranks=3,
        )  # fmt: skip

    def test_makes_a_call_of_an_expression_on_all_ranks(self):
        self.assert_shown(
            "expression", "all ranks make this call",
            "-    is_main() and dist.barrier()",
            "+    dist.barrier()",
        )  # fmt: skip

    def test_agrees_on_a_flag(self):
        self.assert_shown(
            "flag", "stop is true for all if it is on any rank",
            "+        agreed = torch.tensor(int(stop))",
            "+        dist.all_reduce(agreed, op=dist.ReduceOp.MAX)",
            "+        stop = bool(agreed.item())",
        )  # fmt: skip

    def test_agrees_in_the_group_of_the_calls_that_differ(self):
        self.assert_shown(
            "flag_of_pair", "bad is true for all if it is on any rank",
            "+        agreed = torch.tensor(int(bad))",
            "+        dist.all_reduce(agreed, op=dist.ReduceOp.MAX, group=pair)",
            "+        bad = bool(agreed.item())",
            ranks=3,
        )  # fmt: skip

    def test_agrees_on_a_number(self):
        self.assert_shown(
            "number", "the largest count for all",
            "+    agreed = torch.tensor(int(count))",
            "+    dist.all_reduce(agreed, op=dist.ReduceOp.MAX)",
            "+    count = int(agreed.item())",
        )  # fmt: skip

    def test_lets_rank_0_draw_in_three_recordings(self):
        found = self.find("drawn")
        (each,) = [e for e in found.search.shown if e.proposal.title == "token of rank 0 for all"]
        self.assertEqual(changed(each), ["+    dist.broadcast(token, src=0)"])
        self.assertEqual(each.proof.recordings, 3)

    def test_shows_an_agreement_on_what_chance_decides(self):
        shown = self.shown("sampled")
        self.assertIn(("the largest left for all", [
            "+    agreed = torch.tensor(int(left))",
            "+    dist.all_reduce(agreed, op=dist.ReduceOp.MAX)",
            "+    left = int(agreed.item())",
        ]), shown)  # fmt: skip
        drawn = "tokens of rank 0 for all", ["+    dist.broadcast(tokens, src=0)"]
        self.assertIn(drawn, shown)

    def test_drops_an_exit(self):
        self.assert_shown(
            "skip", "no rank skips the rest of this iteration",
            "-        if item % 3 == random.Random(rank).randrange(2):",
            "-            continue",
        )  # fmt: skip

    def test_cuts_a_loop_to_the_fewest_iterations(self):
        found = self.find("loop")
        (each,) = [e for e in found.search.shown if "fewest" in e.proposal.title]
        self.assertEqual(changed(each), [
            "+import itertools",
            "-    for i, item in enumerate(items):",
            "+    count = torch.tensor(len(items))",
            "+    dist.all_reduce(count, op=dist.ReduceOp.MIN)",
            "+    for i, item in itertools.islice(enumerate(items), count.item()):",
        ])  # fmt: skip
        self.assertIn("may leave the last ones out", each.thought)

    def test_agrees_on_a_while_loop(self):
        self.assert_shown(
            "while_loop", "the loop goes on on all ranks if it does on any rank",
            "-    while left > 0.1:",
            "+    while True:",
            "+        agreed = torch.tensor(int(bool(left > 0.1)))",
            "+        dist.all_reduce(agreed, op=dist.ReduceOp.MAX)",
            "+        if not agreed.item():",
            "+            break",
        )  # fmt: skip

    def test_sends_and_receives_in_one_batch(self):
        self.assert_shown(
            "send_first", "both messages in one batch",
            "-    dist.send(torch.ones(4), (rank + 1) % world)",
            "-    dist.recv(other, (rank - 1) % world)",
            "+    works = dist.batch_isend_irecv([",
            "+        dist.P2POp(dist.isend, torch.ones(4), (rank + 1) % world),",
            "+        dist.P2POp(dist.irecv, other, (rank - 1) % world),",
            "+    ])",
            "+    for work in works:",
            "+        work.wait()",
        )  # fmt: skip

    def test_sends_without_blocking_in_a_branch(self):
        self.assert_shown(
            "send_in_branch", "the send does not block; a wait follows",
            "+    works = []",
            "-        dist.send(torch.ones(4), right)",
            "+        works.append(dist.isend(torch.ones(4), right))",
            "+    for work in works:",
            "+        work.wait()",
        )  # fmt: skip

    def test_receives_first_on_odd_ranks(self):
        self.assert_shown(
            "helpers", "odd ranks in the other order",
            "-    put(torch.ones(4), (rank + 1) % world)",
            "-    take(other, (rank - 1) % world)",
            "+    if rank % 2:",
            "+        take(other, (rank - 1) % world)",
            "+        put(torch.ones(4), (rank + 1) % world)",
            "+    else:",
            "+        put(torch.ones(4), (rank + 1) % world)",
            "+        take(other, (rank - 1) % world)",
        )  # fmt: skip

    def test_gives_both_sides_one_tag(self):
        self.assert_shown(
            "tag", "the group and tag of rank 0 here also",
            "-        dist.recv(torch.zeros(4), 0, tag=4)",
            "+        dist.recv(torch.zeros(4), 0, tag=3)",
        )  # fmt: skip

    def test_gives_a_thread_its_own_group(self):
        self.assert_shown(
            "two_threads", "a group of their own for the calls of the main thread",
            "+own_group = dist.new_group()",
            "-    dist.barrier()",
            "+    dist.barrier(group=own_group)",
        )  # fmt: skip

    def test_lets_rank_0_read_the_clock_in_three_recordings(self):
        found = self.find("clock")
        self.assertTrue(found.search.shown)
        for each in found.search.shown:
            self.assertEqual(each.proposal.kind, "agree")
            self.assertEqual(each.proof.recordings, 3)

    def test_calls_the_model_without_ddp_on_one_rank(self):
        self.assert_shown(
            "evaluate", "net.module in this branch: without DDP's collectives",
            "-        log.append(net(torch.zeros(2, 2)).sum().item())",
            "+        log.append(net.module(torch.zeros(2, 2)).sum().item())",
        )  # fmt: skip

    def test_keeps_the_steps_of_a_call_and_turns_elif_into_if(self):
        self.assert_shown(
            "logs_some_steps", "all ranks make this call if step == 1",
            "-        elif rank == 0 and step == 1:",
            "-            print(mean(step))",
            "-        elif step == 2:",
            '-            log.append("second")',
            "+        else:",
            "+            if step == 1:",
            "+                result = mean(step)",
            "+            if rank == 0 and step == 1:",
            "+                print(result)",
            "+            elif step == 2:",
            '+                log.append("second")',
        )  # fmt: skip

    def test_keeps_one_of_two_orders(self):
        self.assert_shown(
            "two_orders", "the same order on every rank",
            "-    if rank == 0:",
            "-        dist.all_reduce(torch.zeros(1))",
            "-        dist.all_reduce(torch.zeros(2), group=pair)",
            "-    else:",
            "-        dist.all_reduce(torch.zeros(2), group=pair)",
            "-        dist.all_reduce(torch.zeros(1))",
            "+    dist.all_reduce(torch.zeros(1))",
            "+    dist.all_reduce(torch.zeros(2), group=pair)",
        )  # fmt: skip

    def test_gives_a_collective_one_root(self):
        self.assert_shown(
            "root", "to is 0 on every rank", "-    to = 0 if rank == 0 else 1", "+    to = 0"
        )

    def test_drops_the_exit_of_the_program(self):
        self.assert_shown(
            "leaves", "no rank exits here",
            "-        if rank == 1 and step == 2:",
            "-            sys.exit(0)",
        )  # fmt: skip

    def test_drops_an_exception_for_which_others_wait(self):
        self.assert_shown(
            "raises", "no rank raises here",
            "-        if rank == 1 and step == 2:",
            '-            raise ValueError("a bad sample")',
        )  # fmt: skip

    def test_sets_a_key_before_a_blocked_call(self):
        self.assert_shown(
            "key", "the key is set before this call",
            '+        store.set("ready", "1")',
            '-        store.set("ready", "1")',
        )  # fmt: skip

    def test_receives_first_on_all_ranks(self):
        self.assert_shown(
            "stages", "all ranks in the other order",
            "+            take(value, 1)",
            "-            take(value, 1)",
        )  # fmt: skip

    def test_exchanges_splits(self):
        self.assert_shown(
            "guessed_splits", "at is what the other ranks send",
            "+    counts = torch.tensor(to)",
            "+    others = torch.empty_like(counts)",
            "+    dist.all_to_all_single(others, counts)",
            "+    at = others.tolist()",
        )  # fmt: skip

    def test_looks_for_unused_parameters(self):
        self.assert_shown(
            "unused", "DDP looks for unused parameters in each step",
            "-    net = DDP(Net())",
            "+    net = DDP(Net(), find_unused_parameters=True)",
        )  # fmt: skip

    def test_combines_two_edits(self):
        self.assert_shown(
            "two_bugs", "in two places: all ranks make this call",
            "-        if rank == 0:",
            "-            mean(step)",
            "-    if rank == 0:",
            "-        dist.barrier()",
            "+        mean(step)",
            "+    dist.barrier()",
        )  # fmt: skip

    def test_never_makes_a_function_of_the_rank_equal(self):
        found = self.find("roles", ranks=4)
        self.assertEqual(found.search.shown, [])
        self.assertNotIn("agree", [each.proposal.kind for each in found.search.tries])
        text = "\n".join(report.lines(found.case, found.search))
        self.assertIn("No change of the script was tried", text)


class Proofs(TestCase):
    def prove(self, *changes):
        """Proves a hand-written edit of the program `save`: pairs of an old and a new text."""
        settings, reason = self.explained("save")
        case = Case(reason.analysis, "gloo", None)
        prover = Prover(case, pathlib.Path(settings.out), settings, None, [], 1.0)
        text = SCRIPT.read_text()
        for old, new in changes:
            self.assertEqual(text.count(old), 1)
            text = text.replace(old, new)
        return prover.prove(Proposal("x", "x", str(SCRIPT), text))

    def test_refuses_an_edit_that_completes_by_doing_less(self):
        proof = self.prove(("def save():\n", "def save():\n    mean(0)\n    return\n"))
        self.assertEqual(proof.outcome, "less")
        self.assertIn("does less", proof.why)

    def test_refuses_other_calls_before_the_first_difference(self):
        proof = self.prove(
            ("        mean(step)\n        # Writes", "        dist.barrier()\n        # Writes"),
            ("            dist.barrier()  # until it", "            pass  # until it"),
        )
        self.assertEqual(proof.outcome, "other")

    def test_refuses_an_edit_after_which_a_rank_raises(self):
        proof = self.prove(
            ("        mean(step)\n        # Writes", "        mean(unknown)\n        # Writes")
        )
        self.assertEqual(proof.outcome, "failed")
        self.assertIn("NameError", proof.why)

    def test_refuses_an_edit_that_still_hangs(self):
        proof = self.prove(("        # Writes", "        mean(step)  # Writes"))
        self.assertEqual(proof.outcome, "hangs")


class Purpose(TestCase):
    """Jobs whose ranks have different purposes: no proved edit of their hang changes what the
    correct job computes. PIPESIM_SLOW=1 tests all of them."""

    SLOW = ("checkpoint", "experts", "leaders", "metric", "noise", "rates", "shards")

    def logs(self, name, edits=()):
        shutil.rmtree(self.folder / "record", ignore_errors=True)
        settings = self.settings(name, script=PURPOSES, ranks=4, edits=edits,
                                 env=(("OUT", str(self.folder)),))  # fmt: skip
        pathlib.Path(settings.out).mkdir()
        launcher.run(settings)
        return [(self.folder / str(rank)).read_text() for rank in range(4)]

    def check(self, name):
        env = ("BUG", "1"), ("OUT", str(self.folder))
        found = self.find(name, script=PURPOSES, ranks=4, env=env)
        wanted = self.logs(name)
        self.assertTrue(found.search.shown, name)
        for each in found.search.proved:
            with self.subTest(name, title=each.proposal.title, diff=each.diff):
                edits = ((str(PURPOSES), each.proposal.text),)
                self.assertEqual(self.logs(name, edits), wanted)

    def test_stages_of_a_pipeline(self):
        self.check("pipeline")

    def test_logging_on_rank_0(self):
        self.check("logging")

    def test_a_server(self):
        self.check("server")

    def test_others(self):
        if os.environ.get("PIPESIM_SLOW") != "1":
            self.skipTest("PIPESIM_SLOW is not 1")
        for name in self.SLOW:
            shutil.rmtree(self.folder / "record", ignore_errors=True)
            with self.subTest(name):
                self.check(name)


class RealGloo(TestCase):
    """PIPESIM_SLOW=1 tests thirteen edits."""

    SLOW = ("order", "number", "other_arm", "while_loop", "send_first", "tag", "root", "key",
            "logs_some_steps", "two_bugs")  # fmt: skip

    def test_edited_scripts_end_under_real_gloo(self):
        slow = self.SLOW if os.environ.get("PIPESIM_SLOW") == "1" else ()
        for name in ("save", "flag", "helpers", *slow):
            with self.subTest(name):
                shutil.rmtree(self.folder / "record", ignore_errors=True)
                each = self.find(name).search.shown[0]
                self.assertEqual(run_under_gloo(each.proposal.text, name), [0, 0])


def run_under_gloo(text, *args, ranks=2):
    """Runs a script as processes forked from this one. Returns the exit status of each."""
    port = free_port()
    pids = []
    for rank in range(ranks):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.environ.update(
                    RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), USE_LIBUV="0",
                    MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo",
                )  # fmt: skip
                signal.alarm(120)  # ends a rank that hangs
                sys.argv = ["program.py", *args]
                exec(compile(text, "program.py", "exec"), {"__name__": "__main__"})
                status = 0
            finally:
                os._exit(status)
        pids.append(pid)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


class Texts(TestCase):
    def source(self, text):
        return Source("x.py", text)

    def test_replaces_one_of_several_statements_on_a_line(self):
        source = self.source("if x:\n    a(); b()  # both\n    c()\n")
        b, a = source.statements_at(2)[:2]
        self.assertEqual(source.replaced(b, b, []), "if x:\n    a()\n    c()\n")
        self.assertEqual(source.replaced(a, a, []), "if x:\n    b()  # both\n    c()\n")

    def test_replaces_a_statement_behind_a_header(self):
        source = self.source("for x in y:\n\tif x: a()\n")
        a = source.statements_at(2)[0]
        self.assertEqual(source.replaced(a, a, ["b()"]), "for x in y:\n\tif x:\n\t\tb()\n")

    def test_leaves_pass_in_an_empty_block(self):
        source = self.source("if x:\n    a()\nelse:\n    b()\n")
        a = source.statements_at(2)[0]
        self.assertEqual(source.replaced(a, a, []), "if x:\n    pass\nelse:\n    b()\n")

    def test_does_not_move_a_string_with_several_lines(self):
        source = self.source('if x:\n    a("""1\n    2""")\n')
        with self.assertRaises(CannotEdit):
            source.piece(*source.tree.body[0].body)

    def test_substitutes_after_characters_of_several_bytes(self):
        source = self.source('x = "äö", f(1)\n')
        call = source.tree.body[0].value.elts[1]
        self.assertEqual(source.substituted((call, "g()")), 'x = "äö", g()\n')

    def test_the_diff_is_what_patch_reads(self):
        old, new = "a\nb\nc\nd\n", "a\nb\nx\nd\n"
        self.assertEqual(diff(old, new, "f.py"),
                         ["--- f.py", "+++ f.py", "@@ -2,3 +2,3 @@", " b", "-c", "+x", " d"]
        )  # fmt: skip

    def test_roles_are_functions_of_the_rank_alone(self):
        text = (
            "rank, world = dist.get_rank(), dist.get_world_size()\n"
            "stage = rank // 2\n"
            "free = [4, 1 if rank < 2 else 0]\n"
            "class T:\n    zero = rank == 0\n"
            "def is_last():\n    return dist.get_rank() == world - 1\n"
            "for it in range(2):\n    fit = free[it]\n    need = fit == 0\n"
        )
        roles = Roles(self.source(text))

        def is_role(text):
            return roles.is_role(self.source(text).tree.body[0].value)

        for each in ("stage == 0", "self.zero", "is_last()", "not is_last()", "groups[rank]",
                     "rank == 0 and loss > 1", 'int(os.environ["LOCAL_RANK"])',
                     "step % world == rank"):  # fmt: skip
            self.assertTrue(is_role(each), each)
        for each in ("need", "fit", "world - 1", "len(batch)", "loss.item() > best", "f(rank, x)"):
            self.assertFalse(is_role(each), each)


class Applying(TestCase):
    def test_writes_the_chosen_change_only_on_demand(self):
        script = self.folder / "train.py"
        shutil.copyfile(SCRIPT, script)
        before = script.read_text()
        found = self.find("save", script=script)
        self.assertEqual(script.read_text(), before)
        with self.assertRaises(command.CannotApply):
            command.apply(found, len(found.search.shown) + 1)
        chosen = command.apply(found, 1)
        self.assertEqual(script.read_text(), chosen.proposal.text)
        with self.assertRaises(command.CannotApply):  # it is another file now
            command.apply(found, 1)

    def test_a_file_of_a_package_is_advice_only(self):
        package = self.folder / "site-packages"
        package.mkdir()
        (package / "saver.py").write_text(
            "import torch.distributed as dist\n\n\ndef save():\n    if dist.get_rank() == 0:\n"
            "        dist.barrier()\n"
        )
        script = self.folder / "train.py"
        script.write_text(
            "import sys\nimport torch\nimport torch.distributed as dist\n"
            f"sys.path.append({str(package)!r})\n"
            "import saver\n\ndist.init_process_group('gloo')\nsaver.save()\n"
            "dist.broadcast(torch.zeros(4), src=0)\n"
        )
        found = self.find(script=script)
        each = found.search.shown[0]
        self.assertEqual(changed(each), ["-    if dist.get_rank() == 0:", "-        dist.barrier()",
                                         "+    dist.barrier()"])  # fmt: skip
        self.assertIn("advice only", "\n".join(report.lines(found.case, found.search)))
        with self.assertRaises(command.CannotApply):
            command.apply(found, 1)


class Reports(TestCase):
    """Public reports of hangs: the authors' fix, as the reports say, is among the changes that are
    shown."""

    def check(self, script, ranks, *args, fix):
        path = SHARED / script
        if not path.exists():
            self.skipTest(f"no {path}")
        settings = self.settings(*args, script=path, ranks=ranks)
        pathlib.Path(settings.out).mkdir()
        outcome = launcher.run(settings)
        settings = dataclasses.replace(settings, device=outcome.device)
        found = command.find(explain.explain(settings, None, []), settings, None, [])
        shown = ["\n".join(changed(each)) for each in found.search.shown]
        self.assertTrue(any(re.search(fix, each) for each in shown), shown)

    def test_cornstarch_76(self):
        self.check("data/reports/Cornstarch_76/plan.py", 3, fix="-    if .*rank not in ranks")

    def test_deepspeed_8262(self):
        self.check("data/reports/DeepSpeed_8262/rollout.py", 2, fix="-            return$")

    def test_kempnerforge_104(self):
        fix = r"new_group\([^)]*\)\n-    dist.barrier\(group=sync\)"
        self.check("data/reports/KempnerForge_104/save.py", 2, fix=fix)

    def test_megatron_6616(self):
        self.check("data/reports/Megatron-LM_6616/grad_norm.py", 4, fix=r"sorted\(")

    def test_autocast_386(self):
        self.check("data/reports/autocast_386/fit.py", 4, fix=r'\+trainer.save_checkpoint\("last')

    def test_ddp_log_on_rank_0(self):
        fix = r"\+    dist.all_reduce\(mean\)"
        self.check("data/record/programs/ddp_toy.py", 4, "--log-on-rank-0", fix=fix)

    def test_overflow_of_one_rank(self):
        fix = r"\+    dist.all_reduce\(found, op=dist.ReduceOp.MAX\)"
        self.check("data/record/programs/overflow.py", 2, "--alone", fix=fix)

    def test_stencil(self):
        self.check("data/record/programs/stencil.py", 4, "--order", "send", fix="isend")


class Commands(TestCase):
    def run_python(self, module, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        return subprocess.run(
            [sys.executable, "-B", "-m", module, *arguments], cwd=self.folder, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def test_fix_of_a_record_begins_with_changes_of_its_script(self):
        script = self.folder / "train.py"
        shutil.copyfile(SCRIPT, script)
        settings = self.settings("save", script=script)
        pathlib.Path(settings.out).mkdir()
        launcher.run(settings)
        done = subprocess.run(
            [PIPESIM, "fix", "record", "--python", sys.executable], cwd=self.folder,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Why: the ranks part at train.py", done.stdout)
        self.assertIn("\n  -            dist.barrier()  # until it is written\n", done.stdout)
        self.assertNotIn("No change", done.stdout)
        self.assertEqual(script.read_text(), SCRIPT.read_text())
        script.unlink()
        done = subprocess.run([PIPESIM, "fix", "record"], cwd=self.folder, capture_output=True,
                              text=True, check=False)  # fmt: skip
        self.assertIn("is not here, so no change of it was tried", done.stderr)

    def test_fix_of_a_recorded_module(self):
        package = self.folder / "package"
        package.mkdir()
        shutil.copyfile(SCRIPT, package / "train.py")
        done = self.run_python("pipesim.record", "-n", "2", "-o", "record", "-m", "package.train",
                               "save")  # fmt: skip
        self.assertEqual(done.returncode, 1, done.stderr)
        fix = [PIPESIM, "fix", "record", "--python", sys.executable, "--apply", "1"]
        done = subprocess.run(
            fix, cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (package / "train.py").read_text()
        self.assertIn("\n        dist.barrier()  # until it is written\n", text)

    def test_record_shows_changes_and_leaves_the_script_as_it_is(self):
        script = self.folder / "train.py"
        shutil.copyfile(SCRIPT, script)
        done = self.run_python("pipesim.record", "-n", "2", "--fix", "train.py", "save")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Why: the ranks part at train.py", done.stdout)
        self.assertIn("A change that is proved", done.stdout)
        self.assertIn("\n  -            dist.barrier()  # until it is written\n", done.stdout)
        self.assertEqual(script.read_text(), SCRIPT.read_text())


if __name__ == "__main__":
    launcher.prepare_process(Settings(ranks=1, out=tempfile.mkdtemp()))
    unittest.main()
