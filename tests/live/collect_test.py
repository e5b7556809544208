"""Tests of `pipesim collect`, with fake processes, fake servers and a fake py-spy.

    collect_test.py PROGRAM
"""

import contextlib
import http.server
import io
import json
import os
import pathlib
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

from fake_proc import FakeProc, connects, listens
from find_test import elastic

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from pipesim import collect  # noqa: E402
from pipesim.live import access, calls, cli, collecting, logs, server, stacks  # noqa: E402
from pipesim.live.collecting import Collector  # noqa: E402
from pipesim.live.jobs import find_jobs  # noqa: E402
from pipesim.live.processes import Processes  # noqa: E402

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
collecting.SECONDS_BETWEEN_LOOKS = 0.01
FULL_DUMP = {"version": "2.10", "entries": [{"profiling_name": "gloo:all_reduce"}]}
EMPTY_DUMP = {"version": "2.10"}

# Prints the stack of a waiting rank, or of the rank that reads its shard.
STACKS = """\
#!/bin/sh
echo "$@" >> {log}
[ -s {first} ] && cat {first} && : > {first} && exit 0
if [ "$4" = 22 ]; then
cat <<END
Process $4: python3 -u train.py

Thread $4 (idle): "MainThread"
    read (tarfile.py:512)
    load_shard (data.py:40)
END
else
cat <<END
Process $4: python3 -u train.py

Thread $4 (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:3000)
    step (train.py:66)
END
fi
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """A debug server with the handlers in `answers`."""

    def do_POST(self):
        self.server.asked.append(self.path)
        answer = self.server.answers.get(self.path.removeprefix("/handler/"))
        self.send_response(404 if answer is None else 200)
        self.end_headers()
        self.wfile.write(answer or b"")

    def log_message(self, *_):
        pass

    def address_string(self):
        return ""


class UnixServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class TestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.proc = FakeProc(self.folder / "proc")
        self.processes = Processes(str(self.folder / "proc"))
        self.out = self.folder / "out"
        self.out.mkdir()

    def serve(self, answers, path=None):
        """Starts a debug server, on a port or a unix socket. Returns its address."""
        if path is None:
            made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        else:
            made = UnixServer(str(path), Handler)
        made.answers = {"ping": b"ok", **answers}
        made.asked = self.asked = []
        threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(made.server_close)
        self.addCleanup(made.shutdown)
        return path or made.server_address[1]

    def torchrun(self, ranks=range(4), **more):
        self.proc.add(10, "python3 /venv/bin/torchrun train.py", parent=1)
        for rank in ranks:
            self.proc.add(20 + rank, "python3 -u train.py", elastic(rank, **more), 10)

    def job(self):
        (job,) = find_jobs(self.processes)
        return job

    def rank(self, **more):
        self.proc.add(20, "python3 train.py", elastic(0, 1, 1), **more)
        return self.job().ranks[0]

    def pyspy(self, first="", script=STACKS):
        """Makes a fake py-spy, whose first answer is `first`. Returns its path."""
        path = self.folder / "py-spy"
        (self.folder / "first").write_text(first)
        text = script.replace("{log}", f"{self.folder}/asked").replace("{first}", f"{self.folder}/first")
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def pyspy_asked(self):
        return (self.folder / "asked").read_text().splitlines()

    def collect(self, host="node0", **more):
        found = Collector(self.processes, self.job(), str(self.out), host, pyspy=self.pyspy(), **more).run()
        return found, json.loads((self.out / f"facts.{host}.json").read_text())


class Stacks(TestCase):
    def test_pyspy_is_asked_without_stopping_and_without_values(self):
        found = stacks.ask_pyspy(self.pyspy(), 22)
        self.assertIn("load_shard (data.py:40)", found.text)
        self.assertEqual(self.pyspy_asked(), ["dump --nonblocking --pid 22 --full-filenames"])

    def test_pyspy_is_asked_twice_if_a_thread_has_no_frame(self):
        empty = 'Thread 1 (idle): "MainThread"\n\nThread 2 (idle): "other"\n    run (a.py:1)\n'
        found = stacks.ask_pyspy(self.pyspy(first=empty), 22)
        self.assertIn("load_shard", found.text)
        self.assertEqual(len(self.pyspy_asked()), 2)

    def test_what_pyspy_saw_first_is_kept_if_the_second_answer_is_worse(self):
        first = 'Thread 1 (idle): "MainThread"\n\nThread 2 (idle): "other"\n    run (a.py:1)\n'
        script = STACKS.split("if [")[0] + "echo 'Error: no such process' >&2; exit 1\n"
        self.assertEqual(stacks.ask_pyspy(self.pyspy(first, script), 22).text, first)

    def test_an_error_of_pyspy_is_kept(self):
        script = "#!/bin/sh\necho 'Permission Denied: Try running again with elevated permissions' >&2; exit 1\n"
        found = stacks.ask_pyspy(self.pyspy(script=script), 22)
        self.assertEqual((found.text, found.error.split(":")[1]), ("", " Permission Denied"))

    def test_only_data_workers_among_the_children(self):
        for pid in (30, 31):
            self.proc.add(pid, "python3 train.py", {}, 20)
        script = "#!/bin/sh\ncase $4 in 30) echo '    _worker_loop (worker.py:1)';; *) echo '    compile (a.py:2)';; esac\n"
        text = stacks.worker_stacks(self.processes, self.pyspy(script=script), [30, 31])
        self.assertEqual(text, "    _worker_loop (worker.py:1)\n")

    def test_pyspy_is_found_in_the_environment_of_the_rank(self):
        rank = self.rank()
        rank.environ["VIRTUAL_ENV"] = str(self.folder / "venv")
        path = self.folder / "venv/bin/py-spy"
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, {"PATH": "/none"}):
            with unittest.mock.patch("sys.executable", "/none/python3"):
                self.assertEqual(stacks.find_pyspy(self.processes, [rank]), str(path))

    def test_the_place_of_the_main_thread_in_the_users_program(self):
        py_spy = 'Thread 9 (idle): "MainThread"\n    step (/app/train.py:88)\n    <module> (/app/train.py:9)\n'
        other = 'Thread 8 (idle): "load"\n    read (/app/data.py:3)\n\n'
        self.assertEqual(stacks.place_of_main(other + py_spy), ("/app/train.py", 88))
        handler = (
            "Current thread 0x01 (most recent call first):\n  <no Python frame>\n\n"
            'Thread 0x02 (most recent call first):\n  File "/app/train.py", line 88 in step\n'
            '  File "/app/train.py", line 9 in <module>\n'
        )
        self.assertEqual(stacks.place_of_main(handler), ("/app/train.py", 88))
        self.assertIsNone(stacks.place_of_main(other))

    def test_the_line_of_a_program_that_is_older_than_the_process(self):
        self.rank()
        script = self.folder / "proc/20/root/app/train.py"
        script.parent.mkdir(parents=True)
        script.write_text("import torch\n  work.wait()\n")
        self.assertEqual(self.processes.line_of(20, "/app/train.py", 2), "")
        os.utime(script, (0, 0))
        self.assertEqual(self.processes.line_of(20, "/app/train.py", 2), "work.wait()")
        self.assertEqual(self.processes.line_of(20, "/app/train.py", 3), "")
        self.assertEqual(self.processes.line_of(20, "/app/none.py", 1), "")

    def test_faulthandler_only_where_the_signal_is_caught(self):
        log = self.folder / "err"
        code = "import faulthandler, signal, sys, time\n{}\nprint(1, flush=True)\ndef wait():\n time.sleep(60)\nwait()"
        for line, expected in (("", "SIGUSR1 is not caught"), ("faulthandler.register(signal.SIGUSR1)", "")):
            with self.subTest(line), open(log, "w") as err:
                child = subprocess.Popen([sys.executable, "-c", code.format(line)], stderr=err, stdout=subprocess.PIPE)
                self.addCleanup(child.wait)
                self.addCleanup(child.kill)
                self.addCleanup(child.stdout.close)
                child.stdout.readline()
                real = Processes()
                rank = unittest.mock.Mock(pid=child.pid, number=3)
                found = stacks.ask_faulthandler(real, rank, signal.SIGUSR1, timeout=20)
                self.assertTrue(found.error.startswith(expected), found)
                self.assertIsNone(child.poll())
                if not expected:
                    self.assertTrue(found.text.startswith("=== Rank 3 ===\n"))
                    self.assertIn("most recent call first", found.text)

    def test_faulthandler_needs_a_file(self):
        rank = self.rank(caught=[signal.SIGUSR1])
        self.assertIn("not a file", stacks.ask_faulthandler(self.processes, rank, signal.SIGUSR1).error)


class DebugServer(TestCase):
    def test_on_a_port_of_all_addresses(self):
        port = self.serve({"dump_traceback": b"Thread 1 (most recent call first):\n"})
        rank = self.rank(sockets=[listens(1, port)])
        self.assertEqual(server.find_server(self.processes, rank), port)
        found = stacks.ask_server(port, 5, 5)
        self.assertEqual(found.text, "=== Rank 5 ===\nThread 1 (most recent call first):\n")

    def test_sockets_of_gloo_nccl_and_the_store_are_left_alone(self):
        port = self.serve({})
        for sockets, master in (([listens(1, port, "0100007F")], 1), ([listens(1, port)], port)):
            with self.subTest(sockets):
                rank = self.rank(sockets=sockets)
                rank.environ["MASTER_PORT"] = str(master)
                self.assertIsNone(server.find_server(self.processes, rank))
                self.assertEqual(self.asked, [])
                self.proc.remove(20)

    def test_on_a_unix_socket_in_the_file_system_of_the_rank(self):
        rank = self.rank()
        rank.environ["TORCH_WORKER_SERVER_SOCKET"] = "/w.sock"
        path = self.folder / "proc/20/root/w.sock"
        self.serve({}, path)
        self.assertEqual(server.find_server(self.processes, rank), str(path))

    def test_in_another_network(self):
        port = self.serve({})
        rank = self.rank(sockets=[listens(1, port)], net="net:[2]")
        self.assertIsNone(server.find_server(self.processes, rank))
        self.assertEqual(self.asked, [])

    def test_no_dump_with_stacks_is_asked_for(self):
        port = self.serve({"fr_trace_json": json.dumps(FULL_DUMP).encode()})
        self.assertEqual(json.loads(calls.dump_of_server(port, 5)), FULL_DUMP)
        self.assertEqual(self.asked, ["/handler/dump_nccl_trace_json", "/handler/fr_trace_json"])

    def test_the_dump_of_nccl_counts_if_it_has_calls(self):
        full, empty = (json.dumps(dump).encode() for dump in (FULL_DUMP, EMPTY_DUMP))
        for nccl, others, expected in ((full, empty, FULL_DUMP), (empty, full, FULL_DUMP), (empty, empty, EMPTY_DUMP)):
            port = self.serve({"dump_nccl_trace_json": nccl, "fr_trace_json": others})
            self.assertEqual(json.loads(calls.dump_of_server(port, 5)), expected)


class Calls(TestCase):
    def test_the_pipe_is_used_only_for_dumps_without_stacks(self):
        rank = self.rank()
        self.assertIsNone(calls.ask_pipe(self.processes, rank))
        rank.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] = "/fr_"
        path = self.folder / "proc/20/root/fr_0.pipe"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.assertIs(calls.ask_pipe(self.processes, rank), False)
        rank.environ["TORCH_INCLUDE_STACK_TRACE"] = "0"
        self.assertIs(calls.ask_pipe(self.processes, rank), True)
        self.assertEqual(os.read(reader, 9), b"1\n")

    def test_a_dump_that_the_rank_has_written(self):
        rank = self.rank()
        rank.environ["TORCH_FR_DUMP_TEMP_FILE"] = "/dump_"
        path = self.folder / "proc/20/root/dump_0"
        path.write_bytes(b"dump")
        self.assertEqual(calls.written_dump(self.processes, rank), b"dump")
        os.utime(path, (time.time() - 200_000,) * 2)  # before the rank was started
        self.assertIsNone(calls.written_dump(self.processes, rank))

    def ras(self, *answers):
        """Starts a RAS that gives these answers in turn, and returns its address."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.questions = []

        def answer():
            for text in answers:
                connection, _ = listener.accept()
                with connection:
                    self.questions.append(connection.recv(1000))
                    connection.sendall(text)

        threading.Thread(target=answer, daemon=True).start()
        return listener.getsockname()

    def test_ras_as_json(self):
        address = self.ras(b"SERVER PROTOCOL 2\nOK\n{\"nccl_version\": \"2.28.7\", \"communicators\": []}\n")
        self.assertEqual(json.loads(calls.ask_ras(address, 20))["communicators"], [])
        self.assertIn(b"set format json", self.questions[0])

    def test_ras_of_older_nccl(self):
        text = b"NCCL version 2.24.3\n\nCommunicators... (0.00s)\n"
        self.assertEqual(calls.ask_ras(self.ras(b"SERVER PROTOCOL 2\nERROR\n", text), 20), text.decode())

    def test_the_facts_of_ras(self):
        status = {"unresponsive": True, "considered_dead": True}
        report = {"communicators": [
            {"ranks": [{"rank": 0, "collective_counts": {"AllReduce": 41}},
                       {"rank": 1, "collective_counts": {"AllReduce": 39, "Broadcast": 1}}],
             "missing_ranks": [{"rank": 2, "status": status}, {"rank": 3, "status": {"unresponsive": True}}]},
            {"ranks": [], "missing_ranks": []},
        ]}  # fmt: skip
        self.assertEqual(calls.ras_facts(json.dumps(report)), calls.RasFacts(2, 2, 1, 2))
        self.assertEqual(calls.ras_facts('{"communicators": []}'), calls.RasFacts())
        for text in ("", "NCCL version 2.24", "{}", "[]", '{"communicators": [1]}', '{"communicators": 3}'):
            self.assertIsNone(calls.ras_facts(text), text)

    def test_no_ras(self):
        self.assertEqual(calls.ask_ras(("127.0.0.1", 1), 5), "")
        self.assertEqual(calls.ras_address({}), ("localhost", 28028))
        self.assertEqual(calls.ras_address({"NCCL_RAS_ADDR": "[::1]:7"}), ("::1", 7))


class Logs(TestCase):
    def names(self, gone=()):
        found = logs.find_logs(self.processes, self.job(), list(gone), "n0")
        return {log.name: logs.end_of(log) for log in found}

    def test_each_file_once(self):
        out, err, job = (self.folder / name for name in ("out_0", "err_0", "job"))
        for path in (out, err, job):
            path.write_text(path.name)
        self.torchrun([])
        os.symlink(job, self.folder / "proc/10/fd/1")
        self.proc.add(20, "python3 train.py", elastic(0, 3, 3), 10, files={1: out, 2: err})
        for rank in (1, 2):
            self.proc.add(20 + rank, "python3 train.py", elastic(rank, 3, 3), 10, files={1: job, 2: job})
        self.assertEqual(self.names(), {"log_rank_0_stdout.log": b"out_0", "log_rank_0_stderr.log": b"err_0",
                                        "log_job_n0.log": b"job"})  # fmt: skip

    def test_pipes_and_terminals_are_not_read(self):
        self.torchrun([])
        self.proc.add(20, "python3 train.py", elastic(0, 1, 1), 10, files={1: "/dev/null", 2: "/dev/tty"})
        self.assertEqual(self.names(), {})

    def test_a_rank_that_is_gone(self):
        self.torchrun([])
        self.proc.add(20, "python3 train.py", elastic(0), 10)
        logs_of_job = "/logs/attempt_0"
        for rank in (0, 2):
            self.proc.write(20, f"root{logs_of_job}/{rank}/stderr.log", f"rank {rank}")
        target = f"{logs_of_job}/0/stderr.log"
        with unittest.mock.patch.multiple(
            self.processes,
            target_of=lambda pid, descriptor: target,
            file_of=lambda pid, descriptor: (1, 2) if descriptor == 2 else None,
        ):
            self.assertEqual(self.names([2])["log_rank_2_stderr.log"], b"rank 2")

    def test_the_end_of_a_long_log_begins_with_a_line(self):
        path = self.folder / "long"
        with unittest.mock.patch("pipesim.live.logs.MAX_BYTES", 10):
            path.write_text("first\nsecond\nthird\n")
            self.assertEqual(logs.end_of(logs.Log(str(path), "x")), b"third\n")
            path.write_text("short\n")
            self.assertEqual(logs.end_of(logs.Log(str(path), "x")), b"short\n")


class Refused(TestCase):
    def test_memory_that_may_not_be_read(self):
        self.torchrun([0], world=1, local=1)
        self.assertTrue(self.processes.may_read_memory(20))
        self.assertTrue(Processes().may_read_memory(os.getpid()))
        script = "#!/bin/sh\necho 'Error: Failed to get process executable name' >&2; exit 1\n"
        with unittest.mock.patch.object(Processes, "may_read_memory", return_value=False):
            found = Collector(self.processes, self.job(), str(self.out), "n", pyspy=self.pyspy(script=script)).run()
        self.assertIn("help: py-spy may not read the processes: ", cli.summary(found, "out"))
        self.assertIn("rank 0: py-spy: Error: Failed to get", cli.summary(found, "out"))

    def help(self, *, uid=0, own=0, capabilities="ffffffffffffffff", yama=None):
        self.proc.add(20, "python3", uid=uid)
        self.proc.write("self", "status", f"CapEff:\t{capabilities}\n")
        if yama is not None:
            path = self.folder / "proc/sys/kernel/yama/ptrace_scope"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{yama}\n")
        with unittest.mock.patch("os.geteuid", return_value=own):
            return access.help_for_pyspy(self.processes, 20)

    def test_another_user(self):
        self.assertIn("runs as user 54321: run pipesim collect as this user or as root", self.help(uid=54321, own=1000))

    def test_a_container_without_the_capability(self):
        self.assertIn("--cap-add SYS_PTRACE", self.help(capabilities="00000000a80425fb"))

    def test_yama(self):
        for scope in (1, 2):
            with self.subTest(scope):
                self.assertIn(f"ptrace_scope is {scope}: run pipesim collect as root", self.help(uid=1000, own=1000, yama=scope))
                self.proc.remove(20)
        self.assertIn("until this machine starts again", self.help(yama=3))

    def test_a_security_profile(self):
        self.assertIn("seccomp", self.help())

    def test_environments_that_may_not_be_read(self):
        self.assertIsNone(access.help_for_environ(self.processes))
        self.proc.add(20, "python3", uid=54321)
        self.processes.refused.add(20)
        self.assertIn("1 Python process of user 54321", access.help_for_environ(self.processes))


class Collect(TestCase):
    def diagnose(self):
        done = subprocess.run([PROGRAM, "diagnose", self.out], capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_a_rank_that_reads_while_the_others_wait(self):
        self.torchrun()
        self.proc.write(22, "wchan", "folio_wait_bit_common")
        found, facts = self.collect()
        self.assertEqual({it.stacks for it in found.ranks}, {"py-spy"})
        self.assertEqual(facts["world_size"], 4)
        self.assertEqual([it["files"] for it in facts["ranks"]], [[f"stacks_rank_{r}.txt"] for r in range(4)])
        status, text = self.diagnose()
        self.assertEqual(status, 1)
        self.assertIn("The job waits for rank 2, whose host is in read (tarfile.py:512).", text)

    def test_ranks_that_all_wait_for_each_other(self):
        script = STACKS.replace("read (tarfile.py:512)", "recv (torch/distributed/distributed_c10d.py:2799)")
        script = script.replace("all_reduce (", "recv (")
        moves = script.replace("#!/bin/sh\n", f"#!/bin/sh\necho voluntary_ctxt_switches: $4$$ >> {self.proc.root}/22/status\n")
        self.torchrun()
        for folder, pyspy, verdict in (("still", script, "DEADLOCK"), ("moves", moves, "UNDECIDED")):
            with self.subTest(folder):
                self.out = self.folder / folder
                self.out.mkdir()
                Collector(self.processes, self.job(), str(self.out), "n", pyspy=self.pyspy(script=pyspy)).run()
                facts = json.loads((self.out / "facts.n.json").read_text())
                self.assertEqual([it["moved"] for it in facts["ranks"]], [False, False, folder == "moves", False])
                self.assertIn(verdict, self.diagnose()[1])

    def test_a_rank_in_a_wait_that_is_not_python(self):
        script = STACKS.replace("    read (tarfile.py:512)\n", "").replace("(data.py:40)", "(/app/data.py:2)")
        self.torchrun()
        source = self.folder / "proc/22/root/app/data.py"
        source.parent.mkdir(parents=True)
        source.write_text("def load_shard():\n    work.wait()\n")
        os.utime(source, (0, 0))
        Collector(self.processes, self.job(), str(self.out), "n", pyspy=self.pyspy(script=script)).run()
        facts = json.loads((self.out / "facts.n.json").read_text())
        lines = [it["line"] for it in facts["ranks"]]
        self.assertEqual(lines, [None, None, "work.wait()", None])
        text = self.diagnose()[1]
        self.assertNotIn("The job waits for rank 2", text)

    def test_a_rank_that_is_gone(self):
        self.torchrun([0, 1, 3])
        self.proc.add(22, "", {}, 10, state="Z", exit_code=9)
        found, facts = self.collect()
        self.assertEqual(facts["gone"], [{"rank": 2, "pid": 22, "exit_code": -9, "why": "killed by SIGKILL"}])
        self.assertIn("rank 2 has no process left: killed by SIGKILL", cli.summary(found, "out"))
        status, text = self.diagnose()
        self.assertEqual(status, 1)
        self.assertIn("The job waits for rank 2, whose process ended", text)
        self.assertIn("rank 2 (process 22 on node0) is dead", text)

    def test_a_rank_that_is_stopped(self):
        self.torchrun([0, 1, 3])
        self.proc.add(22, "python3 -u train.py", elastic(2), 10, state="T")
        self.collect()
        self.assertIn("The job waits for rank 2, whose process is stopped.", self.diagnose()[1])

    def test_a_stop_that_is_over_does_not_count(self):
        self.torchrun([0], world=1, local=1)
        stat = self.folder / "proc/20/stat"
        running = stat.read_text().replace(" S ", " R ")
        self.proc.stat(20, parent=10, state="T", started=20)
        (self.folder / "running").write_text(running)
        script = STACKS.replace("#!/bin/sh\n", f"#!/bin/sh\ncp {self.folder}/running {stat}\n")
        Collector(self.processes, self.job(), str(self.out), "n", pyspy=self.pyspy(script=script)).run()
        self.assertEqual(json.loads((self.out / "facts.n.json").read_text())["ranks"][0]["state"], "running")

    def test_two_hosts_and_one_folder(self):
        self.torchrun([0, 1], world=4, local=2)
        self.collect("node0")
        for pid in (10, 20, 21):
            self.proc.remove(pid)
        self.assertIn("No facts about ranks 2 and 3: run 'pipesim collect' on their", self.diagnose()[1])
        self.torchrun([2, 3], world=4, local=2)
        self.proc.write(22, "wchan", "folio_wait_bit_common")
        self.collect("node1")
        self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                         ["facts.node0.json", "facts.node1.json", *(f"stacks_rank_{r}.txt" for r in range(4))])  # fmt: skip
        status, text = self.diagnose()
        self.assertEqual(status, 1)
        self.assertIn("The job waits for rank 2, whose host is in read (tarfile.py:512).", text)
        self.assertNotIn("No facts", text)

    def test_the_notes_of_attach(self):
        notes = self.folder / "notes"
        notes.mkdir()
        self.torchrun()
        for rank in range(4):
            (notes / f"rank{rank}.calls").write_text(f"calls of rank {rank}")
            (notes / f"rank{rank}.steps").write_text("steps")
            self.proc.write(20 + rank, "maps", "7f00-7f10 r-xp 0 fe:00 7 /venv/torch/lib/libtorch_cpu.so\n"
                            f"7f20-7f30 rw-s 0 fe:00 9 {notes}/rank{rank}.calls\n")  # fmt: skip
        (notes / "record.json").write_text("{}")
        (notes / "other").write_text("")
        self.collect()
        names = ["rank0.calls", "rank0.steps", "rank1.calls", "rank1.steps", "rank2.calls", "rank2.steps",
                 "rank3.calls", "rank3.steps", "record.json"]  # fmt: skip
        self.assertEqual(sorted(path.name for path in (self.out / "attach").iterdir()), names)
        self.assertEqual((self.out / "attach/rank2.calls").read_text(), "calls of rank 2")

    def test_notes_of_attach_that_lack_ranks_are_left_out(self):
        notes = self.folder / "notes"
        notes.mkdir()
        (notes / "rank0.calls").write_text("")
        self.torchrun()
        self.proc.write(20, "maps", "7f00-7f10 r-xp 0 fe:00 7 /venv/torch/lib/libtorch_cpu.so\n"
                        f"7f20-7f30 rw-s 0 fe:00 9 {notes}/rank0.calls\n")  # fmt: skip
        _, facts = self.collect()
        self.assertFalse((self.out / "attach").exists())
        self.assertIn("does not have those of all ranks", json.dumps(facts["notes"]))

    def test_calls_of_the_debug_server(self):
        port = self.serve({"fr_trace_json": json.dumps(FULL_DUMP).encode()})
        self.proc.add(20, "python3 train.py", elastic(0, 1, 1), sockets=[listens(1, port)])
        found, facts = self.collect()
        self.assertEqual(facts["ranks"][0]["files"], ["stacks_rank_0.txt", "calls_rank_0.json"])
        self.assertEqual(json.loads((self.out / "calls_rank_0.json").read_text()), FULL_DUMP)

    def test_the_debug_server_has_stacks_where_pyspy_may_not_look(self):
        port = self.serve({"dump_traceback": b"Thread 1 (most recent call first):\n  File \"a.py\", line 1 in f\n"})
        self.proc.add(20, "python3 train.py", elastic(0, 1, 1), sockets=[listens(1, port)])
        script = "#!/bin/sh\necho 'Permission Denied' >&2; exit 1\n"
        found = Collector(self.processes, self.job(), str(self.out), "n", pyspy=self.pyspy(script=script)).run()
        self.assertEqual(found.ranks[0].stacks, "debug server")
        self.assertEqual(found.notes, [])

    def test_processes_of_unknown_rank(self):
        self.proc.add(10, "python3 train.py")
        for pid, sockets in ((20, [listens(1, 29500)]), (21, [connects(2, 40000, 29500)])):
            self.proc.add(pid, "python3 -c x --multiprocessing-fork", {}, 10, sockets=sockets)
        found, facts = self.collect()
        # A number at the end of a name would be a rank.
        self.assertEqual([it["files"] for it in facts["ranks"]], [["stacks_process_20_.txt"], ["stacks_process_21_.txt"]])
        self.assertIn("2 processes on node0 (mp.spawn)", cli.summary(found, "out"))
        text = self.diagnose()[1]
        self.assertIn("ALL ALIKE", text)
        self.assertIn("process 20", text)

    def test_help_where_nothing_shows_stacks(self):
        self.torchrun([0], world=1, local=1)
        with unittest.mock.patch("pipesim.live.stacks.find_pyspy", return_value=None):
            found = Collector(self.processes, self.job(), str(self.out), "n").run()
        self.assertIn("help: py-spy was not found: pip install py-spy", cli.summary(found, "out"))
        self.assertIn("no stacks, calls or logs: in out/", cli.summary(found, "out"))

    def main(self, *arguments):
        """Runs the command on the fake processes. Returns its exit status and its error output."""
        err = io.StringIO()
        with unittest.mock.patch("pipesim.collect.Processes", return_value=self.processes):
            with unittest.mock.patch.dict(os.environ, {"PIPESIM": str(PROGRAM)}):
                with unittest.mock.patch("pipesim.live.stacks.find_pyspy", return_value=self.pyspy()):
                    with contextlib.redirect_stderr(err):
                        try:
                            status = collect.main([*arguments, "--host", "n0"])
                        except SystemExit as end:
                            status = end.code
        return status, err.getvalue()

    def test_the_command(self):
        self.torchrun()
        self.out.rmdir()
        self.assertEqual(self.main("-o", str(self.out), "--only-collect")[0], 0)
        status, text = self.main("-o", str(self.out))
        self.assertEqual(status, 2)
        self.assertIn(f"error: '{self.out}' already has evidence from n0\n  help: ", text)

    def test_no_job(self):
        status, text = self.main("-o", str(self.out))
        self.assertEqual(status, 2)
        self.assertIn("error: no rank of a PyTorch job was found on this host\n  help: run it on a host", text)
        self.assertIn("\n  help: if the job has ended, its log is evidence: pipesim diagnose LOG\n", text)
        for name, age in (("old.log", 9), ("slurm-7.out", 5), ("train.py", 1)):
            (self.folder / name).write_text("")
            os.utime(self.folder / name, (100 - age, 100 - age))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        text = self.main("-o", str(self.out))[1]
        self.assertIn("pipesim diagnose slurm-7.out\n", text)

    def test_a_choice_of_jobs(self):
        self.torchrun()
        self.proc.add(60, "python3 eval.py", elastic(0, 1, 1, "eval", 29600))
        status, text = self.main("-o", str(self.out))
        self.assertEqual(status, 2)
        self.assertIn("error: 2 jobs run on this host\n  help: choose one: pipesim collect --job 'eval@node0:29600'", text)
        self.assertIn("llama@node0:29500  torchrun, 4 ranks here", text)
        self.assertIn("no job 'gpt' on this host", self.main("--job", "gpt", "-o", str(self.out))[1])
        self.assertEqual(self.main("--job", "eval", "-o", str(self.out), "--only-collect")[0], 0)


class Program(unittest.TestCase):
    """The program starts the Python modules, on the processes of this machine."""

    def run_it(self, *arguments, folder=None):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=folder)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        return done.stderr

    def test_options_reach_the_module(self):
        name = "no job has this name"
        error = self.run_it("collect", "--job", name, "--only-collect", "--color=never")
        self.assertRegex(error, f"^error: no (job '{name}'|rank of a PyTorch job was found) on this host\n  help: ")
        error = self.run_it("watch", "--signal", "SIGNONE", "--quiet", "7", "--once")
        self.assertEqual(error, "error: argument --signal: unknown signal 'SIGNONE'\n"
                                "  help: 'pipesim watch --help' lists the options\n")  # fmt: skip

    def test_wrong_usage(self):
        self.assertIn("'pipesim collect' takes no argument, found 'x'", self.run_it("collect", "x"))
        self.assertIn("invalid value '0' for '--quiet'", self.run_it("watch", "--quiet", "0"))

    @unittest.skipIf(sys.version_info < (3, 11), "needs PYTHONSAFEPATH")
    def test_files_of_the_folder_do_not_replace_standard_modules(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "json.py").write_text("raise ValueError\n")
            self.assertIn("on this host", self.run_it("collect", "--job", "no job has this name", folder=folder))


if __name__ == "__main__":
    unittest.main()
