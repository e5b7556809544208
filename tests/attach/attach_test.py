"""Tests of pipesim.attach in real jobs: it notes their calls, and changes nothing else.

attach_test.py PIPESIM
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "record"))

import with_torch  # isort: skip

import real_gloo
import torch
import torch.distributed as dist
from pipesim.recorder import launcher

PIPESIM = ""
BROADCAST = dist._broadcast_coalesced  # attach replaces the name


def attached(body, folder, **environment):
    """Returns a function that runs `body` under attach, in the process of a rank."""

    def run():
        torch.set_num_threads(1)
        os.environ.update({"PIPESIM_ATTACH": str(folder)}, **environment)
        import pipesim.attach  # noqa: F401

        dist.init_process_group("gloo")
        body(dist.get_rank())

    return run


def pipesim(*arguments):
    return subprocess.run(
        [PIPESIM, *map(str, arguments)], capture_output=True, text=True, check=False
    )


class Test:
    """The folder of a test. Tests are functions, because unittest would catch the exception by
    which the process of a rank leaves the test."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.rec = self.folder / "rec"

    def run_job(self, body, ranks=2, folder=None, **environment):
        """Runs a job to its end. Returns its outcome and the output of each rank."""
        where = self.folder / f"job{len(list(self.folder.iterdir()))}"
        where.mkdir()
        run = attached(body, folder or self.rec, **environment)
        job = real_gloo.Job(where, ranks, run, "attach_test.py")
        outcome = real_gloo.run_jobs([job], quick_end=True)[0]
        return outcome, [(where / f"{rank}.log").read_text() for rank in range(ranks)]

    def check(self, folder=None):
        done = pipesim("check", folder or self.rec, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


def test_a_job_is_proved(t):
    def body(rank):
        x = torch.ones(4)
        for _ in range(3):
            dist.all_reduce(x)
            work = dist.all_reduce(x, async_op=True)
            work.wait()
        assert x.tolist() == [64.0] * 4

    outcome, output = t.run_job(body)
    assert outcome.verdict == "complete", output
    assert output == ["", ""]
    assert t.check()["answer"] == "proved"


def test_the_switch_wins(t):
    outcome, output = t.run_job(lambda rank: dist.barrier(), folder="off")
    assert (outcome.verdict, output) == ("complete", ["", ""])
    assert not pathlib.Path("off").exists()
    assert not pathlib.Path("pipesim-attach").exists()


def test_a_folder_that_cannot_be_written(t):
    outcome, output = t.run_job(lambda rank: dist.barrier(), folder="/proc/nope")
    assert outcome.verdict == "complete", output
    assert "pipesim attach: nothing is noted" in output[0], output


def test_errors_of_attach_leave_the_job_alone(t):
    def body(rank):
        from pipesim.attach import noting

        x = torch.ones(1)
        dist.all_reduce(x)
        if rank == 0:

            def broken(*_, **__):
                raise ValueError("injected")

            noting.Places.current = broken
        for _ in range(3):
            work = dist.all_reduce(x, async_op=True)
            work.wait()
        assert x.item() == 16

    outcome, output = t.run_job(body)
    assert outcome.verdict == "complete", output
    assert output[0].count("pipesim attach: stopped") == 1, output
    assert t.check()["answer"] == "undecided"


def test_calls_that_no_wrapper_sees(t):
    """A call of which only torch's own count tells makes the record undecided: in the middle, or as
    the last one."""

    def body(rank, calls_after):
        x = torch.ones(1)
        dist.all_reduce(x)
        BROADCAST(dist.group.WORLD, [x], 1024)
        for _ in range(calls_after):
            dist.all_reduce(x)

    for calls_after in (0, 1):
        outcome, output = t.run_job(lambda rank, n=calls_after: body(rank, n))
        assert outcome.verdict == "complete", output
        check = t.check()
        assert check["answer"] == "undecided", check
        assert "torch has counted more calls on group 0" in json.dumps(check), check


def test_broadcasts_without_ddp(t):
    """FSDP broadcasts buffers from C++, as DDP does."""

    def body(rank):
        dist._broadcast_coalesced(dist.group.WORLD, [torch.ones(1)], 1024)

    outcome, output = t.run_job(body)
    assert outcome.verdict == "complete", output
    has_kernels = hasattr(dist.ProcessGroup, "unbox")
    assert t.check()["answer"] == ("proved" if has_kernels else "undecided")


def test_an_error_that_the_script_catches(t):
    """A rank is in no call after an error in one."""

    def body(rank):
        x = torch.ones(1)
        dist.all_reduce(x)
        try:
            dist.all_gather([torch.ones(3)] * 2, x)
        except (RuntimeError, ValueError):
            pass
        from pipesim.attach import attached

        assert not any(attached.notes.threads), list(attached.notes.threads)

    outcome, output = t.run_job(body)
    assert outcome.verdict == "complete", output
    assert t.check()["answer"] == "proved"


def test_a_job_that_is_killed(t):
    """The folder of a job that SIGKILL ends at some moment is a record up to that moment."""

    def body(rank):
        x = torch.ones(1)
        print("begins", flush=True)
        while True:
            dist.all_reduce(x)

    for i in range(3):
        where = t.folder / f"killed{i}"
        where.mkdir()
        job = real_gloo.Job(where, 2, attached(body, where / "rec"), "attach_test.py")
        job.start()
        while not all((where / f"{r}.log").exists() and (where / f"{r}.log").read_text()
                      for r in range(2)):  # fmt: skip
            time.sleep(0.02)
        time.sleep(random.random() * 0.5)
        for pid in job._pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        # The rank that is killed last can see that the other one is gone, and counts as waiting.
        assert t.check(where / "rec")["answer"] != "proved"
        done = pipesim("import", "record", where / "rec")
        assert "all_reduce: world" in done.stdout, done


def test_forked_workers_are_left_alone(t):
    class Data(torch.utils.data.Dataset):
        def __len__(t):
            return 4

        def __getitem__(self, index):
            return torch.ones(1) * index

    def body(rank):
        for batch in torch.utils.data.DataLoader(Data(), num_workers=1):
            dist.all_reduce(batch)

    outcome, output = t.run_job(body)
    assert outcome.verdict == "complete", output
    assert t.check()["answer"] == "proved"


def test_many_equal_steps_fold(t):
    def body(rank):
        model = torch.nn.Linear(1, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        x = torch.ones(1)
        for step in range(2000):
            dist.all_reduce(x)
            if step % 1000 == 999:
                dist.broadcast(x, 0)
            optimizer.step()

    outcome, output = t.run_job(body, PIPESIM_ATTACH_BUDGET="1000")
    assert outcome.verdict == "complete", output
    assert (t.rec / "rank0.steps").stat().st_size < 2000
    assert t.check()["answer"] == "proved"
    scenario = pipesim("import", "record", t.rec).stdout
    assert scenario.count("broadcast: world") == 2, scenario


def test_ddp(t):
    def body(rank):
        model = torch.nn.parallel.DistributedDataParallel(module=torch.nn.Linear(2, 1))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()

    outcome, output = t.run_job(body)
    assert outcome.verdict == "complete", output
    has_kernels = hasattr(dist.ProcessGroup, "unbox")
    assert t.check()["answer"] == ("proved" if has_kernels else "undecided")


def test_the_command(t):
    script = t.folder / "train.py"
    script.write_text(
        "import sys, torch, torch.distributed as dist\n"
        "assert __name__ == '__main__' and sys.argv[1:] == ['--epochs', '3'], sys.argv\n"
        "dist.init_process_group('gloo')\n"
        "dist.all_reduce(torch.ones(1))\n"
        "dist.destroy_process_group()\n"  # else torch can abort at the end, also without attach
        "sys.exit(3)\n"
    )
    environment = {
        **os.environ, "RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(real_gloo.free_port()), "USE_LIBUV": "0",
        "PYTHONPATH": str(with_torch.ROOT / "python"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pipesim.attach", "-o", str(t.rec), str(script),
         "--epochs", "3"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    about = json.loads((t.rec / "record.json").read_text())
    assert about["command"] == ["train.py", "--epochs", "3"], about
    assert "status 3" in pipesim("check", t.rec).stdout


def main():
    global PIPESIM
    program, *names = sys.argv[1:]
    PIPESIM = os.path.abspath(program)
    launcher.import_torch()
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (names and name not in names):
            continue
        folder = tempfile.mkdtemp()
        try:
            test(Test(folder))
        except Exception:
            failed += 1
            print(f"{name}:", flush=True)
            traceback.print_exc()
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    real_gloo.run_test(main)
