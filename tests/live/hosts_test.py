"""Tests of `pipesim collect` on a job of two hosts, into one folder.

    hosts_test.py PROGRAM

A host is a set of namespaces: network, host name, processes and mounts. Two network interfaces
connect the hosts. On each, an agent of torchrun starts a rank of a job that hangs. The test is skipped if this process may not
make namespaces; every later problem is a failure. PIPESIM_TORCH_PYTHON names the interpreter of the
ranks.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(sys.argv.pop(1))
PYTHON = os.path.abspath(os.environ.get("PIPESIM_TORCH_PYTHON", "python3"))
SECONDS = 240  # until the job hangs, on a slow machine
NAMESPACES = ["unshare", "--net", "--uts", "--pid", "--mount", "--fork", "--mount-proc"]
PORT = "29500"  # free: only the ranks are in this network


class Host:
    """A host with an agent of torchrun and one rank."""

    def __init__(self, number):
        self.number = number
        self.agent = None
        self.address = f"10.9.0.{number + 1}"
        begin = f"hostname node{number}; ip link set lo up; echo up; exec cat"
        self.init = subprocess.Popen(
            [*NAMESPACES, "sh", "-c", begin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.init.stdout.readline() == "up\n"
        children = pathlib.Path(f"/proc/{self.init.pid}/task/{self.init.pid}/children")
        self.pid = children.read_text().split()[0]

    def command(self, *words):
        return ["nsenter", "-t", self.pid, "--net", "--uts", "--pid", "--mount", *words]

    def run(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False)

    def start(self, folder, kind):
        environ = {
            **os.environ, "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1",
            "TORCH_WORKER_SERVER_SOCKET": f"{folder}/server_{self.number}",
        }  # fmt: skip
        words = self.command(
            PYTHON, "-B", "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1",
            "--node-rank", str(self.number), "--master-addr", "10.9.0.1", "--master-port", PORT,
            str(ROOT / "tests/live/hangs.py"), kind, str(folder),
        )  # fmt: skip
        with open(folder / f"host_{self.number}.log", "w") as log:
            self.agent = subprocess.Popen(words, env=environ, stdout=log, stderr=log)

    def end(self):
        """Ends the host: the first process of its namespace, and so all others."""
        self.init.stdin.close()
        self.init.wait()
        self.init.stdout.close()
        if self.agent is not None:
            self.agent.wait()


class TwoHosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.hosts = []
        for number in range(2):
            self.hosts.append(Host(number))
            self.addCleanup(self.hosts[-1].end)
        first, second = self.hosts
        subprocess.run(
            ["ip", "link", "add", "eth0", "netns", first.pid, "type", "veth",
             "peer", "name", "eth0", "netns", second.pid], check=True,
        )  # fmt: skip
        for host in self.hosts:
            for words in (["addr", "add", f"{host.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
                done = host.run("ip", *words)
                self.assertEqual("", done.stderr)

    def wait_until_it_hangs(self):
        end = time.monotonic() + SECONDS
        while len(list(self.folder.glob("at_*"))) < len(self.hosts):
            logs = "".join(log.read_text() for log in sorted(self.folder.glob("*.log")))
            self.assertLess(time.monotonic(), end, logs)
            self.assertTrue(all(host.agent.poll() is None for host in self.hosts), logs)
            time.sleep(0.1)

    def collect(self, folder):
        for host in self.hosts:
            done = host.run(PROGRAM, "collect", "-o", str(folder), "--only-collect")
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_each_host_writes_into_one_folder(self):
        for host in self.hosts:
            host.start(self.folder, "skipped_call")
        self.wait_until_it_hangs()
        for look in range(5):  # a rank that has just begun its last call can still move
            time.sleep(1)
            folder = self.folder / f"hang_{look}"
            self.collect(folder)
            done = subprocess.run(
                [PROGRAM, "diagnose", folder, "--json"], capture_output=True, text=True, check=False
            )
            found = json.loads(done.stdout)
            roots = [(root["rank"], root["reason"]) for root in found["roots"]]
            if roots == [(1, "has not called")]:
                break
        self.assertEqual(("starved", [(1, "has not called")]), (found["verdict"], roots), done.stdout)
        facts = [json.loads((folder / f"facts.node{n}.json").read_text()) for n in range(2)]
        self.assertEqual([[it["rank"] for it in each["ranks"]] for each in facts], [[0], [1]])
        self.assertEqual([each["world_size"] for each in facts], [2, 2])


if __name__ == "__main__":
    if not os.path.exists(PYTHON):
        needed = os.environ.get("CI") == "true" or os.environ.get("PIPESIM_SETUP") == "yes"
        print(f"{'FAILED' if needed else 'SKIPPED'}: no {PYTHON}: tools/torch_venv makes it")
        sys.exit(1 if needed else 0)
    allowed = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True, check=False)
    if allowed.returncode != 0:
        print(f"SKIPPED: no namespaces here: {allowed.stderr.strip()}")
        sys.exit(0)
    unittest.main()
