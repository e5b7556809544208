"""Tests that find the ranks of jobs in fake /proc folders.

    find_test.py

The variables are those that torchrun, srun, Open MPI and MPICH set; the processes are those of real
jobs.
"""

import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

from fake_proc import FakeProc, connects, listens

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from pipesim.live.gone import gone_ranks  # noqa: E402
from pipesim.live.jobs import choose_job, find_jobs, is_launcher, main_of  # noqa: E402
from pipesim.live.processes import Processes  # noqa: E402

SIGKILL, SIGABRT = 9, 6


def elastic(rank, world=4, local=4, run="llama", port=29500, **more):
    """Returns the variables that torchrun sets, for a job with `local` ranks on each host."""
    return {
        "RANK": rank, "WORLD_SIZE": world, "LOCAL_RANK": rank % local, "LOCAL_WORLD_SIZE": local,
        "TORCHELASTIC_RUN_ID": run, "MASTER_ADDR": "node0", "MASTER_PORT": port, **more,
    }  # fmt: skip


class TestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.proc = FakeProc(self.folder / "proc")
        self.processes = Processes(str(self.folder / "proc"))

    def jobs(self):
        return find_jobs(self.processes)

    def job(self):
        (job,) = self.jobs()
        return job

    def pids(self):
        return {rank.number: rank.pid for rank in self.job().ranks}

    def torchrun(self, ranks=range(4), **more):
        self.proc.add(10, "python3 /venv/bin/torchrun --nproc-per-node 4 train.py", parent=1)
        for rank in ranks:
            self.proc.add(20 + rank, "python3 -u train.py", elastic(rank, **more), 10)


class Launchers(TestCase):
    def test_ranks_that_were_told_different_numbers_of_ranks(self):
        self.torchrun()
        self.assertEqual(self.job().conflicts, [])
        self.proc.remove(20)
        self.proc.add(20, "python3 -u train.py", elastic(0, world=2), 10)
        self.assertEqual(
            self.job().conflicts, ["WORLD_SIZE is 2 for rank 0 and 4 for ranks 1, 2, 3, but must be equal"]
        )
        self.assertEqual(self.job().world_size, 4)

    def test_torchrun(self):
        self.torchrun()
        job = self.job()
        self.assertEqual(self.pids(), {0: 20, 1: 21, 2: 22, 3: 23})
        self.assertEqual((job.name, job.launcher, job.world_size), ("llama@node0:29500", "torchrun", 4))
        self.assertEqual((job.agent, job.missing()), (10, []))

    def test_torchrun_without_a_name(self):
        self.torchrun(run="none")
        self.assertEqual(self.job().name, "node0:29500")

    def test_torchrun_on_the_second_of_two_hosts(self):
        self.torchrun(range(4, 8), world=8)
        self.assertEqual(self.job().expected(), [4, 5, 6, 7])

    def test_helpers_of_a_rank_are_not_ranks(self):
        self.torchrun()
        self.proc.add(30, "python3 -u train.py", elastic(1), 21)  # a forked data worker
        self.proc.add(31, "python3 -c from_multiprocessing.spawn --multiprocessing-fork", elastic(1), 21)
        self.proc.add(32, ["python3", "-c", "from multiprocessing.resource_tracker import main"], elastic(1), 21)
        # A debug server that outlived its rank.
        self.proc.add(33, ["python3", "-c", "from multiprocessing.spawn import spawn_main"], elastic(0), 1)
        self.proc.add(34, "bash -c nvidia-smi", elastic(0), 20, program="bash")
        self.assertEqual(self.pids(), {0: 20, 1: 21, 2: 22, 3: 23})

    def test_a_data_worker_does_not_stand_for_its_dead_rank(self):
        self.torchrun([0, 1, 3])
        self.proc.add(30, "python3 -u train.py", elastic(2), 1)
        self.assertEqual(self.pids(), {0: 20, 1: 21, 3: 23})
        self.assertEqual(self.job().missing(), [2])

    def test_srun(self):
        for rank in (2, 3):
            self.proc.add(20 + rank, "python3 train.py", {
                "SLURM_PROCID": rank, "SLURM_LOCALID": rank - 2, "SLURM_STEP_NUM_TASKS": 4,
                "SLURM_JOB_ID": 4711, "SLURM_STEP_ID": 0}, 5)  # fmt: skip
        # The batch script, and this command in its own step.
        self.proc.add(40, "python3 prepare.py", {"SLURM_PROCID": 0, "SLURM_JOB_ID": 4711})
        self.proc.add(41, "python3 -m pipesim.collect", {"SLURM_PROCID": 0, "SLURM_STEP_ID": 1, "SLURM_JOB_ID": 4711})
        job = self.job()
        self.assertEqual((job.name, job.launcher, job.world_size), ("4711.0", "srun", 4))
        self.assertEqual((self.pids(), job.expected()), ({2: 22, 3: 23}, None))

    def srun(self, ranks, local, tasks):
        for rank in ranks:
            self.proc.add(20 + rank, "python3 train.py", {
                "SLURM_PROCID": rank, "SLURM_LOCALID": local(rank), "SLURM_STEP_NUM_TASKS": 8,
                "SLURM_STEP_TASKS_PER_NODE": tasks, "SLURM_JOB_ID": 4711, "SLURM_STEP_ID": 0}, 5)  # fmt: skip

    def test_ranks_that_srun_should_have_here(self):
        self.srun((4, 5, 7), lambda rank: rank - 4, "4(x2)")
        self.assertEqual(self.job().missing(), [6])

    def test_ranks_that_srun_spread_over_the_hosts(self):
        self.srun((1, 3, 7), lambda rank: rank // 2, "4(x2)")
        self.assertEqual(self.job().expected(), None)

    def test_one_rank_does_not_show_how_srun_numbers(self):
        self.srun((4,), lambda rank: rank - 4, "4(x2)")
        self.assertEqual(self.job().expected(), None)

    def test_hosts_with_different_numbers_of_ranks(self):
        self.srun((4, 5), lambda rank: rank - 4, "5,3")
        self.assertEqual(self.job().expected(), None)

    def test_torchrun_below_srun(self):
        step = {"SLURM_PROCID": 1, "SLURM_STEP_ID": 0, "SLURM_JOB_ID": 4711}
        self.proc.add(10, "python3 -u -m torch.distributed.run train.py", step)
        for rank in (4, 5, 6, 7):
            self.proc.add(20 + rank, "python3 train.py", elastic(rank, 8, **step), 10)
        self.assertEqual(self.pids(), {4: 24, 5: 25, 6: 26, 7: 27})

    def test_mpirun(self):
        for rank in range(2):
            self.proc.add(20 + rank, "python3 train.py", {
                "OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": 2, "OMPI_COMM_WORLD_LOCAL_RANK": rank,
                "OMPI_COMM_WORLD_LOCAL_SIZE": 2, "PMIX_NAMESPACE": "3141271553", "PMIX_RANK": rank}, 10)  # fmt: skip
        job = self.job()
        self.assertEqual((job.name, job.launcher, job.expected()), ("3141271553", "mpirun", [0, 1]))

    def test_mpich(self):
        for rank in range(2):
            self.proc.add(20 + rank, "python3 train.py", {"PMI_RANK": rank, "PMI_SIZE": 2, "MPI_LOCALNRANKS": 2})
        self.proc.remove(21)
        self.assertEqual((self.job().launcher, self.job().missing()), ("mpiexec", [1]))

    def test_mp_spawn(self):
        self.proc.add(10, "python3 train.py", torch=True)
        store = listens(1, 29500)
        self.proc.add(21, "python3 -c x --multiprocessing-fork", {}, 10, sockets=[connects(3, 40001, 29500)])
        self.proc.add(20, "python3 -c x --multiprocessing-fork", {}, 10, sockets=[store, connects(2, 40000, 29500)])
        # Data workers of the program, and a connection to somebody else.
        self.proc.add(30, "python3 train.py", {}, 10)
        self.proc.add(31, "python3 train.py", {}, 10, sockets=[connects(9, 40009, 443)])
        job = self.job()
        self.assertEqual([(r.pid, r.number) for r in job.ranks], [(20, None), (21, None)])
        self.assertEqual((job.name, job.launcher), ("train.py (process 10)", "mp.spawn"))

    def test_mp_spawn_below_a_launcher_that_knows_one_rank(self):
        step = {"SLURM_PROCID": 0, "SLURM_STEP_ID": 0, "SLURM_JOB_ID": 7}
        self.proc.add(10, "python3 train.py", step)
        for pid, sockets in ((20, [listens(1, 29500)]), (21, [connects(3, 40001, 29500)])):
            self.proc.add(pid, "python3 -c x --multiprocessing-fork", step, 10, sockets=sockets)
        self.assertEqual([rank.pid for rank in self.job().ranks], [20, 21])

    def test_data_workers_that_inherited_sockets_are_no_job(self):
        sockets = [listens(1, 29500), connects(2, 40000, 29500)]
        self.proc.add(20, "python3 train.py", elastic(0, 1, 1), sockets=sockets)
        for pid in (30, 31):
            self.proc.add(pid, "python3 train.py", elastic(0, 1, 1), 20, sockets=sockets)
        self.assertEqual(self.pids(), {0: 20})

    def test_a_wrapper_has_the_rank_of_its_child(self):
        self.proc.add(20, "python3 wrap.py train.py", elastic(0, 1, 1), torch=False)
        self.proc.add(21, "python3 train.py", elastic(0, 1, 1), 20)
        self.assertEqual(self.pids(), {0: 21})

    def test_other_programs_of_a_pod_are_no_job(self):
        self.torchrun()
        self.proc.add(50, "python3 -m jupyterlab", {"RANK": 0, "WORLD_SIZE": 2}, torch=False)
        self.assertEqual(len(self.jobs()), 1)

    def test_several_jobs(self):
        self.torchrun()
        for rank in range(2):
            self.proc.add(60 + rank, "python3 eval.py", elastic(rank, 2, 2, "eval", 29600))
        names = [job.name for job in self.jobs()]
        self.assertEqual(names, ["eval@node0:29600", "llama@node0:29500"])
        self.assertEqual([j.name for j in choose_job(self.jobs(), "eval")], names[:1])
        self.assertEqual(len(choose_job(self.jobs(), "node0")), 2)
        self.assertEqual(choose_job(self.jobs(), "gpt"), [])

    def test_commands_of_launchers(self):
        for command in ("/venv/bin/python /venv/bin/torchrun x.py", "python -u -m torch.distributed.run x.py",
                        "python /site/torch/distributed/run.py x.py", "mpirun -n 2 python x.py"):  # fmt: skip
            self.assertTrue(is_launcher(command.split()), command)
        for command in ("python x.py --with torchrun", "python torchrun_job.py", "python"):
            self.assertFalse(is_launcher(command.split()), command)
        self.assertEqual(main_of("python -X dev -W error -m torch.distributed.run".split()), "torch.distributed.run")
        self.assertEqual(main_of(["python", "-c", "import x"]), "")


class Gone(TestCase):
    def gone(self):
        return [(r.number, r.pid, r.exit_code, r.why) for r in gone_ranks(self.processes, self.job())]

    def test_a_process_that_vanished(self):
        self.torchrun([0, 1, 3])
        self.assertEqual(self.gone(), [(2, None, None, "")])

    def test_a_process_that_its_agent_has_not_asked(self):
        self.torchrun([0, 1, 3])
        self.proc.add(22, "", {}, 10, state="Z", exit_code=SIGKILL)
        self.assertEqual(self.gone(), [(2, 22, -SIGKILL, "killed by SIGKILL")])

    def test_two_of_them_in_the_order_of_torchrun(self):
        self.torchrun([0, 3])
        self.proc.add(21, "", {}, 10, state="Z", exit_code=1 << 8)
        self.proc.add(22, "", {}, 10, state="Z", exit_code=SIGABRT)
        self.assertEqual(self.gone(), [(1, 21, 1, "exited with status 1"), (2, 22, -SIGABRT, "killed by SIGABRT")])

    def test_two_of_them_in_another_order_are_not_told_apart(self):
        self.torchrun([0, 3])
        self.proc.add(5, "", {}, 10, state="Z", exit_code=SIGABRT)  # older than rank 0
        self.proc.add(22, "", {}, 10, state="Z", exit_code=SIGKILL)
        self.assertEqual(self.gone(), [(1, None, None, ""), (2, None, None, "")])

    def test_an_exit_status_of_another_user_is_hidden(self):
        self.torchrun([0, 1, 3])
        self.proc.add(22, "", {}, 10, state="Z", uid=1234)
        with unittest.mock.patch("os.geteuid", return_value=1000):
            self.assertEqual(self.gone(), [(2, 22, None, "")])

    def test_the_error_that_elastic_recorded(self):
        logs = "/tmp/torchelastic/llama/attempt_0"
        self.torchrun([], world=4)
        for rank in (0, 1, 3):
            self.proc.add(20 + rank, "python3 train.py", elastic(rank, TORCHELASTIC_ERROR_FILE=f"{logs}/{rank}/error.json"), 10)
        error = {"message": {"message": "Traceback\nValueError: loss is NaN", "extraInfo": {}}}
        self.proc.write(20, f"root{logs}/2/error.json", json.dumps(error))
        self.assertEqual(self.gone(), [(2, None, None, "ValueError: loss is NaN")])

    def test_processes_that_may_not_be_read_can_be_the_missing_ranks(self):
        self.torchrun([0, 1, 3])
        for pid, uid in ((77, 1234), (78, 0)):
            self.proc.add(pid, "python3 other.py", uid=uid)
        self.processes.refused.add(77)  # of another user
        self.assertEqual(self.gone(), [(2, None, None, "")])
        self.processes.refused.add(78)
        self.assertEqual(self.job().missing(), [2])
        self.assertEqual(self.gone(), [])


if __name__ == "__main__":
    unittest.main()
