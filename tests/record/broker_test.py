"""Tests of the broker alone: its replies to messages of ranks, and its knowledge of the ranks.

broker_test.py PIPESIM
"""

import collections
import copy
import itertools
import os
import subprocess
import sys
import unittest

import with_torch  # isort: skip  # noqa: F401

from pipesim.recorder import messages as m
from pipesim.recorder.broker import Broker
from pipesim.recorder.tasks import Standing, work_of

sys.argv[1:2] = []


class Rest(unittest.TestCase):
    def setUp(self):
        self.replies = {}
        self.broker = Broker(2, lambda rank, reply: self.replies.setdefault(rank, []).append(reply))

    def reduce(self, rank, group, call):
        self.broker.handle(
            rank, m.Collective(call, group, 1, (0, 1), ("all_reduce",), "all_reduce")
        )

    def test_a_running_rank_is_no_rest(self):
        self.reduce(0, "a", 1)
        self.broker.handle(0, m.Need(1, device=False))
        self.assertFalse(self.broker.settle())
        self.reduce(1, "a", 1)
        self.assertEqual([m.Reply()], self.replies[0])

    def test_hosts_that_wait_for_each_other_are_cut(self):
        for rank, group in enumerate("ab"):
            self.reduce(rank, group, 1)
            self.broker.handle(rank, m.Need(1, device=False))
        self.assertTrue(self.broker.settle())
        self.assertEqual({0: [m.Reply(cut="rest")], 1: [m.Reply(cut="rest")]}, self.replies)

    def ask(self, rank, question, *thread):
        question.thread = thread
        self.broker.handle(rank, question)

    def test_all_threads_of_a_rank_have_to_wait(self):
        self.reduce(0, "a", 1)
        self.ask(0, m.Need(1, device=False))
        self.ask(1, m.StoreCall("get", ("k",)), 1)
        self.ask(0, m.Turn(), 2)
        # No thread has a result, so rank 0's thread (2,), which has asked for a turn, gets one.
        self.assertTrue(self.broker.settle())
        self.assertEqual({0: [m.Reply(thread=(2,))]}, self.replies)
        self.ask(0, m.StoreCall("set", ("k",), value=b"1"), 2)
        self.assertTrue(self.broker.settle())  # replies to the set
        self.assertTrue(self.broker.settle())  # replies to the get
        self.assertEqual([m.Reply(thread=(1,), value=b"1")], self.replies[1])

    def test_a_thread_that_runs_is_no_rest(self):
        standing = {0: Standing.RUNS}
        broker = Broker(1, lambda *_: self.fail("a reply"), lambda rank, *_: standing[rank])
        question = m.Need(None, device=False)
        question.alone = False
        broker.handle(0, question)
        self.assertFalse(broker.settle())
        self.assertTrue(broker.unsettled)

    def test_a_root_needs_no_other_rank(self):
        for rank in (1, 0):
            call = m.Collective(1, "a", 1, (0, 1), ("x",), "broadcast", root=1, values=[b"v"])
            self.broker.handle(rank, call)
            self.broker.handle(rank, m.Need(1, device=False))
            self.assertEqual(1, len(self.replies[rank]))
        self.assertEqual([m.Reply(value=[b"v"])], self.replies[0])

    def test_any_source_takes_the_lowest_rank(self):
        replies = []
        broker = Broker(11, lambda rank, reply: replies.append((rank, reply.source)))
        for rank in range(1, 11):
            if rank > 8:
                broker.handle(rank, m.Send(1, ("g", 0), 0, [b""]))
            broker.handle(rank, m.Need(None, device=False))
        broker.handle(0, m.Recv(1, ("g", 0), None))
        broker.handle(0, m.Need(1, device=False))
        self.assertTrue(broker.settle())
        self.assertEqual([(0, 9)], replies)

    def test_the_shortest_timeout_expires_first(self):
        for rank, seconds in ((0, 3.0), (1, 2.0)):
            self.ask(rank, m.StoreCall("wait", ("never",), seconds=seconds))
        self.assertTrue(self.broker.settle())
        self.assertEqual({1: [m.Reply(late=True)]}, self.replies)

    def test_under_nccl_the_lowest_rank_goes_on(self):
        for rank, group in enumerate("ab"):
            self.reduce(rank, group, 1)
            self.broker.handle(rank, m.Need(1, device=True))
        self.assertTrue(self.broker.settle())
        self.assertEqual({0: [m.Reply(made_up=True)]}, self.replies)

    def test_who_waits_for_a_rank_that_was_ended_is_not_stuck(self):
        self.reduce(0, "a", 1)
        self.broker.handle(0, m.Need(1, device=True))
        self.broker.end(1, m.End({"end": "cut", "why": "steps"}))
        self.assertTrue(self.broker.settle())
        self.assertEqual({0: [m.Reply(cut="steps")]}, self.replies)

    def test_the_reason_of_a_cut_is_that_of_the_lowest_rank(self):
        replies = []
        broker = Broker(3, lambda rank, reply: replies.append((rank, reply.cut)))
        broker.end(1, m.End({"end": "cut", "why": "made_up"}))
        broker.end(0, m.End({"end": "cut", "why": "steps"}))
        broker.handle(2, m.Need(None, device=False))
        self.assertTrue(broker.settle())
        self.assertEqual([(2, "steps")], replies)


def collective(name, members, op, call=1, root=0, size=None, values=None):
    """Returns the first collective of a group, which waits for members with the same root."""
    signature = (op, root, tuple(members))
    return m.Collective(
        call, name, 1, tuple(members), signature, op, root=root, size=size, values=values
    )


class AnyOrder(unittest.TestCase):
    """Replies that do not depend on the order in which the ranks' messages arrive."""

    def replies(self, messages):
        """Returns the replies by rank, which are the same for every order of the messages of
        different ranks. `messages`: a list for each rank, sent until the broker has no reply."""
        found = []
        for order in itertools.permutations(range(len(messages))):
            for at_once in (False, True):
                found.append(self.replies_in(order, messages, at_once))
                self.assertEqual(found[0], found[-1], (order, at_once))
        return found[0]

    def replies_in(self, order, messages, at_once):
        """Sends the messages and the end of one rank after the other, in an order of ranks, or one
        message of each rank in turn."""
        replies = {rank: [] for rank in order}
        waiting = set()

        def send(rank, reply):
            replies[rank].append(reply)
            waiting.discard(rank)

        broker = Broker(len(messages), send)
        end = m.End({"end": "finished"})
        left = {rank: collections.deque([*messages[rank], end]) for rank in order}
        while any(left.values()) or waiting:
            moved = False
            for rank in order:
                while left[rank] and rank not in waiting:
                    message = copy.copy(left[rank].popleft())
                    moved = True
                    if isinstance(message, m.Question):
                        waiting.add(rank)
                    broker.handle(rank, message)
                    if not at_once:
                        break
            if not moved and not broker.settle():
                break
        return replies

    def test_groups_of_other_members_can_have_the_same_name(self):
        need = m.Need(1, device=False)
        replies = self.replies(
            [
                [collective("connect:1", [0], "rendezvous"), need],
                [collective("connect:1", [1, 2], "rendezvous"), need],
                [collective("connect:1", [1, 2], "rendezvous"), need],
            ]
        )
        self.assertEqual({rank: [m.Reply(value=None)] for rank in range(3)}, replies)

    def test_a_receiver_with_a_buffer_above_the_limit_gets_the_roots_values(self):
        need = m.Need(1, device=False)
        replies = self.replies(
            [
                [collective("g", [0, 1, 2], "broadcast", size=1, values=[b"v"]), need],
                [collective("g", [0, 1, 2], "broadcast", size=1, values=[b"-"]), need],
                [collective("g", [0, 1, 2], "broadcast", size=2), need],
            ]
        )
        self.assertEqual({rank: [m.Reply(value=[b"v"])] for rank in range(3)}, replies)

    def test_a_large_reduce_gives_nothing_to_who_is_not_the_root(self):
        need = m.Need(1, device=False)
        call = collective("g", [0, 1], "reduce")
        replies = self.replies([[call, need], [call, need]])
        self.assertEqual({0: [m.Reply(value=None)], 1: [m.Reply(value=[])]}, replies)

    def test_a_wait_at_the_exit_ends_after_all_others(self):
        # Rank 2 ends without the broadcast, before or after the root makes it.
        call = collective("g", [0, 1, 2], "broadcast", values=[b"v"])
        replies = self.replies(
            [
                [call],
                [call, m.Need(1, device=False, closes=True)],
                [],
            ]
        )
        self.assertEqual([m.Reply(value=[b"v"])], replies[1])

    def test_a_barrier_that_begins_before_a_wait_is_not_after_it(self):
        # Rank 1 waits for the key while its barrier is pending.
        barrier = collective("g", [0, 1], "barrier")
        replies = self.replies(
            [
                [
                    m.StoreCall("set", ("k",), value=b"1"),
                    barrier,
                    m.Need(1, device=False),
                    m.StoreCall("delete", ("k",)),
                ],
                [barrier, m.StoreCall("wait", ("k",))],
            ]
        )
        self.assertEqual(m.Reply(value=(True, True)), replies[0][-1])


class Work(unittest.TestCase):
    def test_a_process_is_ready_to_run_until_it_sleeps(self):
        self.assertTrue(work_of(os.getpid())[1])
        with subprocess.Popen(["sleep", "1000"]) as sleeper:
            while work_of(sleeper.pid)[1]:
                pass
            sleeper.kill()


if __name__ == "__main__":
    unittest.main(module=sys.modules[__name__])
