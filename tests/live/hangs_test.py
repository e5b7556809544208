"""Jobs that really hang, and the diagnosis of `pipesim collect` from all evidence of each.

    hangs_test.py PROGRAM [KIND...]

Runs the kinds of hangs.py in CHOICE, or the named ones; "all" means all of them. A verdict is right
if it names the ranks that hold the job up, and false if it names another rank or says that nothing
is wrong. PIPESIM_TORCH_PYTHON names the interpreter of the ranks; the test itself
needs no torch. PIPESIM_KEEP_HANGS names a folder for the evidence.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(sys.argv[1])
PYTHON = os.path.abspath(os.environ.get("PIPESIM_TORCH_PYTHON", "python3"))
SECONDS = 240  # until a job hangs, on a slow machine
LOOKS = 5  # a job that has just begun its last call can still move

# The ranks of each job, the verdicts that are right, and the ranks for which the others wait.
KINDS = {
    "skipped_call": (3, {"starved"}, {2}),
    "crossed_groups": (3, {"deadlock"}, set()),
    "other_sizes": (3, {"mismatch", "starved"}, {1}),
    "other_call": (3, {"mismatch"}, {1}),
    "ring_of_recvs": (3, {"deadlock"}, set()),
    "killed": (3, {"starved"}, {2}),
    "killed_under_torchrun": (3, {"starved"}, {2}),
    "raised": (3, {"starved"}, {1}),
    "raised_then_barrier": (3, {"mismatch"}, {1}),
    "data_loader": (3, {"starved"}, {2}),
    "lock_of_a_thread": (3, {"starved"}, {1}),
    "checkpoint_in_a_thread": (3, {"deadlock"}, set()),
    "two_threads_in_one_group": (3, {"mismatch"}, {0}),
    "ddp_then_a_metric": (3, {"mismatch", "starved"}, {1}),
    "ddp_then_idle": (3, {"starved"}, {1}),
    "fsdp_state_on_rank_0": (3, {"mismatch", "starved"}, {0}),
    "full_tensor_on_rank_0": (4, {"deadlock"}, set()),
    "other_micro_batches": (3, {"deadlock"}, set()),
    "key_of_the_store": (3, {"starved"}, {1}),
    "barrier_on_rank_0": (3, {"mismatch"}, {0}),
    "late_for_a_check": (3, {"starved"}, {2}),
    "batch_without_a_send": (3, {"deadlock"}, set()),
    "endless_loop": (3, {"starved"}, {1}),
    "second_recv_from_any": (3, {"deadlock"}, set()),
    "a_node_never_comes": (3, {"starved"}, {2}),
    "nobody_listens": (3, {"starved"}, {0}),
}
CHOICE = [
    "skipped_call", "other_call", "killed", "data_loader", "lock_of_a_thread", "late_for_a_check",
    "key_of_the_store", "full_tensor_on_rank_0",
]  # fmt: skip


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Job:
    def __init__(self, kind, folder):
        self.kind, self.folder = kind, folder
        self.world, self.verdicts, self.roots = KINDS[kind]
        self.port = free_port()
        if kind == "killed_under_torchrun":
            self.ranks = [self.start_torchrun()]
            return
        absent = self.roots if kind in ("a_node_never_comes", "nobody_listens") else ()
        self.ranks = [self.start(rank) for rank in range(self.world) if rank not in absent]

    def start_torchrun(self):
        command = [
            PYTHON, "-B", "-m", "torch.distributed.run", "--nproc-per-node", str(self.world),
            "--master-port", str(self.port), str(ROOT / "tests/live/hangs.py"), self.kind,
            str(self.folder),
        ]  # fmt: skip
        with open(self.folder / "job.log", "w") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def start(self, rank):
        environ = {
            **os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(self.world), "LOCAL_WORLD_SIZE": str(self.world),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.port), "OMP_NUM_THREADS": "1",
            "TORCH_WORKER_SERVER_SOCKET": str(self.folder / f"server_{rank}"),
        }  # fmt: skip
        command = [PYTHON, "-B", str(ROOT / "tests/live/hangs.py"), self.kind, str(self.folder)]
        with open(self.folder / f"rank_{rank}.log", "w") as log:
            return subprocess.Popen(command, env=environ, stdout=log, stderr=log)

    def wait(self):
        end = time.monotonic() + SECONDS
        while len(list(self.folder.glob("at_*"))) < len(self.ranks):
            if all(rank.poll() is not None for rank in self.ranks):
                return  # gloo ended it
            if time.monotonic() > end:
                logs = "".join(log.read_text() for log in sorted(self.folder.glob("*.log")))
                raise AssertionError(f"{self.kind}: the job did not hang\n{logs}")
            time.sleep(0.1)

    def end(self):
        for rank in self.ranks:
            rank.kill()
            rank.wait()

    def diagnosis(self):
        """Returns the diagnosis of `pipesim collect`, or that of `pipesim diagnose` from the logs
        if gloo ended the job."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            command = ["collect", "--job", f"127.0.0.1:{self.port}", "-o", folder]
            if all(rank.poll() is not None for rank in self.ranks):
                for log in self.folder.glob("*.log"):
                    shutil.copy(log, folder)
                command = ["diagnose", folder]
            done = subprocess.run(
                [PROGRAM, *command, "--json"], capture_output=True, text=True, check=False
            )
            if os.environ.get("PIPESIM_KEEP_HANGS"):
                kept = pathlib.Path(os.environ["PIPESIM_KEEP_HANGS"]) / self.kind
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(folder, kept)
        if done.returncode not in (0, 1, 3):
            return {"verdict": done.stderr.strip()}
        return json.loads(done.stdout)


def judge(job, found):
    """Returns "right", "silent" or "false", and the answer in words."""
    verdict = found["verdict"]
    named = {
        root.get("rank") for root in found.get("roots", []) if root.get("reason") != "unexplained"
    }
    for mismatch in found.get("mismatches", []):
        named.update(mismatch["ranks"])
    says = f"{verdict} {sorted(named, key=str)}"
    if verdict in job.verdicts and named == job.roots:
        return "right", says
    if verdict == "completed" or not named <= job.roots:
        return "false", says
    return "silent", says


def run(kind):
    with tempfile.TemporaryDirectory() as folder:
        job = Job(kind, pathlib.Path(folder))
        try:
            job.wait()
            for _ in range(LOOKS):
                time.sleep(1)
                answer, says = judge(job, job.diagnosis())
                if answer == "right":
                    break
        finally:
            job.end()
    print(f"{kind:26} {answer:7} {says}", flush=True)
    return answer


def main(kinds):
    if not os.path.exists(PYTHON):
        needed = os.environ.get("CI") == "true" or os.environ.get("PIPESIM_SETUP") == "yes"
        print(f"{'FAILED' if needed else 'SKIPPED'}: no {PYTHON}: tools/torch_venv makes it")
        return int(needed)
    answers = [run(kind) for kind in (KINDS if kinds == ["all"] else kinds or CHOICE)]
    print(", ".join(f"{answers.count(each)} {each}" for each in ("right", "silent", "false")))
    return int(answers.count("right") != len(answers) if not kinds else "false" in answers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
