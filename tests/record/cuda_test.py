"""Tests of the stand-ins for GPUs with parts of recent torch: FSDP2, DTensor, accelerators.

cuda_test.py PIPESIM
"""

import json
import os
import sys
import unittest
import unittest.mock

import with_torch  # noqa: F401  isort: skip

import torch
import torch.distributed as dist

from pipesim import record

os.environ["PIPESIM"] = os.path.abspath(sys.argv.pop(1))
torch.set_num_threads(1)

try:
    from torch.distributed.tensor import DTensor  # noqa: F401
except ImportError:
    DTensor = None

needs_dtensor = unittest.skipUnless(DTensor is not None, "torch has no DTensor")


class Cuda(unittest.TestCase):
    def finishes(self, job, ranks=2, proved=True):
        recorded = record(job, ranks=ranks, device="cuda")
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        if proved:
            report = recorded.check()
            self.assertTrue(report.proved, report.text)
        return recorded

    def lines(self, recorded, rank):
        text = (recorded.path / f"rank{rank}.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    # A function mode is off while it handles a call, and 2.13 offers `backward` to the mode.
    def test_hooks_of_a_backward_see_gpu_tensors(self):
        def job():
            dist.init_process_group("nccl")
            x = torch.ones(2, device="cuda", requires_grad=True)
            seen = []

            def hook(gradient):
                seen.append((gradient * 2).is_cuda and torch.zeros(1, device="cuda").is_cuda)

            for backward in (
                lambda y: y.backward(),
                lambda y: torch.autograd.backward([y]),
                lambda y: torch.autograd.grad(y, [x])[0].is_cuda or seen.clear(),
            ):
                y = (x * 3).sum()
                y.register_hook(hook)
                backward(y)
            assert seen == [True] * 3, seen
            dist.barrier()

        recorded = self.finishes(job)
        marks = [line["backward"] for line in self.lines(recorded, 0) if "backward" in line]
        self.assertEqual(["begin", "end"] * 2, marks)  # `grad` does not count as a backward

    def test_a_backward_is_one_kernel_and_a_call_none(self):
        def job():
            dist.init_process_group("nccl")
            x = torch.ones(2, device="cuda", requires_grad=True)
            for _ in range(2):
                dist.all_reduce(x.detach())
            (x * 3).sum().backward(torch.ones((), device="cuda"))
            dist.barrier()

        lines = [line for line in self.lines(self.finishes(job), 0) if "def" not in line]
        kernels = [line.get("k") for line in lines if "call" in line or "backward" in line]
        check = 0 if hasattr(torch, "compile") else 1  # torch 1.13 checks the gradient with an op
        self.assertEqual([1, None, 3, 1 + check, None], kernels)

    def test_a_static_graph_ends(self):
        def job():
            dist.init_process_group("nccl")
            model = torch.nn.parallel.DistributedDataParallel(
                torch.nn.Linear(4, 4).cuda(), static_graph=True
            )
            for _ in range(3):
                model(torch.randn(2, 4, device="cuda")).sum().backward()

        self.finishes(job)

    @unittest.skipUnless(hasattr(torch, "accelerator"), "torch has no accelerator")
    def test_the_accelerator_is_a_gpu(self):
        def job():
            rank = int(os.environ["RANK"])
            torch.accelerator.set_device_index(rank)
            dist.init_process_group("nccl", device_id=torch.device(rank))
            assert torch.accelerator.is_available()
            assert torch.accelerator.current_accelerator().type == "cuda"
            assert torch.accelerator.current_device_index() == torch.cuda.current_device() == rank
            assert torch.accelerator.device_count() == 2
            assert torch.device(1) == torch.device("cuda", 1)
            parameter = torch.nn.Parameter(torch.ones(2, device=rank))
            assert parameter.device == torch.device("cuda", rank)
            parameter.sum().backward()
            torch.optim.Adam([parameter]).step()  # checks whether a CUDA graph is being captured
            torch.accelerator.synchronize()

        recorded = self.finishes(job)
        self.assertIn("device", [line.get("synchronize") for line in self.lines(recorded, 1)])

    def test_sizes_of_an_all_to_all_in_an_array(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy")

        def job():
            dist.init_process_group("nccl")
            sizes = numpy.array([1, 1])
            x = torch.ones(2, device="cuda")
            dist.group.WORLD.alltoall_base(x.clone(), x, sizes, sizes).wait()

        self.finishes(job)

    def test_the_version_of_nccl(self):
        def job():
            dist.init_process_group("nccl")
            assert torch.cuda.nccl.version() >= (2, 10)

        self.finishes(job)

    # In NCCL's reading `cold`, or by streams, the peer makes the call only after the loop.
    def test_loops_that_poll_are_waits(self):
        def loops(how, work, event, store):
            if how == "is_completed":
                while not work.is_completed():
                    pass
            elif how == "query":
                while True:
                    if event.query():
                        break
            elif how == "counts":
                count = 0
                while not event.query() and count < 10:
                    count += 1
            elif how == "check":
                while not store.check(["k"]):
                    pass
            elif how == "compare_set":
                while store.compare_set("k", "", "") != b"1":
                    pass

        def job(how):
            dist.init_process_group("nccl")
            rank, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
            t, u = torch.ones(1, device="cuda"), torch.ones(1, device="cuda")
            if how in ("check", "compare_set", "no loop"):
                if rank == 0:
                    dist.send(t, 1)
                    store.set("k", "1")
                else:
                    if how == "no loop" and not store.check(["k"]):
                        return
                    loops(how, None, None, store)
                    dist.recv(t, 0)
                return
            dist.all_reduce(u)
            for each in (t, u):
                dist.send(each, 1) if rank == 0 else dist.recv(each, 0)
            torch.cuda.synchronize()
            if rank == 0:
                with torch.cuda.stream(torch.cuda.Stream()):
                    work = dist.all_reduce(t, async_op=True)
                    work.wait()
                    event = torch.cuda.current_stream().record_event()
                loops(how, work, event, store)
                dist.send(u, 1)
            else:
                dist.recv(u, 0)
                dist.all_reduce(t)

        has_check = hasattr(dist.PrefixStore, "check")  # since torch 2
        for how in ("is_completed", "query", *("check",) * has_check, "compare_set"):
            with self.subTest(how):
                report = record(lambda how=how: job(how), ranks=2, device="cuda").check()
                self.assertEqual(report.answer, "hang certain", report.text)
        with unittest.mock.patch.dict(os.environ, TORCH_NCCL_BLOCKING_WAIT="1"):
            report = record(lambda: job("nothing more"), ranks=2, device="cuda").check()
        self.assertEqual(report.answer, "hang certain", report.text)
        self.assertIn("Ranks 0 and 1 wait for each other", report.text)
        # Without a loop, or with a count, the host goes on.
        for how in ("counts", *("no loop",) * has_check):
            with self.subTest(how):
                report = record(lambda how=how: job(how), ranks=2, device="cuda").check()
                self.assertTrue(report.proved, report.text)

    def test_streams_without_work(self):
        def job():
            dist.init_process_group("nccl")
            stream = torch.cuda.Stream()
            stream.synchronize()
            with torch.cuda.stream(stream):
                dist.all_reduce(torch.empty(1, device="cuda"), async_op=True)
            dist.barrier()

        self.finishes(job)

    @needs_dtensor
    def test_fsdp2_and_tensor_parallelism(self):
        def job():
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.fsdp import fully_shard
            from torch.distributed.tensor.parallel import (
                ColwiseParallel,
                RowwiseParallel,
                parallelize_module,
            )

            torch.cuda.set_device(int(os.environ["RANK"]))
            mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp", "tp"))
            blocks = [
                torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)) for _ in "ab"
            ]
            model = torch.nn.Sequential(*blocks).cuda()
            for block in model:
                plan = {"0": ColwiseParallel(), "1": RowwiseParallel()}
                parallelize_module(block, mesh["tp"], plan)
                fully_shard(block, mesh=mesh["dp"])
            fully_shard(model, mesh=mesh["dp"])
            optimizer = torch.optim.AdamW(model.parameters())
            for _ in range(2):
                model(torch.ones(2, 8, device="cuda")).sum().backward()
                optimizer.step()

        self.finishes(job, ranks=4)

    @needs_dtensor
    def test_ops_on_dtensors_see_gpu_tensors(self):
        def job():
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.tensor import Shard, distribute_tensor
            from torch.distributed.tensor.parallel import loss_parallel

            torch.cuda.set_device(int(os.environ["RANK"]))
            mesh = init_device_mesh("cuda", (2,))
            logits = torch.randn(4, 8, device="cuda", requires_grad=True)
            logits = distribute_tensor(logits, mesh, [Shard(1)])
            with loss_parallel():
                target = torch.zeros(4, dtype=torch.long, device="cuda")
                torch.nn.functional.cross_entropy(logits, target).backward()
            weight = distribute_tensor(torch.empty(8, 8, device="cuda"), mesh, [Shard(0)])
            torch.nn.init.normal_(weight)  # uses the state of the GPU's generator
            assert weight.is_cuda
            assert weight.device.type == torch.nn.Parameter(weight).device.type == "cuda"

        self.finishes(job)

    def test_activations_are_recomputed(self):
        def job():
            from torch.utils.checkpoint import checkpoint

            dist.init_process_group("nccl")
            model = torch.nn.Linear(8, 8).cuda()
            x = torch.randn(2, 8, device="cuda", requires_grad=True)
            y = checkpoint(lambda x: torch.relu(model(x)), x, use_reentrant=False)
            y.sum().backward()
            assert x.grad.is_cuda

        self.finishes(job)

    def test_gradients_in_bfloat16(self):
        def job():
            from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

            dist.init_process_group("nccl")
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).cuda())
            model.register_comm_hook(None, bf16_compress_hook)
            model(torch.ones(2, 4, device="cuda")).sum().backward()

        self.finishes(job)

    @needs_dtensor
    def test_a_pipeline_that_torch_cuts(self):
        def job():
            from torch.distributed.pipelining import ScheduleGPipe, SplitPoint, pipeline

            rank = int(os.environ["RANK"])
            torch.cuda.set_device(rank)
            dist.init_process_group("nccl")
            x = torch.ones(4, 8, device="cuda")
            layers = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)).cuda()
            cut = pipeline(layers, mb_args=(x[:2],), split_spec={"1": SplitPoint.BEGINNING})
            stage = cut.build_stage(rank, torch.device("cuda", rank))
            ScheduleGPipe(stage, 2).step(*([x] if rank == 0 else []))

        recorded = self.finishes(job)
        found = [line for line in self.lines(recorded, 1) if line.get("call") == "recv"]
        self.assertEqual([2 * 8 * 4] * 2, [line["bytes"] for line in found][-2:])

    def test_a_module_that_is_imported_later(self):
        from pipesim.recorder.after_import import after_import

        name = "torch.distributed.algorithms.model_averaging.utils"
        if name in sys.modules:
            self.skipTest(f"{name} has been imported")
        found = []
        after_import(name, found.append)
        self.assertEqual([], found)
        __import__(name)
        after_import(name, found.append)
        self.assertEqual([sys.modules[name]] * 2, found)


if __name__ == "__main__":
    unittest.main()
