"""Compares the pruned search with a search that tries every order, on random programs.

The programs have no processes: a rank is a generator that yields messages and gets replies. Each
end shows all answers that its rank got, so two runs have the same record only if nothing differs.
"""

import json
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

KINDS = ("polls", "sources", "stores", "timeouts", "random")
PROGRAMS = 200
MAX_RUNS = 3000  # of the search that tries every order; larger programs are skipped


def rank_of_program(rank, ranks, ops):
    """Yields the messages of a rank, and receives the replies."""
    seen, calls, collectives, works = [], 0, 0, []
    for op, key in ops:
        if op == "if":
            if not seen or seen[-1] != key:
                continue
            op, key = "add", "k"
        if op == "send":
            calls += 1
            yield m.Send(calls, ("g",), (rank + key) % ranks, [b""])
        elif op == "recv":
            calls += 1
            yield m.Recv(calls, ("g",), None)
            seen.append((yield m.Need(calls, False)).source)
        elif op == "all":
            calls, collectives = calls + 1, collectives + 1
            works.append(calls)
            members = tuple(range(ranks))
            yield m.Collective(calls, "g", collectives, members, ("b",), "barrier", values=[])
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
    yield seen


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
        rank, node.messages = node.rank, []
        talk = rank_of_program(rank, len(self.program), self.program[rank])
        answers, reply = [], None
        while True:
            said = talk.send(reply)
            reply = None
            if isinstance(said, list):
                node.messages.append(self._end({"end": "finished"}, said))
                return
            if len(answers) == len(replies):
                node.messages.append(said)
            if isinstance(said, m.Question):
                if len(answers) == len(replies):
                    return
                reply = replies[len(answers)]
                answers.append((reply.value, reply.source, reply.late))
                if reply.cut:
                    node.messages.append(self._end({"end": "cut", "why": "rest"}, answers))
                    return

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


def random_program(seed):
    chance = random.Random(seed)
    ranks = chance.choice([2, 2, 3])
    keys = ["k", "l"]
    program = []
    for _ in range(ranks):
        ops = []
        for _ in range(chance.randint(1, 3 if ranks == 3 else 4)):
            op = chance.choice(
                "set add check compare_set delete get send recv all poll wait random if".split()
            )
            value = repr(chance.randint(1, 2)) if op == "if" else chance.choice(keys)
            ops.append((op, chance.randint(1, ranks - 1) if op == "send" else value))
            if op == "all":
                ops.append((chance.choice(["poll", "wait"]), ""))
        program.append(ops)
    return program


class Pruning(unittest.TestCase):
    def test_records_of_random_programs(self):
        compared, fewer = 0, 0
        for seed in range(10**6):
            if compared == PROGRAMS:
                break
            program = random_program(seed)
            everything = explore(program, False, MAX_RUNS)
            if everything is None:
                continue
            pruned = explore(program, True, 2 * MAX_RUNS)
            self.assertIsNotNone(pruned, f"seed {seed}")
            self.assertEqual(everything[0], pruned[0], f"seed {seed}: {program}")
            compared += 1
            fewer += pruned[1] < everything[1]
        self.assertGreater(fewer, PROGRAMS // 4)

    def test_independent_steps_are_done_in_one_order(self):
        found, runs = explore([[("add", "a")], [("add", "b")], [("add", "c")]], True)
        self.assertEqual((1, 1), (len(found), runs))

    def test_all_orders_of_one_key(self):
        found, runs = explore([[("add", "a")]] * 3, True)
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
