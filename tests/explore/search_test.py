"""Compares the pruned search with a search that tries every order, on random programs.

The programs have no processes: a rank is a generator that yields messages and gets replies. Each
end shows all answers that its rank got, so two runs have the same record only if nothing differs.
"""

import dataclasses
import json
import math
import os
import pickle
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "record"))
import with_torch  # noqa: F401  # isort: skip

from pipesim.explorer.judge import digest
from pipesim.explorer.lives import Node
from pipesim.explorer.order import Order
from pipesim.explorer.run import Run
from pipesim.explorer.search import Search
from pipesim.recorder import messages as m

KINDS = ("polls", "sources", "stores", "timeouts", "random", "threads")
PROGRAMS = 200
PROGRAMS_WITH_THREADS = 25
MAX_RUNS = 3000  # of the search that tries every order; larger programs are skipped


@dataclasses.dataclass
class Memory:
    """The memory of a rank, which its threads share."""

    seen: list = dataclasses.field(default_factory=list)  # answers
    calls: int = 0
    collectives: int = 0


def thread_of_program(rank, ranks, ops, memory, takes_turns):
    """Yields the messages of a thread, and receives the replies. `takes_turns`: the rank has other
    threads."""
    seen, works = memory.seen, []
    for op, key in ops:
        if takes_turns:
            yield m.Turn()
        if op == "if":
            if not seen or seen[-1] != key:
                continue
            op, key = "add", "k"
        if op in ("send", "recv", "all"):
            memory.calls += 1
        call = memory.calls
        if op == "send":
            yield m.Send(call, ("g",), (rank + key) % ranks, [b""])
        elif op == "recv":
            yield m.Recv(call, ("g",), None)
            seen.append((yield m.Need(call, False)).source)
        elif op == "all":
            memory.collectives += 1
            works.append(call)
            members, number = tuple(range(ranks)), memory.collectives
            yield m.Collective(call, "g", number, members, ("b",), "barrier", values=[])
        elif op == "poll" and works:
            seen.append(int((yield m.Poll(works[-1], about="poll")).value))
        elif op == "wait" and works:
            yield m.Need(works.pop(), False)
        elif op == "random":
            seen.append(int((yield m.Choice("random", "number", ("0", "1"))).value))
        elif op == "get":
            reply = yield m.StoreCall("get", (key,), seconds=1.0)
            seen.append(-1 if reply.late else int(reply.value))
        elif op in ("set", "add", "check", "compare_set", "delete"):
            amount, value = int(op == "add"), str(rank).encode()
            reply = yield m.StoreCall(op, (key,), value=value, amount=amount)
            seen.append(repr(reply.value))


class Lives:
    """A replacement for `lives.Lives` without processes."""

    remembers = True

    def __init__(self, program):
        self.program = program
        self.roots = [Node(rank) for rank in range(len(program))]

    def begin(self):
        for root in self.roots:
            self._say(root)
        return self.roots

    def advance(self, replies):
        reached = []
        for node, reply in replies:
            data = pickle.dumps(reply)
            if data not in node.after:
                node.after[data] = Node(node.rank, node, data)
                self._say(node.after[data])
            reached.append(node.after[data])
        return reached

    def _say(self, node):
        replies, at = [], node
        while at.up is not None:
            replies.append(pickle.loads(at.reply))
            at = at.up
        replies.reverse()
        rank, memory, answers = node.rank, Memory(), []
        programs = self.program[rank]
        threads = {
            (number,) * (number > 0): thread_of_program(
                rank, len(self.program), ops, memory, len(programs) > 1
            )
            for number, ops in enumerate(programs)
        }
        node.messages = []
        for thread in list(threads):
            node.messages += self._go_on(threads, thread, None)
        for reply in replies:
            answers.append((reply.thread, reply.value, reply.source, reply.late))
            if reply.cut:
                node.messages = [self._end({"end": "cut", "why": "rest"}, answers)]
                return
            node.messages = self._go_on(threads, reply.thread, reply)
        if not threads:
            node.messages.append(self._end({"end": "finished"}, memory.seen))

    @staticmethod
    def _go_on(threads, thread, reply):
        """Returns the messages of a thread until its next question or its end."""
        messages = []
        while True:
            try:
                said = threads[thread].send(reply)
            except StopIteration:
                del threads[thread]
                return messages
            messages.append(said)
            if isinstance(said, m.Question):
                said.thread = thread
                return messages
            reply = None

    @staticmethod
    def _end(entry, seen):
        return m.End(entry, lines=json.dumps({"call": repr(seen)}).encode())


def explore(program, prunes, max_runs=10**6):
    """Returns the records of all runs and the number of runs; None if there are too many."""
    search, found, runs, lives = Search(prunes), set(), 0, Lives(program)
    while len(search):
        following, asleep = search.pop()
        run = Run(lives, following.plan, asleep, KINDS, set())
        run.go()
        runs += 1
        assert not run.broker.diverged
        search.add(following, run.broker)
        if not run.broker.pruned:
            ends = run.broker.ends
            found.add(b"".join(digest(ends[rank].lines, set()) for rank in sorted(ends)))
        if runs > max_runs:
            return None
    return found, runs


OPS = "set add check compare_set delete get send recv all poll wait random if".split()


def random_ops(chance, ranks, most):
    """Returns the ops of a thread."""
    ops = []
    for _ in range(chance.randint(1, most)):
        op = chance.choice(OPS)
        value = repr(chance.randint(1, 2)) if op == "if" else chance.choice(["k", "l"])
        ops.append((op, chance.randint(1, ranks - 1) if op == "send" else value))
        if op == "all":
            ops.append((chance.choice(["poll", "wait"]), ""))
    return ops


def random_program(seed):
    chance = random.Random(seed)
    ranks = chance.choice([2, 2, 3])
    return [[random_ops(chance, ranks, 3 if ranks == 3 else 4)] for _ in range(ranks)]


def random_program_with_threads(seed):
    chance = random.Random(seed)
    threads = chance.choice([(2, 1), (1, 2), (2, 2), (2, 1, 1)])
    return [[random_ops(chance, len(threads), 2) for _ in range(many)] for many in threads]


class Pruning(unittest.TestCase):
    def compare(self, program_of, programs, max_runs=MAX_RUNS):
        compared, fewer = 0, 0
        for seed in range(10**6):
            if compared == programs:
                break
            program = program_of(seed)
            everything = explore(program, False, max_runs)
            if everything is None:
                continue
            pruned = explore(program, True, 2 * max_runs)
            self.assertIsNotNone(pruned, f"seed {seed}")
            self.assertEqual(everything[0], pruned[0], f"seed {seed}: {program}")
            compared += 1
            fewer += pruned[1] < everything[1]
        self.assertGreater(fewer, programs // 4)

    def test_records_of_random_programs(self):
        self.compare(random_program, PROGRAMS)

    def test_records_of_random_programs_with_threads(self):
        self.compare(random_program_with_threads, PROGRAMS_WITH_THREADS, 600)

    def test_a_timeout_between_two_calls_of_another_thread(self):
        threads = [("all", ""), ("wait", "")], [("get", "k"), ("add", "k")]
        found, _ = explore([threads, [[("recv", "")]]], True)
        # Rank 0 never ends. Its main thread gets two turns; the other thread gets a turn, a timeout,
        # a turn and a result. The record shows the order of these six.
        self.assertEqual(math.comb(6, 2), len(found))

    def test_independent_steps_are_done_in_one_order(self):
        found, runs = explore([[[("add", key)]] for key in "abc"], True)
        self.assertEqual((1, 1), (len(found), runs))

    def test_all_orders_of_one_key(self):
        found, runs = explore([[[("add", "a")]]] * 3, True)
        self.assertEqual((6, 6), (len(found), runs))


class HappensBefore(unittest.TestCase):
    def test_reads_do_not_order_each_other(self):
        order = Order(3)
        for rank, way, step in ((0, "read", 0), (1, "read", 1), (2, "write", 2)):
            order.event(rank)
            order.access(rank, "key", way, "", step)
        self.assertEqual([(0, 2), (1, 2)], [(race.step, race.rank) for race in order.races])

    def test_an_ordered_access_is_no_race(self):
        order = Order(2)
        order.event(0)
        order.access(0, "key", "write", "", 0)
        order.join(1, order.clocks[0])
        order.event(1)
        order.access(1, "key", "write", "", 1)
        self.assertEqual([], order.races)


if __name__ == "__main__":
    del sys.argv[1]  # the program, which no test here needs
    unittest.main()
