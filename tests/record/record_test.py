"""Tests of the recorder: they record programs, and check the records and pipesim's answers.

    record_test.py PIPESIM

Needs torch, for this interpreter or for /usr/bin/python3. Most programs are recorded in processes
forked from this one, which has imported torch; a few tests use the command line.
"""

import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from recordings import PIPESIM, PROGRAMS, ROOT, calls, command, in_fork, line_of, lines  # isort: skip

import torch

from pipesim import record

SHARED = ROOT / "../shared/data/record"


class Values(unittest.TestCase):
    def test_every_call_gets_the_values_of_a_real_job(self):
        recorded = in_fork(PROGRAMS / "collectives.py", 4)
        self.assertEqual((), recorded.failed, recorded.output)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        splits = [c for c in calls(recorded, 1) if c["call"] == "all_to_all"]
        self.assertEqual([4, 8, 12, 16], splits[0]["from"])  # rank r gives r + 1 floats
        self.assertEqual([8, 8, 8, 8], splits[0]["to"])
        sources = [c["peer"] for c in calls(recorded, 0) if c.get("any")]
        self.assertEqual([1, 2, 3], sources)  # a real job can have any order; a record has this one
        # The record has every collective on the world group. The last call, monitored_barrier,
        # consists of sends and recvs.
        missing = 3 if torch.__version__ < "2" else 0  # calls that this version's gloo lacks
        self.assertEqual(22 - missing, max(c["n"] for c in calls(recorded, 2) if c["g"] == "g0"))

    def test_own_values_need_no_other_rank(self):
        for options in ({"values": "own"}, {"values": "own", "limit": 1}):
            recorded = in_fork(PROGRAMS / "ends.py", 3, "none", **options)
            self.assertEqual({"finished"}, {end.end for end in recorded.ends})


class Gpus(unittest.TestCase):
    def test_a_script_for_gpus(self):
        recorded = in_fork(PROGRAMS / "gpu.py", 2)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        self.assertEqual("nccl", recorded.backend)
        found = lines(recorded, 1)
        on_side = [c for c in calls(recorded, 1) if c["l"] == line_of("gpu.py", "all_reduce(mean)")]
        self.assertEqual(["s1"] * 3, [c["s"] for c in on_side])
        waits = [x for x in found if "stream_wait" in x]
        self.assertEqual(["s1", None] * 3, [x.get("s") for x in waits])
        self.assertIn("cpu", [x.get("read") for x in found])
        self.assertEqual(["event", "device"], [x["synchronize"] for x in found if "synchronize" in x])
        self.assertTrue(all(x["k"] > 0 for x in found if "step" in x))

    def test_threads_files_and_ops_of_gpus(self):
        def job():
            torch.distributed.init_process_group("nccl")
            x = torch.arange(4.0, device="cuda")
            seen = []
            thread = threading.Thread(target=lambda: seen.append(torch.zeros(1, device="cuda").is_cuda))
            thread.start()
            thread.join()
            assert seen == [True]
            file = io.BytesIO()
            torch.save({"x": x}, file)
            for where, on in (("cuda:0", True), ("cpu", False), (lambda s, _: s.cuda(1), True)):
                file.seek(0)
                assert torch.load(file, map_location=where)["x"].is_cuda == on, where
            assert x.type() == "torch.cuda.FloatTensor"
            assert not torch.cuda.is_current_stream_capturing()
            torch.cuda.nvtx.range_push("x")
            torch.randn(2, device="cuda", generator=torch.Generator(device="cuda"))
            norm = torch.nn.SyncBatchNorm(2).cuda()
            values = torch.randn(4, 2, device="cuda", requires_grad=True)
            norm(values).square().sum().backward()
            assert values.grad.is_cuda
            x[x > 1]
            torch.where(x > 1)
            torch.cuda.Event().query()
            torch.distributed.barrier()

        recorded = record(job, ranks=2)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        found = lines(recorded, 0)
        # SyncBatchNorm excludes ranks without data by three masks (nn/modules/_functions.py).
        reads = ["pickle", *["getitem"] * 3, "getitem", "where"]
        self.assertEqual(reads, [x["read"] for x in found if "read" in x])
        self.assertIn("polls", [x.get("note") for x in found])

    def test_a_static_graph(self):
        def job():
            torch.distributed.init_process_group("gloo")
            model = torch.nn.parallel.DistributedDataParallel(
                torch.nn.Linear(4, 4), static_graph=True
            )
            for _ in range(3):
                model(torch.randn(2, 4)).sum().backward()

        self.assertTrue(record(job, ranks=2).check().proved)

    def test_a_rank_in_the_store_and_one_in_a_call_of_nccl(self):
        def job():
            torch.distributed.init_process_group("nccl")
            if torch.distributed.get_rank() == 1:
                torch.distributed.distributed_c10d._get_default_store().get("ready")
            torch.distributed.all_reduce(torch.ones(1, device="cuda"))

        self.assertTrue(record(job, ranks=2).check().hangs)

    @unittest.skipUnless(hasattr(torch.distributed, "split_group"), "torch has no split_group")
    def test_split_groups_have_a_parent(self):
        def job(leaves_out):
            dist, rank = torch.distributed, int(os.environ["RANK"])
            dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
            half = dist.split_group(split_ranks=[[0, 1], [2, 3]], group_desc="half")
            assert (dist.get_rank(half), half.size()) == (rank % 2, 2)
            t = torch.ones(1, device="cuda") * rank
            dist.all_reduce(t, group=half)
            assert t.item() == (1 if rank < 2 else 5)
            if rank < 2:  # both ranks of `half` split it, and rank 0 gets no group
                assert (dist.split_group(half, [[1]]) is None) == (rank == 0)
            if not (leaves_out and rank == 3):  # splits the world group, so rank 3 must also call
                dist.new_group([0, 1, 2])
            dist.barrier()

        recorded = record(job, ranks=4, args=[False])
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        for rank in range(4):
            found = lines(recorded, rank)
            groups = {line["def"]: line["group"] for line in found if "group" in line}
            made = [(groups[x["new_group"]], groups[x["parent"]]) for x in found if "new_group" in x]
            of_half = [("0:1:1", "0:1")] if rank < 2 else []
            self.assertEqual([("0:1", "0"), *of_half, ("0:2", "0")], made)
        self.assertTrue(recorded.check().proved)
        report = record(job, ranks=4, args=[True]).check()
        self.assertTrue(report.hangs)
        self.assertIn("Rank 3 never calls new_group [0-2]", report.text)

    @unittest.skipUnless(hasattr(torch.distributed, "split_group"), "torch has no split_group")
    def test_a_mesh_splits_the_group_of_all(self):
        def job():
            from torch.distributed.device_mesh import init_device_mesh

            dist, rank = torch.distributed, int(os.environ["RANK"])
            dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
            mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp", "tp"))
            for name in ("dp", "tp"):
                dist.all_reduce(torch.ones(1, device="cuda"), group=mesh[name].get_group())

        recorded = record(job, ranks=4)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        made = [x for x in lines(recorded, 3) if "new_group" in x]
        self.assertEqual(["g0", "g0"], [x["parent"] for x in made])
        self.assertTrue(recorded.check().proved)

    # On GPUs, torch 2.x makes a batch one call, with one Work.
    def test_a_batch_of_messages_on_gpus_is_waited_for(self):
        def job():
            dist, rank = torch.distributed, int(os.environ["RANK"])
            dist.init_process_group("nccl")
            torch.cuda.set_device(rank)
            mine, other = torch.full((3,), float(rank), device="cuda"), torch.zeros(3, device="cuda")
            right, left = (rank + 1) % 3, (rank + 2) % 3
            works = dist.batch_isend_irecv(
                [dist.P2POp(dist.isend, mine, right), dist.P2POp(dist.irecv, other, left)]
            )
            assert works
            for work in works:
                work.wait()
                assert work.is_completed()
            assert other.tolist() == [left] * 3

        recorded = record(job, ranks=3)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        found = lines(recorded, 1)
        batch = [x for x in found if "call" in x and "def" not in x]
        self.assertEqual([1, 1], [x["batch"] for x in batch])
        waited = [w for x in found if "wait" in x for w in (x["wait"] if isinstance(x["wait"], list) else [x["wait"]])]  # fmt: skip
        self.assertEqual([x["w"] for x in batch], waited)
        self.assertTrue(recorded.check().proved)

    @unittest.skipUnless(hasattr(torch.distributed, "split_group"), "an older torch")
    def test_coalesced_calls_and_pipelines_on_gpus(self):
        def reductions():
            dist, rank = torch.distributed, int(os.environ["RANK"])
            dist.init_process_group("nccl")
            device = torch.device("cuda", rank)
            tensors = [torch.ones(2, device=device), torch.ones(3, device=device)]
            for wait_later in (False, True):
                manager = dist.distributed_c10d._coalescing_manager
                with manager(None, device, async_ops=wait_later) as coalesced:
                    for tensor in tensors:
                        dist.all_reduce(tensor)
                if wait_later:
                    coalesced.wait()
            assert [t[0].item() for t in tensors] == [16, 16]

        def pipeline():
            from torch.distributed.pipelining import PipelineStage, Schedule1F1B

            rank = int(os.environ["RANK"])
            torch.cuda.set_device(rank)
            torch.distributed.init_process_group("nccl")
            device = torch.device("cuda", rank)
            stage = PipelineStage(torch.nn.Linear(8, 8).cuda(), rank, 4, device)
            schedule = Schedule1F1B(stage, 4, loss_fn=lambda a, b: (a - b).square().mean())
            x = torch.randn(8, 8, device=device)
            if rank == 3:
                schedule.step(target=x, losses=[])
            else:
                schedule.step(*([x] if rank == 0 else []))

        for job in (reductions, pipeline):
            recorded = record(job, ranks=4)
            self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
            self.assertTrue(recorded.check().proved)

    def test_a_group_of_gloo_beside_nccl_has_no_parent(self):
        def job():
            torch.distributed.init_process_group("nccl")
            torch.distributed.new_group([0], backend="gloo")
            torch.distributed.new_group([1, 0])

        for rank in (0, 1):
            made = [x for x in lines(record(job, ranks=2), rank) if "new_group" in x]
            self.assertEqual([1, 2], [x["key"] for x in made])
            self.assertFalse(any("parent" in x for x in made))

    def test_results_are_made_up_where_no_host_would_wait(self):
        recorded = in_fork(PROGRAMS / "gpu.py", 2, "--crossed")
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        made_up = [[c["l"] for c in calls(recorded, r) if "made_up" in c] for r in (0, 1)]
        self.assertEqual([[line_of("gpu.py", "group=group")], []], made_up)


class CommandLine(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_two_recordings_are_the_same_bytes_and_hash_seeds_differ(self):
        out = [self.folder / name for name in "ab"]
        for folder in out:
            done = command("--ranks", 4, "--only-record", "-o", folder, PROGRAMS / "ends.py", "names")
            self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))
        names = sorted(path.name for path in out[0].iterdir())
        self.assertEqual(["rank0.jsonl", "rank1.jsonl", "rank2.jsonl", "rank3.jsonl", "record.json"], names)
        for name in names:
            self.assertEqual((out[0] / name).read_bytes(), (out[1] / name).read_bytes(), name)
            self.assertNotIn(str(ROOT), (out[0] / name).read_text())
        described = json.loads((out[0] / "record.json").read_text())
        self.assertEqual(["rest"] * 4, [end["why"] for end in described["ends"]])

    def test_environment_folder_and_module(self):
        (self.folder / "job.py").write_text(
            "import os, sys\n"
            "names = 'RANK LOCAL_RANK GROUP_RANK WORLD_SIZE LOCAL_WORLD_SIZE PIPESIM_RECORD LR'\n"
            "print(*[os.environ[n] for n in names.split()], sys.argv[1:], __name__)\n"
        )
        done = command(
            "--ranks", 4, "--nnodes", 2, "--env", "LR=3", "--chdir", self.folder, "--all-output",
            "--one-by-one", "--only-record", "-o", self.folder / "out", "-m", "job", "--ranks", "x",
        )  # fmt: skip
        self.assertEqual(2, done.returncode, done.stderr)  # the record has nothing to judge
        said = [line for line in done.stderr.splitlines() if line.startswith("[")]
        end = "1 3 ['--ranks', 'x'] __main__"
        self.assertEqual(
            [f"[{r}]: {r} {r % 2} {r // 2} 4 2 {end}" for r in range(4)], said, done.stderr
        )
        self.assertIn("error: no rank called torch.distributed.init_process_group", done.stderr)

    def test_text_that_is_no_utf_8(self):
        (self.folder / "job.py").write_text(
            "import sys, threading, torch\n"
            "import torch.distributed as dist\n"
            "dist.init_process_group('gloo')\n"
            "store = dist.TCPStore('127.0.0.1', 29501, 2, dist.get_rank() == 0)\n"
            "store.set(sys.argv[1], 'x')\n"
            "reduce = lambda: dist.all_reduce(torch.ones(4))\n"
            "thread = threading.Thread(target=reduce, name=sys.argv[1])\n"
            "thread.start()\n"
            "thread.join()\n"
            "exec(compile('dist.all_reduce(torch.ones(4))', sys.argv[1] + '.py', 'exec'))\n"
            "print(sys.argv[1])\n"
        )
        out = self.folder / "out"
        done = command(
            "--ranks", 2, "--only-record", "--all-output", "-o", out, self.folder / "job.py", "a\udcff"
        )
        self.assertEqual((0, ["[0]: a\\udcff", "[1]: a\\udcff"]), (done.returncode, sorted(done.stderr.splitlines())))
        for rank in (0, 1):
            text = (out / f"rank{rank}.jsonl").read_bytes().decode()
            for part in ('"key":"a?"', '"th":"a?"', 'a?.py:1"'):
                self.assertIn(part, text)
        checked = subprocess.run([PIPESIM, "check", out], capture_output=True, check=False)
        self.assertNotIn(checked.returncode, (2, 74), checked.stderr)

    def test_a_folder_that_has_other_files(self):
        for name in ("rankings.jsonl", "rank0.jsonl.bak", "victim"):
            (self.folder / name).write_text("precious")
        for name in ("rank0.jsonl", "record.json"):
            (self.folder / name).symlink_to(self.folder / "victim")
        (self.folder / "rank7.jsonl").write_text("of an earlier record")
        done = command("--ranks", 2, "--only-record", "-o", self.folder, PROGRAMS / "ends.py", "names")
        self.assertEqual(0, done.returncode, done.stderr)
        for name in ("rankings.jsonl", "rank0.jsonl.bak", "victim"):
            self.assertEqual("precious", (self.folder / name).read_text())
        self.assertFalse((self.folder / "rank7.jsonl").exists())
        self.assertEqual(2, json.loads((self.folder / "record.json").read_text())["world"])

    def test_wrong_usage(self):
        for arguments, message in [
            (["--ranks", 2], "the script to record is missing"),
            (["train.py"], "'--ranks N' is missing"),
            (["--ranks", 0, "x.py"], "expected a number from 1 on, found '0'"),
            (["--ranks", 3, "--nnodes", 2, "x.py"], "3 ranks cannot be on 2 nodes"),
            (["--ranks", 2, "nothere.py"], "cannot read the script 'nothere.py'"),
            (["--ranks", 2, "--limit", "64kb", "x.py"], "expected a size such as 64KiB"),
            (["--ranks", 2, "--env", "X", "x.py"], "expected KEY=VALUE, found 'X'"),
        ]:
            done = command(*arguments)
            self.assertEqual(2, done.returncode, arguments)
            self.assertIn(message, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_no_torch_or_an_old_one(self):
        for source, message in [
            ("raise ImportError('none here')", "cannot import torch (none here)"),
            ("__version__ = '1.9.0'", "torch 1.9.0 of"),
        ]:
            (self.folder / "torch.py").write_text(source + "\n")
            path = os.pathsep.join([str(self.folder), str(ROOT / "python")])
            done = command("--ranks", 2, PROGRAMS / "ends.py", env={"PYTHONPATH": path})
            self.assertEqual(2, done.returncode, done.stderr)
            self.assertIn(message, done.stderr)
            self.assertIn("help: ", done.stderr)

    def test_interrupted(self):
        out = self.folder / "out"
        process = subprocess.Popen(
            [sys.executable, "-B", "-m", "pipesim.record", "--ranks", "2", "-o", str(out),
             str(PROGRAMS / "ends.py"), "never"],
            # A shell starts its jobs in the background with SIGINT ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not all((out / f"rank{r}.jsonl").exists() for r in (0, 1)):
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        self.assertEqual(130, process.returncode, said)
        self.assertIn("interrupted: the record ends where each rank was", said)
        described = json.loads((out / "record.json").read_text())
        self.assertEqual(["killed"] * 2, [end["why"] for end in described["ends"]])


class Verdicts(unittest.TestCase):
    def test_a_function_and_its_report(self):
        def job():
            torch.distributed.init_process_group("gloo")
            if torch.distributed.get_rank() == 0:
                torch.distributed.barrier()

        recorded = record(job, ranks=2)
        self.assertIn(".check()", recorded._repr_html_())
        report = recorded.check()
        self.assertTrue(report.hangs and not report.proved)
        self.assertEqual([0], [stuck.rank for stuck in report.stuck])
        self.assertRegex(report.stuck[0].at, r"record_test\.py:\d+ job > barrier$")
        self.assertIn("HANG CERTAIN", report.text)
        for page in (report._repr_html_(), recorded._repr_html_()):
            self.assertIn("HANG CERTAIN", page)
            self.assertRegex(page, r"<td[^>]*>barrier #1 on the world group</td><td[^>]*>[\w/]*record_test\.py:\d+ job &gt; ")
            self.assertRegex(page, r"(?s)<svg.*barrier #1.*</svg>")

    def test_the_example_with_a_bug(self):
        script = ROOT / "examples/record_ddp.py"
        done = command("--ranks", 4, "examples/record_ddp.py", cwd=ROOT)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn("note: this record is not kept; with '-o record'", done.stderr)
        for number, line in enumerate(script.read_text().splitlines(), 1):
            # Some ranks are blocked in the next step, the others in the branch.
            if line.strip().startswith(("loss.backward()", "dist.barrier()")):
                self.assertIn(f"record_ddp.py:{number} ", done.stdout)
        page = (ROOT / "docs/how-to/record.md").read_text()
        sample = page.split("$ pipesim record --ranks 4 examples/record_ddp.py\n")[1].split("```")[0]
        if torch.__version__.startswith("1.13"):
            for line in sample.replace("...\n", "").splitlines():
                self.assertIn(line, done.stdout)
        self.assertTrue(in_fork(script, 4, "--fixed").check().proved)

    def test_threads_that_race_and_threads_in_order(self):
        def job(own_group, joins_first):
            dist = torch.distributed
            dist.init_process_group("gloo")
            group = dist.new_group() if own_group else None

            def save():
                dist.all_reduce(torch.ones(1), group=group)

            thread = threading.Thread(target=save, name="checkpoint")
            thread.start()
            if joins_first:
                thread.join()
            dist.all_reduce(torch.ones(1))
            thread.join()

        # A join, or under gloo a separate group for each thread, makes the outcome independent of
        # the order of the threads.
        for arguments, rules in (([True, False], "gloo"), ([False, True], "gloo"), ([True, True], "nccl")):
            report = record(job, ranks=2, args=arguments).check(rules=rules)
            self.assertTrue(report.proved, report.text)
        for own_group, rules in ((False, "gloo"), (True, "nccl")):
            report = record(job, ranks=2, args=[own_group, False]).check(rules=rules)
            self.assertEqual("undecided", report.answer, report.text)
            self.assertRegex(" ".join(report.rests_on), r"thread 'checkpoint' \(.* call concurrently")

    def test_a_hang_is_undecided_while_another_thread_runs(self):
        def job(sleeps):
            dist = torch.distributed
            dist.init_process_group("gloo")
            if sleeps:  # the recorder does not know that this thread never calls
                threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            dist.recv(torch.ones(1), 1 - dist.get_rank())

        report = record(job, ranks=2, args=[True], seconds=1).check()
        self.assertEqual("undecided", report.answer, report.text)
        self.assertIn("UNDECIDED: another thread may end the hang", report.text)
        self.assertEqual("hang certain", record(job, ranks=2, args=[False]).check().answer)

    def verdict_under_nccl(self, script, ranks, *arguments, **options):
        recorded = in_fork(script, ranks, *arguments, **options)
        # Programs that use gloo are also judged as if they used NCCL.
        report = recorded.check(rules="nccl")
        stuck = {s.rank: int(s.at.split(":")[1].split()[0]) for s in report.stuck if s.at}
        return ("hang" if report.hangs else report.answer), stuck

    # Expected verdicts are derived by hand from the rules in docs/explanation/record.md: no host
    # waits for a collective unless it reads a value, and a rank that never calls blocks the ranks
    # that wait for its call, as with gloo.
    def test_verdicts_under_the_rules_of_nccl(self):
        barrier = line_of("ends.py", "dist.barrier()  #")
        stays = {0: barrier, 2: barrier}
        crossed = line_of("gpu.py", "all_reduce(t, group=group)")
        for program, ranks, arguments, verdict, stuck in [
            # All sends have one size, so without tags they match in order. No send waits for a
            # recv that comes after a later send to the same rank.
            ("collectives.py", 4, [], "proved", {}),
            ("ends.py", 3, ["none"], "proved", {}),
            ("ends.py", 3, ["fork"], "proved", {}),
            ("ends.py", 3, ["raise"], "failed", {**stays, 1: line_of("ends.py", "raise Value")}),
            ("ends.py", 3, ["exit"], "failed", stays),
            ("ends.py", 3, ["poll"], "hang", {**stays, 1: line_of("ends.py", "is_completed()")}),
            ("gpu.py", 2, [], "proved", {}),
            # Each rank reads the value before it makes the call on the other group.
            ("gpu.py", 2, ["--crossed"], "hang", {0: crossed, 1: crossed}),
        ]:
            with self.subTest(program, arguments=arguments):
                lines = {rank: int(line.rpartition(":")[2]) for rank, line in stuck.items()}
                found = self.verdict_under_nccl(PROGRAMS / program, ranks, *arguments)
                self.assertEqual((verdict, lines), found)

    @unittest.skipUnless(SHARED.is_dir(), "no ../shared/data/record")
    def test_shared_programs_under_the_rules_of_nccl(self):
        for program, ranks, arguments, options, verdict, stuck in [
            ("ddp_toy.py", 4, [], {}, "proved", {}),
            # Rank 0 waits in an all_reduce, the other ranks in the forward of the next step.
            ("ddp_toy.py", 4, ["--log-on-rank-0"], {}, "hang", {0: 24, 1: 19, 2: 19, 3: 19}),
            # All ranks send first. NCCL guarantees no buffer, and the first use connects the ranks.
            ("stencil.py", 4, ["--order", "send"], {}, "hang", dict.fromkeys(range(4), 24)),
            ("stencil.py", 4, ["--order", "batch"], {}, "proved", {}),
            ("stencil.py", 4, ["--order", "edges"], {}, "proved", {}),
            ("overflow.py", 2, [], {}, "proved", {}),
            ("overflow.py", 2, ["--alone"], {}, "hang", {0: 30, 1: 32}),
            ("streams.py", 4, [], {"device": "cuda"}, "proved", {}),
            # Ranks 1 and 2 first read the value of the other group's all_reduce.
            ("streams.py", 4, ["--crossed"], {"device": "cuda"}, "hang", dict.fromkeys(range(4), 33)),
        ]:
            with self.subTest(program, arguments=arguments):
                script = SHARED / "programs" / program
                found = self.verdict_under_nccl(script, ranks, *arguments, **options)
                self.assertEqual((verdict, stuck), found)

    @unittest.skipUnless(SHARED.is_dir(), "no ../shared/data/record")
    def test_programs_with_verdicts_of_real_gloo(self):
        with (SHARED / "CASES.tsv").open() as file:
            cases = list(csv.DictReader(file, delimiter="\t"))
        with (SHARED / "VERDICTS.tsv").open() as file:
            verdicts = {row["name"]: row for row in csv.DictReader(file, delimiter="\t")}
        for case in cases:
            with self.subTest(case["name"]):
                script = SHARED / "programs" / case["program"]
                arguments = (case["arguments"] or "").split()
                recorded = in_fork(script, int(case["ranks"]), *arguments, device="cpu")
                self.assertEqual((), recorded.failed, recorded.output)
                report = recorded.check(rules="gloo")
                real = verdicts[case["name"]]
                self.assertEqual(real["gloo"] == "hang", report.hangs, report.text)
                self.assertEqual(real["gloo"] == "complete", report.proved, report.text)
                if report.hangs:
                    expected = dict(self.stuck_lines(real["where each rank is"]))
                    found = {s.rank: int(s.at.split(":")[1].split()[0]) for s in report.stuck}
                    self.assertEqual(expected, found, report.text)

    # Real gloo 1.13 ran these: the ranks that were done are in ../shared/data/faults3/g/real*.
    @unittest.skipUnless(SHARED.is_dir(), "no ../shared/data/record")
    def test_ranks_that_return_early_from_a_rooted_collective(self):
        for program, op, verdict in [
            ("leave.py", "gather", "proved"),
            ("leave.py", "broadcast", "hang certain"),
            ("leave.py", "reduce", "hang certain"),
            ("leave2.py", "scatter", "proved"),
            ("leave2.py", "broadcast", "proved"),
        ]:
            with self.subTest(program, op=op):
                recorded = in_fork(SHARED / "../faults3/g" / program, 3, "--op", op, device="cpu")
                self.assertEqual(verdict, recorded.check(rules="gloo").answer)

    @staticmethod
    def stuck_lines(text):
        """Yields (rank, line) of each stuck rank, from a string such as
        `0 stuck line 24 <module> > all_reduce; 1,2 stuck line 19 ...`."""
        for part in text.split("; "):
            ranks, how, *rest = part.split()
            if how == "stuck":
                for rank in ranks.split(","):
                    yield int(rank), int(rest[1])


class Pytest(unittest.TestCase):
    def test_a_failed_test_prints_the_report(self):
        try:
            import pytest  # noqa: F401
        except ImportError:
            self.skipTest("no pytest: tools/setup test installs it")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "test_job.py").write_text(
                "import torch.distributed as dist\n"
                "def job():\n"
                "    dist.init_process_group('gloo')\n"
                "    if dist.get_rank(): dist.barrier()\n"
                "def test_job(record):\n"
                "    assert record(job, ranks=2).check().proved\n"
                "def test_other_answers(explore):\n"
                "    assert explore(job, ranks=2).covered\n"
            )
            done = subprocess.run(
                [sys.executable, "-B", "-m", "pytest", "-p", "pipesim.pytest_plugin",
                 "-p", "no:cacheprovider", folder],
                env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"-+ pipesim check -+\n.*HANG CERTAIN")
        self.assertRegex(done.stdout, r"-+ pipesim explore -+\n.*HANG CERTAIN")


if __name__ == "__main__":
    unittest.main(module=sys.modules[__name__])
