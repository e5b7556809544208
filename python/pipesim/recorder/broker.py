"""Carries values between the ranks, and sees when nothing more can be delivered.

The broker never blocks a sender, and a collective's values are there when all members have called
it. When every rank waits for a reply and none can be given, the job is quiescent. Under gloo's
rules the hosts would wait forever, so the record ends; under NCCL's rules a host does not wait for
a collective, so the lowest rank that waits in one gets a made-up value and goes on.

Answers that depend on who comes first (`add` and `check` of a store, a recv from any source,
`is_completed`) are given only when every rank waits, in the order of ranks, so that two recordings
give the same bytes.

No torch is needed here except for reductions (`values.reduce`), and no processes: the launcher
reads the pipes and calls `handle`.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, Optional, Union

from pipesim.recorder import messages as m

Waiting = Union[m.Need, m.Poll, m.StoreCall]

# So many times in a row nothing but questions may be answered: then the ranks ask forever, e.g.
# `while not work.is_completed()`.
_MAX_IDLE_ROUNDS = 2000

# Answered when all ranks wait, because the answer depends on who comes first.
_ORDERED_STORE_OPS = frozenset(
    "add append check compare_set count delete keys len pop push try_pop".split()
)


class _Meeting:
    """One collective: the calls that came, by rank, and its result once all are here."""

    def __init__(self, first: m.Collective) -> None:
        self.members = first.members
        self.calls: dict[int, m.Collective] = {}
        self.cache: Any = None

    def complete(self) -> bool:
        """All are here, and what they call fits."""
        if len(self.calls) < len(self.members):
            return False
        if len({call.signature for call in self.calls.values()}) > 1:
            return False
        return self._splits_fit()

    def _splits_fit(self) -> bool:
        if self.calls[self.members[0]].op != "all_to_all":
            return True
        calls = [self.calls[rank] for rank in self.members]
        return all(
            calls[i].splits[0][j] == calls[j].splits[1][i]
            for i in range(len(calls))
            for j in range(len(calls))
        )

    def result(self, rank: int) -> m.Parts:
        """What `rank` gets; None if it is not carried."""
        from pipesim.recorder import values

        ordered = [self.calls[member] for member in self.members]
        if any(call.values is None for call in ordered):
            return None
        if self.cache is None:
            self.cache = values.Combined(ordered)
        return self.cache.of(self.members.index(rank))


class Broker:
    """`send(rank, reply)` hands a reply to a rank; `own_values`: no values are carried at all."""

    def __init__(self, ranks: int, send: Callable[[int, m.Reply], None]) -> None:
        self._send = send
        self._running = set(range(ranks))
        self._waiting: dict[int, Waiting] = {}
        self._meetings: dict[tuple[str, int], _Meeting] = {}
        self._meeting_of: dict[tuple[int, int], _Meeting] = {}
        # Messages that wait for their other side: (channel, from, to) to calls in order.
        self._sends: dict[Any, collections.deque[m.Send]] = collections.defaultdict(
            collections.deque
        )
        self._recvs: dict[Any, collections.deque[tuple[int, int]]] = collections.defaultdict(
            collections.deque
        )
        self._any_source: dict[int, list[m.Recv]] = collections.defaultdict(list)
        self._received: dict[tuple[int, int], Optional[m.Reply]] = {}
        self._store: dict[str, bytes] = {}
        self._queues: dict[str, collections.deque[tuple[int, bytes]]] = collections.defaultdict(
            collections.deque
        )
        self._pushes: collections.Counter[str] = collections.Counter()
        # By key, the ranks that have waited for it, each with those that it has met in a barrier
        # since then: what they do comes later.
        self._waited: dict[str, dict[int, set[int]]] = collections.defaultdict(dict)
        self._idle_rounds = 0
        self._cut: Optional[str] = None  # why records end from now on, if not that all wait
        self.ends: dict[int, m.End] = {}

    @property
    def live(self) -> set[int]:
        """Ranks that have not ended."""
        return self._running | set(self._waiting)

    @property
    def running(self) -> set[int]:
        """Ranks that compute, sleep, or wait for something that the broker does not know."""
        return self._running

    def handle(self, rank: int, message: Any) -> None:
        """One message of a rank, in the order in which it sent them."""
        if not isinstance(message, (m.Poll, m.Need, m.StoreCall)):
            self._idle_rounds = 0
        if isinstance(message, m.Collective):
            self._arrive(rank, message)
        elif isinstance(message, m.Send):
            self._match_send(rank, message)
        elif isinstance(message, m.Recv):
            self._match_recv(rank, message)
        elif isinstance(message, m.End):
            self.end(rank, message)
        else:
            self._running.discard(rank)
            self._waiting[rank] = message
            self._answer(rank)

    def end(self, rank: int, end: m.End) -> None:
        """The rank is gone. Whoever waits for it after a cut is cut for the same reason."""
        if rank not in self.ends:
            self.ends[rank] = end
        self._running.discard(rank)
        self._waiting.pop(rank, None)
        if end.entry["end"] == "cut" and self._cut is None:
            self._cut = end.entry["why"]

    def settle(self) -> bool:
        """If all ranks wait, does what is possible then. False if one is running, or none left."""
        if self._running or not self._waiting:
            return False
        if self._answer_ordered():
            return True
        released = self._lowest_in_device_call()
        if released is not None and self._cut is None:
            self._reply(released, m.Reply(made_up=True))
            return True
        for rank in sorted(self._waiting):
            self._reply(rank, m.Reply(cut=self._cut or "rest"))
        return True

    # Collectives

    def _arrive(self, rank: int, call: m.Collective) -> None:
        meeting = self._meetings.setdefault((call.group, call.number), _Meeting(call))
        meeting.calls[rank] = call
        self._meeting_of[rank, call.call] = meeting
        if meeting.complete():
            del self._meetings[call.group, call.number]
            if call.op == "barrier":
                self._note_barrier(set(meeting.members))
            for member in meeting.members:
                self._answer(member)

    def _note_barrier(self, members: set[int]) -> None:
        for waits in self._waited.values():
            for rank, met in waits.items():
                if rank in members:
                    met |= members

    # Sends and receives

    def _match_send(self, rank: int, send: m.Send) -> None:
        key = (send.channel, rank, send.peer)
        if self._recvs[key]:
            receiver, call = self._recvs[key].popleft()
            self._deliver(receiver, call, rank, send)
        else:
            self._sends[key].append(send)

    def _match_recv(self, rank: int, recv: m.Recv) -> None:
        self._received[rank, recv.call] = None
        if recv.peer is None:
            self._any_source[rank].append(recv)
            return
        key = (recv.channel, recv.peer, rank)
        if self._sends[key]:
            self._deliver(rank, recv.call, recv.peer, self._sends[key].popleft())
        else:
            self._recvs[key].append((rank, recv.call))

    def _deliver(self, rank: int, call: int, source: int, send: m.Send) -> None:
        self._received[rank, call] = m.Reply(value=send.values, source=source)
        self._answer(rank)

    def _match_any_source(self, rank: int) -> bool:
        """Gives this rank's receives from any source the lowest rank that has sent something."""
        progress = False
        for recv in list(self._any_source[rank]):
            for key in sorted((k for k, sends in self._sends.items() if sends), key=repr):
                channel, source, destination = key
                if destination == rank and channel == recv.channel:
                    self._any_source[rank].remove(recv)
                    self._deliver(rank, recv.call, source, self._sends[key].popleft())
                    progress = True
                    break
        return progress

    # Replies

    def _reply(self, rank: int, reply: m.Reply) -> None:
        del self._waiting[rank]
        self._running.add(rank)
        self._send(rank, reply)

    def _answer(self, rank: int) -> None:
        """Replies to a rank that waits, if what it waits for is there."""
        waiting = self._waiting.get(rank)
        if isinstance(waiting, m.Need):
            reply = self._outcome(rank, waiting.call)
            if reply is not None:
                self._forget(rank, waiting.call)
                self._reply(rank, reply)
        elif isinstance(waiting, m.StoreCall) and waiting.op not in _ORDERED_STORE_OPS:
            self._answer_store(rank, waiting)

    def _outcome(self, rank: int, call: int) -> Optional[m.Reply]:
        meeting = self._meeting_of.get((rank, call))
        if meeting is not None:
            return m.Reply(value=meeting.result(rank)) if meeting.complete() else None
        if (rank, call) in self._received:
            return self._received[rank, call]
        return m.Reply()  # a send

    def _forget(self, rank: int, call: int) -> None:
        self._meeting_of.pop((rank, call), None)
        self._received.pop((rank, call), None)

    def _answer_store(self, rank: int, call: m.StoreCall) -> None:
        if call.op == "set":
            self._store[call.keys[0]] = call.value
            self._reply(rank, m.Reply())
            for other in sorted(self._waiting):
                self._answer(other)
        elif all(map(self._is_set, call.keys)):
            value = self._store[call.keys[0]] if call.op == "get" else None
            for key in call.keys:
                self._waited[key][rank] = {rank}
            self._reply(rank, m.Reply(value=value))

    def _is_set(self, key: str) -> bool:
        return key in self._store or bool(self._queues.get(key))

    # When every rank waits

    def _answer_ordered(self) -> bool:
        """Answers all questions where it matters who comes first, the lowest rank first."""
        asking = [r for r in sorted(self._waiting) if self._is_question(self._waiting[r])]
        progress = False
        for rank in sorted(self._any_source):
            if rank in self._waiting and self._match_any_source(rank):
                progress = True
        if progress:
            self._idle_rounds = 0
            return True
        self._idle_rounds += 1
        if not asking or self._idle_rounds > _MAX_IDLE_ROUNDS:
            return False
        for rank in asking:
            waiting = self._waiting[rank]
            if isinstance(waiting, m.Poll):
                done = self._outcome(rank, waiting.call) is not None
                self._reply(rank, m.Reply(value=done))
            elif isinstance(waiting, m.StoreCall) and self._is_question(waiting):
                self._reply(rank, m.Reply(value=self._ordered_store_call(rank, waiting)))
        for rank in sorted(self._waiting):
            self._answer(rank)
        return True

    def _is_question(self, waiting: Waiting) -> bool:
        """Whether there is an answer: a pop waits for a value."""
        if isinstance(waiting, m.StoreCall):
            if waiting.op == "pop":
                return bool(self._queues[waiting.keys[0]])
            return waiting.op in _ORDERED_STORE_OPS
        return isinstance(waiting, m.Poll)

    def _ordered_store_call(self, rank: int, call: m.StoreCall) -> Any:
        key = call.keys[0] if call.keys else ""
        if call.op == "add":
            if call.amount != 0:
                self._idle_rounds = 0
            total = int(self._store.get(key, b"0")) + call.amount
            self._store[key] = str(total).encode()
            return total
        if call.op == "check":
            return all(map(self._is_set, call.keys))
        if call.op == "delete":
            self._idle_rounds = 0
            return self._store.pop(key, None) is not None, self._may_be_waited_for(rank, key)
        if call.op == "count":
            return len(self._store)
        if call.op == "keys":
            return sorted(self._store)
        if call.op == "append":
            self._idle_rounds = 0
            self._store[key] = self._store.get(key, b"") + call.value
            return None
        if call.op in ("push", "pop", "try_pop", "len"):
            return self._queue_call(call)
        # compare_set, as TCPStore: a key that is not there is set if nothing was expected.
        old = self._store.get(key)
        if old == call.expected or (old is None and not call.expected):
            self._idle_rounds = 0
            self._store[key] = call.value
            return call.value
        return call.expected if old is None else old

    def _may_be_waited_for(self, rank: int, key: str) -> bool:
        """Whether another rank's wait for this key may as well come after its deletion."""
        return any(rank not in met for met in self._waited.pop(key, {}).values())

    def _queue_call(self, call: m.StoreCall) -> Any:
        """A push returns the number of its value in the queue, a pop that and the value."""
        key = call.keys[0]
        queue = self._queues[key]
        if call.op == "len":
            return len(queue)
        if call.op == "push":
            self._pushes[key] += 1
            queue.append((self._pushes[key], call.value))
        elif not queue:
            return None
        self._idle_rounds = 0
        return self._pushes[key] if call.op == "push" else queue.popleft()

    def _lowest_in_device_call(self) -> Optional[int]:
        for rank in sorted(self._waiting):
            waiting = self._waiting[rank]
            if isinstance(waiting, m.Need) and waiting.device:
                return rank
        return None
