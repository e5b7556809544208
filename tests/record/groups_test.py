"""Tests of process groups and stores, as scripts and frameworks use them.

groups_test.py PIPESIM
"""

import datetime
import inspect
import os
import unittest

from recordings import lines  # isort: skip

import torch

from pipesim import record


class Groups(unittest.TestCase):
    def test_groups_have_the_options_that_torch_reads_and_writes(self):
        def job():
            dist = torch.distributed
            dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=77))
            group = dist.new_group([0, 1])
            kinds = {device.type for device in group._device_types}
            assert kinds == ({"cpu", "cuda"} if hasattr(dist, "BackendConfig") else {"cpu"})
            assert dist.group.WORLD.options._timeout == datetime.timedelta(seconds=77)
            dist.barrier(group)

        recorded = record(job, ranks=2)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)

    def test_groups_that_the_script_makes_itself(self):
        def job(size):
            dist, rank = torch.distributed, int(os.environ["RANK"])
            store = dist.HashStore()
            group = dist.ProcessGroupGloo(store, rank, size, datetime.timedelta(seconds=5))
            t = torch.ones(1)
            group.allreduce([t]).wait()
            assert t.item() == 3
            if hasattr(dist, "_dist2"):
                timeout = datetime.timedelta(seconds=5)
                again = dist._dist2.new_group(backend="gloo", timeout=timeout, device="cpu")
                again.allreduce(t).wait()
                assert t.item() == 9

        recorded = record(job, ranks=3, args=[3])
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        self.assertTrue(recorded.check().proved)
        text = record(job, ranks=3, args=[2]).ends[0].text
        self.assertIn(
            "pipesim record: ProcessGroupGloo(...) of 2 ranks is not recorded: which", text
        )

    # Real gloo of 2.13 and 1.13 raises these errors on every rank.
    def test_gloo_takes_tensors_of_one_size_only(self):
        def job():
            dist, rank = torch.distributed, int(os.environ["RANK"])
            dist.init_process_group("gloo")
            one, two = torch.ones(1), torch.ones(2)
            calls = {
                "allgather": lambda: dist.all_gather([one, two], one),
                "alltoall": lambda: dist.all_to_all([one, two], [one, one]),
                "alltoall ": lambda: dist.all_to_all([one, one], [one, two]),
            }
            if rank == 0:
                calls["gather"] = lambda: dist.gather(one, [one, two])
                calls["scatter"] = lambda: dist.scatter(one, [one, two])
            for name, call in calls.items():
                size = "invalid tensor size at index 1 (expected (1), got (2))"
                says = f"ProcessGroupGloo::{name.strip()}: {size}"
                if name.strip() == "alltoall" and torch.__version__.startswith("1."):
                    says = "ProcessGroup gloo does not support alltoall"
                try:
                    call()
                except RuntimeError as error:
                    assert str(error) == says, error
                else:
                    raise AssertionError(name)
            dist.barrier()

        recorded = record(job, ranks=2)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)

    @unittest.skipIf(torch.__version__.startswith("1."), "an older torch")
    def test_nccl_gathers_tensors_of_different_sizes(self):
        def job():
            dist, rank = torch.distributed, int(os.environ["RANK"])
            dist.init_process_group("nccl")
            outputs = [torch.zeros(r + 1, device="cuda") for r in range(3)]
            dist.all_gather(outputs, torch.full((rank + 1,), float(rank), device="cuda"))
            assert [t.tolist() for t in outputs] == [[0], [1, 1], [2, 2, 2]], outputs

        recorded = record(job, ranks=3)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        calls = [x for x in lines(recorded, 1) if "call" in x and "def" not in x]
        roots = [(x["call"], x["root"], x["bytes"], x["batch"]) for x in calls]
        self.assertEqual([("broadcast", r, 4 * (r + 1), 1) for r in range(3)], roots)
        self.assertTrue(recorded.check().proved)

    # Without the barrier, the job can hang in real gloo 2.13: a slower rank waits for a key that
    # another rank has deleted.
    def test_a_key_that_is_deleted_while_others_may_wait_for_it(self):
        def job(meet):
            dist, rank = torch.distributed, int(os.environ["RANK"])
            dist.init_process_group("gloo")
            store = dist.distributed_c10d._get_default_store()
            store.set(f"k{rank}", "v")
            store.wait([f"k{r}" for r in range(3)])
            if meet:
                dist.barrier()
            store.delete_key(f"k{rank}")
            dist.barrier()

        self.assertTrue(record(job, ranks=3, args=[True]).check().proved)
        report = record(job, ranks=3, args=[False]).check()
        self.assertEqual("undecided", report.answer, report.text)
        self.assertIn("a key may be deleted before a rank waits for it", report.text)

    def test_a_short_timeout_is_an_assumption(self):
        def job(seconds):
            timeout = datetime.timedelta(seconds=seconds)
            torch.distributed.init_process_group("gloo", timeout=timeout)
            torch.distributed.barrier()

        said = "each call of a group ends within 3 s, the group's timeout"
        for seconds, basis in ((3, (said,)), (3600, ())):
            report = record(job, ranks=2, args=[seconds]).check()
            self.assertTrue(report.proved, report.text)
            self.assertEqual(basis, report.rests_on)

    @unittest.skipUnless(hasattr(torch.distributed.Store, "queue_push"), "a store without queues")
    def test_a_store_of_today(self):
        def job(waits):
            dist, rank = torch.distributed, int(os.environ["RANK"])
            dist.init_process_group("gloo")
            size = dist.get_world_size()
            store = dist.TCPStore("127.0.0.1", 29508, size, rank == 0)
            store.append("log", "x")
            store.multi_set([f"a{rank}", f"b{rank}"], ["1", "2"])
            assert store.multi_get([f"a{r}" for r in range(size)]) == [b"1"] * size
            assert store.has_extended_api()
            store.clone().set("q", "1")
            store.queue_push("queue", f"v{rank}")
            assert store.queue_pop("queue") == f"v{rank}".encode()
            store.barrier("all", size)
            assert store.queue_len("queue") == 0
            assert store.get("log") == b"x" * size
            assert {"q", "log", "a0"} <= set(store.list_keys())
            try:
                store.queue_pop("queue", block=False)
            except dist.QueueEmptyError:
                pass
            else:
                raise AssertionError("an empty queue")
            if waits and rank == 1:
                store.queue_pop("queue")

        recorded = record(job, ranks=3, args=[False])
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        kept = [x["key"] for x in lines(recorded, 2) if x.get("store") == "get" and "#" in x["key"]]
        self.assertEqual(["queue#3"], kept)
        self.assertTrue(recorded.check().proved)
        report = record(job, ranks=3, args=[True]).check()
        self.assertTrue(report.hangs)
        self.assertEqual([1], [stuck.rank for stuck in report.stuck])

    @unittest.skipUnless(hasattr(torch._C._distributed_c10d, "FakeProcessGroup"), "no fake backend")
    def test_groups_that_exchange_nothing(self):
        def job():
            import torch.testing._internal.distributed.fake_pg  # noqa: F401

            dist = torch.distributed
            dist.init_process_group("gloo")
            alone = dist.new_group([int(os.environ["RANK"])], backend="fake")
            dist.all_reduce(torch.ones(1), group=alone)
            dist.barrier(dist.new_group([0, 1]))

        recorded = record(job, ranks=2)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        calls = [x["call"] for x in lines(recorded, 0) if "call" in x and "def" not in x]
        self.assertEqual(["barrier"], calls)
        self.assertTrue(recorded.check().proved)

    @unittest.skipUnless(hasattr(torch.distributed, "split_group"), "torch has no split_group")
    def test_split_groups_take_options_and_some_of_the_backends(self):
        def job():
            dist, rank = torch.distributed, int(os.environ["RANK"])
            dist.init_process_group("cpu:gloo,cuda:nccl", device_id=torch.device("cuda", rank))
            options = dist.ProcessGroupNCCL.Options()
            options.config.max_ctas = 4
            chosen = {"backend": "cuda:nccl"} if "backend" in arguments else {}
            half = dist.split_group(split_ranks=[[0, 1], [2, 3]], pg_options=options, **chosen)
            assert half.options.config.max_ctas == 4
            dist.all_reduce(torch.ones(1, device="cuda"), group=half)
            if chosen:
                assert [device.type for device in half._device_types] == ["cuda"]
                for wrong in ("cuda:gloo", "xpu:xccl"):
                    try:
                        dist.split_group(split_ranks=[[0, 1], [2, 3]], backend=wrong)
                    except ValueError:
                        continue
                    raise AssertionError(wrong)

        arguments = inspect.signature(torch.distributed.split_group).parameters
        recorded = record(job, ranks=4)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        self.assertTrue(recorded.check().proved)

    @unittest.skipUnless(hasattr(torch.distributed, "shrink_group"), "torch has no shrink_group")
    def test_a_group_that_shrinks(self):
        def job():
            dist, rank = torch.distributed, int(os.environ["RANK"])
            dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
            dist.all_reduce(torch.ones(1, device="cuda"))
            if rank == 1:
                return
            dist.shrink_group([1])
            assert (dist.get_rank(), dist.get_world_size()) == (rank // 2, 2)
            t = torch.ones(1, device="cuda") * rank
            dist.all_reduce(t)
            assert t.item() == 2

        recorded = record(job, ranks=3)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        groups = [line["ranks"] for line in lines(recorded, 0) if "group" in line]
        self.assertEqual([[0, 1, 2], [0, 2]], groups)
        self.assertTrue(recorded.check().proved)


if __name__ == "__main__":
    unittest.main()
