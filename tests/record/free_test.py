"""Free answers: the recorder notes them, and the verdict counts them."""

import datetime
import json
import operator
import pickle
import queue
import random
import threading
import time
import unittest

from recordings import lines  # isort: skip

import torch
import torch.distributed as dist

from pipesim import record


def asked(recorded, rank=0):
    return [(line["ask"], line["about"]) for line in lines(recorded, rank) if "ask" in line]


class FreeAnswers(unittest.TestCase):
    def of(self, job, *expected):
        """Records a job on two ranks, and compares the free answers of rank 0."""
        recorded = record(job, ranks=2)
        self.assertEqual({"finished"}, {end.end for end in recorded.ends}, recorded.output)
        self.assertEqual(list(expected), asked(recorded))
        sentence = [x for x in recorded.check().rests_on if "pipesim explore tries" in x]
        self.assertEqual(bool(expected), bool(sentence))
        return sentence

    def test_clocks_are_free_where_they_are_compared(self):
        def job():
            dist.init_process_group("gloo")
            begin = time.time()
            print(f"started at {begin:.1f}, {json.dumps({'t': time.perf_counter()})}")
            torch.tensor([time.monotonic()])
            for _ in range(3):
                if time.time() - begin > 3600:
                    break
            if 10**10 + time.monotonic_ns() < time.monotonic_ns():
                raise AssertionError
            dist.barrier()

        compared = ("clock", "a comparison with a clock")
        [sentence] = self.of(job, compared, compared)
        self.assertIn("4 free answers (4 deadlines)", sentence)

    def test_compiled_code_sees_the_classes_of_dates(self):
        def job():
            dist.init_process_group("gloo")
            now = datetime.datetime.now()
            # pandas derives from what C code finds in the module, and pickle compares it.
            assert operator.attrgetter("datetime")(datetime) is type(now)
            assert isinstance(now, datetime.datetime) and isinstance(now, datetime.date)
            assert pickle.loads(pickle.dumps(now)) == now

            class Mine(datetime.datetime):
                pass

            assert isinstance(Mine(2020, 1, 1), Mine) and not isinstance(now, Mine)

        self.of(job, ("clock", "a date of now"))

    def test_a_reading_is_a_number(self):
        def job():
            import copy
            import pickle

            dist.init_process_group("gloo")
            now, then = time.time(), time.time_ns()
            assert type(pickle.loads(pickle.dumps(now))) is float
            assert type(copy.deepcopy(then)) is int
            assert isinstance(now, float) and isinstance(then // 10**9, int)
            assert abs((now - 5) - (float(now) - 5)) == 0 and (2 * now) / 2 == float(now)
            assert -now == -float(now) and 1 - now == 1 - float(now)
            assert [now] == [float(now)] and {now: 1}[float(now)] == 1
            assert f"{now:.3f}" == f"{float(now):.3f}"
            dist.barrier()

        self.of(job)

    def test_random_numbers_without_a_seed(self):
        def job():
            dist.init_process_group("gloo")
            if random.random() < 0.5:
                pass
            noise = [random.random() * 2 for _ in range(3)]
            random.choice([1, 2, 3])
            random.seed(7)
            if random.random() < 0.5 or noise:
                random.randint(0, 3)
            dist.barrier()

        compared = ("random", "a random number compared with 0.5")
        self.of(job, compared, ("random", "choice()"))

    def test_queues_and_threads(self):
        def job():
            dist.init_process_group("gloo")
            items = queue.Queue()
            thread = threading.Thread(target=items.put, args=(1,))
            thread.start()
            assert items.get(timeout=60) == 1
            try:
                items.get_nowait()
            except queue.Empty:
                pass
            thread.is_alive()
            thread.join()
            dist.barrier()

        self.of(
            job, ("queue", "Queue.get()"), ("queue", "Queue.get_nowait()"),
            ("thread", "Thread.is_alive()"),
        )  # fmt: skip

    def test_calls_of_a_store_whose_answer_is_used(self):
        def job():
            dist.init_process_group("gloo")
            store = dist.distributed_c10d._get_default_store()
            store.add("n", 1)
            if store.add("m", 1) == 1:
                pass
            # PyTorch 1.13's prefix store has no check().
            if hasattr(store, "check") and store.check(["n"]):
                pass
            dist.barrier()

        checks = [("store", "check()")] if hasattr(dist.PrefixStore, "check") else []
        self.of(job, ("store", "add()"), *checks)


if __name__ == "__main__":
    unittest.main()
