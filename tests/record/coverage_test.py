"""Checks that each public name of the installed torch is recorded, local, or refused.

    coverage_test.py PIPESIM

A new version of torch with new names fails this test until each name is in a list of coverage.py.
"""

import os
import re
import sys
import unittest

from with_torch import ROOT  # isort: skip

import torch
import torch.distributed as dist

from pipesim import record
from pipesim.recorder import coverage

os.environ["PIPESIM"] = os.path.abspath(sys.argv.pop(1))
PAGE = (ROOT / "docs/how-to/record.md").read_text()


class Coverage(unittest.TestCase):
    def undecided(self, owner, names):
        refused = {n.rpartition(".")[2] for n in coverage.NOT_RECORDED if n.startswith(owner + ".")}
        return [n for n in coverage.undecided(owner, sorted(names)) if n not in refused]

    def test_each_function_of_torch_distributed(self):
        module = type(dist)
        names = [
            name
            for name in dir(dist)
            if not name.startswith("_") and not isinstance(getattr(dist, name), module)
        ]
        # Names that torch.distributed imports from other packages.
        foreign = {"Enum", "timedelta", "torch"}
        self.assertEqual([], self.undecided("torch.distributed", set(names) - foreign))

    def test_each_method(self):
        c10d = torch._C._distributed_c10d
        backend = getattr(c10d, "Backend", dist.ProcessGroup)
        groups = {*dir(dist.ProcessGroup), *dir(backend)}
        for owner, names in [
            ("ProcessGroup", groups),
            ("Store", dir(dist.Store)),
            ("Work", dir(c10d.Work)),
        ]:
            with self.subTest(owner):
                self.assertEqual([], self.undecided(owner, names))

    def test_no_name_is_decided_twice(self):
        for owner, names in coverage.RECORDED.items():
            refused = [
                n.rpartition(".")[2] for n in coverage.NOT_RECORDED if n.startswith(owner + ".")
            ]
            all_names = [*names, *coverage.LOCAL[owner], *refused]
            self.assertEqual(sorted(set(all_names)), sorted(all_names))

    def test_the_page_has_what_is_not_recorded(self):
        table = PAGE.split("| not recorded |")[1].split("\n\n")[0]
        named = set(re.findall(r"`([\w.]+)`", table))
        self.assertEqual(set(coverage.NOT_RECORDED), named)

    def test_what_is_not_recorded_raises_one_sentence(self):
        def job():
            dist.init_process_group("gloo")
            group = dist.group.WORLD
            calls = {
                "torch.distributed.rpc.init_rpc": lambda: dist.rpc.init_rpc(
                    "w", rank=0, world_size=2
                ),
                "torch.distributed.breakpoint": lambda: dist.breakpoint(),
                "torch.distributed.all_reduce_multigpu": lambda: dist.all_reduce_multigpu([]),
                "ProcessGroup.merge_remote_group": lambda: group.merge_remote_group(None, 4),
                "ProcessGroup.mem_allocator": lambda: group.mem_allocator,
                "ProcessGroup.register_pre_hook": lambda: group.register_pre_hook(print),
            }
            for name, call in calls.items():
                owner, _, attribute = name.rpartition(".")
                owners = {"ProcessGroup": type(group), "torch.distributed.rpc": dist.rpc}
                if attribute not in dir(owners.get(owner, dist)):
                    continue  # this version of torch lacks the function
                try:
                    call()
                except NotImplementedError as error:
                    why = coverage.NOT_RECORDED[name]
                    assert str(error) == f"pipesim record: {name} is not recorded: {why}", error
                else:
                    raise AssertionError(name)
            dist.barrier()

        recorded = record(job, ranks=2)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)

    def test_a_backend_that_is_not_recorded(self):
        def job():
            dist.init_process_group(
                "fake", store=dist.HashStore(), rank=int(os.environ["RANK"]), world_size=2
            )

        if not hasattr(torch._C._distributed_c10d, "FakeProcessGroup"):
            self.skipTest("torch has no fake backend")
        text = record(job, ranks=2).ends[0].text
        self.assertIn("pipesim record: the backend 'fake' is not recorded", text)


if __name__ == "__main__":
    unittest.main()
