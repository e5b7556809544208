"""Tests of pipesim.attach in real jobs: it notes their calls, and changes nothing else.

attach_test.py PIPESIM
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
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
from pipesim import record as pipesim_record
from pipesim.recorder import launcher

PIPESIM = ""
ALIVE_AT, END_AT, THREADS_AT, TEXTS_AT = 24, 40, 64, 128  # in the file of a rank
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

    def kill_job(self, body, is_ready, ranks=2):
        """Runs a job until each rank has printed something and `is_ready` accepts its file, and
        kills it."""
        where = self.folder / f"job{len(list(self.folder.iterdir()))}"
        where.mkdir()
        job = real_gloo.Job(where, ranks, attached(body, self.rec), "attach_test.py")
        job.start()
        for rank in range(ranks):
            log, calls = where / f"{rank}.log", self.rec / f"rank{rank}.calls"
            while not (log.exists() and log.read_text() and is_ready(calls.read_bytes())):
                time.sleep(0.02)
        # No rank sees that another has gone.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in job._pids:
                os.kill(pid, number)
        for pid in job._pids:
            os.waitpid(pid, 0)

    def set_idle(self, seconds, lines=1 << 40):
        """Sets the last sign of life of each rank to long ago, after `lines` lines and `seconds`
        without a new one."""
        for path in self.rec.glob("*.calls"):
            with open(path, "r+b") as file:
                file.seek(ALIVE_AT)
                file.write(struct.pack("<QI", 1, seconds))
                file.seek(END_AT)
                file.write(struct.pack("<Q", lines))

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


def test_errors_at_every_note(t):
    """Errors in each function that a note calls: none reaches the job."""

    def body(rank, owner, name):
        x = torch.ones(4)
        dist.all_reduce(x)
        from pipesim.attach import keeper, notes, noting

        places = {"Noting": noting, "Notes": notes, "Keeper": keeper, "Places": noting}

        def broken(*_, **__):
            raise ValueError("injected")

        setattr(getattr(places[owner], owner), name, broken)
        group = dist.new_group([0, 1])
        for _ in range(2):
            dist.all_reduce(x, group=group)
            dist.all_reduce(x, async_op=True).wait()
            dist.all_reduce(x, async_op=True).get_future().wait()
            ops = [dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, x.clone(), 1 - rank)]
            for work in dist.batch_isend_irecv(ops):
                work.is_completed()
                work.wait()
            if hasattr(dist.ProcessGroup, "unbox"):
                functional = torch.ops._c10d_functional
                name = dist.group.WORLD.group_name
                functional.wait_tensor(functional.all_reduce(x, "sum", name))
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        model(torch.ones(1, 2)).sum().backward()
        try:
            dist.all_gather([torch.ones(3)] * 2, x)
        except (RuntimeError, ValueError):
            pass
        dist.barrier()
        dist.destroy_process_group(group)
        print(x.tolist(), flush=True)

    injected = [
        ("Noting", "_call"), ("Noting", "_put"), ("Noting", "_define"), ("Noting", "thread"),
        ("Noting", "place_line"), ("Noting", "_keep"), ("Noting", "_put_wait"),
        ("Noting", "_compare"), ("Notes", "define"), ("Notes", "add"), ("Notes", "is_last"),
        ("Notes", "lines_from"), ("Places", "current"), ("Keeper", "_flush"),
    ]  # fmt: skip
    for where in injected:
        outcome, output = t.run_job(lambda rank, w=where: body(rank, *w))
        assert outcome.verdict == "complete", (where, output)
        assert all("[" in each and each.count("pipesim attach:") <= 1 for each in output), (
            where, output)  # fmt: skip


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


def test_stores_and_functional_messages(t):
    """Waits and calls that are not noted make the record undecided."""

    def keys(rank):
        store = dist.distributed_c10d._get_default_store()
        store.set(f"ready {rank}", "1")
        store.get(f"ready {1 - rank}")

    def messages(rank):
        ops, name = torch.ops._c10d_functional, dist.group.WORLD.group_name
        call = ops.isend if rank == 0 else ops.irecv
        ops.wait_tensor(call(torch.ones(1), 1 - rank, 0, name))

    assert t.run_job(lambda rank: dist.barrier())[0].verdict == "complete"
    assert t.check()["answer"] == "proved"  # torch's own keys are no gap
    for body in (keys, messages):
        if body is keys or (
            hasattr(dist.ProcessGroup, "unbox") and hasattr(torch.ops._c10d_functional, "isend")
        ):
            outcome, output = t.run_job(body)
            assert outcome.verdict == "complete", output
            check = t.check()
            assert check["answer"] == "undecided" and "not noted" in json.dumps(check), check


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


def steps(rank, count, last=None):
    """Makes steps, and then the call `last`, which hangs."""
    x = torch.ones(1024)
    optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), 0.1)
    for _ in range(count):
        dist.all_reduce(x)
        optimizer.step()
    if last is not None:
        print("last", flush=True)
        last(x)


def is_in_a_call(file):
    return struct.unpack_from("<I", file, THREADS_AT)[0] != 0


def hang(t):
    """Runs a job whose rank 1 makes another call than rank 0 after three steps."""

    def body(rank):
        steps(rank, 3, dist.all_reduce if rank == 0 else lambda _: dist.barrier())

    t.kill_job(body, is_in_a_call)
    t.set_idle(60)


def test_a_job_is_followed(t):
    def run():
        done = pipesim("check", "--follow", t.rec)
        return done.returncode, done.stdout, done.stderr

    outcome, output = t.run_job(lambda rank: steps(rank, 3))
    assert outcome.verdict == "complete", output
    assert run() == (0, "", "")
    # While it goes on, only whole steps are checked: the next call of a rank may be missing.
    t.kill_job(lambda rank: steps(rank, 1 << 40, print("begins", flush=True)), lambda _: True)
    t.set_idle(0)
    assert run() == (0, "", "")
    assert t.check()["answer"] == "undecided"


def moves(rank, folder, can_hang):
    """Makes steps until the file `stop` exists. If `can_hang`, from step 5 on rank 0 can take the
    send of rank 1 with the recv from any source, and then waits forever; a file that pipesim does
    not see prevents it."""
    x = torch.ones(1)
    optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), 0.1)
    step, goes_on = 0, torch.ones(1)
    while goes_on.item():
        sent = folder / f"sent{step}"
        if can_hang and step >= 5:
            if rank == 0:
                dist.recv(x)
                dist.recv(x, 1)
            elif rank == 1:
                while not sent.exists():
                    time.sleep(0.001)
                dist.send(x, 0)
            elif rank == 2:
                dist.send(x, 0)  # returns after rank 0 has taken it
                sent.touch()
        goes_on = torch.tensor([0.0 if (folder / "stop").exists() else 1.0])
        dist.all_reduce(goes_on, op=dist.ReduceOp.MIN)
        optimizer.step()
        step += 1
        print(step, flush=True)
        time.sleep(0.02)


def bytes_read(pid):
    return int(re.search(r"rchar: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text())[1])


def follow_moving_job(t, can_hang):
    """Follows a job of four ranks while it moves. Returns the status, and what was printed while
    the job moved and after it."""
    folder = t.folder / f"moves{can_hang}"
    folder.mkdir()
    run = attached(lambda rank: moves(rank, folder, can_hang), folder / "rec")
    job = real_gloo.Job(folder, 4, run, "attach_test.py")
    job.start()
    logs = [folder / f"{rank}.log" for rank in range(4)]
    while not all(log.exists() and "\n7\n" in log.read_text() for log in logs):
        time.sleep(0.02)
    follower = subprocess.Popen(
        [PIPESIM, "check", "--follow", folder / "rec"], stdout=subprocess.PIPE, text=True
    )
    shown = follower.stdout.readline() if can_hang else ""
    size = sum(path.stat().st_size for path in (folder / "rec").glob("*.calls"))
    while not can_hang and bytes_read(follower.pid) < size:
        time.sleep(0.02)
    moving = not any(os.waitpid(pid, os.WNOHANG)[0] for pid in job._pids)
    (folder / "stop").touch()
    for pid in job._pids:
        assert os.waitpid(pid, 0)[1] == 0, [log.read_text() for log in logs]
    rest = follower.communicate()[0]
    assert moving
    return follower.returncode, shown, rest


def test_a_moving_job_is_followed(t):
    status, shown, _ = follow_moving_job(t, can_hang=True)
    assert re.match(r"after \d+ steps: .*UNDECIDED: it hangs only if another sender", shown), shown
    assert status == 3, status
    assert follow_moving_job(t, can_hang=False) == (0, "", "")


def test_a_hang_is_evidence(t):
    hang(t)
    done = pipesim("check", "--follow", t.rec)
    assert done.returncode == 1, done
    assert done.stdout.startswith("at its end: "), done.stdout
    assert "HANG CERTAIN" in done.stdout and "barrier" in done.stdout, done.stdout
    done = pipesim("diagnose", t.rec)
    assert done.returncode == 1, done
    assert "barrier" in done.stdout and "attach_test.py" in done.stdout, done.stdout


def test_lines_after_the_last_sign_of_life(t):
    """A rank that has called since it was idle is not blocked."""
    hang(t)
    blocked = "nothing could be delivered any more"
    assert blocked in json.dumps(t.check())
    t.set_idle(60, lines=1)
    assert blocked not in json.dumps(t.check())


def test_a_rank_in_a_call_of_a_backward(t):
    """The end of a backward waits for all its calls, also for one that has not returned."""
    if not hasattr(dist.ProcessGroup, "unbox"):
        return  # calls of DDP are not noted

    def body(rank):
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        print("last", flush=True)
        if rank == 0:
            model(torch.ones(1, 2)).sum().backward()
        time.sleep(1000)

    def lines(file):
        numbers = struct.unpack_from("<64I", file, TEXTS_AT + (1 << 20))
        texts = file[TEXTS_AT:].partition(b"\0")[0].decode().split("\n")
        return [(number, texts[number - 1]) for number in numbers if number]

    def is_in_a_backward(file):
        noted = [text for _, text in lines(file)]
        return struct.unpack_from("<I", file, 8)[0] == 1 or (
            noted[-1].startswith("N") and noted[-2].startswith("B")
        )

    t.kill_job(body, is_in_a_backward)
    t.set_idle(60)
    with open(t.rec / "rank0.calls", "r+b") as file:
        number, _ = lines(file.read())[-1]
        file.seek(THREADS_AT)
        file.write(struct.pack("<I", number))
    assert t.check()["answer"] == "undecided"  # rank 1 may come back


def test_the_job_is_compared_with_its_record(t):
    def recorded():
        dist.init_process_group("gloo")
        steps(dist.get_rank(), 4)

    record = t.folder / "record"
    made = pipesim_record(recorded, ranks=2)  # its folder lives as long as this
    shutil.copytree(made.path, record)
    hang(t)
    done = pipesim("compare", record, t.rec)
    assert done.returncode == 1, done
    assert "rank 1 called barrier at attach_test.py" in done.stdout, done.stdout
    assert "but the record has all_reduce of 4 KiB, float32" in " ".join(done.stdout.split()), done
    assert "rank 0 is in all_reduce of 4 KiB, float32 at attach_test.py" in done.stdout, done


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
