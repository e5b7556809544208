"""torch's debug server: a thread of each rank that answers without Python's lock.

`torch.distributed.debug.start_debug_server()` starts it on a port, and
`torch.distributed.elastic.control_plane.worker_main` on a unix socket.
"""

from __future__ import annotations

import http.client
import os
import socket
from typing import Optional, Union

from pipesim.live.jobs import Rank
from pipesim.live.processes import Processes

Address = Union[int, str]  # a port of this host, or the path of a unix socket

PING_SECONDS = 1.0
_MAX_ANSWER = 256 << 20
_MAX_PORTS = 4


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(address: Address, handler: str, timeout: float) -> Optional[bytes]:
    """Returns the answer of a handler, or None."""
    connection: http.client.HTTPConnection
    if isinstance(address, str):
        connection = _UnixConnection(address, timeout)
    else:
        connection = http.client.HTTPConnection("localhost", address, timeout=timeout)
    try:
        connection.request("POST", f"/handler/{handler}")
        answer = connection.getresponse()
        body = answer.read(_MAX_ANSWER)
        return body if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def find_server(processes: Processes, rank: Rank) -> Optional[Address]:
    """Returns the address of the debug server of a rank, or None."""
    path = rank.environ.get("TORCH_WORKER_SERVER_SOCKET")
    if path:
        # The process may have another file system.
        seen = processes.path(rank.pid, "root", path.lstrip("/")) if os.path.isabs(path) else path
        for each in (seen, path):
            if os.path.exists(each) and ask(each, "ping", PING_SECONDS) is not None:
                return each
    if not processes.shares_network(rank.pid):
        return None
    # The server listens on all addresses. Sockets on one address are those of gloo and NCCL, which
    # expect their peers; MASTER_PORT is the store.
    master = rank.environ.get("MASTER_PORT", "")
    ports = {
        c.local.port
        for c in processes.connections(rank.pid)
        if c.listens and c.local.is_any and str(c.local.port) != master
    }
    for port in sorted(ports)[:_MAX_PORTS]:
        if ask(port, "ping", PING_SECONDS) is not None:
            return port
    return None
