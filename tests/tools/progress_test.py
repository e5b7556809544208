"""Long operations show their progress, on a terminal only.

progress_test.py PROGRAM
"""

import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
ROOT = pathlib.Path(__file__).resolve().parents[2]

# A scenario that would run for minutes.
LONG = b"schema: 1\nactors:\n  a: {source: 4000000000, takes: 1us}\n"


def start(stderr, term):
    run = subprocess.Popen(
        [PROGRAM, "run", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "TERM": term},
    )
    run.stdin.write(LONG)
    run.stdin.close()
    return run


class ProgressLine(unittest.TestCase):
    def test_on_a_terminal(self):
        ours, theirs = pty.openpty()
        with start(theirs, "xterm") as run:
            os.close(theirs)
            shown = b""
            while b" s left if it completes" not in shown:
                shown += os.read(ours, 4096)
            run.send_signal(signal.SIGINT)
            report = run.stdout.read()
            try:
                while True:
                    shown += os.read(ours, 4096)
            except OSError:  # the other end is closed
                pass
            self.assertEqual(run.wait(60), 130)
        os.close(ours)
        self.assertRegex(shown, rb"\d+\.\d of 4000\.0 million ops, .* simulated")
        # The progress line is erased, and the report follows.
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-100:])
        self.assertIn(b"LIMIT (interrupted)", report)

    def test_a_terminal_ends_with_what_to_do_next(self):
        for scenario, last in (
            ("swin_2x2x2", rb"Fix: BdstBuf feeds stream 'backward' (.|\r\n)*Run it on 'backward' (.|\r\n)*completes\)\.\r\n$"),
            ("rank_segfault", rb"Next: fix this failure first; the other ranks only wait for rank 9\.\r\n$"),
            ("pipeline_1f1b", rb"Next: 'pipesim check scenarios/pipeline_1f1b.yaml' tries (.|\r\n)*draws this one\.\r\n$"),
        ):
            ours, theirs = pty.openpty()
            done = subprocess.run([PROGRAM, "run", f"scenarios/{scenario}.yaml"], stdout=subprocess.PIPE,
                                  stderr=theirs, check=False, cwd=ROOT)
            os.close(theirs)
            self.assertRegex(os.read(ours, 4096), last)
            self.assertIn(b"\npipesim ", done.stdout)
            os.close(ours)

    def test_a_diagnosis_says_what_it_reads(self):
        # The pipe delivers nothing for longer than the delay of the progress line.
        with tempfile.TemporaryDirectory() as work:
            pipe = pathlib.Path(work, "dump_0")
            os.mkfifo(pipe)
            ours, theirs = pty.openpty()
            with subprocess.Popen([PROGRAM, "diagnose", "flight-recorder", pipe], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as run:
                os.close(theirs)
                shown = b""
                while b"reading evidence: 0 of 1 file" not in shown:
                    shown += os.read(ours, 4096)
                pipe.write_bytes(b"no dump")
                try:
                    while True:
                        shown += os.read(ours, 4096)
                except OSError:  # the other end is closed
                    pass
                self.assertEqual(run.wait(60), 2)
            os.close(ours)
            # The error comes after the erased progress line.
            self.assertRegex(shown, rb"\r\x1b\[K[^\r]*dump_0[^\r]*error")

    def test_not_in_a_pipe(self):
        with start(subprocess.PIPE, "xterm") as run:
            time.sleep(1.5)  # longer than the delay of the line
            run.send_signal(signal.SIGINT)
            run.stdout.read()
            self.assertEqual(run.stderr.read(), b"")
            self.assertEqual(run.wait(60), 130)

    def test_not_on_a_dumb_terminal(self):
        ours, theirs = pty.openpty()
        with start(theirs, "dumb") as run:
            time.sleep(1.5)
            run.send_signal(signal.SIGINT)
            run.stdout.read()
            self.assertEqual(run.wait(60), 130)
        os.set_blocking(ours, False)
        with self.assertRaises(BlockingIOError):
            os.read(ours, 1)
        os.close(theirs)
        os.close(ours)


if __name__ == "__main__":
    unittest.main()
