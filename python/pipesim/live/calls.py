"""The calls of the ranks: dumps of the Flight Recorder, and NCCL's RAS."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from dataclasses import dataclass
from typing import Optional

from pipesim.live import server
from pipesim.live.jobs import Rank
from pipesim.live.processes import Processes

# Handlers of the debug server whose answer is a dump without stacks. A dump with stacks takes
# Python's lock. The first dump of gloo imports much of torch, which takes seconds if a job hangs.
_DUMPS = ("dump_nccl_trace_json", "fr_trace_json")

_DUMP_FILES = (
    ("TORCH_FR_DUMP_TEMP_FILE", "/tmp/nccl_trace_rank_"),
    ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "/tmp/nccl_trace_rank_"),
)

_RAS_PORT = 28028
_RAS_QUESTION = b"client protocol 2\nset format json\nverbose status\n"


def dump_of_server(address: server.Address, timeout: float) -> Optional[bytes]:
    """Returns the dump of the Flight Recorder from a debug server: NCCL's dump if it has calls,
    else the dump of the other backends."""
    best = None
    for handler in _DUMPS:
        body = server.ask(address, handler, timeout)
        if body is None:
            continue
        with contextlib.suppress(ValueError):
            if json.loads(body).get("entries"):
                return body
        best = best or body
    return best


def counts_of_server(address: server.Address, timeout: float) -> Optional[str]:
    """Returns the numbers of the last calls in each group, as text that changes with the numbers;
    None if the debug server does not know them."""
    found = []
    for handler in _DUMPS:
        body = server.ask(address, handler + "?onlyactive=true", timeout)
        with contextlib.suppress(ValueError, AttributeError):
            status = json.loads(body or b"").get("pg_status")
            found += [json.dumps(status, sort_keys=True)] if status else []
    return "\n".join(found) or None


def written_dump(processes: Processes, rank: Rank) -> Optional[bytes]:
    """Returns the dump that the rank has written to a file since it was started."""
    age = processes.seconds_running(rank.pid)
    if age is None:
        return None
    for variable, default in _DUMP_FILES:
        path = rank.environ.get(variable, default) + str(rank.number)
        seen = processes.path(rank.pid, "root", path.lstrip("/"))
        try:
            if time.time() - os.stat(seen).st_mtime > age:
                continue  # the file is from an earlier job
            with open(seen, "rb") as file:
                return file.read()
        except OSError:
            continue
    return None


def ask_pipe(processes: Processes, rank: Rank) -> Optional[bool]:
    """Asks for a dump through the pipe of the Flight Recorder. Returns None if there is no pipe,
    False if a dump would have stacks, True if the dump will be written."""
    prefix = rank.environ.get("TORCH_NCCL_DEBUG_INFO_PIPE_FILE")
    if not prefix:
        return None
    path = processes.path(rank.pid, "root", f"{prefix}{rank.number}.pipe".lstrip("/"))
    if not os.path.exists(path):
        return None
    if rank.environ.get("TORCH_INCLUDE_STACK_TRACE", "1").lower() not in ("0", "false", "n", "no"):
        return False
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        os.write(descriptor, b"1\n")
    finally:
        os.close(descriptor)
    return True


def ras_address(environ: dict[str, str]) -> tuple[str, int]:
    """Returns the address on which NCCL's RAS of a job listens."""
    host, _, port = environ.get("NCCL_RAS_ADDR", "").rpartition(":")
    number = int(port) if port.isdigit() else _RAS_PORT
    return (host.strip("[]") or "localhost", number)


def ask_ras(address: tuple[str, int], timeout: float) -> str:
    """Returns a report of NCCL's RAS as JSON, or as text from NCCL before 2.28; empty if there is
    none."""
    for question in (_RAS_QUESTION, b"verbose status\n"):
        text = _ask(address, question, timeout).decode(errors="replace")
        if question == _RAS_QUESTION and "{" in text:
            return text[text.index("{") :].rstrip() + "\n"
        if "Communicators..." in text:
            return text
    return ""


@dataclass(frozen=True)
class RasFacts:
    """Facts about all communicators of the job, from a report of NCCL's RAS."""

    communicators: int = 0
    missing: int = 0  # ranks that do not answer, in the communicator with most of them
    dead: int = 0  # those of them that RAS considers dead
    lag: int = 0  # how many collectives the last rank of a communicator is behind the first


def ras_facts(report: str) -> Optional[RasFacts]:
    """Returns the facts in a report as JSON; None for other reports."""
    found: list[RasFacts] = []
    try:
        for communicator in json.loads(report)["communicators"]:
            missing = communicator.get("missing_ranks", [])
            dead = [it for it in missing if it.get("status", {}).get("considered_dead")]
            counts = [it.get("collective_counts", {}) for it in communicator.get("ranks", [])]
            operations = {operation for each in counts for operation in each}
            launched = [[each.get(it, 0) for each in counts] for it in operations]
            lag = max((max(each) - min(each) for each in launched), default=0)
            found.append(RasFacts(1, len(missing), len(dead), lag))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    most = [max((getattr(it, name) for it in found), default=0) for name in ("missing", "dead", "lag")]
    return RasFacts(len(found), *most)


def _ask(address: tuple[str, int], question: bytes, timeout: float) -> bytes:
    answer = b""
    end = time.monotonic() + timeout
    with contextlib.suppress(OSError), socket.create_connection(address, timeout) as connection:
        connection.sendall(question)
        while True:
            connection.settimeout(max(0.01, end - time.monotonic()))
            part = connection.recv(1 << 16)
            if not part:
                break
            answer += part
    return answer
