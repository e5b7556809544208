"""Tests of `pipesim watch` and `pipesim collect` on a real job: gloo, one host, three ranks.

    live_test.py PROGRAM

PIPESIM_TORCH_PYTHON names the interpreter of the ranks; the test itself needs no torch. One job is
healthy, then has a stopped rank, then continues, then has a killed rank. The clock of the watch
counts its looks, so no verdict depends on the speed of this machine.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from pipesim import watch as watch_command  # noqa: E402
from pipesim.live import collecting, server, stacks, watching  # noqa: E402
from pipesim.live.collecting import Collector  # noqa: E402
from pipesim.live.jobs import choose_job, find_jobs  # noqa: E402
from pipesim.live.processes import Processes  # noqa: E402
from pipesim.live.watching import Limits, State, Watch  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
PYTHON = os.path.abspath(os.environ.get("PIPESIM_TORCH_PYTHON", "python3"))
RANKS = 3
SECONDS = 240  # for a step of the job, on a slow machine
server.PING_SECONDS = collecting.ANSWER_SECONDS = watching.ANSWER_SECONDS = 60.0


class Clock:
    """A clock that only the test moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        time.sleep(seconds)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class LiveJob(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.steps = 1
        self.allow("1")
        port = free_port()
        self.name = f"127.0.0.1:{port}"
        self.ranks = []
        for rank in range(RANKS):
            with open(self.folder / f"log_{rank}", "w") as log:
                environ = {
                    **os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_RANK": str(rank),
                    "LOCAL_WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                    "TORCH_WORKER_SERVER_SOCKET": str(self.folder / f"server_{rank}"), "OMP_NUM_THREADS": "1",
                }  # fmt: skip
                script = ROOT / "tests/live/training.py"
                command = [PYTHON, "-B", str(script), str(self.folder)]
                self.ranks.append(subprocess.Popen(command, env=environ, stdout=log, stderr=log))
        self.addCleanup(self.end)
        self.processes = Processes()
        self.clock = Clock()
        self.watch = Watch(
            self.processes, self.find, Limits(quiet=5, patience=300), self.clock, self.clock.sleep
        )

    def end(self):
        for rank in self.ranks:
            rank.kill()
            rank.wait()

    def find(self):
        found = choose_job(find_jobs(self.processes), self.name)
        return found[0] if found else None

    def allow(self, steps):
        part = self.folder / "part"
        part.write_text(steps)
        part.replace(self.folder / "steps")  # a rank never reads an empty file

    def wait_until(self, is_true):
        end = time.monotonic() + SECONDS
        while not is_true():
            logs = "".join((self.folder / f"log_{r}").read_text() for r in range(RANKS))
            self.assertLess(time.monotonic(), end, logs)
            time.sleep(0.1)

    def wait_for(self, text, ranks=range(RANKS), what="done"):
        def are_there():
            files = [self.folder / f"{what}_{rank}" for rank in ranks]
            return all(file.exists() and file.read_text() == text for file in files)

        self.wait_until(are_there)

    def step(self):
        """Lets the job do a step, and waits for it."""
        self.steps += 1
        self.allow(str(self.steps))
        self.wait_for(str(self.steps))

    def poll(self):
        self.clock.now += 1
        return self.watch.poll()

    def poll_until_it_hangs(self):
        self.wait_until(lambda: self.poll() == State.HANGS)

    def diagnose(self, name):
        """Collects as the commands do. Returns the diagnosis and what a restart does."""
        folder = self.folder / name
        folder.mkdir()
        facts = Collector(
            self.processes, self.watch.job, str(folder), "n0", seen=self.watch.seen
        ).run()
        done = subprocess.run(
            [PROGRAM, "diagnose", folder, "--json"], capture_output=True, text=True, check=False
        )
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["verdict"], "starved", done.stdout)
        roots = [(root["rank"], root["reason"]) for root in watch_command.known_roots(found)]
        return facts, roots, watch_command.restart_advice(found, None)

    def test_a_healthy_job_then_a_stopped_rank_then_a_killed_one(self):
        self.wait_for("1")
        self.assertEqual(self.poll(), State.UNKNOWN)
        for _ in range(12):  # more than twice the time in which a quiet job hangs
            self.step()
            self.assertEqual(self.poll(), State.MOVES)

        self.ranks[2].send_signal(signal.SIGSTOP)
        self.steps += 1
        self.allow(str(self.steps))
        self.wait_for(str(self.steps), (0, 1), "begun")
        pid = self.ranks[2].pid
        self.wait_until(lambda: self.processes.stat(pid).is_stopped)
        self.poll_until_it_hangs()
        facts, roots, restart = self.diagnose("stopped")
        self.assertEqual((roots, restart), ([(2, "stopped")], "helps"))
        self.assertEqual([it.rank.number for it in facts.ranks if it.has_calls], [0, 1])
        self.assertTrue(all(it.stacks for it in facts.ranks[:2]))

        self.ranks[2].send_signal(signal.SIGCONT)
        self.wait_for(str(self.steps))
        self.poll()  # the debug server of rank 2 answers again
        self.step()
        self.assertEqual(self.poll(), State.MOVES)

        # gloo ends the other ranks of a collective, so they wait for the store instead.
        self.allow("store")
        self.wait_for("store")
        self.ranks[2].kill()
        self.wait_until(lambda: self.processes.stat(pid).state == "zombie")
        self.poll_until_it_hangs()
        facts, roots, restart = self.diagnose("killed")
        self.assertEqual((roots, restart), ([(2, "died")], "helps"))
        (gone,) = facts.gone
        self.assertEqual((gone.number, gone.pid, gone.exit_code), (2, pid, -signal.SIGKILL))
        self.assertEqual(gone.why, "killed by SIGKILL")
        source = "debug server" if stacks.find_pyspy(self.processes, self.watch.job.ranks) is None else "py-spy"
        self.assertEqual({it.stacks for it in facts.ranks}, {source})
        text = (self.folder / "killed/stacks_rank_0.txt").read_text()
        self.assertIn("wait_for_checkpoint", text)

        self.end()
        self.assertEqual(self.poll(), State.ENDED)


if __name__ == "__main__":
    if not os.path.exists(PYTHON):
        needed = os.environ.get("CI") == "true" or os.environ.get("PIPESIM_SETUP") == "yes"
        print(f"{'FAILED' if needed else 'SKIPPED'}: no {PYTHON}: tools/torch_venv makes it")
        sys.exit(1 if needed else 0)
    unittest.main()
