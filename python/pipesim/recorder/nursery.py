"""The second parent of ranks, with another hash seed (see `launcher`).

    python3 -m pipesim.recorder.nursery '{"1": 7, "3": 9}' < settings.json

The argument maps ranks to the inherited file descriptors of their pipes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from multiprocessing.connection import Connection

from pipesim.recorder.launcher import breed, prepare_process
from pipesim.recorder.settings import Settings


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = Settings.from_json(sys.stdin.read())
    prepare_process(settings)
    connections = {int(rank): Connection(fd) for rank, fd in json.loads(sys.argv[1]).items()}
    breed(settings, connections, list(connections.values()))
    for connection in connections.values():
        connection.close()
    for _ in connections:
        os.wait()


if __name__ == "__main__":
    main()
