"""Tests of `pipesim watch`, with fake processes and a fake clock.

    watch_test.py PROGRAM
"""

import argparse
import contextlib
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
import unittest.mock

from fake_proc import FakeProc
from find_test import elastic

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from pipesim import watch as command  # noqa: E402
from pipesim.live import collecting  # noqa: E402
from pipesim.live.jobs import find_jobs  # noqa: E402
from pipesim.live.processes import Processes  # noqa: E402
from pipesim.live.progress import Look, Progress  # noqa: E402
from pipesim.live.stacks import Stacks  # noqa: E402
from pipesim.live.watching import Limits, State, Watch  # noqa: E402

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
TICKS = os.sysconf("SC_CLK_TCK")
collecting.SECONDS_BETWEEN_LOOKS = 0.01
WAIT = 'Thread 1 (idle): "MainThread"\n    all_reduce (torch/distributed/distributed_c10d.py:3000)\n'
READ = 'Thread 1 (idle): "MainThread"\n    read (tarfile.py:512)\n'


class Looks(unittest.TestCase):
    def moved(self, before, after, seconds=1.0):
        return Look(**{"pid": 1, "cpu": 5.0, **after}).moved_since(Look(**{"pid": 1, "cpu": 5.0, **before}), seconds)

    def test_a_rank_moves(self):
        for after in ({"cpu": 5.5}, {"pid": 2}, {"io_bytes": 1 << 20}, {"is_ready": True}):
            self.assertTrue(self.moved({}, after), after)
        for after in ({}, {"cpu": 5.01}, {"io_bytes": 80}):
            self.assertFalse(self.moved({}, after), after)
        self.assertFalse(self.moved({}, {"cpu": 5.1}, 10))

    def test_the_numbers_of_its_calls_decide(self):
        self.assertTrue(self.moved({"counts": "7"}, {"counts": "8"}))
        self.assertFalse(self.moved({"counts": "7"}, {"counts": "7", "cpu": 9.0}))  # spins
        self.assertFalse(self.moved({"counts": "7"}, {"counts": "7", "is_ready": True}))
        self.assertTrue(self.moved({"counts": "7"}, {"counts": None, "cpu": 9.0}))

    def test_times(self):
        progress = Progress()
        for now, cpu in ((0, 0), (1, 1), (2, 1), (3, 1)):
            progress.add(now, {0: Look(1, cpu), 1: Look(2, now)})
        self.assertEqual((progress.quiet(), progress.waiting(), progress.still(2)), (0, 2, [0]))
        progress.add(4, {0: Look(1, 1)})  # rank 1 is gone
        self.assertEqual((progress.quiet(), progress.ranks), (1, [0, 1]))


class TestCase(unittest.TestCase):
    """A job of three ranks. Each second, `cpu` of a rank grows by its value in `works`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.proc = FakeProc(self.folder / "proc")
        self.processes = Processes(str(self.folder / "proc"))
        self.now = 0.0
        self.works = {0: 0.5, 1: 0.5, 2: 0.5}
        self.cpu = dict.fromkeys(range(3), 0.0)
        self.stack = {20: WAIT, 21: WAIT, 22: WAIT}
        for rank in range(3):
            self.proc.add(20 + rank, "python3 train.py", elastic(rank, 3, 3), 10)
        self.asked = []  # processes that py-spy was asked about
        for name, value in (("find_pyspy", self.find_pyspy), ("ask_pyspy", self.ask_pyspy)):
            patch = unittest.mock.patch(f"pipesim.live.stacks.{name}", value)
            patch.start()
            self.addCleanup(patch.stop)
        self.pyspy = "py-spy"
        self.watch = Watch(self.processes, self.find, Limits(5, 60), lambda: self.now, self.sleep)

    def find(self):
        return (find_jobs(self.processes) or [None])[0]

    def find_pyspy(self, processes, ranks):
        return self.pyspy

    def ask_pyspy(self, pyspy, pid, timeout=0):
        self.asked.append(pid)
        stack = self.stack[pid]
        return Stacks(stack() if callable(stack) else stack, "py-spy")

    def sleep(self, seconds):
        self.now += seconds
        for rank in range(3):
            self.cpu[rank] += self.works[rank] * seconds
            if (self.proc.root / str(20 + rank)).exists():
                self.proc.stat(20 + rank, parent=10, started=20 + rank, cpu=round(self.cpu[rank] * TICKS))

    def poll(self, times=1):
        states = []
        for _ in range(times):
            self.sleep(1)
            states.append(self.watch.poll())
        return states[0] if times == 1 else states

    def until(self, state, most=100):
        """Polls until the job is in this state. Returns the number of seconds."""
        begin = self.now
        while self.poll() != state:
            self.assertLess(self.now - begin, most)
        return self.now - begin


class Watching(TestCase):
    def test_a_job_that_moves(self):
        self.assertEqual(self.poll(30), [State.UNKNOWN] + [State.MOVES] * 29)
        self.assertEqual(self.asked, [])

    def test_a_job_that_hangs(self):
        self.poll(3)
        self.works = dict.fromkeys(range(3), 0.0)
        self.assertLessEqual(self.until(State.HANGS), 8)
        self.assertEqual(len(self.asked), 6)  # each rank twice

    def test_a_pause_that_is_short_enough(self):
        self.poll(3)
        self.works = dict.fromkeys(range(3), 0.0)
        self.assertNotIn(State.HANGS, self.poll(4))
        self.works = dict.fromkeys(range(3), 0.5)
        self.assertEqual(self.poll(), State.MOVES)

    def test_a_rank_that_works_while_the_others_wait(self):
        self.poll(3)
        self.works.update({1: 0.0, 2: 0.0})
        self.assertEqual(set(self.poll(40)), {State.MOVES, State.WAITS})
        self.works.update({1: 0.5, 2: 0.5})
        self.assertEqual(self.poll(5)[-1], State.MOVES)

    def test_a_rank_that_works_for_longer_than_the_patience(self):
        self.poll(3)
        self.works.update({1: 0.0, 2: 0.0})
        self.assertAlmostEqual(self.until(State.HANGS), 60, delta=2)
        self.assertEqual(self.watch.progress.still(30), [1, 2])

    def test_a_rank_whose_stack_moves_is_no_hang_yet(self):
        self.poll(3)
        self.works = dict.fromkeys(range(3), 0.0)
        lines = iter(range(1000))
        self.stack[22] = lambda: f"    save (ckpt.py:{next(lines)})\n"
        self.assertNotIn(State.HANGS, self.poll(40))
        self.assertEqual(self.watch.working, [2])
        self.assertLess(len(self.asked), 60)  # not at each poll
        self.assertLessEqual(self.until(State.HANGS), 25)

    def test_data_workers_work_for_their_rank(self):
        self.proc.add(40, "python3 train.py", elastic(1, 3, 3), 21)
        self.poll(3)
        self.works = dict.fromkeys(range(3), 0.0)
        sleep = self.watch.sleep

        def work(seconds):
            sleep(seconds)
            self.proc.stat(40, parent=21, cpu=round(self.now * TICKS))

        self.watch.sleep = work
        self.assertNotIn(State.HANGS, self.poll(20))
        self.assertEqual(self.watch.working, [1])

    def test_without_stacks_it_takes_twice_as_long(self):
        self.pyspy = None
        self.poll(3)
        self.works = dict.fromkeys(range(3), 0.0)
        self.assertGreaterEqual(self.until(State.HANGS), 10)

    def test_a_rank_that_is_gone(self):
        self.poll(3)
        self.proc.remove(22)
        self.works = dict.fromkeys(range(3), 0.0)
        self.assertLessEqual(self.until(State.HANGS), 8)
        self.assertEqual((sorted(self.watch.job.numbers), self.watch.seen[2]), ([0, 1], 22))

    def test_a_job_that_starts_again(self):
        self.poll(3)
        for rank in range(3):
            self.proc.remove(20 + rank)
            self.proc.add(50 + rank, "python3 train.py", elastic(rank, 3, 3), 10)
            self.stack[50 + rank] = WAIT
        self.assertEqual(self.poll(), State.MOVES)
        self.assertEqual(self.watch.seen, {0: 50, 1: 51, 2: 52})

    def test_the_end_and_the_beginning(self):
        for rank in range(3):
            self.proc.remove(20 + rank)
        self.assertEqual(self.poll(3), [State.UNKNOWN] * 3)
        self.proc.add(20, "python3 train.py", elastic(0, 1, 1), 10)
        self.poll(2)
        self.proc.remove(20)
        self.assertEqual(self.poll(), State.ENDED)


class Command(TestCase):
    def run_it(self, *arguments, until=None):
        """Runs the command with the fake clock. Returns its exit status and both outputs."""
        out, err = io.StringIO(), io.StringIO()

        def sleep(seconds):
            self.sleep(seconds)
            if until is not None:
                until(self.now)

        options = command._parser().parse_args(["--host", "n0", "-o", str(self.folder / "out"), *arguments])
        watcher = command.Watcher(options, self.processes)
        watcher.watch.clock, watcher.watch.sleep = lambda: self.now, sleep
        with contextlib.ExitStack() as stack:
            stack.enter_context(unittest.mock.patch("time.sleep", sleep))
            stack.enter_context(unittest.mock.patch.dict(os.environ, {"PIPESIM": PROGRAM}))
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            status = watcher.run()
        return status, out.getvalue(), err.getvalue()

    def hang(self, now):
        if now >= 3:
            self.works = dict.fromkeys(range(3), 0.0)

    def stop(self, now):
        self.hang(now)
        if now >= 3:
            self.proc.stat(22, parent=10, started=22, state="T", cpu=round(self.cpu[2] * TICKS))

    def end(self, now):
        if now >= 5:
            for rank in range(3):
                with contextlib.suppress(FileNotFoundError):
                    self.proc.remove(20 + rank)

    def test_a_job_that_ends(self):
        self.assertEqual(self.run_it(until=self.end), (0, "", ""))

    def test_events_as_lines_of_json(self):
        status, out, err = self.run_it("--json", until=self.stop)
        first, last = (json.loads(line) for line in out.splitlines())
        self.assertEqual((status, err), (1, ""))
        self.assertEqual((first["event"], first["ranks"], first["job"]), ("watching", [0, 1, 2], "llama@node0:29500"))
        self.assertEqual((last["event"], last["host"], last["verdict"]), ("hang", "n0", "starved"))
        self.assertEqual((last["roots"], last["restart"]), ([{"rank": 2, "reason": "stopped"}], "helps"))
        self.assertTrue(os.path.exists(os.path.join(last["folder"], "facts.n0.json")))

    def test_a_report(self):
        self.stack[22] = READ
        self.proc.write(22, "wchan", "folio_wait_bit_common")
        with unittest.mock.patch("pipesim.live.cli.run_diagnose") as diagnose:
            status, out, err = self.run_it(until=self.hang)
        self.assertEqual(status, 1)
        self.assertIn("llama@node0:29500 hangs: no rank has moved for ", err)
        diagnose.assert_called_once_with(str(self.folder / "out"))
        self.assertEqual(out, "")  # nothing shows that a restart helps

    def test_nothing_shows_why(self):
        status, out, _ = self.run_it("--json", until=self.hang)
        last = json.loads(out.splitlines()[-1])
        self.assertEqual((status, last["verdict"], last["restart"]), (3, "undecided", None))

    def test_once(self):
        self.assertEqual(self.run_it("--once")[0], 0)
        self.assertLessEqual(self.now, 2)
        self.works = dict.fromkeys(range(3), 0.0)
        self.assertEqual(self.run_it("--once", "--json")[0], 3)
        for rank in range(3):
            self.proc.remove(20 + rank)
        shutil.rmtree(self.folder / "out")
        status, _, err = self.run_it("--once")
        self.assertEqual((status, err), (0, "note: no rank of a PyTorch job was found on this host\n"))

    def test_metrics(self):
        path = self.folder / "job.prom"
        seen = []

        def until(now):
            self.stop(now)
            seen.append(path.read_text())

        self.run_it("--prometheus", str(path), "--json", until=until)
        labels = '{job="llama@node0:29500",host="n0"}'
        self.assertIn(f"# TYPE pipesim_job_hangs gauge\npipesim_job_hangs{labels} 0.000\n", seen[0])
        self.assertIn(f"pipesim_job_ranks{labels} 3.000\n", seen[0])
        self.assertIn(f"pipesim_job_hangs{labels} 1.000\n", path.read_text())
        self.assertNotIn("_ras_", path.read_text())
        self.assertEqual(list(self.folder.glob("*.part")), [])

    def test_metrics_of_ras(self):
        path = self.folder / "job.prom"
        report = json.dumps({"communicators": [
            {"ranks": [{"collective_counts": {"AllReduce": n}} for n in (9, 4)], "missing_ranks": [{}]}
        ]})  # fmt: skip
        with unittest.mock.patch("pipesim.live.calls.ask_ras", lambda *_: report):
            _, out, _ = self.run_it("--prometheus", str(path), "--json", until=self.stop)
        labels = '{job="llama@node0:29500",host="n0"}'
        text = path.read_text()
        for name, value in (("missing_ranks", 1), ("dead_ranks", 0), ("lag_collectives", 5)):
            self.assertIn(f"pipesim_job_ras_{name}{labels} {value}.000\n", text)
        facts = {"communicators": 1, "missing": 1, "dead": 0, "lag": 5}
        self.assertEqual(json.loads(out.splitlines()[-1])["ras"], facts)

    def test_two_jobs(self):
        self.proc.add(60, "python3 eval.py", elastic(0, 1, 1, "eval", 29600))
        with self.assertRaises(SystemExit) as end:
            self.run_it()
        self.assertEqual(end.exception.code, 2)
        self.assertEqual(self.run_it("--job", "llama", "--once")[0], 0)

    def test_a_folder_that_cannot_be_used(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/facts.n0.json").write_text("")
        with self.assertRaises(SystemExit):
            self.run_it()
        self.assertEqual(self.now, 0)

    def test_what_a_restart_does(self):
        died, late = ({"roots": [{"reason": reason}]} for reason in ("died", "has not called"))
        self.assertEqual(command.restart_advice(died, None), "helps")
        self.assertEqual(command.restart_advice({"processes": [{"state": "is stopped"}]}, None), "helps")
        self.assertIsNone(command.restart_advice(late, None))
        self.assertIsNone(command.restart_advice(late, "hang possible"))
        self.assertIsNone(command.restart_advice({}, "proved"))
        self.assertEqual(command.restart_advice(late, "hang certain"), "will hang again")

    def test_a_record_that_proves_the_hang(self):
        records = ROOT / "tests/golden"
        for record, restart in (("check_record/gloo", "will hang again"), ("check_record_steps/steps", None)):
            with self.subTest(record):
                self.setUp()
                self.stack[22] = READ
                out = self.run_it("--json", "--record", str(records / record), until=self.hang)[1]
                self.assertEqual(json.loads(out.splitlines()[-1])["restart"], restart)

    def test_seconds(self):
        self.assertEqual(command.seconds("0.5"), 0.5)
        for text in ("0", "-1", "x", "nan"):
            with self.assertRaises((argparse.ArgumentTypeError, ValueError)):
                command.seconds(text)


if __name__ == "__main__":
    unittest.main()
