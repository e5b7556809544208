"""Ctrl-C ends the program even if no simulation handles it.

interrupt_test.py PROGRAM
"""

import fcntl
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

PROGRAM = sys.argv.pop(1)


def unread(pipe):
    """Returns the number of unread bytes in a pipe."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]


class Interrupt(unittest.TestCase):
    def test_while_the_scenario_is_read(self):
        with subprocess.Popen(
            [PROGRAM, "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as run:
            run.stdin.write(b"schema: 1\n")
            run.stdin.flush()
            deadline = time.monotonic() + 60
            # The program reads as long as the pipe is open.
            while unread(run.stdin) > 0 and time.monotonic() < deadline:
                time.sleep(0.01)
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(60), 130)
            self.assertEqual(run.stdout.read(), b"")


if __name__ == "__main__":
    unittest.main()
