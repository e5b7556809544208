"""Processes, as /proc shows them. Tests read a folder with the same layout."""

from __future__ import annotations

import itertools
import os
import re
import stat
import time
from dataclasses import dataclass
from typing import Optional

_TICKS = os.sysconf("SC_CLK_TCK")
_MAX_LINE = 200

# Words of /proc/PID/status for the letters of the states.
STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "disk sleep",
    "T": "stopped",
    "t": "tracing stop",
    "Z": "zombie",
    "X": "dead",
    "I": "idle",
}


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/PID/stat that matter here."""

    name: str
    state: str  # a word of STATES
    parent: int
    session: int
    cpu: float  # seconds of processor time, of all threads
    threads: int
    started: int  # clock ticks since the machine started
    exit_code: int  # a wait status; 0 also if it may not be read

    @property
    def is_stopped(self) -> bool:
        """Whether a signal or a debugger stops the process, so that none of its threads answers."""
        return self.state in ("stopped", "tracing stop")


@dataclass(frozen=True)
class Endpoint:
    """An address of a TCP socket."""

    address: str  # hexadecimal, as the kernel prints it
    port: int

    @property
    def is_any(self) -> bool:
        return set(self.address) == {"0"}


@dataclass(frozen=True)
class Connection:
    """A TCP socket of a process."""

    inode: str
    listens: bool
    local: Endpoint
    remote: Endpoint


class Processes:
    """The processes below `root`, which is /proc except in tests."""

    def __init__(self, root: str = "/proc") -> None:
        self.root = root
        self.refused: set[int] = set()  # processes whose environment may not be read

    def path(self, pid: int, *parts: str) -> str:
        return os.path.join(self.root, str(pid), *parts)

    def pids(self) -> list[int]:
        return sorted(int(name) for name in os.listdir(self.root) if name.isdigit())

    def read(self, pid: int, *parts: str) -> Optional[str]:
        """Returns the text of a file of the process, or None if it cannot be read."""
        try:
            with open(self.path(pid, *parts), "rb") as file:
                return file.read().decode(errors="replace")
        except OSError:
            return None

    def stat(self, pid: int, thread: Optional[int] = None) -> Optional[Stat]:
        parts = ("stat",) if thread is None else ("task", str(thread), "stat")
        text = self.read(pid, *parts)
        if text is None or ")" not in text:
            return None
        # A name can contain blanks and parentheses.
        end = text.rindex(")")
        fields = text[end + 2 :].split()
        return Stat(
            name=text[text.index("(") + 1 : end],
            state=STATES.get(fields[0], fields[0]),
            parent=int(fields[1]),
            session=int(fields[3]),
            cpu=(int(fields[11]) + int(fields[12])) / _TICKS,
            threads=int(fields[17]),
            started=int(fields[19]),
            exit_code=int(fields[49]) if len(fields) > 49 else 0,
        )

    def environ(self, pid: int) -> dict[str, str]:
        """Returns the environment at the start of the program; empty if it may not be read."""
        try:
            with open(self.path(pid, "environ"), "rb") as file:
                text = file.read().decode(errors="replace")
        except PermissionError:
            self.refused.add(pid)
            return {}
        except OSError:
            return {}
        return dict(item.split("=", 1) for item in text.split("\0") if "=" in item)

    def command(self, pid: int) -> list[str]:
        return [word for word in (self.read(pid, "cmdline") or "").split("\0") if word]

    def status(self, pid: int) -> dict[str, str]:
        lines = (self.read(pid, "status") or "").splitlines()
        return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}

    def switches(self, pid: int) -> Optional[int]:
        """Returns how often the main thread has stopped running; None if the kernel does not tell.
        A thread that does not run between two looks keeps the number."""
        status = self.status(pid)
        try:
            return sum(int(status[f"{kind}_ctxt_switches"]) for kind in ("voluntary", "nonvoluntary"))
        except (KeyError, ValueError):
            return None

    def line_of(self, pid: int, path: str, number: int) -> str:
        """Returns a line of the program of a process. Returns nothing if the file is newer than the
        process, since its lines may have moved."""
        seen = self.path(pid, "root" if os.path.isabs(path) else "cwd", path.lstrip("/"))
        running = self.seconds_running(pid)
        try:
            if running is None or time.time() - os.stat(seen).st_mtime < running:
                return ""
            with open(seen, errors="replace") as file:
                return next(itertools.islice(file, number - 1, None), "").strip()[:_MAX_LINE]
        except (OSError, ValueError):
            return ""

    def user(self, pid: int) -> Optional[int]:
        """Returns the effective user id."""
        ids = self.status(pid).get("Uid", "").split()
        return int(ids[1]) if len(ids) > 1 else None

    def program(self, pid: int) -> str:
        """Returns the name of the program's file."""
        try:
            target = os.readlink(self.path(pid, "exe"))
        except OSError:
            target = (self.command(pid) or [""])[0]
        return os.path.basename(target.replace(" (deleted)", ""))

    def is_python(self, pid: int) -> bool:
        return "python" in self.program(pid)

    def torch_folder(self, pid: int) -> Optional[str]:
        """Returns the folder of torch if the process has loaded it."""
        match = re.search(r"(/\S*/torch)/lib/libtorch", self.read(pid, "maps") or "")
        return match[1] if match else None

    def torch_version(self, pid: int) -> Optional[str]:
        folder = self.torch_folder(pid)
        if folder is None:
            return None
        text = self.read(pid, "root", folder.lstrip("/"), "version.py") or ""
        match = re.search(r"__version__ = ['\"]([^'\"]+)", text)
        return match[1] if match else None

    def wait_channel(self, pid: int) -> Optional[str]:
        """Returns the kernel function in which the main thread waits, if the kernel reports it."""
        text = (self.read(pid, "wchan") or "").strip()
        return text if text not in ("", "0") else None

    def seconds_running(self, pid: int) -> Optional[float]:
        try:
            with open(os.path.join(self.root, "uptime")) as file:
                uptime = float(file.read().split()[0])
        except (OSError, ValueError, IndexError):
            return None
        found = self.stat(pid)
        return None if found is None else round(uptime - found.started / _TICKS, 1)

    def io_bytes(self, pid: int) -> Optional[int]:
        """Returns the bytes that the main thread has read and written."""
        text = self.read(pid, "task", str(pid), "io")
        if text is None:
            return None
        fields = dict(line.split(": ") for line in text.splitlines() if ": " in line)
        return int(fields.get("rchar", 0)) + int(fields.get("wchar", 0))

    def file_of(self, pid: int, descriptor: int) -> Optional[tuple[int, int]]:
        """Returns device and inode of an open regular file; None for other descriptors."""
        try:
            found = os.stat(self.path(pid, "fd", str(descriptor)))
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None

    def target_of(self, pid: int, descriptor: int) -> str:
        """Returns the path of an open file, as the process sees it."""
        try:
            return os.readlink(self.path(pid, "fd", str(descriptor)))
        except OSError:
            return ""

    def inodes(self, pid: int) -> set[str]:
        """Returns the inodes of the open sockets."""
        found: set[str] = set()
        try:
            descriptors = os.listdir(self.path(pid, "fd"))
        except OSError:
            return found
        for descriptor in descriptors:
            match = re.match(r"socket:\[(\d+)\]", self.target_of(pid, int(descriptor)))
            if match:
                found.add(match[1])
        return found

    def connections(self, pid: int) -> list[Connection]:
        """Returns the TCP sockets that listen or are connected."""
        own = self.inodes(pid)
        found = []
        for table in ("tcp", "tcp6"):
            for line in (self.read(pid, "net", table) or "").splitlines()[1:]:
                fields = line.split()
                if len(fields) < 10 or fields[9] not in own or fields[3] not in ("01", "0A"):
                    continue
                ends = [_endpoint(text) for text in fields[1:3]]
                found.append(Connection(fields[9], fields[3] == "0A", ends[0], ends[1]))
        return found

    def shares_network(self, pid: int) -> bool:
        """Whether the process is in the network namespace of this process."""
        try:
            own = os.readlink(os.path.join(self.root, "self", "ns", "net"))
            return os.readlink(self.path(pid, "ns", "net")) == own
        except OSError:
            return True

    def may_read_memory(self, pid: int) -> bool:
        """Whether this process may read the memory of another one, as py-spy does."""
        try:
            with open(self.path(pid, "mem"), "rb"):
                return True
        except PermissionError:
            return False
        except OSError:
            return True

    def catches(self, pid: int, number: int) -> bool:
        """Whether the process has a handler for this signal; without a handler, the signal would
        end it."""
        mask = self.status(pid).get("SigCgt", "0")
        return bool(int(mask, 16) >> (number - 1) & 1)


def _endpoint(text: str) -> Endpoint:
    address, _, port = text.partition(":")
    return Endpoint(address, int(port, 16))
