"""What takes long shows how far it is, on a terminal only.

    progress_test.py PROGRAM
"""

import os
import pty
import signal
import subprocess
import sys
import time
import unittest

PROGRAM = sys.argv.pop(1)

# Runs for minutes if it is let.
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
        # Nothing of it stays, and the report follows.
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-100:])
        self.assertIn(b"LIMIT (interrupted)", report)

    def test_not_in_a_pipe(self):
        with start(subprocess.PIPE, "xterm") as run:
            time.sleep(1.5)  # it would show by now
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
