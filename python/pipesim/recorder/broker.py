"""A broker that carries values between the ranks, and detects when nothing more can be delivered.

The broker never blocks a sender, and a rank gets its result as soon as the ranks whose values it
needs have called. When all threads of all ranks wait and no reply can be given, the job is
quiescent. Under gloo's rules the hosts would wait forever, so the record ends. Under NCCL's rules a
host does not wait for a collective, so the lowest rank that waits in a collective gets a made-up
value and continues.

Some answers depend on which rank comes first: `add` and `check` of a store, a recv from any source,
`is_completed`. The broker gives these answers only when all threads wait, in the order of ranks, so
that two recordings give the same bytes. Threads other than a rank's main thread call one at a time,
each when all threads wait.

The broker needs torch only for reductions (`values.reduce`), and needs no processes: the launcher
reads the pipes and calls `handle`.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection
from typing import Any, Optional

from pipesim.recorder import messages as m
from pipesim.recorder.tasks import Standing

# Maximum number of consecutive rounds in which the broker only answers questions (see
# `_answer_ordered`). More rounds mean that the ranks ask forever, e.g.
# `while store.add("ready", 0) < 2`.
_MAX_IDLE_ROUNDS = 2000

# Store ops that are answered only when all threads wait, because the answer depends on which rank
# comes first.
_ORDERED_STORE_OPS = frozenset(
    "set add append check compare_set count delete keys len pop push try_pop".split()
)

# Collectives whose values come from the root alone, and collectives with a result on the root only.
_FROM_ROOT = frozenset({"broadcast", "scatter"})
_TO_ROOT = frozenset({"gather", "reduce"})

# Collectives that combine the elements of several ranks.
_REDUCES = frozenset({"all_reduce", "reduce", "reduce_scatter"})

# A thread that asks: its rank, and its path in the rank (see `messages.Question`).
Asker = tuple[int, tuple[int, ...]]


class _Meeting:
    """One collective: the calls made so far, by rank, and the result after the last call."""

    def __init__(self, first: m.Collective) -> None:
        self.group, self.members = first.group, first.members
        self.calls: dict[int, m.Collective] = {}
        # For each wait for a key before these calls: the ranks met since then.
        self.met: list[set[int]] = []
        self.cache: Any = None
        self._is_complete: Optional[bool] = None  # known after the last call

    def complete(self) -> bool:
        """Whether all members have called, and their calls match."""
        if self._is_complete is None and len(self.calls) == len(self.members):
            self._is_complete = self._fits(self.calls.values())
        return bool(self._is_complete)

    def joined(self) -> set[int]:
        return {member for member, made in self.calls.items() if not made.alone}

    def awaited(self, rank: int) -> set[int]:
        """Returns the members that a rank waits for in gloo, the rank included."""
        own, size = self.calls[rank], len(self.members)
        place = (self.members.index(rank) - own.root) % size  # in the order from the root
        if own.alone:
            return set()
        if own.op == "broadcast":  # a binomial tree: ancestors lack the highest bits of a place
            highest = place.bit_length()
            places = {place & ((1 << bit) - 1) for bit in range(highest)} | {place}
            places |= {place + (1 << bit) for bit in range(highest, size.bit_length())}
        elif own.op in ("gather", "scatter") and place:
            places = {0, place}
        else:
            places = set(range(size))
        return {self.members[(own.root + at) % size] for at in places if at < size}

    def outcome(self, rank: int) -> Optional[m.Reply]:
        """Returns the reply to `rank`, or None if it has to wait. A reply that does not need the
        calls of all members is the same before and after the last call."""
        own = self.calls[rank]
        if own.alone:
            return m.Reply(value=[b"" for _ in own.types])
        root = self.members[own.root]
        if own.op in _TO_ROOT and rank != root:
            return m.Reply(value=[])
        if own.op in _FROM_ROOT and root in self.calls and self._fits([own, self.calls[root]]):
            from pipesim.recorder import values

            return m.Reply(value=values.from_root(self.calls[root], self.members.index(rank)))
        return m.Reply(value=self._result(rank)) if self.complete() else None

    def _fits(self, calls: Collection[m.Collective]) -> bool:
        if len({call.signature for call in calls}) > 1:
            return False
        first = next(iter(calls))
        if first.op != "all_to_all":
            root = self.calls.get(self.members[first.root])
            return root is None or all(_is_filled(root, call) for call in calls)
        ordered = [self.calls[rank] for rank in self.members]
        gives_and_takes = [
            (ordered[i].splits[0][j], ordered[j].splits[1][i])
            for i in range(len(ordered))
            for j in range(len(ordered))
        ]
        if first.size is None:
            return all(gives == takes for gives, takes in gives_and_takes)
        return all(gives <= takes for gives, takes in gives_and_takes)

    def _result(self, rank: int) -> m.Parts:
        """Returns the result of `rank`, or None if values were not carried."""
        if self.cache is None:
            from pipesim.recorder import values

            ordered = [self.calls[member] for member in self.members]
            if any(call.values is None for call in ordered):
                return None
            if ordered[0].op in _REDUCES and len({call.types for call in ordered}) > 1:
                return None  # gloo reduces the bytes of one rank as the type of another
            self.cache = values.Combined(ordered)
        return self.cache.of(self.members.index(rank))


class Broker:
    """The broker of one recording. `send(rank, reply)` passes a reply to a rank.

    `standing(rank, asking, helpers)` returns the state of the rank's threads; `asking` are the
    tasks that wait for a reply, `helpers` the tasks that never call."""

    def __init__(
        self,
        ranks: int,
        send: Callable[[int, m.Reply], None],
        standing: Callable[[int, Collection[int], Collection[int]], Standing] = lambda *_: (
            Standing.BLOCKED
        ),
    ) -> None:
        self._send = send
        self._standing = standing
        self._live = set(range(ranks))
        self._waiting: dict[Asker, m.Question] = {}
        # Replies to threads other than the main thread: sent one at a time, when all threads wait.
        self._ready: dict[Asker, m.Reply] = {}
        # Incomplete collectives. Groups of other members can have the same name.
        self._meetings: dict[tuple[str, int, tuple[int, ...]], _Meeting] = {}
        self._meeting_of: dict[tuple[int, int], _Meeting] = {}
        # Unmatched sends and recvs in the order of their calls, by (channel, from, to).
        self._sends: dict[Any, collections.deque[m.Send]] = collections.defaultdict(
            collections.deque
        )
        self._recvs: dict[Any, collections.deque[tuple[int, int]]] = collections.defaultdict(
            collections.deque
        )
        self._any_source: dict[int, list[m.Recv]] = collections.defaultdict(list)
        self._received: dict[tuple[int, int], Optional[m.Reply]] = {}
        self._freed: set[tuple[int, str]] = set()  # groups that ranks have destroyed and freed
        self._store: dict[str, bytes] = {}
        self._queues: dict[str, collections.deque[tuple[int, bytes]]] = collections.defaultdict(
            collections.deque
        )
        self._pushes: collections.Counter[str] = collections.Counter()
        # Ranks that have waited for a key, by key; each with the ranks that it has met in a barrier
        # since then. Later calls of these ranks come after the wait.
        self._waited: dict[str, dict[int, set[int]]] = collections.defaultdict(dict)
        self._setters: dict[str, Asker] = {}  # the last thread that set a key, by key
        self._idle_rounds = 0
        self.started = set(range(ranks))  # with one_by_one, only the ranks that have begun
        self._standings: dict[int, Standing] = {}  # by rank, when all threads last waited
        self.ends: dict[int, m.End] = {}

    @property
    def live(self) -> set[int]:
        """Returns the ranks that have not ended."""
        return set(self._live)

    @property
    def running(self) -> set[int]:
        """Returns the ranks that compute, sleep, or wait for something outside the broker."""
        return (self._live & self.started) - {rank for rank, _ in self._waiting}

    @property
    def unsettled(self) -> bool:
        """Whether all ranks ask, but another thread may continue by itself."""
        return any(standing is not Standing.BLOCKED for standing in self._standings.values())

    @property
    def _cut(self) -> Optional[str]:
        """Returns the reason for which the lowest rank was cut, or None if no rank was cut."""
        ends = [end.entry for _, end in sorted(self.ends.items())]
        return next((end["why"] for end in ends if end["end"] == "cut"), None)

    def handle(self, rank: int, message: Any) -> None:
        """Handles the next message of a rank, in the order in which the rank sent its messages."""
        if not isinstance(message, m.Question):
            self._idle_rounds = 0
        if isinstance(message, m.Collective):
            self._arrive(rank, message)
        elif isinstance(message, m.Send):
            self._match_send(rank, message)
        elif isinstance(message, m.Recv):
            self._match_recv(rank, message)
        elif isinstance(message, m.Freed):
            self._freed.add((rank, message.group))
        elif isinstance(message, m.End):
            self.end(rank, message)
        else:
            self._waiting[rank, message.thread] = message
            self._answer((rank, message.thread))

    def end(self, rank: int, end: m.End) -> None:
        """Removes a rank that has ended. After a cut, all ranks that can no longer continue are cut
        for the same reason."""
        if rank not in self.ends:
            self.ends[rank] = end
        self._live.discard(rank)
        for asker in [asker for asker in self._waiting if asker[0] == rank]:
            del self._waiting[asker]
            self._ready.pop(asker, None)

    def settle(self) -> bool:
        """Gives the replies that are possible only when all threads wait; if there is none, gives
        up. Returns False if a thread may still continue by itself, or if no rank waits."""
        if not self._all_wait():
            return False
        if self._let_one_go_on() or self._answer_ordered() or self._end_abandoned():
            return True
        if self.unsettled or not self._live <= self.started:
            return False
        self.give_up()
        return True

    def _all_wait(self) -> bool:
        """Whether some rank waits, and no thread of any rank runs."""
        self._standings = {}
        if self.running or not self._waiting:
            return False
        ranks = sorted(self._live & self.started)
        self._standings = {rank: self._standing_of(rank) for rank in ranks}
        return Standing.RUNS not in self._standings.values()

    def give_up(self) -> None:
        """Handles a quiescent job: the thread whose timeout is the shortest continues, else the
        lowest rank in a call where NCCL would not block its host. If there is none, or a rank was
        cut, all ranks end."""
        cut = self._cut
        late = self._first_that_is_late()
        if late is not None and cut is None:
            self._reply(late, m.Reply(late=True))
            return
        released = self._lowest_in_device_call()
        if released is not None and cut is None:
            self._reply(released, m.Reply(made_up=True))
            return
        for rank in sorted(self._live):
            askers = sorted(asker for asker in self._waiting if asker[0] == rank)
            if askers:
                running = self._standings.get(rank, Standing.BLOCKED) is not Standing.BLOCKED
                self._reply(askers[0], m.Reply(cut=cut or "rest", running=running))

    def _standing_of(self, rank: int) -> Standing:
        asked = [question for asker, question in self._waiting.items() if asker[0] == rank]
        if all(question.alone for question in asked):
            return Standing.BLOCKED
        tasks = {question.task for question in asked}
        helpers: set[int] = set().union(*(question.helpers for question in asked))
        return self._standing(rank, tasks, helpers)

    # Collectives

    def _arrive(self, rank: int, call: m.Collective) -> None:
        self._freed.discard((rank, call.group))  # a new group can have the name of an old one
        key = (call.group, call.number, call.members)
        meeting = self._meetings.setdefault(key, _Meeting(call))
        meeting.calls[rank] = call
        if call.op == "barrier":
            meeting.met += [waits[rank] for waits in self._waited.values() if rank in waits]
        self._meeting_of[rank, call.call] = meeting
        if meeting.complete():
            del self._meetings[key]
            for met in meeting.met:
                met.update(meeting.members)
        elif call.op not in _FROM_ROOT and call.op not in _TO_ROOT:
            return  # no rank gets a result before the last call
        for member in meeting.members:
            self._answer_rank(member)

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
        self._answer_rank(rank)

    def _match_any_source(self, rank: int) -> bool:
        """Matches this rank's recvs from any source with the lowest rank that has sent to it."""
        progress = False
        for recv in list(self._any_source[rank]):
            sources = [
                source
                for (channel, source, destination), sends in self._sends.items()
                if sends and destination == rank and channel == recv.channel
            ]
            if sources:
                source = min(sources)
                self._any_source[rank].remove(recv)
                sends = self._sends[recv.channel, source, rank]
                self._deliver(rank, recv.call, source, sends.popleft())
                progress = True
        return progress

    # Replies

    def _reply(self, asker: Asker, reply: m.Reply) -> None:
        del self._waiting[asker]
        self._ready.pop(asker, None)
        rank, reply.thread = asker
        self._send(rank, reply)

    def _answer_rank(self, rank: int) -> None:
        askers = [asker for asker in self._waiting if asker[0] == rank]
        for asker in sorted(askers) if len(askers) > 1 else askers:
            self._answer(asker)

    def _answer(self, asker: Asker) -> None:
        """Replies to a waiting thread if its result is available."""
        rank, thread = asker
        waiting = self._waiting.get(asker)
        reply: Optional[m.Reply] = None
        if asker in self._ready:
            return
        if isinstance(waiting, m.Need):
            if not (waiting.closes and self._lacks(rank, waiting.call)):
                reply = self._outcome(rank, waiting.call)
            if reply is not None:
                self._forget(rank, waiting.call)
        elif isinstance(waiting, m.StoreCall) and waiting.op not in _ORDERED_STORE_OPS:
            reply = self._stored(rank, waiting)
        elif isinstance(waiting, m.Poll) and waiting.forever and self._is_done(rank, waiting.call):
            reply = m.Reply(value=True)
        if reply is None:
            return
        if thread or waiting.races:
            self._ready[asker] = reply
        else:
            self._reply(asker, reply)

    def _outcome(self, rank: int, call: Optional[int]) -> Optional[m.Reply]:
        if call is None:
            return None
        meeting = self._meeting_of.get((rank, call))
        if meeting is not None:
            return meeting.outcome(rank)
        if (rank, call) in self._received:
            return self._received[rank, call]
        return m.Reply()  # a send has no result

    def _is_abandoned(self, asker: Asker) -> bool:
        """Whether the thread waits, at an exit or a destroy, for a collective that a member will
        never make: the member has ended or has freed the group, and so has closed its
        connections."""
        need = self._waiting[asker]
        if not isinstance(need, m.Need) or not need.closes:
            return False
        closed = {rank for rank, group in self._freed if group == self._group_of(asker[0], need)}
        return bool(self._lacks(asker[0], need.call) - (self._live - closed))

    def _group_of(self, rank: int, need: m.Need) -> str:
        meeting = self._meeting_of.get((rank, need.call or 0))
        return meeting.group if meeting is not None else ""

    def _lacks(self, rank: int, call: Optional[int]) -> set[int]:
        """Returns the members that `rank` waits for in gloo's collective, and that have not made
        the call."""
        meeting = self._meeting_of.get((rank, call or 0))
        return meeting.awaited(rank) - meeting.joined() if meeting is not None else set()

    def _forget(self, rank: int, call: Optional[int]) -> None:
        if call is None:
            return
        self._meeting_of.pop((rank, call), None)
        self._received.pop((rank, call), None)

    def _stored(self, rank: int, call: m.StoreCall) -> Optional[m.Reply]:
        """Returns the reply to a `get` or `wait`, or None if a key is not set."""
        if not all(map(self._is_set, call.keys)):
            return None
        for key in call.keys:
            self._waited[key][rank] = {rank}
        return m.Reply(value=self._store[call.keys[0]] if call.op == "get" else None)

    def _is_set(self, key: str) -> bool:
        return key in self._store or bool(self._queues.get(key))

    # When all wait

    def _let_one_go_on(self) -> bool:
        """Replies to one thread whose result is ready, else to one that asks for its turn. Main
        threads come last. Returns whether there was such a thread."""
        if self._ready:
            first = min(self._ready, key=_by_thread)
            self._reply(first, self._ready[first])
            return True
        asking = [asker for asker, q in self._waiting.items() if isinstance(q, m.Turn)]
        if not asking:
            return False
        self._reply(min(asking, key=_by_thread), m.Reply())
        return True

    def _answer_ordered(self) -> bool:
        """Answers all questions whose answer depends on which rank comes first, in the order of
        ranks. Returns whether it has delivered or answered anything."""
        asking = sorted(asker for asker, q in self._waiting.items() if self._is_ordered(q))
        progress = False
        for rank in sorted(self._any_source):
            if rank in self._live and self._match_any_source(rank):
                progress = True
        if progress:
            self._idle_rounds = 0
            return True
        self._idle_rounds += 1
        if not asking or self._idle_rounds > _MAX_IDLE_ROUNDS:
            return False
        for asker in asking:
            waiting = self._waiting[asker]
            if isinstance(waiting, m.Poll):
                self._reply(asker, m.Reply(value=self._is_done(asker[0], waiting.call)))
            elif isinstance(waiting, m.StoreCall) and self._is_ordered(waiting):
                value = self._ordered_store_call(asker, waiting)
                self._reply(asker, m.Reply(value=value))
        for asker in sorted(self._waiting):
            self._answer(asker)
        return True

    def _is_ordered(self, question: m.Question) -> bool:
        """Whether the answer is available, and depends on which rank comes first. A pop waits for a
        value."""
        if isinstance(question, m.Poll):
            return not question.forever
        if isinstance(question, m.StoreCall) and question.op == "pop":
            return bool(self._queues[question.keys[0]])
        return isinstance(question, m.StoreCall) and question.op in _ORDERED_STORE_OPS

    def _is_done(self, rank: int, call: Optional[int]) -> bool:
        """Whether `is_completed` of the call's Work is true: a collective needs all members."""
        if call is None:
            return False
        meeting = self._meeting_of.get((rank, call))
        return meeting.complete() if meeting else self._outcome(rank, call) is not None

    def _ordered_store_call(self, asker: Asker, call: m.StoreCall) -> Any:
        key = call.keys[0] if call.keys else ""
        if call.op == "set":
            self._idle_rounds = 0
            setter = self._setters.setdefault(key, asker)
            differs = setter != asker and self._store.get(key, call.value) != call.value
            self._store[key], self._setters[key] = call.value, asker
            return differs
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
            return self._store.pop(key, None) is not None, self._may_be_waited_for(asker[0], key)
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
        # compare_set follows TCPStore: a missing key is set if the expected value is empty.
        old = self._store.get(key)
        if old == call.expected or (old is None and not call.expected):
            self._idle_rounds = 0
            self._store[key] = call.value
            return call.value
        return call.expected if old is None else old

    def _may_be_waited_for(self, rank: int, key: str) -> bool:
        """Whether another rank's wait for this key can also come after the deletion of the key."""
        return any(rank not in met for met in self._waited.pop(key, {}).values())

    def _queue_call(self, call: m.StoreCall) -> Any:
        """Makes one call of a queue. A push returns the number of its value, from 1; a pop returns
        this number and the value."""
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

    def _end_abandoned(self) -> bool:
        """Ends the waits that gloo ends because another rank has ended. Returns whether there was
        such a wait."""
        abandoned = [asker for asker in sorted(self._waiting) if self._is_abandoned(asker)]
        for asker in abandoned:
            self._reply(asker, m.Reply(late=True))
        return bool(abandoned)

    def _first_that_is_late(self) -> Optional[Asker]:
        """Returns the thread with the shortest timeout; if several are equal, the lowest rank's."""
        timed = [
            (question.seconds, asker)
            for asker, question in self._waiting.items()
            if isinstance(question, (m.Need, m.StoreCall)) and question.seconds is not None
        ]
        return min(timed)[1] if timed else None

    def _lowest_in_device_call(self) -> Optional[Asker]:
        for asker in sorted(self._waiting):
            waiting = self._waiting[asker]
            if isinstance(waiting, m.Need) and waiting.device:
                return asker
        return None


def _is_filled(root: m.Collective, call: m.Collective) -> bool:
    """Whether the data sent between `call` and `root` fits into the receiver's buffer."""
    if root.size is None or call.size is None:
        return True
    return call.size <= root.size if root.op == "gather" else root.size <= call.size


def _by_thread(asker: Asker) -> tuple[bool, tuple[int, ...], int]:
    """Returns a sort key: main threads last, and equal threads in the order of ranks."""
    rank, thread = asker
    return not thread, thread, rank
