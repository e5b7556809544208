"""One explored run, without processes for the part that is already known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pipesim.explorer.broker import Choice, ExploringBroker
from pipesim.explorer.lives import Lives, Node
from pipesim.explorer.order import Objects
from pipesim.recorder import messages as m


class Run:
    """A run, and its end: `ends` by rank, unless the broker has pruned it."""

    def __init__(
        self, lives: Lives, plan: Sequence[Choice], asleep: Mapping[Choice, Objects],
        kinds: Collection[str], bounds: set[str],
    ) -> None:  # fmt: skip
        self._lives = lives
        self._replies: dict[int, m.Reply] = {}
        self._nodes: dict[int, Node] = {}
        self.inits: dict[int, m.Init] = {}
        self.broker = ExploringBroker(len(lives.roots), self._send, plan, asleep, kinds, bounds)

    def _send(self, rank: int, reply: m.Reply) -> None:
        self._replies[rank] = reply

    def go(self) -> None:
        """Runs until all ranks have ended, or the broker ends the run."""
        self._hear(self._lives.begin())
        broker = self.broker
        while broker.live and not broker.is_over:
            if self._replies:
                replies, self._replies = sorted(self._replies.items()), {}
                self._hear(self._lives.advance([(self._nodes[r], reply) for r, reply in replies]))
            elif not broker.settle():
                raise RuntimeError("bug in pipesim: no rank can be answered")

    def _hear(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._nodes[node.rank] = node
            for message in node.messages or ():
                if isinstance(message, m.Init):
                    self.inits[node.rank] = message
                else:
                    self.broker.handle(node.rank, message)
