"""Traces follow the trace event format and the conventions of PyTorch's profiler.

    trace_test.py PROGRAM

Every shipped scenario is written as one trace, as one per rank, and compressed. The rules come from
the documentation of the format (the JSON of Chrome's trace viewer), from events that Perfetto's
importer drops, and from fields that HTA reads; docs/how-to/trace.md names them.
"""

import gzip
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SCENARIOS = sorted((ROOT / "scenarios").glob("*.yaml"))
# HTA's patterns for communication and memory, from hta/common/types.py.
COMMUNICATION = re.compile(r"(^nccl.*)|(^hip)|(^hccl)|(.*ncclKernel.*)")
MEMORY = re.compile(r"(^Memcpy)|(^Memset)|(^dma)")
OF_A_DEVICE = {"kernel", "gpu_memcpy"}
CATEGORIES = OF_A_DEVICE | {"cpu_op", "cuda_runtime", "user_annotation", "wait"}
STEP = "ProfilerStep#1"

# Rank 2 computes for longer than the others before their collective.
STRAGGLER = """
schema: 1
name: straggler
ranks: 4
groups: {dp: all}
streams: [compute, comm]
programs:
  do:
    - {compute: F, takes: {case: rank, 2: 90us, else: 10us}, stream: compute}
    - {all_reduce: dp, stream: comm, after: [compute], takes: 5us, name: gradients}
"""


def run(*arguments, code=(0, 1)):
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=ROOT, capture_output=True,
                          check=False)
    assert done.returncode in code, (arguments, done.returncode, done.stderr)
    return done


def ns(number):
    """Converts microseconds, given as text with three decimals, to whole nanoseconds."""
    return int(number.replace(".", ""))


class Exact(str):
    """A number as written in the file: a double cannot hold the nanoseconds of a long run."""


def load(text):
    return json.loads(text, parse_float=Exact)


class Checker:
    """Checks one trace; each method fails by an assertion of the test case."""

    def __init__(self, case, trace):
        self.case = case
        self.trace = trace
        self.events = trace["traceEvents"]
        self.lanes = {}  # (pid, tid) -> slices

    def check(self):
        self.check_top()
        self.check_events()
        self.check_names()
        self.check_nesting()
        self.check_flows()
        self.check_kernels()
        self.check_launches()

    def check_top(self):
        case = self.case
        case.assertEqual(1, self.trace["schemaVersion"])
        case.assertEqual("ms", self.trace["displayTimeUnit"])
        case.assertEqual(0, self.trace["baseTimeNanoseconds"])
        case.assertIsInstance(self.trace["traceName"], str)
        info = self.trace["distributedInfo"]
        case.assertEqual("nccl", info["backend"])
        case.assertEqual(info["pg_count"], len(info["pg_config"]))
        names = [group["pg_name"] for group in info["pg_config"]]
        case.assertEqual(len(names), len(set(names)), names)
        for group in info["pg_config"]:
            case.assertEqual(group["pg_size"], len(group["ranks"]))
            case.assertTrue(all(0 <= rank < info["world_size"] for rank in group["ranks"]))
        # HTA reads the head of the file, up to the events.
        case.assertLess(list(self.trace).index("distributedInfo"),
                        list(self.trace).index("traceEvents"))

    def check_events(self):
        case = self.case
        for event in self.events:
            for key in ("ph", "pid", "tid", "ts", "name"):
                case.assertIn(key, event)
            case.assertRegex(event["ts"], r"^[0-9]+\.[0-9]{3}$")
            case.assertIn(event["ph"], "XMsfi")
            if event["ph"] == "X":
                case.assertRegex(event["dur"], r"^[0-9]+\.[0-9]{3}$")
                case.assertIn(event["cat"], CATEGORIES)
                begin = ns(event["ts"])
                lane = self.lanes.setdefault((event["pid"], event["tid"]), [])
                lane.append((begin, begin + ns(event["dur"]), event))
            if event["ph"] == "i":
                case.assertIn(event["s"], "gpt")

    def check_names(self):
        """Checks that each process and thread with slices has a name and a position."""
        named = {}
        for event in self.events:
            if event["ph"] == "M":
                named.setdefault(event["name"], set()).add((event["pid"], event["tid"]))
                key = {"process_name": "name", "thread_name": "name", "process_labels": "labels",
                       "process_sort_index": "sort_index", "thread_sort_index": "sort_index"}
                self.case.assertIn(key[event["name"]], event["args"])
        for pid, tid in self.lanes:
            for what in ("process_name", "process_sort_index"):
                self.case.assertIn((pid, 0), named[what])
            for what in ("thread_name", "thread_sort_index"):
                self.case.assertIn((pid, tid), named[what])

    def check_nesting(self):
        """Checks that slices of a thread nest, and that the file has the outer slice first."""
        for lane in self.lanes.values():
            open_slices = []
            last = 0
            for begin, end, event in lane:
                self.case.assertGreaterEqual(begin, last, event)
                last = begin
                while open_slices and open_slices[-1] <= begin:
                    open_slices.pop()
                if open_slices:
                    self.case.assertLessEqual(end, open_slices[-1], event)
                open_slices.append(end)

    def enclosing(self, event, seen):
        """Returns the slices that are open at a flow's end and earlier in the file."""
        time = ns(event["ts"])
        return [inner for begin, end, inner in self.lanes[event["pid"], event["tid"]]
                if begin <= time < end and id(inner) in seen]

    def check_flows(self):
        """Checks that each flow has one start and one end, each bound to a slice, in order of time
        and of the file."""
        case = self.case
        seen, starts, ends = set(), {}, {}
        for event in self.events:
            if event["ph"] == "X":
                seen.add(id(event))
            if event["ph"] not in "sf":
                continue
            key = (event["id"], event["cat"], event["name"])
            case.assertNotIn(key, starts if event["ph"] == "s" else ends)
            found = self.enclosing(event, seen)
            case.assertTrue(found, event)
            if event["ph"] == "s":
                starts[key] = (event, found)
                continue
            case.assertEqual("e", event["bp"])
            case.assertIn(key, starts)
            begin, sources = starts[key]
            case.assertLessEqual(ns(begin["ts"]), ns(event["ts"]))
            ends[key] = event
            if event["cat"] == "ac2g":
                for side in (sources[-1], found[-1]):
                    case.assertEqual(event["id"], side["args"]["correlation"])
            else:
                case.assertNotEqual((begin["pid"], begin["tid"]), (event["pid"], event["tid"]))
        case.assertEqual(starts.keys(), ends.keys())

    def check_kernels(self):
        case = self.case
        correlations = set()
        for event in (e for lane in self.lanes.values() for _, _, e in lane):
            args = event["args"]
            is_kernel = event["cat"] in OF_A_DEVICE
            case.assertEqual(is_kernel, "stream" in args, event)  # HTA recognizes kernels by this
            if event["cat"] == "wait" and "for_ever" in args:
                case.assertEqual(len(args["waits_for"]), len(args["how"]))
                case.assertTrue(args["waits_for"])
            if not is_kernel:
                continue
            case.assertEqual(event["tid"], args["stream"])
            case.assertNotIn(args["correlation"], correlations)
            correlations.add(args["correlation"])
            named = COMMUNICATION.search(event["name"])
            case.assertEqual(bool(named), "Collective name" in args, event)
            case.assertEqual(event["cat"] == "gpu_memcpy", bool(MEMORY.search(event["name"])))
            if named:
                groups = {g["pg_name"]: g for g in self.trace["distributedInfo"]["pg_config"]}
                group = groups[args["Process Group Name"]]
                case.assertEqual(group["pg_size"], args["Group size"])
                case.assertIn(event["pid"], group["ranks"])


    def check_launches(self):
        """Finds the step of each kernel as HTA does: through its launch, which is in a step of its
        rank."""
        case = self.case
        slices = [event for lane in self.lanes.values() for _, _, event in lane]
        steps = {}
        for event in slices:
            if event["cat"] != "user_annotation":
                continue
            case.assertEqual(STEP, event["name"])
            case.assertNotIn(event["pid"], steps)
            steps[event["pid"]] = (ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]))
        launches = {event["args"]["correlation"]: event for event in slices
                    if event["cat"] == "cuda_runtime" and "correlation" in event["args"]}
        for event in slices:
            if event["cat"] not in OF_A_DEVICE:
                continue
            case.assertGreater(event["args"]["stream"], 0)
            launch = launches[event["args"]["correlation"]]
            case.assertEqual(event["pid"], launch["pid"])
            case.assertLessEqual(ns(launch["ts"]), ns(event["ts"]))
            begin, end = steps[event["pid"]]
            case.assertTrue(begin <= ns(launch["ts"]) < max(end, begin + 1), launch)


def stragglers(traces, count):
    """Finds the stragglers of one step like HTA's find_stragglers_with_late_start_comm_kernels:
    takes each rank's last collective of each kernel name and stream, selects the name and stream
    whose collectives differ most in length, and returns the `count` ranks that start theirs last.
    """
    last, begin, end = {}, None, None
    for rank, trace in traces.items():
        slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        step = next(event for event in slices if event["name"] == STEP)
        inside = {event["args"]["correlation"] for event in slices
                  if event["cat"] == "cuda_runtime" and "correlation" in event["args"]
                  and ns(step["ts"]) <= ns(event["ts"]) < ns(step["ts"]) + ns(step["dur"])}
        for event in slices:
            begin = min(ns(event["ts"]), ns(event["ts"]) if begin is None else begin)
            end = max(ns(event["ts"]) + ns(event["dur"]), end or 0)
            args = event["args"]
            if event["name"].startswith("ncclKernel") and args["stream"] > 0 and args["correlation"] in inside:
                last.setdefault((args["stream"], event["name"]), {})[rank] = event
    spread = {key: statistics.stdev(ns(event["dur"]) for event in found.values())
              for key, found in last.items() if len(found) > 1}
    chosen = last[max(spread, key=spread.get)]
    return sorted(chosen, key=lambda rank: -ns(chosen[rank]["ts"]))[:count]


class Traces(unittest.TestCase):
    def test_a_straggler_is_found_as_hta_finds_it(self):
        with tempfile.TemporaryDirectory() as folder:
            scenario = pathlib.Path(folder) / "straggler.yaml"
            scenario.write_text(STRAGGLER, "utf-8")
            run("run", scenario, "--trace", pathlib.Path(folder) / "rank{rank}.json", code=(0,))
            traces = {rank: load((pathlib.Path(folder) / f"rank{rank}.json").read_bytes()) for rank in range(4)}
        self.assertEqual([2], stragglers(traces, 1))

    def test_every_scenario_keeps_the_rules(self):
        flows, kernels = set(), set()
        for scenario in SCENARIOS:
            with self.subTest(scenario=scenario.name), tempfile.TemporaryDirectory() as folder:
                plain = pathlib.Path(folder) / "all.json"
                report = run("run", scenario, "--json")
                done = run("run", scenario, "--trace", plain)
                self.assertEqual(report.returncode, done.returncode)
                text = plain.read_bytes()
                trace = load(text)
                Checker(self, trace).check()
                self.check_end(json.loads(report.stdout), trace)
                events = trace["traceEvents"]
                flows |= {event["cat"] for event in events if event["ph"] == "s"}
                kernels |= {event["cat"] for event in events if event["ph"] == "X"}
                # Writes the trace again, compressed: it has the same bytes when decompressed.
                packed = plain.with_suffix(".json.gz")
                run("run", scenario, "--trace", packed)
                self.assertEqual(text, gzip.decompress(packed.read_bytes()))
                self.assertEqual(bytes(5), packed.read_bytes()[3:8])  # neither name nor time
                self.check_ranks(scenario, pathlib.Path(folder), trace)
        self.assertEqual({"ac2g", "p2p", "collective", "data"}, flows)
        self.assertEqual(CATEGORIES, kernels)

    def check_end(self, report, trace):
        """Checks the moment of the hang, and that the lane of each wait of the cycle shows the
        wait."""
        verdicts = [e for e in trace["traceEvents"] if e["ph"] == "i" and e["cat"] == "verdict"]
        if report["verdict"] == "completed":
            self.assertEqual([], verdicts)
            return
        self.assertEqual([report["verdict"].upper()], [event["name"] for event in verdicts])
        self.assertEqual(report["time_ns"], ns(verdicts[0]["ts"]))
        self.assertEqual(report["cause"], verdicts[0]["args"]["cause"])
        self.assertEqual(len(report["cycle"]), len(verdicts[0]["args"]["cycle"]))
        waits = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == "wait"]
        for rank in {wait["rank"] for wait in report["cycle"]}:
            self.assertTrue(any(e["pid"] == rank and e["args"].get("on_cycle") for e in waits))

    def check_ranks(self, scenario, folder, whole):
        """Checks the file of each rank, which has the rank's part of the whole trace."""
        pattern = folder / "rank{rank}.json.gz"
        run("run", scenario, "--trace", pattern)
        world = whole["distributedInfo"]["world_size"]
        for rank in range(world):
            path = folder / f"rank{rank}.json.gz"
            part = load(gzip.decompress(path.read_bytes()))
            Checker(self, part).check()
            self.assertEqual(rank, part["distributedInfo"]["rank"])
            self.assertEqual({rank}, {event["pid"] for event in part["traceEvents"]})
            slices = lambda trace: [event for event in trace["traceEvents"]
                                    if event["ph"] == "X" and event["pid"] == rank]
            self.assertEqual(slices(whole), slices(part))
        self.assertEqual(world, len(list(folder.glob("rank*"))))

    def test_what_breaks_a_rule_is_seen(self):
        """Checks that Checker can fail: it reports each of these changes to a good trace."""
        text = run("run", "scenarios/two_groups_opposite_order.yaml", "--trace", "-").stdout

        def first(trace, **wanted):
            return next(event for event in trace["traceEvents"]
                        if all(event.get(key) == value for key, value in wanted.items()))

        def remove(trace, **wanted):
            trace["traceEvents"].remove(first(trace, **wanted))

        changes = {
            "a slice without a length": lambda t: first(t, ph="X").pop("dur"),
            "a slice longer than what it is in": lambda t: first(t, cat="cuda_runtime").update(
                dur=Exact("99999.000")),
            "a wait that is longer than its kernel": lambda t: first(t, cat="wait").update(
                dur=Exact("99999.000")),
            "a flow without its end": lambda t: remove(t, ph="f"),
            "a flow without its start": lambda t: remove(t, ph="s"),
            "a flow that binds to the next slice": lambda t: first(t, ph="f").pop("bp"),
            "a flow outside of all slices": lambda t: first(t, ph="f").update(ts=Exact("99999.000")),
            "two flows of one id": lambda t: t["traceEvents"].append(first(t, ph="s")),
            "a stream without a name": lambda t: remove(t, ph="M", name="thread_name"),
            "a wait that HTA takes for a kernel": lambda t: first(t, cat="wait")["args"].update(
                stream=0),
            "a collective by another name": lambda t: [event.update(name="x") for event
                                                       in t["traceEvents"]
                                                       if "ncclKernel" in event["name"]],
            "a kernel that nobody launched": lambda t: remove(t, cat="cuda_runtime", name="cudaLaunchKernel"),
            "a rank without a step": lambda t: remove(t, cat="user_annotation"),
            "a stream that HTA takes for the host's": lambda t: [event["args"].update(stream=0) or event.update(tid=0)
                                                                for event in t["traceEvents"]
                                                                if event["ph"] == "X" and "stream" in event["args"]],
            "a group that is not there": lambda t: t["distributedInfo"]["pg_config"].pop(),
        }
        for name, change in changes.items():
            trace = load(text)
            Checker(self, trace).check()
            change(trace)
            with self.subTest(change=name), self.assertRaises((AssertionError, KeyError)):
                Checker(self, trace).check()

    def test_a_trace_can_be_printed(self):
        printed = run("run", "scenarios/swin_2x2x2.yaml", "--trace", "-", code=(1,)).stdout
        Checker(self, load(printed)).check()

    def test_names_that_are_no_json_are_escaped(self):
        text = ('schema: 1\nname: escapes\nranks: 1\nprograms:\n'
                '  do: [{compute: f, takes: 1us, at: "a\\tb\\\\c \\u00e9 \\"d\\""}]\n')
        done = subprocess.run([PROGRAM, "run", "-", "--trace", "-"], input=text.encode(),
                              capture_output=True, check=False)
        self.assertEqual(b"", done.stderr)
        places = [event["args"]["at"] for event in load(done.stdout)["traceEvents"]
                  if event["ph"] == "X" and event["cat"] == "kernel"]
        self.assertEqual(['a\tb\\c \u00e9 "d"'], places)

    def test_where_it_cannot_be_written(self):
        run("run", SCENARIOS[0], "--trace", "no/such/folder/x.json", code=(74,))
        run("run", SCENARIOS[0], "--trace", "no/such/folder/{rank}.json.gz", code=(74,))
        run("run", SCENARIOS[0], "--trace", "-", "--json", code=(2,))


if __name__ == "__main__":
    unittest.main()
