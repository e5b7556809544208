"""Random scenarios without errors, as trees and as YAML."""

import json

BACKENDS = ("nccl2", "nccl2", "nccl-legacy", "nccl-lazy", "gloo")
SMALL_SIZES = ("8B", "4KiB", "if(two > 1, 8B, 1MiB)")
SIZES = SMALL_SIZES + ("17MiB", "64MiB", "65MiB")
ROOTED = ("broadcast", "gather", "reduce", "scatter")
COLLECTIVES = ("all_gather", "all_reduce", "all_to_all", "barrier", "reduce_scatter")


def yaml(tree, random, indent=0):
    """Returns the tree as YAML: block style to a random depth, then flow style."""
    if not isinstance(tree, (dict, list)) or not tree or (indent > 2 and random.random() < 0.6):
        return json.dumps(tree).replace("true", "on").replace("false", "off")
    lines = []
    if isinstance(tree, dict):
        for key, value in tree.items():
            nested = isinstance(value, (dict, list)) and value
            text = yaml(value, random, indent + 2)
            is_block = nested and not text.startswith(("{", "["))
            lines.append(f"{' ' * indent}{key}:" + ("\n" + text if is_block else " " + text))
    else:
        for value in tree:
            lines.append(f"{' ' * indent}- " + json.dumps(value).replace("true", "on").replace("false", "off"))
    return "\n".join(lines)


class Maker:
    def __init__(self, random, small):
        self.random = random
        self.small = small
        self.ranks = random.randint(1 if not small else 2, 2 if small else 4)
        self.tree = {"schema": 1, "ranks": self.ranks, "reading": "contract"}

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def pick(self, items):
        return self.random.choice(list(items))

    # Values

    def time(self, rank=True):
        number = self.random.randint(0, 20)
        forms = [f"{number}us", f"{number}.5us", f"{number * 100}ns", f"t_step + {number}ns",
                 f"max(t_step, {number}us)"]
        if rank:
            forms += [f"rank * 1us + {number}us", f"if(rank % 2 == 0, {number}us, t_step)",
                      {"case": "rank", "0": f"{number}us", "else": "t_step"}]
        return self.pick(forms)

    def small_number(self):
        return self.pick([1, 1, 2, 3, "two", "two - 1", "min(two, 1)", "if(rank == 0 and not fast, 2, 1)"])

    def ranks_form(self, chosen):
        """Returns a random notation for these ranks."""
        chosen = sorted(chosen)
        forms = [chosen, f"rank in {chosen}"]
        if chosen == list(range(self.ranks)):
            forms += ["all", "rank >= 0"]
        if chosen == [rank for rank in range(self.ranks) if rank % 2 == 0]:
            forms += ["rank % 2 == 0", "even", "rank in even", "not rank not in even"]
        if len(chosen) == 1:
            forms += [chosen[0], f"rank == {chosen[0]}"]
        if chosen == list(range(chosen[0], chosen[-1] + 1)):
            forms.append(f"{chosen[0]}..{chosen[-1]}")
        return self.pick(forms)

    def some_ranks(self, of):
        chosen = [rank for rank in of if self.chance(70)]
        return chosen or list(of)[:1]

    def make(self):
        tree = self.tree
        tree["params"] = {"two": {"default": 2, "at_least": 1}, "t_step": "3us",
                          "fast": self.chance(50), "mode": {"default": "own", "one_of": ["own", "shared"]}}
        tree["sets"] = {"even": "rank % 2 == 0"}
        tree["groups"] = {"world": "all", "pairs": {"size": 1 + self.ranks % 2 * 0} if self.ranks % 2 else
                          {"size": 2, "stride": self.pick([1, self.ranks // 2])}}
        if self.chance(20):
            tree["processes"] = "pairs"
        if self.chance(30):
            tree["defaults"] = {key: value for key, value in {
                "launch_overhead": "1us", "launch_queue": 2, "messages": "gated", "blocking": True,
            }.items() if self.chance(30)}
        if self.chance(40):
            tree["communicators"] = {"creation": "first_use", "waits_for_device": self.chance(50)}
        if not self.small:
            self.make_devices()
        kind = self.pick(["actors", "programs", "both"]) if not self.small else self.pick(["actors", "programs"])
        if kind != "programs":
            self.make_hosts()
            self.make_actors()
        if kind != "actors":
            self.make_programs()
        if kind == "both":
            for name in ("compute", "side"):
                tree["streams"][name] = {"thread": None}
        return tree

    def make_devices(self):
        """Adds settings of NCCL, PyTorch and CUDA."""
        self.tree["reading"] = self.pick(["contract", "real", "cold", "cold"])
        if self.chance(40):
            self.tree["backend"] = self.pick(BACKENDS)
        if self.chance(20):
            self.tree["device_id"] = self.chance(60)
        if self.chance(50):
            device = {"vendor": self.pick(["nvidia", "amd"])} if self.chance(40) else {}
            if self.chance(50):
                device["hardware_queues"] = self.pick([0, 1, "two", "if(rank == 0, 1, 3)"])
            if self.chance(50):
                device["launch_order"] = self.pick(["none", "implicit", "serial"])
            if self.chance(60):
                device.update(self.pick([{"resident": 1}, {"resident": "two"}, {"sms": 64}, {"sms": "two * 32"}]))
            if self.chance(30):
                device["launch_queue"] = self.pick([0, 1, 2, "two", "if(rank == 0, 2, 1024)"])
            self.tree["device"] = device

    def slots(self, step):
        if "sms" in self.tree.get("device", {}) and self.chance(40):
            step["ctas"] = self.pick([0, 1, 8, "rank + 4", 64])
            if step["ctas"] in (8, 64) and self.chance(40):
                step["cluster"] = self.pick([2, 4, 8])
        if not self.small and self.chance(5):
            step["cooperative"] = True
        return step

    # Actors

    def make_hosts(self):
        self.stream_names = [f"s{i}" for i in range(self.random.randint(1, 3))]
        threads = [f"t{i}" for i in range(self.random.randint(1, 2))]
        self.tree["threads"] = {name: {} for name in threads}
        self.tree["streams"] = {}
        for name in self.stream_names:
            given = {}
            if self.chance(70):
                given["thread"] = self.pick(threads)
            if self.chance(20):
                given["launch_queue"] = self.small_number()
            self.tree["streams"][name] = given
        self.thread_names = threads

    def make_actors(self):
        self.actors, self.ops = {}, {}
        self.on = {}
        count = self.random.randint(2, 4 if self.small else 7)
        for i in range(count):
            self.add_actor(f"a{i}")
        self.tree["actors"] = self.actors

    def add_actor(self, name):
        actor = {}
        feeding = [other for other in self.actors]
        everyone = list(range(self.ranks))
        if feeding and self.chance(70):
            first = self.pick(feeding)
            ranks = self.some_ranks(self.on[first])
            reads, ops = self.reads(first, ranks)
            actor["reads"] = reads
        else:
            ranks = self.some_ranks(everyone)
            ops = 1 if self.small else self.pick([1, 2, 4])
            actor["source"] = {1: 1, 2: self.pick([2, "two"]), 4: "two * two"}[ops]
            if self.chance(15):
                actor["waits_for_input"] = {"items": ops, "first": self.time(), "every": "1us"}
        if ranks != everyone or self.chance(20):
            actor["on"] = self.ranks_form(ranks)
        self.add_details(actor, ranks, ops)
        self.actors[name] = actor
        self.on[name], self.ops[name] = ranks, ops

    def reads(self, first, ranks):
        reads, ops = [], self.ops[first]
        if self.chance(15) and ops == 1 and not self.small:
            reads.append({"from": first, "per": 2})
            return reads, 2 * ops
        reads.append(first if self.chance(60) else {"from": first, "rank": "rank"})
        for other in self.actors:
            on = [rank for rank in ranks if rank in self.on[other]]
            if other == first or self.ops[other] != ops or not on or not self.chance(30):
                continue
            reads.append(other if on == ranks else {"from": other, "on": self.ranks_form(on)})
        if self.on[first] == list(range(self.ranks)) and self.ranks > 1 and self.chance(20):
            reads[0] = {"from": first, "rank": "(rank + 1) % ranks"}
        return reads, ops

    def add_details(self, actor, ranks, ops):
        actor["takes"] = self.time()
        if self.chance(60):
            actor["stream"] = self.pick(self.stream_names) if self.chance(80) else {
                "case": "mode", "own": self.stream_names[0], "else": self.stream_names[-1]}
        elif self.chance(30):
            actor["thread"] = self.pick(self.thread_names)
        if self.chance(30):
            actor["slots"] = self.small_number()
        if self.chance(15):
            actor["launch_overhead"] = self.time()
        if self.chance(30):
            actor["messages"] = self.pick(["gated", "immediate"])
        if self.chance(10):
            actor["blocking"] = True
        if self.chance(15) and "reads" in actor and len(actor["reads"]) == 1 and isinstance(actor["reads"][0], str):
            actor["in_place"] = True
        if self.chance(20):
            out = {"out": {"drain_every": 1}} if self.chance(50) else {}
            actor["registers"] = {**out, "ctl": {"control": True, "slots": self.small_number()}}
        if self.chance(45):
            actor["collective"] = {self.pick(COLLECTIVES): self.pick(["world", "pairs"])}
        assert ranks and ops

    # Programs

    def make_programs(self):
        self.locks = 0
        programs = []
        for i in range(1 if self.chance(60) else 2):
            program = {"do": self.steps(self.random.randint(1, 3) if self.small else self.random.randint(2, 6))}
            if i > 0 and self.chance(50):
                program["thread"] = "second"
            programs.append(program)
        self.tree["programs"] = programs if len(programs) > 1 or self.chance(50) else programs[0]

    def steps(self, count):
        found = []
        for _ in range(count):
            found += self.step()
        return found

    def call(self):
        group = self.pick(["world", "pairs"])
        call = {self.pick(COLLECTIVES): group}
        kind = next(iter(call))
        if kind == "barrier":
            call = {"all_reduce": group}
        if not self.small and self.chance(20):
            call = {self.pick(ROOTED): "world", "root": self.pick([0, "ranks - 1", "two - 2"])}
        elif not self.small and self.chance(15):
            parts = [self.pick(["0B", "1KiB", "if(rank == 0, 0B, 4KiB)", "rank * 8MiB"]) for _ in range(self.ranks)]
            return self.slots({"all_to_all": "world", "splits": parts})
        call.update({"bytes": self.pick(SMALL_SIZES if self.small else SIZES)})
        if self.chance(60):
            call["takes"] = self.time(rank=False)
        if self.chance(20):
            call["type"] = self.pick(["float32", "int8"])
        return self.slots(call)

    def message(self):
        """Returns a send and a recv from rank 0 to rank 1, or around a ring."""
        if self.ranks < 2:
            return []
        if self.chance(50):
            return [{"send": "world", "to": 1, "bytes": "8B", "on": 0},
                    {"recv": "world", "from": 0, "bytes": "8B", "on": self.pick([1, "rank == 1"])}]
        size = "1KiB" if self.small else self.pick(["1KiB", "24MiB", "65MiB"])
        registered = {"registered": True} if not self.small and self.chance(20) else {}
        return [{"send": "world", "to": "(rank + 1) % ranks", "bytes": size, "takes": self.time(False), **registered},
                {"recv": "world", "from": "(rank + ranks - 1) % ranks", "bytes": size}]

    def step(self):
        kind = self.random.randint(0, 12)
        where = {"on": self.ranks_form(self.some_ranks(range(self.ranks)))} if self.chance(20) else {}
        if kind < 2:
            step = {"compute": "k", "takes": self.time(), **where}
            if self.chance(30):
                step["stream"] = self.pick(["side", "compute"])
            if self.chance(15):
                step["behind"] = "nccl world"
            if not self.small and self.chance(10):
                return [{"load": "k"}, self.slots(step)]
            return [self.slots(step)]
        if kind < 5:
            call = self.call()
            if self.chance(10):
                call["when"] = "rank != 0"
            if self.chance(20):
                call["blocking"] = True
            return [call]
        if kind == 5:
            messages = self.message()
            if messages and self.tree.get("backend") == "gloo":
                messages[1]["from"] = self.pick(["any", messages[1]["from"]])
            return messages
        if kind == 6:
            messages = [{key: value for key, value in of.items()} for of in self.message()]
            if messages and not self.small and self.chance(30):
                messages.append({"all_to_all": "world", "splits": ["if(rank == 0, 0B, 8KiB)"] * self.ranks})
            if messages and not self.small and self.chance(30):
                messages.append({self.pick(["gather", "scatter"]): "world", "root": 0, "bytes": "8KiB"})
            return [{"group": messages}] if messages else []
        if kind == 7:
            return [{"record": "e", **where}, {"wait": "e", "stream": "side"}]
        if kind == 8:
            return [{"host": "h", "takes": self.time(), **({"launch_overhead": "1us"} if self.chance(40) else {})}]
        if kind == 9:
            self.locks += 1  # a new lock each time: a thread that takes one twice is an error
            name = f"l{self.locks}"
            if self.chance(30):
                self.tree.setdefault("locks", []).append({"lock": name, "scope": "rank"})
            return [{"lock": name}, *self.steps(1), {"unlock": name}]
        if kind == 10:
            return [{"synchronize": self.pick(["device", "compute", ["compute", "nccl world"]])}] \
                if not self.small else [{"synchronize": "device"}]
        if kind == 11:
            return [{"set": "key"}, {"get": "key", "times": self.random.randint(1, 2)}]
        return [{"repeat": self.random.randint(1, 2), "do": self.steps(1 if self.small else 2)}]


def scenario(random, small=False):
    return Maker(random, small).make()
