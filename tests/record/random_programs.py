"""Random programs of torch.distributed, reproducible by seed.

A program begins with matching calls: all participants make each call, in one order. Some calls are
asynchronous; their Works are waited for at once, later or twice, polled or dropped. Some calls run
in threads, some of them under a lock or after an item of a queue, and ranks pause. In most programs, one rank then deviates. A
program has no expected outcome: real gloo decides.
"""

import random
import re

HEADER = """\
import queue, sys, threading, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
def ones(size=4): return torch.ones(size)
store = dist.distributed_c10d._get_default_store()
lock = threading.Lock()
items = queue.Queue()
def check(key):
    while not store.check([key]): time.sleep(0.01)
def count(key, all):
    store.add(key, 1)
    while store.add(key, 0) < all: time.sleep(0.01)
def poll(work):
    while not work.is_completed(): time.sleep(0.01)
def run(body):
    thread = threading.Thread(target=body)
    thread.start()
    return thread
"""


class Call:
    """One rank's part of a call: the text of the call, and the use of its Work."""

    def __init__(self, text, kind, work=""):
        self.text = text  # source text, without `async_op=True`
        self.kind = kind  # "collective", "message", "objects", "batch", "store", "end"
        self.work = work  # "wait", "keep", "drop", "poll", "twice", "future"; "": synchronous call
        self.thread = 0  # number of its thread; 0: the main thread
        self.locked = False


class Generator:
    def __init__(self, seed, newest=True):
        self.random = random.Random(seed)
        self.newest = newest  # whether gloo supports all calls (as in torch 2)
        self.ranks = self.random.randint(2, 4)
        self.groups = [list(range(self.ranks)), list(range(self.ranks))]
        if self.ranks > 2:
            self.groups.append(sorted(self.random.sample(range(self.ranks), 2)))
        self.programs = [[] for _ in range(self.ranks)]
        # Each program uses few of these features; otherwise, nearly all programs would hang.
        kinds = ["wait", "wait", "keep", "drop", "poll", "twice", "future", "zero", "any", "larger",
                 "store", "locks", "queue", "destroy"]  # fmt: skip
        self.features = {kind for kind in kinds if self.random.random() < 0.3}

    def text(self):
        """Returns the text of the program."""
        for _ in range(self.random.randint(2, 7)):
            self._add_call()
        for number in range(1, self.random.choice([0, 0, 0, 0, 1, 1, 2]) + 1):
            self._move_to_thread(number)
        for _ in range(self.random.choice([0, 1, 1, 1, 2])):
            self._spoil()
        lines = [HEADER + "g0 = None"]
        lines += [f"g{i} = dist.new_group({g})" for i, g in enumerate(self.groups) if i]
        end = self.random.choice(["", "", "barrier", "destroy", "barrier, destroy"])
        for rank, calls in enumerate(self.programs):
            lines.append(f"if rank == {rank}:")
            body = self._lines_of(calls)
            body += ["dist.destroy_process_group(g1)", "del g1"] * ("destroy" in self.features)
            body += ["dist.barrier()"] * ("barrier" in end)
            body += ["dist.destroy_process_group()"] * ("destroy" in end)
            lines += [f"    {line}" for line in body or ["pass"]]
        return "\n".join(lines) + "\n"

    # Matching calls

    def _add_call(self):
        choice = self.random.random()
        if "store" in self.features and self.random.random() < 0.4:
            self._add_store_calls()
        elif choice < 0.4:
            self._add_message()
        elif choice < 0.45:
            self._add_batch()
        elif choice < 0.92:
            self._add_collective()
        else:
            self._add_objects()

    def _add_message(self):
        index = self.random.randrange(len(self.groups))
        source, destination = self.random.sample(self.groups[index], 2)
        group = f", group=g{index}" if index else ""
        tag = self.random.choice(["", "", ", tag=1", ", tag=2"])
        size = self.random.choice([4, 4, 4, 1000])
        larger = self.random.choice([0, 0, 1]) if "larger" in self.features else 0
        any_source = "any" in self.features and self.random.random() < 0.5 and not group
        how, other = self._work("message"), self._work("message")
        self._append(source, Call(f"send(ones({size}), {destination}{group}{tag})", "message", how))
        # Only synchronous recvs are from any source: with irecv from any source,
        # programs would be hard to read.
        where = "" if any_source and not other else f", {source}"
        receive = f"recv(ones({size + larger}){where}{group}{tag})"
        self._append(destination, Call(receive, "message", other))

    def _add_batch(self):
        index = self.random.randrange(len(self.groups))
        a, b = self.random.sample(self.groups[index], 2)
        for rank, peer in ((a, b), (b, a)):
            ops = [f"dist.P2POp(dist.{op}, ones(4), {peer}, g{index})" for op in ("isend", "irecv")]
            self.random.shuffle(ops)
            self._append(rank, Call(f"batch_isend_irecv([{', '.join(ops)}])", "batch"))

    def _add_collective(self):
        index = self.random.randrange(len(self.groups))
        members = self.groups[index]
        group = f"group=g{index}"
        size = self.random.choice([4, 4, 1000, 0 if "zero" in self.features else 4])
        root = self.random.choice(members)
        count = len(members)
        names = ["all_reduce", "broadcast", "broadcast", "reduce", "gather", "scatter", "barrier",
                 "all_gather", "all_to_all"]  # fmt: skip
        if self.newest:
            names.append("reduce_scatter")
        name = self.random.choice(names)
        splits = self._splits(members) if name == "all_to_all" else None
        for position, rank in enumerate(members):
            if name == "all_reduce":
                text = f"all_reduce(ones({size}), {group})"
            elif name in ("broadcast", "reduce"):
                text = f"{name}(ones({size}), {root}, {group})"
            elif name == "gather":
                parts = f"[ones({size}) for _ in range({count})]" if rank == root else "None"
                text = f"gather(ones({size}), {parts}, {root}, {group})"
            elif name == "scatter":
                parts = f"[ones({size}) for _ in range({count})]" if rank == root else "None"
                text = f"scatter(ones({size}), {parts}, {root}, {group})"
            elif name == "barrier":
                text = f"barrier({group})"
            elif name == "all_gather":
                text = f"all_gather([ones({size}) for _ in range({count})], ones({size}), {group})"
            elif name == "reduce_scatter":
                text = f"reduce_scatter_tensor(ones({size}), ones({size * count}), group=g{index})"
            elif splits is None:
                text = f"all_to_all_single(ones({2 * count}), ones({2 * count}), {group})"
            else:
                gives = splits[position]
                gets = [row[position] for row in splits]
                text = (
                    f"all_to_all_single(ones({sum(gets)}), ones({sum(gives)}), {gets}, {gives}, "
                    f"{group})"
                )
            self._append(rank, Call(text, "collective", self._work("collective")))

    def _add_store_calls(self):
        key = f"key{self.random.randrange(3)}"
        kind = self.random.choice(["get", "get", "wait", "check", "count", "barrier"])
        members = self.groups[self.random.randrange(len(self.groups))]
        if kind == "count":
            for rank in members:
                self._append(rank, Call(f"count('{key}s', {len(members)})", "store"))
            return
        if kind == "barrier":
            for rank in members:
                self._append(rank, Call(f"store.barrier('{key}b', {len(members)})", "store"))
            return
        source, *others = self.random.sample(members, self.random.randint(2, len(members)))
        self._append(source, Call(f"store.set('{key}', '1')", "store"))
        waits = {"get": f"store.get('{key}')", "wait": f"store.wait(['{key}'])"}
        for rank in others:
            self._append(rank, Call(waits.get(kind, f"check('{key}')"), "store"))

    def _work(self, kind):
        """Returns a random use of a Work; "" (a synchronous call) for most calls."""
        if self.random.random() < 0.4:
            return ""
        choice = self.random.choice(["wait", "wait", "keep", "drop", "poll", "twice", "future"])
        if choice == "future" and kind == "message":  # gloo's messages have no futures
            return "wait"
        return choice if choice in self.features else ""

    def _splits(self, members):
        """Returns the number of elements from each member to each member; None: even splits."""
        if self.random.random() < 0.4:
            return None
        sizes = [0, 0, 1, 3] if "zero" in self.features else [1, 2, 3]
        return [[self.random.choice(sizes) for _ in members] for _ in members]

    def _add_objects(self):
        index = self.random.randrange(len(self.groups))
        members = self.groups[index]
        root = self.random.choice(members)
        kind = self.random.choice(["gather", "all", "broadcast", "scatter"])
        for rank in members:
            many = f"[None] * {len(members)}"
            if kind == "all":
                text = f"all_gather_object({many}, rank, group=g{index})"
            elif kind == "gather":
                into = many if rank == root else "None"
                text = f"gather_object(rank, {into}, {root}, group=g{index})"
            elif kind == "broadcast":
                text = f"broadcast_object_list([rank], {root}, group=g{index})"
            else:
                given = f"[7] * {len(members)}" if rank == root else "None"
                text = f"scatter_object_list([None], {given}, {root}, group=g{index})"
            self._append(rank, Call(text, "objects"))

    def _append(self, rank, call):
        self.programs[rank].append(call)

    def _move_to_thread(self, number):
        """Moves one or two consecutive calls to a thread, on some ranks."""
        for calls in self.programs:
            if calls and self.random.random() < 0.6:
                first = self.random.randrange(len(calls))
                for call in calls[first : first + self.random.randint(1, 2)]:
                    call.thread = number
        for calls in self.programs * ("queue" in self.features):
            self._add_items(calls, number)
        for calls in self.programs * ("locks" in self.features):
            for call in calls:
                call.locked = call.locked or self.random.random() < 0.3

    def _add_items(self, calls, number):
        """Lets a thread take an item of a queue before a call; the main thread puts one."""
        inside = [call for call in calls if call.thread == number]
        if inside and self.random.random() < 0.7:
            taken = Call("items.get()", "store")
            taken.thread = number
            calls.insert(calls.index(self.random.choice(inside)), taken)
            outside = [at for at, call in enumerate(calls) if not call.thread]
            calls.insert(self.random.choice([*outside, len(calls)]), Call("items.put(1)", "store"))

    # Deviations of one rank

    def _spoil(self):
        calls = self.random.choice(self.programs)
        if not calls:
            return
        at = self.random.randrange(len(calls))
        call = calls[at]
        how = self.random.choice(["leave", "leave", "swap", "tag", "root", "size", "twice", "end"])
        if how == "leave":
            del calls[at]
        elif how == "end" and not call.thread:
            calls.insert(at, Call("sys.exit()", "end"))
        elif how == "swap" and at + 1 < len(calls):
            calls[at], calls[at + 1] = calls[at + 1], call
        elif how == "twice":
            calls.insert(at, call)
        elif how == "tag" and call.kind == "message" and "tag=" not in call.text:
            call.text = call.text[:-1] + ", tag=1)"
        elif how == "root":
            root = self.random.randrange(self.ranks)
            call.text = re.sub(r", \d, group=", f", {root}, group=", call.text)
        elif how == "size" and "ones(4)" in call.text:
            call.text = call.text.replace("ones(4)", f"ones({self.random.choice([2, 8])})")

    # Text

    def _lines_of(self, calls):
        lines, open_works, in_thread, threads = [], [], [], []
        before = 0

        def end_thread():
            if in_thread:
                name = f"t{len(threads)}"
                lines.append(f"def {name}():")
                lines.extend(f"    {line}" for line in in_thread)
                lines.append(f"{name} = run({name})")
                threads.append(name)
                in_thread.clear()

        for number, call in enumerate(calls):
            if call.thread != before:
                end_thread()
            before = call.thread
            into = in_thread if call.thread else lines
            if self.random.random() < 0.12:
                into.append(f"time.sleep({self.random.choice([0.1, 0.3])})")
            if call.thread:
                made = self._with_work(call, f"v{number}", into)
                into += ["with lock:", *(f"    {line}" for line in made)] if call.locked else made
                continue
            if call.locked and not call.work:
                lines += ["with lock:", *(f"    {line}" for line in self._with_work(call, "w", []))]
                continue
            lines += self._with_work(call, f"w{number}", open_works)
            if open_works and self.random.random() < 0.4:
                lines += open_works.pop(self.random.randrange(len(open_works)))
        end_thread()
        for later in open_works:
            lines += later
        # A thread could use a group that the script has deleted, an error of Python.
        if self.random.random() < 0.7 or "destroy" in self.features:
            lines += [f"{name}.join()" for name in threads]
        return lines

    def _with_work(self, call, name, open_works):
        """Returns the lines of a call. In a thread, they include its waits; otherwise, the waits
        are added to `open_works`."""
        text = call.text
        if call.kind in ("end", "store"):
            return [text]
        if call.kind == "batch":
            return [f"for work in dist.{text}: work.wait()"]
        if call.work and call.kind == "message":
            text = text.replace("send(", "isend(").replace("recv(", "irecv(")
        elif call.work:
            text = text[:-1] + ", async_op=True)"
        if not call.work:
            return [f"dist.{text}"]
        if call.work == "drop":
            return [f"dist.{text}"]
        ends = {
            "wait": [f"{name}.wait()"],
            "keep": [],
            "poll": [f"poll({name})", f"{name}.wait()"],
            "twice": [f"{name}.wait()", f"{name}.wait()"],
            "future": [f"{name}.get_future().wait()"],
        }[call.work]
        if call.thread:
            return [f"{name} = dist.{text}", *ends]
        if ends:
            open_works.append(ends)
        return [f"{name} = dist.{text}"]
