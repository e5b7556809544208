"""Tests of groups' backends: calls that gloo refuses, and jobs with both gloo and NCCL.

    backends_test.py PIPESIM
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from recordings import PROGRAMS, ROOT, in_fork  # isort: skip

import torch
from real_gloo import free_port

from pipesim import record

MIXED = ROOT / "../shared/data/reports/own_mixed_backends/mix.py"


class Backends(unittest.TestCase):
    def test_what_gloo_refuses_raises_as_in_gloo(self):
        program = PROGRAMS / "gloo_refuses.py"
        with tempfile.TemporaryDirectory() as folder:
            real, recorded = (pathlib.Path(folder, name) for name in ("real", "recorded"))
            environment = {
                **os.environ, "RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(free_port()), "GLOO_SOCKET_IFNAME": "lo", "USE_LIBUV": "0",
            }  # fmt: skip
            subprocess.run(
                [sys.executable, program, real], env=environment, check=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self.assertEqual((), in_fork(program, 1, recorded).failed)
            wanted = json.loads(real.read_text())
            self.assertTrue(any(wanted.values()) and not all(wanted.values()))
            self.assertEqual(wanted, json.loads(recorded.read_text()))

    @unittest.skipIf(torch.__version__ < "2", "1.13 has one backend for each group")
    def test_a_group_with_two_backends_is_two_communicators(self):
        def job():
            torch.distributed.init_process_group("cpu:gloo,cuda:nccl")
            torch.distributed.all_reduce(torch.ones(1))
            torch.distributed.all_reduce(torch.ones(2, device="cuda"))
            torch.distributed.barrier()
            torch.distributed.all_gather_object([None, None], 0)

        recorded = record(job, ranks=2)
        text = (recorded.path / "rank0.jsonl").read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        backends = {x["def"]: x.get("backend", "nccl") for x in lines if "group" in x}
        calls = [line for line in lines if "call" in line and "def" not in line]
        self.assertEqual(
            [
                ("all_reduce", "gloo", 1),
                ("all_reduce", "nccl", 1),
                ("barrier", "gloo", 2),
                ("all_gather", "gloo", 3),
                ("all_gather", "gloo", 4),
            ],
            [(c["call"], backends[c["g"]], c["n"]) for c in calls],
        )

    @unittest.skipUnless(MIXED.is_file(), f"no {MIXED}")
    def test_a_group_of_gloo_in_a_job_of_nccl_has_tags(self):
        recorded = in_fork(MIXED, 2)
        self.assertTrue(recorded.check().proved)
        self.assertFalse(recorded.check(rules="nccl").proved)

    @unittest.skipIf(torch.__version__ < "2", "device_id= is newer")
    def test_gloo_waits_for_the_stream_of_a_device(self):
        def job(device, barrier):
            import torch.distributed as dist

            rank = int(os.environ["RANK"])
            dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
            group = dist.new_group(backend="gloo")
            on_device = torch.ones(4, device="cuda")
            given = torch.ones(4, device=device if rank == 0 else "cpu")
            dist.all_reduce(on_device)  # initializes the communicator
            if rank == 0:
                dist.all_reduce(on_device)
            work = dist.all_reduce(given, group=group, async_op=True)
            if barrier:
                work = dist.barrier(group=group, async_op=True)
            work.wait()
            if rank == 1:
                dist.all_reduce(on_device)

        for barrier in (False, True):
            with self.subTest(barrier=barrier):
                recorded = {d: record(job, args=(d, barrier), ranks=2) for d in ("cpu", "cuda")}
                self.assertTrue(recorded["cpu"].check().proved)
                self.assertEqual("hang certain", recorded["cuda"].check().answer)


if __name__ == "__main__":
    unittest.main()
