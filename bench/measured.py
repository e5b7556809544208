"""Measures the run of a program, for the scripts of bench/."""

import os
import subprocess
import tempfile
import time
from typing import NamedTuple


class Run(NamedTuple):
    """The exit code, seconds, maximum memory in bytes, and output of a run."""

    code: int
    wall: float
    user: float
    system: float
    memory: int
    output: bytes


def run(command):
    """Measures the command as a whole process, from start to exit."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return Run(
            process.returncode,
            wall,
            usage.ru_utime,
            usage.ru_stime,
            usage.ru_maxrss * 1024,
            output.read(),
        )
