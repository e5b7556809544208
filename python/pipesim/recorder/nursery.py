"""Forks ranks; as a program, the second parent of ranks, with its own hash seed (see `launcher`).

    python3 -m pipesim.recorder.nursery 7 < settings.json

The argument is the file descriptor of a pipe, over which the program receives the file descriptors
of the ranks' pipes.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import Pipe, reduction
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Optional

from pipesim.recorder.rank import prepare, run_rank
from pipesim.recorder.settings import Settings

if TYPE_CHECKING:
    from pipesim.recorder.rank_recorder import RankRecorder

HASH_SEEDS = ("1", "2")

_prepared: Optional[RankRecorder] = None


class Nursery:
    """The launcher's handle to the second parent. This process imports torch at the same time as
    the launcher, and forks ranks on each request."""

    def __init__(self, settings: Settings) -> None:
        self.connection, theirs = Pipe()
        self._has_bred = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pipesim.recorder.nursery", str(theirs.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONHASHSEED": HASH_SEEDS[1]},
        )
        theirs.close()
        assert self._process.stdin is not None
        self._process.stdin.write(settings.to_json().encode())
        self._process.stdin.close()

    def breed(self, settings: Settings, ends: dict[int, Connection]) -> None:
        """Starts a rank in the second parent for each end of a pipe. If that process has died, the
        launcher sees these pipes as closed."""
        self._has_bred = True
        request = {"settings": settings.to_json(), "ranks": list(ends)}
        with contextlib.suppress(OSError):
            self.connection.send_bytes(json.dumps(request).encode())
            for end in ends.values():
                reduction.send_handle(self.connection, end.fileno(), self._process.pid)

    def close(self) -> None:
        """Ends the second parent, after the last rank has ended."""
        self.connection.close()
        if not self._has_bred:
            self._process.kill()
        self._process.wait()


def breed(
    settings: Settings,
    connections: dict[int, Connection],
    inherited: list[Connection],
    function: Optional[Callable[[], Any]] = None,
) -> None:
    """Forks a rank for each connection. The ranks report their process ids themselves.

    A rank closes all inherited connections except its own: the launcher detects the end of a
    process only if no other process holds that end of the pipe open.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    prepared = _prepared_for(settings)
    gc.freeze()  # otherwise, garbage collection in each rank would copy the pages of all modules
    for rank, connection in connections.items():
        if os.fork() == 0:
            for end in inherited:
                if end is not connection:
                    end.close()
            try:
                run_rank(settings, rank, connection, function, prepared)
            except BaseException:  # a bug of the recorder: no code of the parent may run here
                traceback.print_exc()
                os._exit(70)
    gc.unfreeze()


def _prepared_for(settings: Settings) -> Optional[RankRecorder]:
    """Returns the recorder in this process if it explores, and so forks each rank many times. Ranks
    of a recording get recorders of their own."""
    global _prepared
    if settings.explore is None or settings.replay:
        return None
    if _prepared is None:
        _prepared = prepare(settings)
    return _prepared


def _serve(connection: Connection, failure: Optional[BaseException]) -> None:
    """Starts ranks on request until the launcher closes the pipe."""
    while True:
        try:
            request = json.loads(connection.recv_bytes())
        except EOFError:
            return
        if failure is not None:  # if the launcher's import also fails, it sends no request
            raise failure
        ends = {
            int(rank): Connection(reduction.recv_handle(connection)) for rank in request["ranks"]
        }
        settings = Settings.from_json(request["settings"])
        breed(settings, ends, [*ends.values(), connection])
        for end in ends.values():
            end.close()


def main() -> None:
    from pipesim.recorder.launcher import prepare_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    failure: Optional[BaseException] = None
    try:
        prepare_process(Settings.from_json(sys.stdin.read()))
    except BaseException as error:
        failure = error
    _serve(Connection(int(sys.argv[1])), failure)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


if __name__ == "__main__":
    main()
