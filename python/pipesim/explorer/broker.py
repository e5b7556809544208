"""The broker of one explored run. It answers one question at a time: first with the answers of its
plan, then with the usual answers.

The usual answer is one that makes progress; else "not yet", if that is the only answer; else the
answer to a question that was asked before while nothing happened; else one that ends a wait: a
timeout, a deadline. So time passes only if nothing else can happen.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from pipesim.explorer.order import ADD, READ, WRITE, Clock, Objects, Order, dependent
from pipesim.recorder import messages as m
from pipesim.recorder.broker import Asker as Thread
from pipesim.recorder.broker import Broker
from pipesim.recorder.tasks import Standing

_MAX_NOT_YET = 2  # consecutive "not yet" answers of one kind that are tried one by one
_LONG = 300  # length of the one longer series of "not yet" answers
_MAX_LAPS = 3  # comparisons with a clock at one line that are free
_MAX_JUMPS = 2  # readings of a clock at one line that can be much later
_MAX_LAPS_IN_ALL = 30  # number of such comparisons after which the deadline has passed
_MAX_IDLE = 30  # comparisons with a clock at one line while nothing happens, until time passes
_MAX_IDLE_ROUNDS = 300

_KINDS_OF_CHOICES = {
    "clock": "clocks", "jump": "clocks", "random": "random", "queue": "queues", "thread": "threads",
    "file": "files", "node": "files", "set": "sets", "data": "data", "fault": "faults",
}  # fmt: skip
_KINDS_OF_QUESTIONS: tuple[tuple[Any, str], ...] = (
    (m.Poll, "polls"), (m.StoreCall, "stores"), (m.Need, "timeouts"), (m.Turn, "threads"),
    (None, "sources"),
)  # fmt: skip

GO, DONE, NOT_YET, NOT_FOR_LONG, TIMED_OUT = (
    "goes",
    "done",
    "not yet",
    "not yet, for long",
    "timed out",
)
_NEGATIVE = (NOT_YET, NOT_FOR_LONG)
_NEXT_CALL = "turn of a thread"


class Choice(NamedTuple):
    """A step of a plan: the question that is answered, and its answer. `who` is a rank, `1.2` for
    its second thread, or `1?` for its recv from any source."""

    who: str
    answer: str


@dataclasses.dataclass
class Asker:
    """A question that can be answered now."""

    who: str
    rank: int
    thread: Thread
    answers: tuple[str, ...]  # the usual one first
    about: str
    at: str
    question: Optional[m.Question] = None  # a recv from any source has none
    late: bool = False  # the usual answer ends a wait
    negative: bool = False  # the only answer is "not yet"
    idle: bool = False  # asked and answered like this before, and nothing has happened since

    @property
    def key(self) -> tuple[str, str, str]:
        return self.who, self.about, self.at

    @property
    def kind(self) -> str:
        """Returns the kind of the answer, as in `KINDS`."""
        question = self.question
        if self.about == _NEXT_CALL:
            return "threads"
        if isinstance(question, m.Choice):
            return _KINDS_OF_CHOICES[question.kind]
        return next(
            kind
            for asked, kind in _KINDS_OF_QUESTIONS
            if asked is None or isinstance(question, asked)
        )


@dataclasses.dataclass
class Step:
    """A question that was answered."""

    choice: Choice
    usual: Choice
    askers: dict[str, Asker]
    asleep: dict[Choice, Objects]
    count: float  # number of the event of its rank
    objects: set[tuple[Any, str]] = dataclasses.field(default_factory=set)

    @property
    def asker(self) -> Asker:
        return self.askers[self.choice.who]

    @property
    def is_unusual(self) -> bool:
        return self.choice != self.usual


class ExploringBroker(Broker):
    """The broker of one run. `plan`: the first choices. `asleep`: choices that need not come first
    after the plan's beginning, because they were explored there; each with the objects that it
    used."""

    def __init__(
        self, ranks: int, send: Callable[[int, m.Reply], None], plan: Sequence[Choice],
        asleep: Mapping[Choice, Objects], kinds: Collection[str], bounds: set[str],
        standing: Callable[..., Standing] = lambda *_: Standing.BLOCKED,
    ) -> None:  # fmt: skip
        super().__init__(ranks, send, standing)
        self._plan, self._asleep, self._kinds, self.bounds = plan, dict(asleep), kinds, bounds
        self.order = Order(ranks)
        self.steps: list[Step] = []
        self.pruned = False  # all that could follow was explored elsewhere
        self.diverged = False  # the plan's next choice did not exist
        self.made_up = False
        self.wrote = False  # a rank has changed a file
        self.stuck: dict[int, str] = {}  # line of each rank that waits forever
        self._texts: dict[tuple[int, int], str] = {}  # words for calls
        self._random: set[tuple[int, Optional[int]]] = set()  # calls with random numbers
        self._arrivals: dict[Any, dict[int, Clock]] = collections.defaultdict(dict)
        self._results: dict[Any, Clock] = {}  # clocks after complete collectives
        self._sent: dict[tuple[int, int], Clock] = {}  # clocks of sends
        self._got: dict[tuple[int, int], Clock] = {}  # by recv: the clock of its send
        self._reads_clock: set[int] = set()
        self._answered: dict[str, int] = {}  # by asker: its last step
        self._said: dict[Any, tuple[str, int, int]] = {}  # answer, version, times in a row
        self._not_yet: collections.Counter[Any] = collections.Counter()
        self._long: collections.Counter[Any] = collections.Counter()
        self._was_long: set[Any] = set()
        self._laps: collections.Counter[Any] = collections.Counter()
        self._lap_at: dict[Any, int] = {}
        self._jumps: collections.Counter[Any] = collections.Counter()
        self._on_node: dict[Any, str] = {}  # answers about a file on a node
        self._calls: collections.Counter[int] = collections.Counter()
        self._creators: dict[str, int] = {}  # by key: the step that has set it first
        self._version = 0  # counts what can change an answer
        self._idle = 0  # idle answers in a row

    # Messages

    def handle(self, rank: int, message: Any) -> None:
        self.order.event(rank, getattr(message, "now", 0.0))
        self.wrote |= getattr(message, "wrote", False)
        if isinstance(message, m.Choice) and message.kind in ("clock", "jump"):
            self._reads_clock.add(rank)
        if isinstance(message, (m.Collective, m.Send, m.Recv, m.End)):
            self._version += 1
            self._calls[rank] += 1
        if getattr(message, "random", False):
            self._random.add((rank, message.call))
        if isinstance(message, m.Send):
            self._texts[rank, message.call] = f"send to rank {message.peer}"
            self._access(rank, ("inbox", message.peer, message.channel), ADD, "send")
            self._sent[rank, message.call] = dict(self.order.clocks[rank])
        elif isinstance(message, m.Recv):
            source = "any source" if message.peer is None else f"rank {message.peer}"
            self._texts[rank, message.call] = f"recv from {source}"
        elif isinstance(message, m.Collective):
            self._texts[rank, message.call] = f"{message.op} #{message.number}"
            name = _work(message)
            self._access(rank, name, ADD, f"{message.op} #{message.number}")
            self._arrivals[name][rank] = dict(self.order.clocks[rank])
        super().handle(rank, message)

    def _outcome(self, rank: int, call: Optional[int]) -> Optional[m.Reply]:
        reply = super()._outcome(rank, call)
        if reply is not None and self._random:
            meeting = self._meeting_of.get((rank, call or 0))
            calls = {(rank, call)}
            if meeting is not None:
                calls = {(member, made.call) for member, made in meeting.calls.items()}
            reply.random = not calls.isdisjoint(self._random)
        return reply

    def _deliver(self, rank: int, call: int, source: int, send: m.Send) -> None:
        if send.random:
            self._random.add((rank, call))
        self._got[rank, call] = self._sent[source, send.call]
        super()._deliver(rank, call, source, send)

    def _answer(self, asker: Thread) -> None:
        question = self._waiting.get(asker)
        if isinstance(question, m.Need) and not self._is_timed(question):
            if self._outcome(asker[0], question.call) is not None:
                self._learn(asker[0], question.call)
            super()._answer(asker)
        elif isinstance(question, m.Poll) and question.forever:
            if self._is_done(asker[0], question.call):
                self._learn(asker[0], question.call)
            super()._answer(asker)

    def _learn(self, rank: int, call: Optional[int]) -> None:
        """Orders what led to the result of a call before what the rank does next."""
        meeting = self._meeting_of.get((rank, call or 0))
        if meeting is None:
            self.order.join(rank, self._got.get((rank, call or 0), {}))
            return
        own = meeting.calls[rank]
        clocks = self._arrivals[_work(own)]
        root = own.members[own.root]
        if own.op in ("broadcast", "scatter"):
            self.order.join(rank, clocks.get(root, {}))
        elif own.op not in ("gather", "reduce") or rank == root:
            self.order.join(rank, self._joined(_work(own), clocks.values()))

    def _joined(self, name: Any, clocks: Iterable[Clock]) -> Clock:
        """Returns the joined clocks of all members of a complete collective."""
        if name not in self._results:
            result: Clock = {}
            for clock in clocks:
                for key, value in clock.items():
                    result[key] = max(result.get(key, 0.0), value)
            self._results[name] = result
        return self._results[name]

    def _is_timed(self, question: Any) -> bool:
        return question.seconds is not None and "timeouts" in self._kinds

    def _reply(self, asker: Thread, reply: m.Reply) -> None:
        rank = asker[0]
        if rank in self._reads_clock:  # else its time changes nothing, and its replies stay equal
            reply.now = self.order.clocks[rank]["now"]
        super()._reply(asker, reply)

    def _access(
        self, rank: int, name: Any, way: str, about: str, step: Optional[int] = None,
        enabled_by: int = -1,
    ) -> None:  # fmt: skip
        if self.steps:
            self.steps[-1].objects.add((name, way))
        self.order.access(rank, name, way, about, step, enabled_by)

    @property
    def is_over(self) -> bool:
        """Whether the run ends here, although ranks have not ended."""
        return self.pruned or self.diverged

    # One answer

    def settle(self) -> bool:
        if self.is_over or not self._all_wait():
            return False
        if self._cut is not None:
            self.give_up()
            return True
        askers = {asker.who: asker for asker in self._askers()}
        if self.steps and len(self.steps) >= len(self._plan):
            self._wake()
        choice, usual = self._next(askers)
        if choice is None:
            return self._end()
        asker = askers[choice.who]
        count = self.order.event(asker.rank)
        asleep = dict(self._asleep) if len(self.steps) >= len(self._plan) else {}
        self.steps.append(Step(choice, usual, askers, asleep, count))
        self._answered[choice.who] = len(self.steps)
        said, version, times = self._said.get(asker.key, ("", -1, 0))
        before = self._version
        same = (said, version) == (choice.answer, before)
        self._idle = self._idle + 1 if same else 0
        self._perform(asker, choice.answer)
        self._said[asker.key] = (choice.answer, before, times + 1 if same else 1)
        return True

    def _wake(self) -> None:
        """Wakes the sleeping choices that depend on the last step."""
        done = self.steps[-1]
        rank, objects = done.asker.rank, frozenset(done.objects)
        self._asleep = {
            choice: used for choice, used in self._asleep.items()
            if rank_of(choice.who) != rank and not dependent(used, objects)
        }  # fmt: skip

    def _next(self, askers: Mapping[str, Asker]) -> tuple[Optional[Choice], Choice]:
        """Returns the next choice, if there is one, and the usual choice."""
        best = self._best(list(askers.values()))
        usual = Choice("", "") if best is None else Choice(best.who, self._answer_of(best))
        here = len(self.steps)
        if here < len(self._plan):
            planned = self._plan[here]
            asker = askers.get(planned.who)
            if asker is None or planned.answer not in asker.answers:
                self.diverged = True
                return None, usual
            return planned, usual
        if best is None:
            return None, usual
        awake = []
        for asker in askers.values():
            left = tuple(a for a in asker.answers if Choice(asker.who, a) not in self._asleep)
            if left:
                awake.append(dataclasses.replace(asker, answers=left))
        chosen = self._best(awake)
        if chosen is None:
            self.pruned = True
            return None, usual
        return Choice(chosen.who, self._answer_of(chosen)), usual

    def _answer_of(self, asker: Asker) -> str:
        """Returns the usual answer. For a rank that only reads its clock, the usual answer lets
        time pass."""
        question = asker.question
        if asker.idle and isinstance(question, m.Choice) and question.late:
            return asker.answers[-1]
        return asker.answers[0]

    def _best(self, askers: Sequence[Asker]) -> Optional[Asker]:
        def group(asker: Asker) -> int:
            passes = asker.idle and isinstance(asker.question, m.Choice) and asker.question.late
            return 3 if asker.late or passes else 2 if asker.idle else int(asker.negative)

        ranked = sorted(
            askers, key=lambda a: (group(a), self._answered.get(a.who, -1), a.rank, a.who)
        )
        if not ranked or group(ranked[0]) != 2 or self._idle <= 3 * len(askers):
            return ranked[0] if ranked else None
        late = [asker for asker in ranked if group(asker) == 3]
        if late:
            return late[0]
        return ranked[0] if self._idle <= _MAX_IDLE_ROUNDS * len(askers) else None

    # Questions

    def _askers(self) -> list[Asker]:
        found = []
        for rank in sorted(self._any_source):
            sources = self._sources(rank) if rank in self._live else []
            if sources:
                at = next((q.at for (r, _), q in self._waiting.items() if r == rank), "")
                answers = tuple(f"rank {source}" for source in sources)
                about = "recv from any source"
                found.append(Asker(f"{rank}?", rank, (rank, ()), answers, about, at))
        for thread in sorted(self._waiting):
            asker = self._asker(thread, self._waiting[thread])
            if asker is not None:
                said, version, times = self._said.get(asker.key, ("", -1, 0))
                often = _MAX_IDLE if getattr(asker.question, "kind", "") == "clock" else 1
                same = (said, version) == (asker.answers[0], self._version)
                asker.idle = same and times >= often
                found.append(asker)
        return found

    def _asker(self, thread: Thread, question: m.Question) -> Optional[Asker]:
        rank, path = thread
        who = ".".join(map(str, (rank, *path)))

        def make(answers: tuple[str, ...], about: str, **more: Any) -> Asker:
            return Asker(who, rank, thread, answers, about, question.at, question, **more)

        if thread in self._ready or isinstance(question, m.Turn):
            return make((GO,), _NEXT_CALL)
        if isinstance(question, m.Poll):
            return None if question.forever else self._poll(thread, question, make)
        if isinstance(question, m.Choice):
            return make(self._answers(rank, question), question.about)
        if isinstance(question, m.Need) and self._is_timed(question):
            is_there = self._outcome(rank, question.call) is not None
            about = f"wait for {self._texts.get((rank, question.call or 0), 'a message')}"
            return make((GO, TIMED_OUT) if is_there else (TIMED_OUT,), about, late=not is_there)
        if isinstance(question, m.StoreCall):
            return self._store_asker(question, make)
        return None

    def _poll(self, thread: Thread, poll: m.Poll, make: Callable[..., Asker]) -> Asker:
        work = (thread[0], poll.call)
        if not self._is_done(*work) or self._long[work] > 0:
            return make((NOT_YET,), poll.about, negative=True)
        answers = [DONE]
        if "polls" in self._kinds:
            if self._not_yet[work] < _MAX_NOT_YET:
                answers.append(NOT_YET)
            elif work not in self._was_long:
                self.bounds.add(
                    f"a work is 'not yet' completed {_MAX_NOT_YET} times in a row, or {_LONG} times"
                )
                answers.append(NOT_FOR_LONG)
        return make(tuple(answers), poll.about)

    def _answers(self, rank: int, question: m.Choice) -> tuple[str, ...]:
        place = (rank, question.at)
        if question.bound and len(question.options) > 1:
            self.bounds.add(question.bound)
        if question.kind == "clock":
            if self._laps[place] >= _MAX_LAPS:
                self.bounds.add(
                    f"a deadline passes in the first {_MAX_LAPS} rounds of its loop, or in round "
                    f"{_MAX_LAPS_IN_ALL}"
                )
                return question.options[int(self._laps[place] >= _MAX_LAPS_IN_ALL) :][:1]
        elif question.kind == "node":  # ranks of a node see the same files
            known = self._on_node.get(question.objects[0][0])
            return question.options if known is None else (known,)
        elif question.kind == "jump":
            if self._jumps[place] >= _MAX_JUMPS:
                return question.options[:1]
        elif question.kind in ("queue", "thread"):
            if self._not_yet[place] >= _MAX_NOT_YET:
                self.bounds.add(
                    f"a queue or thread has nothing {_MAX_NOT_YET} times in a row at one line"
                )
                return question.options[:1]
        return question.options

    def _store_asker(self, call: m.StoreCall, make: Callable[..., Asker]) -> Optional[Asker]:
        keys = ", ".join(key.rpartition("/")[2] for key in call.keys)
        about = f"{call.op}('{keys}')" if keys else f"{call.op}()"
        waits = call.op in ("get", "wait", "pop")
        is_there = not waits or all(map(self._is_set, call.keys))
        answers: tuple[str, ...] = (GO,) if is_there else ()
        if waits and self._is_timed(call):
            answers += (TIMED_OUT,)
        if not answers:
            return None
        negative = call.op == "check" and not all(map(self._is_set, call.keys))
        return make(answers, about, late=not is_there, negative=negative)

    def _sources(self, rank: int) -> list[int]:
        """Returns the ranks whose send the first recv from any source can match."""
        for recv in self._any_source[rank]:
            found = sorted(
                source for (channel, source, to), sends in self._sends.items()
                if sends and to == rank and channel == recv.channel
            )  # fmt: skip
            if found:
                return found if "sources" in self._kinds else found[:1]
        return []

    # Answers

    def _perform(self, asker: Asker, answer: str) -> None:
        question, thread, rank = asker.question, asker.thread, asker.rank
        here = len(self.steps) - 1
        if question is None:
            self._match(asker, int(answer.rpartition(" ")[2]), here)
        elif answer == TIMED_OUT and not isinstance(question, m.Choice):
            for key in getattr(question, "keys", ()):
                self._access(rank, ("key", key), READ, asker.about, here)
            self.order.event(rank, question.now + (getattr(question, "seconds", None) or 0.0))
            self._reply(thread, m.Reply(late=True))
        elif thread in self._ready:
            self._access(rank, ("threads", rank), WRITE, asker.about, here)
            self._reply(thread, self._ready[thread])
        elif isinstance(question, m.Turn):
            self._access(rank, ("threads", rank), WRITE, asker.about, here)
            self._reply(thread, m.Reply())
        elif isinstance(question, m.Poll):
            self._answer_poll(asker, question, answer, here)
        elif isinstance(question, m.Choice):
            self._answer_choice(asker, question, answer, here)
        elif isinstance(question, m.StoreCall):
            self._answer_store(asker, question, here)
        elif isinstance(question, m.Need):
            self._learn(rank, question.call)
            super()._answer(thread)

    def _match(self, asker: Asker, source: int, here: int) -> None:
        for recv in self._any_source[asker.rank]:
            sends = self._sends.get((recv.channel, source, asker.rank))
            if sends:
                name = ("inbox", asker.rank, recv.channel)
                self._access(asker.rank, name, WRITE, asker.about, here)
                self._any_source[asker.rank].remove(recv)
                self._version += 1
                self._deliver(asker.rank, recv.call, source, sends.popleft())
                return

    def _answer_poll(self, asker: Asker, poll: m.Poll, answer: str, here: int) -> None:
        work = (asker.rank, poll.call)
        if answer == NOT_FOR_LONG:
            self._was_long.add(work)
            self._long[work] = _LONG
        elif answer == NOT_YET and self._long[work] > 0:
            self._long[work] -= 1
        elif answer == NOT_YET and not asker.negative:
            self._not_yet[work] += 1
        meeting = self._meeting_of.get((asker.rank, poll.call or 0))
        if asker.negative and meeting is not None and not meeting.complete():
            self._access(asker.rank, _work(meeting.calls[asker.rank]), READ, asker.about, here)
        if answer == DONE:
            self._learn(asker.rank, poll.call)
        self._reply(asker.thread, m.Reply(value=answer == DONE))

    def _answer_choice(self, asker: Asker, question: m.Choice, answer: str, here: int) -> None:
        rank, place = asker.rank, (asker.rank, question.at)
        if question.kind == "clock" and self._lap_at.get(place) != self._calls[rank]:
            self._lap_at[place] = self._calls[rank]
            self._laps[place] += 1
        self._jumps[place] += question.kind == "jump"
        for name, way in question.objects:
            if question.kind == "node":
                self._on_node[name] = answer
            elif name[0] == "node" and way == WRITE:
                self._on_node[name] = "is there"
        if question.kind in ("queue", "thread"):
            is_usual = answer == question.options[0]
            self._not_yet[place] = 0 if is_usual else self._not_yet[place] + 1
        for name, way in question.objects:
            self._access(rank, name, way, asker.about, here)
            self._version += way != READ
        self._reply(asker.thread, m.Reply(value=answer))

    def _answer_store(self, asker: Asker, call: m.StoreCall, here: int) -> None:
        reads = call.op in ("get", "wait", "check", "len", "count", "keys")
        way = READ if reads or (call.op == "add" and call.amount == 0) else WRITE
        keys = call.keys
        waits = call.op in ("get", "wait") and not self._is_timed(call)
        created = [key for key in keys if way == WRITE and key not in self._store]
        for key in keys:
            before = self._creators.get(key, -1) if waits else -1
            self._access(asker.rank, ("key", key), way, asker.about, here, before)
        if call.op in ("count", "keys"):
            self._access(asker.rank, "all keys", READ, asker.about, here)
        elif created or call.op == "delete":
            self._access(asker.rank, "all keys", ADD, asker.about, here)
        self._creators.update(dict.fromkeys(created, here))
        self._version += way == WRITE
        if call.op in ("get", "wait"):
            reply = self._stored(asker.rank, call)
            assert reply is not None
        else:
            reply = m.Reply(value=self._ordered_store_call(asker.thread, call))
        self._reply(asker.thread, reply)

    def _end(self) -> bool:
        """Ends a run in which nothing can be answered: all ranks wait for each other, or the rest
        of the run is known."""
        if self.is_over or self._end_abandoned():
            return True
        late, released = self._first_that_is_late(), self._lowest_in_device_call()
        if late is not None:
            self._reply(late, m.Reply(late=True))
        elif released is not None:
            self.made_up = True
            self._reply(released, m.Reply(made_up=True))
        else:
            for rank, thread in sorted(self._waiting):
                self.stuck.setdefault(rank, self._waiting[rank, thread].at)
            self.give_up()
        return True


def rank_of(who: str) -> int:
    """Returns the rank of a `Choice.who`."""
    return int(who.rstrip("?").partition(".")[0])


def _work(call: m.Collective) -> Any:
    return "work", call.group, call.number, call.members
