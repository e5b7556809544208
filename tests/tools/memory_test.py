"""Memory for reading an input: at most a fixed multiple of its size (docs/reference/limits.md).

    memory_test.py PROGRAM

The inputs consist of small values, which need the most memory. The memory for a small input is
subtracted.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
SANITIZED = b"__asan_init" in open(PROGRAM, "rb").read()
BYTES = 1_500_000
# Limits of docs/reference/limits.md, in bytes of memory per byte of input: actors, short actors and
# steps, the shortest reads, files written by pipesim itself, values of one byte in a pickle, others.
SCENARIO, SHORT, SHORTEST, OWN, PICKLED, OTHER = 14, 22, 33, 34, 44, 14

# Runs in a separate process, because a child's peak includes its parent's memory at the spawn.
MEASURE = """
import os, sys
files = [(os.POSIX_SPAWN_OPEN, fd, '/dev/null', os.O_WRONLY, 0) for fd in (1, 2)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=files)
print(os.wait4(child, 0)[2].ru_maxrss * 1024)
"""


def repeated(line, count, head="", tail=""):
    return head + "".join(line % {"i": i} for i in range(count)) + tail


def actors(count):
    return repeated("  a%(i)d: {source: 1, takes: %(i)dns}\n", count, "schema: 1\nactors:\n")


def short_actors(count):
    return repeated("  a%(i)d: {source: 1}\n", count, "schema: 1\nactors:\n")


def steps(count):
    head = "schema: 1\nactors: {a: {source: 1}}\nprograms:\n  do:\n"
    return repeated("    - {compute: k%(i)d, takes: 1us}\n", count, head)


def sends(count):
    head = "schema: 1\nranks: 2\ngroups: {g: [[0, 1]]}\nprograms:\n  on: 0\n  do:\n"
    return repeated("    - {send: g, to: 1, bytes: %(i)dB, takes: 1us}\n", count, head)


def reads(count):
    text = ", ".join(f"a{i % 1000:06}" for i in range(count))
    sources = "".join(f"  a{i:06}: {{source: 1}}\n" for i in range(1000))
    return f"schema: 1\nactors:\n{sources}  b: {{reads: [{text}]}}\n"


def short_reads(count):
    return "schema: 1\nactors:\n  a: {source: 1}\n  b: {reads: [a%s]}\n" % (", a" * count)


def actors_in_json(count):
    actors = {f"a{i}": {"source": 1, "takes": f"{i}ns"} for i in range(count)}
    return json.dumps({"schema": 1, "actors": actors})


def ranks(count):
    return "schema: 1\nsets: {s: [0%s]}\nactors: {a: {source: 1}}\n" % (", 0" * count)


def numbers(count):
    return json.dumps([0] * count)


def nothings(count):
    return b"\x80\x02](" + b"N" * count + b"e."


def lists(count):
    return b"\x80\x02](" + b"](Ne" * count + b"e."


def empty_lists(count):
    return b"\x80\x02](" + b")" * count + b"e."


def brackets(count):
    """Returns nested brackets, which the reader refuses before each bracket has taken memory."""
    return "[" * count


def brackets_of_ours(count):
    return '{"fingerprint": "0", "pipesim_order": 1, "x": ' + "[" * count


def json_lists(count):
    return json.dumps([[0]] * count, separators=(",", ":"))


def json_texts(count):
    return json.dumps([""] * count, separators=(",", ":"))


def one_text(count):
    text = b"x" * count
    return b"\x80\x02](X" + len(text).to_bytes(4, "little") + text + b"q\x01" + b"h\x01" * count + b"e."


def dump(count, description="default_pg"):
    """Returns a dump as PyTorch pickles it, with references in place of repeated strings."""
    group = ["0", description]
    entries = [{"record_id": i, "pg_id": 0, "process_group": group, "collective_seq_id": i, "p2p_seq_id": 0, "op_id": i,
                "profiling_name": "nccl:all_reduce", "time_created_ns": 1732500000000000000 + i, "input_sizes": [[4096]],
                "input_dtypes": ["Float"], "output_sizes": [[4096]], "output_dtypes": ["Float"], "state": "completed",
                "retired": True, "timeout_ms": 600000, "is_p2p": False} for i in range(count)]
    return pickle.dumps({"version": "2.9", "pg_config": {}, "entries": entries}, protocol=2)


def shared_texts(count):
    """Returns a dump whose strings have almost the allowed length per entry."""
    return dump(count, "d" * 120)


def aliases(count):
    """Returns lines of 45 bytes, each of which expands to about the allowed number of values."""
    head = "schema: 1\nactors: {a: {source: 1}}\nprograms:\n  do:\n    - &s {compute: k, takes: 1us}\n"
    return repeated("    - *s  # %(i)034d\n", count, head)


def alias_texts(count):
    """Returns steps that share a string of 50 bytes: about the allowed amount of text."""
    head = "schema: 1\nname: &x %s\nprograms:\n  do:\n" % ("A" * 50)
    return repeated("    - {compute: *x, takes: %(i)dns}\n", count, head)


def stacks(count):
    return repeated('Thread %(i)d (idle): "MainThread"\n    wait (threading.py:320)\n', count)


def nccl_log(count):
    head = "host:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 commId 0xabc - Init START\n"
    return repeated("host:1:1 [0] NCCL INFO AllReduce: opCount %(i)x sendbuff 0x1 recvbuff 0x2 count 4 datatype 7 "
                    "op 0 root 0 comm 0x1 [nranks=2] stream 0x3\n", count, head)


def launch_log(count):
    return repeated("I20220419 10:11:02.001000   101 kernel.cpp:52] before: op%(i)d\n", count)


def goal(count):
    return repeated("l%(i)d: calc %(i)d\n", count, "num_ranks 1\nrank 0 {\n", "}\n")


def boxing(count):
    head = "src_op_name,dst_op_name,src_parallel_desc,dst_parallel_desc,src_nd_sbp,dst_nd_sbp,lbi,dtype,shape,builder,comment\n"
    return repeated("a%(i)d,b%(i)d,(0:0),(0:0),(B),(B),a%(i)d/out,float,(1),Ident,-\n", count, head)


def stacks_in_json(count):
    return json.dumps([{"pid": i, "thread_name": "t", "frames": [{"name": "f", "line": 1}]} for i in range(count)])


def ras(count):
    ranks = [{"rank": i, "host": "h", "pid": i, "collective_counts": {"AllReduce": 5}} for i in range(count)]
    job = {"hash": "0x1", "size": count, "ranks_count": count, "ranks": ranks}
    return json.dumps({"nccl_version": "2.27", "communicators_count": 1, "communicators": [job]})


def ras_text(count):
    return repeated("%(i)d  %(i)d  h  0  OK\n", count, "RAS\n")


def report_of_numbers(count):
    return json.dumps({"fingerprint": "0", "steps": [0] * count})


def report_of_maps(count):
    return json.dumps({"fingerprint": "0", "steps": [{}] * count}, separators=(",", ":"))


def order(count):
    step = {"event": "op ends", "id": 1, "what": "a"}
    return json.dumps({"pipesim_order": 1, "scenario": "x", "settings": [], "count": count, "steps": [step] * count})


def report(count):
    actors = [{"name": f"a{i}", "done": 1, "expected": 1} for i in range(count)]
    head = {"fingerprint": "0" * 16, "schema": 1, "verdict": "completed", "cause": "", "time_ns": 0,
            "acts": {"done": 1, "expected": 1}, "cycle": [], "roots": []}
    return json.dumps({**head, "ranks": [{"rank": 0, "actors": actors}]})


def sweep(count):
    """Returns lines with the checksum of their text (FNV-1a), so that the reader accepts them."""
    def line(value):
        text = json.dumps(value, separators=(",", ":"))[:-1]
        total = 0xCBF29CE484222325
        for byte in text.encode():
            total = (total ^ byte) * 0x100000001B3 % (1 << 64)
        return f'{text},"sum":"{total:016x}"}}\n'

    head = {"pipesim_sweep": 2, "made_by": "x", "path": "x", "name": "x", "scenario": "0" * 16, "settings": [],
            "variables": [], "jitter": "free", "seeds": count, "first_seed": 1, "shard": [1, 1]}
    rows = ({"case": i, "verdict": "completed", "time_ns": i, "acts": [1, 1], "fingerprint": "0" * 16}
            for i in range(count))
    return line(head) + "".join(map(line, rows))


def rank_calls(count):
    head = ('{"record":1,"rank":0,"world":1}\n{"def":"g0","group":"0","ranks":[0]}\n{"init":"g0"}\n')
    call = '{"call":"all_reduce","g":"g0","n":%(i)d,"bytes":4,"sync":true}\n'
    return repeated(call, count, head, '{"end":"finished"}\n')


def oneflow_plan(count):
    """Returns a plan whose last task has no type, so that it is invalid: the scenario made from a
    valid plan would need more memory."""
    task = "task { task_type: kRepeat machine_id: 0 thrd_id: 1 task_id: %(i)d job_id: 0 }\n"
    return repeated(task, count, tail="task { task_id: -1 machine_id: 0 thrd_id: 1 }\n")


def fields(count):
    return "a:1 " * count


def mscclpp(count):
    block = {"id": 0, "channels": [], "remote_buffer_refs": [], "ops": [{"name": "nop"}] * count}
    gpus = [{"id": i, "input_chunks": 1, "output_chunks": 1, "scratch_chunks": 1, "channels": [],
             "remote_buffers": [], "semaphores": [], "threadblocks": [block]} for i in range(2)]
    return json.dumps({"name": "x", "collective": "allreduce", "protocol": "Simple", "inplace": False, "gpus": gpus})


def patch(count):
    return repeated("  +a%(i)d: {source: 1, takes: %(i)dns}\n", count, "patch: 1\nactors:\n")


def schedule(count):
    return ",".join(f"0F{i}" for i in range(count)) + "\n"


def algorithm(count):
    step = "".join('<step s="%d" type="nop" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" '
                   'hasdep="0"/>' % i for i in range(count))
    block = '<gpu id="%%d" i_chunks="2" o_chunks="2" s_chunks="2"><tb id="0" send="-1" recv="-1" chan="0">%s</tb></gpu>' % step
    head = '<algo name="a" nchannels="1" nchunksperloop="2" proto="Simple" ngpus="2" coll="allreduce" inplace="1">'
    return head + block % 0 + block % 1 + "</algo>"


class Memory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def taken(self, text, name, command):
        os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        run = subprocess.run([sys.executable, "-S", "-E", "-c", MEASURE, PROGRAM, *command], cwd=self.folder,
                             capture_output=True, text=True, check=True)
        return int(run.stdout), os.path.getsize(os.path.join(self.folder, name))

    @unittest.skipIf(SANITIZED, "what a sanitizer takes is its own")
    def test_each_kind(self):
        dump_of = ["diagnose", "flight-recorder", "in_0"]
        with open(os.path.join(self.folder, "small.yaml"), "w", encoding="utf-8") as file:
            file.write("schema: 1\nactors: {a: {source: 1}}\n")
        os.mkdir(os.path.join(self.folder, "record"))
        with open(os.path.join(self.folder, "record", "record.json"), "w", encoding="utf-8") as file:
            file.write('{"record": 1, "world": 1}')
        kinds = [
            (actors, SCENARIO, "in_0", ["run", "in_0", "--params"]),
            (actors_in_json, SCENARIO, "in_0", ["run", "in_0", "--params"]),
            (short_actors, SHORT, "in_0", ["run", "in_0", "--params"]),
            (steps, SHORT, "in_0", ["run", "in_0", "--params"]),
            (sends, SHORT, "in_0", ["run", "in_0", "--params"]),
            (reads, SCENARIO, "in_0", ["run", "in_0", "--params"]),
            (short_reads, SHORTEST, "in_0", ["run", "in_0", "--params"]),
            (ranks, SCENARIO, "in_0", ["run", "in_0", "--params"]),
            (numbers, OTHER, "in_0", dump_of),
            (json_lists, OTHER, "in_0", dump_of),
            (json_texts, OTHER, "in_0", dump_of),
            (nothings, PICKLED, "in_0", dump_of),
            (lists, PICKLED, "in_0", dump_of),
            (empty_lists, PICKLED, "in_0", dump_of),
            (brackets, OTHER, "in_0", dump_of),
            (one_text, OTHER, "in_0", dump_of),
            (dump, OTHER, "in_0", dump_of),
            (shared_texts, OTHER, "in_0", dump_of),
            (aliases, SHORT, "in_0", ["run", "in_0", "--params"]),
            (alias_texts, SHORT, "in_0", ["run", "in_0", "--params"]),
            (stacks, OTHER, "in_0", ["diagnose", "stacks", "in_0"]),
            (stacks_in_json, OTHER, "in_0", ["diagnose", "stacks", "in_0"]),
            (ras, OTHER, "in_0", ["diagnose", "ras", "in_0"]),
            (json_lists, OTHER, "in_0", ["diagnose", "ras", "in_0"]),
            (brackets, OTHER, "in_0", ["diagnose", "stacks", "in_0"]),
            (brackets, OTHER, "in_0", ["run", "in_0"]),
            (brackets, OTHER, "record/rank0.jsonl", ["lint", "record"]),
            (brackets_of_ours, OTHER, "in_0", ["diagnose", "ras", "in_0"]),
            (brackets_of_ours, OTHER, "in_0", ["verify", "in_0"]),
            (brackets_of_ours, OTHER, "in_0", ["diff", "small.yaml", "in_0"]),
            (brackets_of_ours, OTHER, "in_0", ["run", "small.yaml", "--replay", "in_0"]),
            (brackets_of_ours, OTHER, "in_0", ["sweep", "--merge", "in_0"]),
            (ras_text, OTHER, "in_0", ["diagnose", "ras", "in_0"]),
            (report_of_numbers, OWN, "in_0", ["diff", "small.yaml", "in_0"]),
            (report_of_maps, OWN, "in_0", ["diff", "small.yaml", "in_0"]),
            (order, OTHER, "in_0", ["run", "small.yaml", "--replay", "in_0"]),
            (report, OTHER, "in_0", ["diff", "small.yaml", "in_0"]),
            (sweep, OTHER, "in_0", ["sweep", "--merge", "in_0"]),
            (rank_calls, OTHER, "record/rank0.jsonl", ["lint", "record"]),
            (oneflow_plan, OTHER, "in_0", ["import", "oneflow-plan", "in_0"]),
            (fields, OTHER, "in_0", ["import", "oneflow-plan", "in_0"]),
            (mscclpp, OTHER, "in.json", ["verify", "in.json"]),
            (patch, SHORT, "in_0", ["run", "small.yaml", "--patch", "in_0", "--params"]),
            (schedule, OTHER, "in.csv", ["import", "torch-schedule", "in.csv"]),
            (algorithm, OTHER, "in.xml", ["verify", "in.xml"]),
            (nccl_log, OTHER, "in_0", ["diagnose", "nccl-log", "in_0"]),
            (launch_log, OTHER, "in_0", ["diagnose", "oneflow", "in_0"]),
            (goal, OTHER, "in.goal", ["run", "in.goal"]),
            (boxing, OTHER, "in_0", ["diagnose", "boxing", "in_0"]),
        ]
        for make, times, name, command in kinds:
            with self.subTest(make.__name__):
                small, _ = self.taken(make(2), name, command)
                large, size = self.taken(make(BYTES * 2000 // len(make(2000))), name, command)
                self.assertLess((large - small) / size, times)


if __name__ == "__main__":
    unittest.main()
