"""A second reader of scenarios: from YAML to the plan of tests/twin, by
docs/reference/scenario-*.md alone. The reader shares nothing with formats/ and models/.

It reads most of `actors` and of `programs`, with parameters, groups, threads, streams, devices, the
initialization of communicators, readings and backends. It does not read clusters, faults,
schedules, models, blocks with rank-dependent steps, or `after` of steps. It expects input without
errors.
"""

import re

COLLECTIVES = ("all_gather", "all_reduce", "all_to_all", "barrier", "broadcast", "gather", "reduce",
               "reduce_scatter", "scatter")
ROOTED = ("broadcast", "gather", "reduce", "scatter")
# NCCL's buffers for a send, or for a collective with a root (docs/explanation/models-nccl.md).
CHANNELS, CHUNK, STEPS, LL, RING_CHANNELS = 32, 512 << 10, 8, 16 << 10, 16
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "B": 1, "KiB": 1 << 10,
         "MiB": 1 << 20, "GiB": 1 << 30, "kB": 10**3, "MB": 10**6, "GB": 10**9}
NUMBER = re.compile(r"(\d+)(?:\.(\d+))?(ns|us|ms|s|min|KiB|MiB|GiB|kB|MB|GB|B)?(?![\w.])")
TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?[A-Za-z]*)|(?P<name>[A-Za-z_]\w*)|'(?P<word>[^']*)'"
                   r"|(?P<sign>==|!=|<=|>=|\.\.|[-+*/%()<>,\[\]]))")


class Expression:
    """An expression, parsed by recursive descent: or, and, not, comparison, sum, product, sign."""

    def __init__(self, text, names):
        self.tokens = [match for match in TOKEN.finditer(text)]
        assert "".join(match.group() for match in self.tokens).strip() == text.strip(), text
        self.names = names
        self.at = 0

    def value(self):
        result = self.either()
        assert self.at == len(self.tokens)
        return result

    def peek(self):
        return self.tokens[self.at].group().strip() if self.at < len(self.tokens) else None

    def take(self, *choices):
        if self.peek() not in choices:
            return None
        self.at += 1
        return self.tokens[self.at - 1].group().strip()

    def either(self):
        result = self.both()
        while self.take("or"):
            right = self.both()
            result = result or right
        return result

    def both(self):
        result = self.negation()
        while self.take("and"):
            right = self.negation()
            result = result and right
        return result

    def negation(self):
        return not self.negation() if self.take("not") else self.comparison()

    def comparison(self):
        left = self.sum()
        if self.take("in"):
            return left in self.members()
        if self.take("not"):
            assert self.take("in")
            return left not in self.members()
        sign = self.take("==", "!=", "<=", ">=", "<", ">")
        if not sign:
            return left
        right = self.sum()
        return {"==": left == right, "!=": left != right, "<=": left <= right, ">=": left >= right,
                "<": left < right, ">": left > right}[sign] if isinstance(left, int) else (
                    (left == right) == (sign == "=="))

    def members(self):
        """Returns the ranks after `in`: the name of a set, a number, a range, or a list of
        these.
        """
        if not self.take("["):
            return self.some_members()
        result = []
        while not self.take("]"):
            result += self.some_members()
            self.take(",")
        return result

    def some_members(self):
        first = self.sum()
        if isinstance(first, list):
            return first
        return list(range(first, self.sum() + 1)) if self.take("..") else [first]

    def sum(self):
        result = self.product()
        while sign := self.take("+", "-"):
            right = self.product()
            result = result + right if sign == "+" else result - right
        return result

    def product(self):
        result = self.signed()
        while sign := self.take("*", "/", "%"):
            right = self.signed()
            result = result * right if sign == "*" else result // right if sign == "/" else result % right
        return result

    def signed(self):
        return -self.signed() if self.take("-") else self.single()

    def single(self):
        if self.take("("):
            result = self.either()
            assert self.take(")")
            return result
        token = self.tokens[self.at]
        self.at += 1
        if token.group("number"):
            return quantity(token.group("number"))
        if token.group("word") is not None:
            return token.group("word")
        name = token.group("name")
        if self.take("("):
            parts = [self.either()]
            while self.take(","):
                parts.append(self.either())
            assert self.take(")")
            if name in ("min", "max"):
                return min(parts) if name == "min" else max(parts)
            assert name == "if"
            for condition, value in zip(parts[::2], parts[1::2]):
                if condition:
                    return value
            return parts[-1]
        return {"on": True, "off": False}[name] if name in ("on", "off") else self.names[name]


def quantity(text):
    whole, fraction, unit = NUMBER.fullmatch(text).groups()
    factor = UNITS[unit] if unit else 1
    return int(whole) * factor + (int(fraction) * factor // 10 ** len(fraction) if fraction else 0)


def steps_of(size, ranks):
    """Returns the buffer steps of a send on NVLink; 0 if the send does not fit into the buffers."""
    channels = CHANNELS
    while channels > 1 and channels * ranks > CHANNELS:
        channels //= 2
    channels = max(1, min(channels, -(-size // (CHUNK // 8))))
    while -(-size // channels) > 32 * CHUNK and channels <= CHANNELS // 2:
        channels *= 2
    if size <= channels * LL:
        return 1
    steps = -(-max(-(-size // channels), CHUNK // 8) // CHUNK)
    return 0 if steps > STEPS else steps


def ring_steps(size):
    steps = max(1, -(-size // (RING_CHANNELS * CHUNK)))
    return 0 if steps > STEPS else steps


class Reader:
    def __init__(self, tree):
        self.tree = tree
        self.ranks = tree.get("ranks", 1)
        self.names = {"ranks": self.ranks}
        for name, given in tree.get("params", {}).items():
            value = given["default"] if isinstance(given, dict) else given
            words = given.get("one_of") if isinstance(given, dict) else None
            self.names[name] = value if words else self.value(value)
        self.sets = {}
        for name, given in tree.get("sets", {}).items():
            self.sets[name] = self.rank_set(given)
        self.groups = {name: self.group(given) for name, given in tree.get("groups", {}).items()}
        for name, lists in self.groups.items():
            self.sets.setdefault(name, sorted(rank for members in lists for rank in members))
        self.defaults = tree.get("defaults", {})
        self.reading = tree.get("reading", "cold")
        self.backend = tree.get("backend")
        self.on_host = self.backend in ("gloo", "mpi")
        self.is_bound = self.value(tree.get("device_id"), None, False)
        self.pairs = set()
        self.pair_streams = []  # (group, ranks, name) of the steps so far
        self.by_pairs = self.backend == "nccl-lazy" or (self.backend == "nccl-legacy" and not self.is_bound)

    # Values

    def value(self, given, rank=None, default=None):
        """Returns the value of an expression: a number, a time in ns, a size, on or off."""
        if given is None:
            return default
        if isinstance(given, (bool, int)):
            return given
        names = {**getattr(self, "sets", {}), **self.names}
        if rank is not None:
            names["rank"] = rank
        if isinstance(given, dict):
            return self.value(self.choice(given, names), rank, default)
        return Expression(given, names).value()

    def choice(self, given, names):
        asked = Expression(given["case"], names).value()
        for key, chosen in given.items():
            if key not in ("case", "else") and str(key) == str(asked):
                return chosen
        return given["else"]

    def word(self, given, default=None):
        """Returns a name of a stream, a group and so on."""
        if given is None:
            return default
        if isinstance(given, dict):
            return self.word(self.choice(given, self.names))
        return self.names[given[1:]] if given.startswith("$") else given

    def rank_set(self, given, default="all"):
        given = default if given is None else given
        if isinstance(given, list):
            return sorted({rank for part in given for rank in self.rank_set(part)})
        if isinstance(given, int):
            return [given]
        if given == "all":
            return list(range(self.ranks))
        if given in self.sets:
            return self.sets[given]
        if ".." in given:
            first, last = given.split("..")
            return list(range(self.value(first), self.value(last) + 1))
        found = [(rank, self.value(given, rank)) for rank in range(self.ranks)]
        if all(isinstance(value, bool) for _, value in found):
            return [rank for rank, value in found if value]
        return [found[0][1]]

    def group(self, given):
        """Returns the member lists of a group."""
        if isinstance(given, dict):
            stride, size = given.get("stride", 1), given.get("size")
            lists, left = [], list(range(self.ranks))
            size = size or self.ranks
            while left:
                members = [left[0] + i * stride for i in range(size)]
                lists.append(members)
                left = [rank for rank in left if rank not in members]
            return lists
        if isinstance(given, list) and given and isinstance(given[0], list):
            return given
        return [self.rank_set(given)]

    def list_of(self, group, rank):
        return next(i for i, members in enumerate(self.groups[group]) if rank in members)

    # The task graph: actors and steps in file order, each once for all of its ranks

    def read(self):
        self.items, self.program_lists = [], {}
        for name, given in self.tree.get("actors", {}).items():
            if self.value(given.get("when"), None, True):
                self.items.append({"name": name, "given": given, "on": self.rank_set(given.get("on")),
                                   "role": "op"})
        programs = self.tree.get("programs", [])
        for program in [programs] if isinstance(programs, dict) else programs:
            thread = program.get("thread", "main")
            self.add_steps(program["do"], self.rank_set(program.get("on")), thread,
                           {rank: 1 for rank in range(self.ranks)})
        self.name_threads()
        self.find_streams()
        self.place()
        self.connect()
        return self.text()

    def add_steps(self, steps, ranks, thread, times):
        """Adds steps to the programs of the ranks. All iterations of a loop share the actor of a
        step."""
        for given in steps:
            its = [rank for rank in ranks if rank in self.rank_set(given.get("on"))
                   and self.value(given.get("when"), rank, True)]
            if "do" in given:
                counts = {rank: self.value(given.get("repeat"), rank, 1) for rank in its}
                begins = {rank: len(self.program_lists.get((rank, thread), [])) for rank in its}
                self.add_steps(given["do"], its, thread, times)
                for rank in its:
                    of_rank = self.program_lists.setdefault((rank, thread), [])
                    of_rank[begins[rank]:] = of_rank[begins[rank]:] * counts[rank]
                continue
            if "group" in given:  # a rank without calls has no step
                its = [rank for rank in its if self.calls_on(rank, given["group"])]
            if self.is_messages(given):
                its = [rank for rank in its if self.messages(rank, given)]
            if not its:  # a step without ranks names nothing
                continue
            for step, of in self.by_pair(given, its):
                item = {"given": step, "on": of, "thread": thread, **self.step(step)}
                if step is not given and "synchronize" not in given:
                    item["of_group"] = self.stream_of_calls(next(iter(given.values())))
                for rank in of:
                    self.program_lists.setdefault((rank, thread), []).append(item)
                self.items.append(item)

    def by_pair(self, given, ranks):
        """Returns the step unchanged or, if pairs have communicators, a step for each pair."""
        kind = next(iter(given))
        if self.by_pairs and kind == "synchronize":
            return self.by_pair_streams(given, ranks)
        if not self.by_pairs or kind not in ("send", "recv"):
            return [(given, ranks)]
        found = {}
        for rank in ranks:
            peer = self.value(given["to" if kind == "send" else "from"], rank)
            name = given[kind] if peer == rank else "%s %d-%d" % (given[kind], min(rank, peer), max(rank, peer))
            if peer != rank:
                self.groups.setdefault(name, [sorted((rank, peer))])
                self.pairs.add(name)
            found.setdefault(name, []).append(rank)
        order = list(self.groups)
        names = sorted(found, key=order.index)
        for name in names:
            stream = (given[kind], tuple(self.groups[name][0]), self.stream_of_calls(name))
            if name != given[kind] and "stream" not in given and stream not in self.pair_streams:
                self.pair_streams.append(stream)
        return [({**given, kind: name}, found[name]) for name in names]

    def by_pair_streams(self, given, ranks):
        """Adds the streams of a rank's pairs to a host's wait for the stream of their group."""
        named = given["synchronize"] if isinstance(given["synchronize"], list) else [given["synchronize"]]
        found = {}
        for rank in ranks:
            more = [number for number, (group, pair, _) in enumerate(self.pair_streams)
                    if self.stream_of_calls(group) in named and rank in pair]
            found.setdefault(tuple(more), []).append(rank)
        if "device" in named or list(found) == [()]:
            return [(given, ranks)]
        return [({**given, "synchronize": named + [self.pair_streams[number][2] for number in more]}, found[more])
                for more in sorted(found)]

    def calls_on(self, rank, calls):
        found = []
        for call in calls:
            if rank in self.rank_set(call.get("on")) and self.value(call.get("when"), rank, True):
                found += self.messages(rank, call) if self.is_messages(call) else [call]
        return found

    def is_messages(self, call):
        return "splits" in call or (next(iter(call)) in ("gather", "scatter") and not self.on_host)

    def messages(self, rank, call):
        """Returns the sends and recvs of a gather or scatter, or of an all_to_all with a part per
        rank."""
        if "splits" not in call:
            return self.messages_with_root(rank, call)
        group = call["all_to_all"]
        members = self.groups[group][self.list_of(group, rank)]
        own, found = members.index(rank), []
        rest = {key: value for key, value in call.items() if key in ("takes", "type")}
        for i, other in enumerate(members):
            if other == rank:
                continue
            for kind, to, part, giver in (("send", "to", i, rank), ("recv", "from", own, other)):
                size = self.value(call["splits"][part], giver)
                if size > 0 or self.backend in ("nccl2", "gloo"):
                    found.append({kind: group, to: other, "bytes": size, **rest})
        return found

    def messages_with_root(self, rank, call):
        """Returns the sends and recvs of a call with a root. A call without bytes, or of a
        single rank, stays a call."""
        kind = next(iter(call))
        group = call[kind]
        members = self.groups[group][self.list_of(group, rank)]
        root, size = self.value(call["root"], rank), self.value(call.get("bytes"), rank, 0)
        if len(members) == 1 or ("bytes" in call and size == 0):
            return [call]
        part = size if kind == "gather" else -(-size // len(members))
        rest = {key: value for key, value in call.items() if key in ("takes", "type")}
        word, to = ("send", "to") if (rank == root) == (kind == "scatter") else ("recv", "from")
        others = [other for other in members if other != root] if rank == root else [root]
        return [{word: group, to: other, "bytes": part, **rest} for other in others]

    def step(self, given):
        """Returns the role, the stream and the names of a step."""
        kind = next(iter(given))
        if kind == "compute":
            return {"role": "op", "stream": given.get("stream", "compute")}
        if kind in ("send", "recv") or kind in COLLECTIVES:
            return {"role": "calls", "calls": [given],
                    "stream": given.get("stream", self.stream_of_calls(given[kind]))}
        if kind == "group":
            first = given["group"][0]
            return {"role": "calls", "calls": given["group"],
                    "stream": given.get("stream", self.stream_of_calls(first[next(iter(first))]))}
        if kind in ("record", "wait"):
            return {"role": kind, "stream": given.get("stream", "compute")}
        if kind == "load":
            return {"role": "synchronize" if self.reading == "cold" else "work"}
        return {"role": {"host": "work", "get": "await", "input": "work"}.get(kind, kind)}

    def stream_of_calls(self, communicator):
        return communicator if self.on_host else "nccl " + communicator

    # Threads and streams

    def name_threads(self):
        """Collects streams and threads in order: from `threads`, from streams and actors, from
        programs."""
        self.streams, self.threads = {}, {}
        for name, given in self.tree.get("threads", {}).items():
            self.threads[name] = given or {}
        declared = self.tree.get("streams", {})
        for name in declared:
            given = (declared[name] or {}) if isinstance(declared, dict) else {}
            self.streams[name] = given

    def stream_of(self, item):
        if item["role"] == "op" and "thread" not in item:
            return self.word(item["given"].get("stream"))
        return item.get("stream")

    def thread_of(self, item):
        if "thread" in item:
            return item["thread"]
        named = self.word(item["given"].get("thread"))
        stream = self.stream_of(item)
        if named or stream is None:
            return named
        return self.word(self.streams[stream].get("thread"), stream)

    def find_streams(self):
        for item in self.items:
            stream = self.stream_of(item)
            named = item["given"].get("synchronize", [])
            named = [named] if isinstance(named, str) else named
            for name in [item.get("of_group"), stream, item["given"].get("behind"), *named]:
                if name not in (None, "device"):
                    self.streams.setdefault(name, {})
        for name, given in self.streams.items():
            self.threads.setdefault(self.word(given.get("thread"), name), {})
        for item in self.items:
            if "thread" not in item and self.thread_of(item) is not None:
                self.threads.setdefault(self.thread_of(item), {})
        for item in self.items:
            if "thread" in item:
                self.threads.setdefault(item["thread"], {})

    # Numbers

    def place(self):
        """Assigns ids rank by rank, and on a rank in file order."""
        self.placed = [(rank, item) for rank in range(self.ranks) for item in self.items
                       if rank in item["on"]]
        self.ids = {(rank, id(item)): number for number, (rank, item) in enumerate(self.placed)}
        self.thread_ids, self.stream_ids = [], []
        for rank in range(self.ranks):
            used = [item for of, item in self.placed if of == rank]
            for thread in self.threads:
                if any(self.thread_of(item) == thread for item in used):
                    self.thread_ids.append((rank, thread))
            for stream in self.streams:
                if any(self.stream_of(item) == stream for item in used):
                    self.stream_ids.append((rank, stream))
        for rank, item in self.placed:  # threads and streams of a single actor
            if self.thread_of(item) is None:
                self.thread_ids.append((rank, id(item)))
            if item["role"] == "op" and self.stream_of(item) is None:
                self.stream_ids.append((rank, id(item)))

    def thread_id(self, rank, item):
        return self.thread_ids.index((rank, self.thread_of(item) or id(item)))

    def stream_id(self, rank, item):
        if "thread" in item and self.stream_of(item) is None:
            return -1
        return self.stream_ids.index((rank, self.stream_of(item) or id(item)))

    # Registers, edges and rates

    def outputs(self, given):
        """Returns the registers of an actor, in order: `out`, then the registers in `registers`."""
        further = given.get("registers", {})
        out = {"slots": given.get("slots"), **further.get("out", {})}
        return {"out": out, **{name: of for name, of in further.items() if name != "out"}}

    def reads_of(self, rank, item):
        """Returns the (producer, register, ops of the reader that share a slot) of an actor on a
        rank."""
        found = []
        for key in ("reads", "after"):
            given = item["given"].get(key, [])
            for read in given if isinstance(given, list) else [given]:
                read = {"from": read} if isinstance(read, str) else read
                if rank not in self.rank_set(read.get("on")) or not self.value(read.get("when"), None, True):
                    continue
                name, _, register = read["from"].partition(".")
                ranks = [self.value(read.get("rank"), rank, rank)]
                if "each" in read:
                    ranks = self.groups[read["each"]][self.list_of(read["each"], rank)]
                producer = next(other for other in self.items if other.get("name") == name)
                for other in ranks:
                    found.append((self.ids[other, id(producer)], register or "out",
                                  self.value(read.get("per"), rank, 1)))
        return found

    def connect(self):
        self.registers, self.edges = [], []
        for number, (rank, item) in enumerate(self.placed):
            if "thread" in item:
                continue
            for name, given in self.outputs(item["given"]).items():
                self.registers.append({
                    "producer": number, "name": name, "slots": self.value(given.get("slots"), rank, 1),
                    "fills": self.value(given.get("every"), rank, 1),
                    "drain": self.value(given.get("drain_every"), rank, 0),
                    "control": self.value(given.get("control"), rank, False)})
        for number, (rank, item) in enumerate(self.placed):
            for producer, name, takes in [] if "thread" in item else self.reads_of(rank, item):
                register = next(i for i, of in enumerate(self.registers)
                                if of["producer"] == producer and of["name"] == name)
                self.edges.append((register, number, takes))
        self.ops = {}
        for number, (rank, item) in enumerate(self.placed):
            if "thread" in item:
                self.ops[number] = sum(of is item for of in self.program_lists[rank, item["thread"]])
            elif "source" in item["given"]:
                self.ops[number] = self.value(item["given"]["source"], rank)
        for _ in self.placed:
            for register, consumer, takes in self.edges:
                of = self.registers[register]
                if of["producer"] in self.ops and consumer not in self.ops:
                    self.ops[consumer] = self.ops[of["producer"]] // of["fills"] * takes

    # The plan as text

    def text(self):
        self.communicators, self.shared = [], {}
        self.events, self.locks = {}, {}
        steps = [self.step_text(number) for number in range(len(self.placed))]
        collectives = self.collectives()
        lines = ["ranks %d" % self.ranks]
        for number, (rank, thread) in enumerate(self.thread_ids):
            lines.append("thread %d: rank %d%s" % (number, rank, self.program_text(rank, thread)))
        devices = self.devices()
        for number, (rank, stream) in enumerate(self.stream_ids):
            queue = self.streams.get(stream, {}).get("launch_queue", self.defaults.get("launch_queue"))
            device = "" if (rank, stream) not in devices else ", device %d, hardware queue %d" % (
                devices[rank, stream])
            shared = self.launches(rank) if device else 0
            lines.append("stream %d: rank %d, launch queue %d%s" % (
                number, rank, shared or self.value(queue, rank, 1024), device))
        of_device = self.tree.get("device", {})
        for device, rank in sorted({(device, rank) for (rank, _), (device, _) in devices.items()}):
            queues, resident = self.limits(rank, sum(of == rank for of, _ in devices))
            order = of_device.get("launch_order", "none")
            launches = self.launches(rank)
            lines.append("device %d: rank %d, hardware queues %d, resident %d%s%s%s" % (
                device, rank, queues, resident, "" if order == "none" else ", order " + order,
                ", holds queues" if of_device.get("vendor") == "amd" else "",
                ", launch queue %d" % launches if launches else ""))
        lines += ["lock %d: rank %d" % (number, rank) for (_, rank), number in self.locks.items()]
        records = {(item["given"]["record"], rank) for rank, item in self.placed if item["role"] == "record"}
        for key, number in self.events.items():
            lines.append("event %d: %s" % (number, "recorded" if key in records else "set by hosts"))
        for number, text in enumerate(steps):
            lines += [part.replace("@collective", ", collective %d" % collectives[0].get(number, -1))
                      for part in text]
        for number, of in enumerate(self.registers):
            in_place = self.in_place(of)
            lines.append("register %d of actor %d: slots %d, Np %d%s%s%s" % (
                number, of["producer"], of["slots"], of["fills"],
                ", drain every %d" % of["drain"] if of["drain"] else "",
                ", control" if of["control"] else "",
                "" if in_place is None else ", in place of edge %d" % in_place))
        for number, (register, consumer, takes) in enumerate(self.edges):
            lines.append("edge %d: register %d (actor %d) to actor %d, Nc %d" % (
                number, register, self.registers[register]["producer"], consumer, takes))
        for number, (communicator, members) in enumerate(collectives[1]):
            lines.append("collective %d: communicator %d, members%s" % (
                number, communicator, "".join(" (rank %d, actor %d)" % member for member in members)))
        for number, (ranks, first_use, waits, connects, hosts) in enumerate(self.communicators):
            lines.append("communicator %d: ranks %s%s%s%s%s%s" % (
                number, " ".join(map(str, ranks)), ", at first use" if first_use else "",
                ", waits for device" if waits else "", ", connects at first use" if connects else "",
                ", calls of hosts" if hosts else "",
                ", advances in calls" if hosts and self.backend == "mpi" else ""))
        return lines

    def program_text(self, rank, thread):
        item = next((item for of, item in self.placed if of == rank and self.thread_of(item) == thread
                     and "thread" in item), None)
        if item is not None:
            return ", program" + "".join(" %d" % self.ids[rank, id(of)]
                                         for of in self.program_lists[rank, thread])
        given = self.threads.get(thread, {})
        if not isinstance(thread, str) or "program" not in given:
            return ""
        return ", program" + "".join(" %d" % number for number in self.thread_program(rank, given["program"]))

    def thread_program(self, rank, steps):
        numbers = []
        for step in steps:
            if isinstance(step, dict):
                if rank in self.rank_set(step.get("on")):
                    numbers += self.thread_program(rank, step["do"]) * self.value(step.get("repeat"), rank, 1)
                continue
            item = next(item for item in self.items if item.get("name") == step)
            if rank in item["on"]:
                numbers.append(self.ids[rank, id(item)])
        return numbers

    def limits(self, rank, streams):
        """Returns the hardware queues, if streams share them, and the kernel slots of a device."""
        given = self.tree.get("device", {})
        usual = (4 if given.get("vendor") == "amd" else 8) if "programs" in self.tree else 0
        queues = self.value(given.get("hardware_queues"), rank, usual)
        resident = self.value(given.get("sms", given.get("resident")), rank, 0)
        return (queues if streams > queues else 0), resident

    def launches(self, rank):
        """Returns the size of a device's launch queue, shared by all its streams."""
        return self.value(self.tree.get("device", {}).get("launch_queue"), rank, 0)

    def is_of_host(self, stream):
        return self.on_host and stream in self.groups

    def devices(self):
        """Returns a device for each rank, if a program has a call or the device has limits."""
        calls = any(item.get("calls") for item in self.items)
        found, number = {}, 0
        for rank in range(self.ranks):
            streams = [stream for of, stream in self.stream_ids
                       if of == rank and isinstance(stream, str) and not self.is_of_host(stream)]
            queues, resident = self.limits(rank, len(streams))
            is_limited = queues > 0 or resident > 0 or self.tree.get("device", {}).get("launch_order", "none") != "none"
            is_limited = is_limited or self.launches(rank) > 0
            if not streams or not (is_limited or calls):
                continue
            for i, stream in enumerate(streams):
                found[rank, stream] = (number, i % queues if queues else 0)
            number += 1
        return found

    def communicator(self, key, group, number):
        """Returns the communicator, added at its first use; each actor without a name gets its
        own.
        """
        if key is not None and (key, number) in self.shared:
            return self.shared[key, number]
        given = self.tree.get("communicators", {})
        is_cold = self.reading == "cold" and key is not None and not self.on_host
        usual = "first_use" if is_cold and not self.is_bound else "start"
        first_use = given.get("creation", usual) == "first_use" and not (self.on_host and key is not None)
        if key in self.pairs and is_cold:  # pairs are never initialized at the start
            first_use = True
        waits = self.value(given.get("waits_for_device"), None, False)
        self.communicators.append((self.groups[group][number], first_use, waits and first_use, is_cold,
                                   self.on_host and key is not None))
        made = len(self.communicators) - 1
        if key is not None:
            self.shared[key, number] = made
        return made

    def collectives(self):
        of_actor, all_of_them = {}, []
        for item in self.items:
            given = item["given"].get("collective") if "thread" not in item else None
            if not given:
                continue
            group = next(given[name] for name in COLLECTIVES if name in given)
            for number, members in enumerate(self.groups[group]):
                ids = [self.ids.get((rank, id(item)), -1) for rank in members]
                if max(ids) < 0:
                    continue
                for actor in ids:
                    of_actor[actor] = len(all_of_them)
                all_of_them.append((self.communicator(None, group, number), list(zip(members, ids))))
        return of_actor, all_of_them

    def in_place(self, of):
        item = self.placed[of["producer"]][1]
        has_edges = any(self.registers[edge[0]] is of for edge in self.edges)
        if not self.value(item["given"].get("in_place"), None, False) or of["name"] != "out" or not has_edges:
            return None
        return next(i for i, (register, consumer, _) in enumerate(self.edges)
                    if consumer == of["producer"] and not self.registers[register]["control"])

    def step_text(self, number):
        rank, item = self.placed[number]
        given, role = item["given"], item["role"]
        in_program = "thread" in item
        on_host = in_program and self.stream_of(item) is None
        overhead = self.value(given.get("launch_overhead", None if role == "work" and "host" in given else
                                        self.defaults.get("launch_overhead")), rank, 0)
        takes = self.value(given.get("takes"), rank, 0) if role == "op" else 0
        if role == "work":
            overhead += self.value(given.get("takes"), rank, 0)
        text = "actor %d (): thread %d, stream %d, takes %d, acts %d" % (
            number, self.thread_id(rank, item), self.stream_id(rank, item), takes, self.ops[number])
        text += ", overhead %d" % overhead if overhead else ""
        text += ", gated" if not in_program and self.gated(given) else ""
        blocking = self.value(given.get("blocking", self.defaults.get("blocking")), None, False)
        if "blocking" not in given and role in ("record", "wait"):
            blocking = False
        blocking = blocking or (role == "calls" and self.on_host)
        text += ", blocking" if blocking and not on_host else ""
        outside = given if "input" in given else given.get("waits_for_input")
        if outside:
            text += ", %d items from %d every %d" % (
                self.value(outside["items"], rank), self.value(outside.get("first"), rank, 0),
                self.value(outside.get("every"), rank, 0))
        if given.get("collective") and not in_program:
            text += "@collective"
        if in_program and role != "op":
            text += ", " + role + self.what(rank, item)
        behind = given.get("behind")
        if behind and behind != self.stream_of(item) and (rank, behind) in self.stream_ids:
            text += ", behind stream %d" % self.stream_ids.index((rank, behind))
        calls = item.get("calls", [])
        if "group" in given or self.is_messages(given):
            calls = self.calls_on(rank, [{key: value for key, value in call.items() if key not in (
                () if "group" in given else ("on", "when"))} for call in calls])
        kernel_slots = self.kernel_slots(rank, given, role, calls, in_program)
        text += ", room %d" % kernel_slots if kernel_slots != 1 else ""
        gang = self.gang(given, kernel_slots)
        text += ", gang %d" % gang if gang != 1 else ""
        copies = role == "calls" and self.value(given.get("ctas"), rank, 1) == 0  # no kernel
        text += ", unordered" if copies else ""
        return [text] + [self.call_text(rank, call, copies) for call in calls]

    def kernel_slots(self, rank, given, role, calls, in_program):
        if role == "calls" and self.value(given.get("ctas"), rank, 1) == 0:
            return 0
        if "sms" not in self.tree.get("device", {}) or not in_program or role not in ("op", "calls"):
            return 1
        usual = 16 * len({next(iter(call.values())) for call in calls})
        return self.value(given.get("ctas"), rank, usual)

    def gang(self, given, kernel_slots):
        if given.get("cooperative"):
            return max(kernel_slots, 1)
        return given.get("cluster", 1) if "sms" in self.tree.get("device", {}) and kernel_slots > 0 else 1

    def gated(self, given):
        default = self.defaults.get("messages", "gated" if given.get("collective") else "immediate")
        return self.word(given.get("messages"), default) == "gated"

    def owner_of(self, lock, rank):
        """Returns the first rank of the process, or the rank itself."""
        if {"lock": lock, "scope": "rank"} in self.tree.get("locks", []):
            return rank
        processes = self.groups.get(self.tree.get("processes"), [])
        return next((members[0] for members in processes if rank in members), rank)

    def what(self, rank, item):
        given, role = item["given"], item["role"]
        kind = next(iter(given))
        if kind in ("record", "wait", "await"):
            return " of event %d" % self.events.setdefault((given[kind], rank), len(self.events))
        if kind in ("set", "get"):
            key = self.events.setdefault((given[kind], None), len(self.events))
            return " of event %d %d times" % (key, given.get("times", 1))
        if role in ("lock", "unlock"):
            return " %d" % self.locks.setdefault((given[kind], self.owner_of(given[kind], rank)), len(self.locks))
        if role == "create":
            group = given[kind]
            return " communicator %d" % self.communicator(group, group, self.list_of(group, rank))
        if role != "synchronize":
            return ""
        named = "device" if kind == "load" else given[kind]
        chosen = [number for number, (of, stream) in enumerate(self.stream_ids)
                  if of == rank and isinstance(stream, str)
                  and ((named == "device" and not self.is_of_host(stream)) or stream in ([named] if isinstance(named, str) else named))]
        return "".join(" %d" % number for number in chosen)

    def call_text(self, rank, call, copies):
        kind = next(iter(call))
        group = call[kind]
        communicator = self.communicator(group, group, self.list_of(group, rank))
        root = self.value(call.get("root"), rank, 0)
        size = self.value(call.get("bytes"), rank, 0)
        if kind in ("send", "recv"):
            given = call["to" if kind == "send" else "from"]
            peer = -1 if given == "any" else self.value(given, rank)
            what = "%s to %d" % (kind, peer) if kind == "send" else "receive from %d" % peer
            what += ", tag :%s" % call.get("tag", "")
            steps = 0
            if kind == "send" and peer != rank and not call.get("registered") and self.has_buffers():
                steps = steps_of(size, len(self.groups[group][self.list_of(group, rank)]))
            what += ", steps %d" % steps if steps else ""
        else:
            pairs = kind == "all_to_all" and not copies
            what = "collective, operation :%s, root %d, connection :%s%s%s" % (
                kind, root, "all_reduce" if kind == "barrier" else kind,
                self.flow_text(kind, root, size), ", connects pairs" if pairs else "")
        return "  communicator %d: %s, count %d, type :%s, takes %d" % (
            communicator, what, size, call.get("type", ""), self.value(call.get("takes"), rank, 0))

    def has_buffers(self):
        return self.reading != "contract" and not self.on_host

    def flow_text(self, kind, root, size):
        """Returns the dependencies of a call with a root."""
        if self.backend == "gloo" and kind in ("broadcast", "gather", "scatter"):
            return ", flow %d of rank %d, steps 0" % (3 if kind == "broadcast" else 4, root)
        number = {"broadcast": 1, "reduce": 2}.get(kind, 0)
        if number == 0 or not self.has_buffers():
            return ""
        return ", flow %d of rank %d, steps %d" % (number, root, ring_steps(size))


def plan_text(tree):
    """Returns the plan's lines; operations, types, tags and connections are `:NAME`."""
    return Reader(tree).read()
