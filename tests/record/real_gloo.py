"""Runs jobs with real gloo on this machine: N processes over loopback, forked from this one.

A test calls `run_test(main)`, and `main` calls `run_jobs`. A forked rank leaves `main` by an
exception, and runs its part after `main`, at the end of the test's file. So the interpreter ends as
in a real rank: it joins threads and waits for pending collectives.
"""

import dataclasses
import faulthandler
import gc
import itertools
import os
import pathlib
import re
import signal
import socket
import sys
import time

# Time without progress after which the remaining ranks count as hung.
SECONDS = 4.0
_LOOKS = 20  # number of looks without progress before that: this process can be stopped for long
# Output of a rank that dies at its exit, now and then, because torch destroys a thread that runs. The
# script has ended, so this is no error.
_ENDS_BADLY = "terminate called without an active exception"
_TICKS = 8  # CPU time of a job that does not count as progress: a loop that polls and sleeps


class _Rank(BaseException):
    """An exception that unwinds the test in a forked process; `run` is the rank's part."""

    def __init__(self, run):
        super().__init__()
        self.run = run


def script(path):
    """Returns a function that runs a script. The script's variables are those of `__main__`, so
    they live until the interpreter ends, as in a real run."""
    text = pathlib.Path(path).read_text()
    return lambda: exec(compile(text, str(path), "exec"), vars(sys.modules["__main__"]))


def run_test(main):
    """Runs a test and exits. In the process of a rank, runs the rank's part and returns."""
    try:
        status = main()
    except _Rank as rank:
        run = rank.run
    else:
        sys.exit(status)
    run()


@dataclasses.dataclass
class Outcome:
    """The outcome of a job."""

    status: dict  # by rank, without ranks that hang: exit status; negative: killed by a signal
    stuck: dict  # by rank that hangs: line of the program, or None at the interpreter's exit
    errors: dict  # by rank that failed or had a failed thread: last line of its output

    @property
    def verdict(self):
        return "hang" if self.stuck else "error" if self.errors else "complete"


class Job:
    """A job. `run` is called in each forked process, in the environment of torchrun. The store is
    in rank 0 or, with `agent`, in a process of its own, where it outlives rank 0."""

    def __init__(self, folder, ranks, run, program="program.py", agent=False):
        self.folder = pathlib.Path(folder)
        self.ranks = ranks
        self._run = run
        self._program = program
        self._status = {}
        self._pids = []
        self._agent = agent
        self._store = None  # process of the store
        self._computed = False

    def start(self):
        port = free_port()
        if self._agent:
            self._store = os.fork()
            if self._store == 0:
                _serve_store(port, self.ranks)
        for rank in range(self.ranks):
            pid = os.fork()
            if pid == 0:
                self._prepare(rank, port)
                raise _Rank(self._run)
            self._pids.append(pid)

    def _prepare(self, rank, port):
        os.environ.update(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(self.ranks),
            LOCAL_WORLD_SIZE=str(self.ranks), GROUP_RANK="0", MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo", TORCHELASTIC_RUN_ID="real",
            TORCHELASTIC_USE_AGENT_STORE=str(self._agent), TORCHELASTIC_RESTART_COUNT="0",
            USE_LIBUV="0",  # Debian's torch 2.6 lacks libuv
        )  # fmt: skip
        log = os.open(self.folder / f"{rank}.log", os.O_CREAT | os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        stack = (self.folder / f"{rank}.stack").open("w")
        faulthandler.register(signal.SIGUSR1, stack, all_threads=False)

    def progress(self):
        """Returns values that change while ranks make progress: the number of remaining ranks, the
        CPU time of their main threads in ticks, and whether a main thread runs or is ready to run.
        Other threads do not count: gloo's thread spins after a peer has closed its connection."""
        for rank, pid in enumerate(self._pids):
            if rank not in self._status:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    self._status[rank] = os.waitstatus_to_exitcode(status)
        alive = [pid for rank, pid in enumerate(self._pids) if rank not in self._status]
        # Only two looks in a row count: a loop that polls and sleeps also runs now and then.
        computes, self._computed = self._computed, any(map(_is_running, alive))
        return len(alive), sum(map(_ticks, alive)), computes and self._computed

    def outcome(self):
        """Kills the remaining ranks, and returns the outcome."""
        stuck, errors = {}, {}
        for rank, pid in enumerate(self._pids):
            if rank not in self._status:
                os.kill(pid, signal.SIGUSR1)
                stuck[rank] = self._stuck_line(rank)
        for rank, pid in enumerate(self._pids):
            if rank in stuck:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                continue
            log = (self.folder / f"{rank}.log").read_text(errors="replace").strip()
            if log.endswith(_ENDS_BADLY):
                continue
            if self._status[rank] != 0 or "Exception in thread" in log:
                errors[rank] = (log.splitlines() or [""])[-1]
        if self._store is not None:
            os.kill(self._store, signal.SIGKILL)
            os.waitpid(self._store, 0)
        return Outcome(self._status, stuck, errors)

    def _stuck_line(self, rank):
        end = time.monotonic() + 20
        before = stack = ""
        while (not stack or stack != before) and time.monotonic() < end:
            time.sleep(0.1)
            before, stack = stack, (self.folder / f"{rank}.stack").read_text()
        found = re.search(rf'{re.escape(self._program)}", line (\d+)', stack)
        return int(found[1]) if found else None


def _serve_store(port, ranks):
    """Runs the job's store in this process, as torchrun's agent does. Never returns."""
    from torch.distributed import TCPStore

    test = os.getppid()
    has_libuv = "use_libuv" in (TCPStore.__init__.__doc__ or "")
    options = {"use_libuv": False} if has_libuv else {}
    store = TCPStore("127.0.0.1", port, ranks, True, wait_for_workers=False, **options)
    while store and os.getppid() == test:
        time.sleep(1)
    os._exit(0)


def _main_thread(pid):
    """Returns the fields of the main thread's stat in /proc, beginning with the state. A process
    that has ended counts as asleep, without CPU time."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/task/{pid}/stat").read_text()
    except OSError:
        return ["S"] + ["0"] * 50
    return stat.rpartition(")")[2].split()


def _ticks(pid):
    fields = _main_thread(pid)
    return int(fields[11]) + int(fields[12])


def _is_running(pid):
    return _main_thread(pid)[0] == "R"


# Ports below the system's ephemeral ports: a connection of another job could take an ephemeral port
# before the store listens on it. The step of 10 leaves ports for jobs that make more stores.
_PORTS = itertools.count(10000 + os.getpid() % 1500 * 10, 10)
_CLAIMS = []  # sockets whose names keep other tests from taking the same ports


def free_port():
    for port in _PORTS:
        claim = socket.socket(socket.AF_UNIX)
        with socket.socket() as found:
            try:
                claim.bind(f"\0pipesim test port {port}")
                found.bind(("127.0.0.1", port))
            except OSError:
                claim.close()
                continue
        _CLAIMS.append(claim)
        return port


def run_jobs(jobs, seconds=SECONDS, quick_end=False):
    """Runs jobs at the same time, until all have ended or none makes progress. Returns their
    outcomes, in order. `quick_end`: ranks do not collect torch's objects at their end, which takes
    0.7 s of processor time; torch 1.13 then does not finish pending collectives."""
    if quick_end:
        gc.freeze()
    for job in jobs:
        job.start()
    gc.unfreeze()
    seen, since, looks = None, time.monotonic(), 0
    while time.monotonic() - since < seconds or looks < _LOOKS:
        time.sleep(0.05)
        looks += 1
        now = [job.progress() for job in jobs]
        if not any(alive for alive, _, _ in now):
            break
        if (
            seen is None
            or any(running for _, _, running in now)
            or any(a[0] != b[0] or b[1] - a[1] > _TICKS for a, b in zip(seen, now))
        ):
            seen, since, looks = now, time.monotonic(), 0
    return [job.outcome() for job in jobs]
