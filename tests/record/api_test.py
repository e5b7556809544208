"""The cases of api_cases.py, run with real gloo, and recorded and judged.

    api_test.py PIPESIM [NAME...]

Each case runs unchanged and, if it allows this, with rank 1 skipping it; this is left out with
torch 1 unless cases are named, because each such job takes seconds to be seen to hang. A case that
completes in gloo must be proved (a mismatch is allowed also), a case that hangs must be "hang
certain", and a case that raises must not be proved. With torch 2, gloo has a Flight Recorder: each
rank's collectives in its dump must equal the record's, with members and bytes. The dump lacks sends
and recvs, so those of the record must equal the ones that Python passes to the process group.
"""

import functools
import json
import os
import pathlib
import shutil
import sys
import tempfile

import with_torch  # isort: skip  # noqa: F401

os.environ["TORCH_FR_BUFFER_SIZE"] = "2000"

import api_cases
import real_gloo
import torch
import torch.distributed as dist
from pipesim import RecordingFailed, record
from pipesim.recorder import launcher

AT_ONCE = 8  # number of jobs that run at the same time

# Names of calls in the record, by their longer names in gloo's Flight Recorder.
NAMES = {
    "_all_gather_base": "all_gather", "_allgather_base": "all_gather",
    "all_gather_into_tensor_coalesced": "all_gather", "allgather_coalesced": "all_gather",
    "allgather_into_tensor_coalesced": "all_gather", "all_gather_coalesced": "all_gather",
    "all_reduce_coalesced": "all_reduce", "alltoall_base": "all_to_all",
    "all_to_all_single": "all_to_all",
}  # fmt: skip
SIZES = {"Float": 4, "Long": 8, "Byte": 1, "Int": 4, "Half": 2, "Bool": 1, "Short": 2}


def run_case(case, skipped, rank, ranks):
    torch.set_num_threads(1)
    if case.whole:
        case.body(rank, ranks)
        return
    dist.init_process_group("gloo")
    if not (skipped and rank == 1):
        case.body(rank, ranks)
    dist.barrier()


def in_process(case, skipped):
    """Runs a case as one rank, in the environment of torchrun."""
    run_case(case, skipped, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))


# The calls of real gloo


def run_with_real_gloo(case, skipped, folder):
    # torch registers no name for a group of _dist2, which has all ranks.
    messages, groups = [], {"": list(range(case.ranks))}
    if api_cases.NEW:
        observe_groups(groups)
    for name in ("send", "recv", "recv_anysource"):
        observe(name, messages)
    in_process(case, skipped)
    found = {"messages": messages, "groups": groups}
    if api_cases.NEW:  # the Flight Recorder has gloo's collectives
        found["dump"] = json.loads(torch._C._distributed_c10d._dump_fr_trace_json())
    (folder / f"{os.environ['RANK']}.json").write_text(json.dumps(found))


def observe_groups(groups):
    """Adds the members of each new group to `groups`, by name: the dump has only names."""
    original = dist.distributed_c10d._new_process_group_helper

    def helper(size, rank, ranks, *arguments, **options):
        name = options["group_name"] if "group_name" in options else arguments[2]
        groups[str(name)] = sorted(ranks) or list(range(size))
        return original(size, rank, ranks, *arguments, **options)

    dist.distributed_c10d._new_process_group_helper = helper


def observe(name, messages):
    """Adds each call of the method `name` of ProcessGroup from Python to `messages`."""
    original = getattr(dist.ProcessGroup, name)

    def method(self, tensors, *arguments):
        peer = -1 if name == "recv_anysource" else members_of(self)[arguments[0]]
        size = sum(t.numel() * t.element_size() for t in tensors)
        messages.append([name[:4], peer, arguments[-1], size])
        return original(self, tensors, *arguments)

    setattr(dist.ProcessGroup, name, method)


def members_of(group):
    ranks = getattr(dist.distributed_c10d, "_pg_group_ranks", None)
    if ranks is None:
        return dist.get_process_group_ranks(group)
    return sorted(ranks[group], key=ranks[group].get)


def collectives_of_dump(dump, groups):
    """Returns [call, members, bytes] of each collective in the dump, in order."""
    return [
        [
            NAMES.get(name := entry["profiling_name"].split(":")[-1], name),
            groups[entry["process_group"][0]],
            sum(
                functools.reduce(lambda size, length: size * length, shape, SIZES[of_type])
                for shape, of_type in zip(entry["input_sizes"], entry["input_dtypes"])
            ),
        ]
        for entry in dump["entries"]
    ]


# The calls of a record


def calls_of_record(path, rank):
    """Returns a rank's collectives, each [call, members, bytes], and its sends and recvs, each
    [call, peer, tag, bytes]. The peer of an any-source recv is -1."""
    groups, collectives, messages = {}, [], []
    for text in (path / f"rank{rank}.jsonl").read_text().splitlines():
        line = json.loads(text)
        if "group" in line:
            groups[line["def"]] = sorted(line["ranks"])
        elif "call" not in line or "def" in line:
            continue
        elif line["call"] in ("send", "recv"):
            peer = -1 if line.get("any") else line["peer"]
            messages.append([line["call"], peer, line.get("tag", 0), line["bytes"]])
        else:
            collectives.append([line["call"], groups[line["g"]], line.get("bytes", 0)])
    return collectives, messages


def difference(rank, collectives, dumped):
    """Returns the first difference between record and dump in words, or "" if they agree."""
    left = list(dumped)
    for number, call in enumerate(collectives, 1):
        found = left.pop(0) if left else None
        name, members, size = call
        if name == "reduce_scatter":
            # gloo makes an all_reduce of each input tensor of a reduce_scatter.
            while left and found[2] < size and left[0][:2] == found[:2]:
                found = [*found[:2], found[2] + left.pop(0)[2]]
            call = ["all_reduce", members, size]
        elif name == "scatter" and found and found[2] == 0:  # only the root has inputs
            call = ["scatter", members, 0]
        elif name == "barrier" and found:
            found = [*found[:2], 0]
        if call != found:
            return f"rank {rank}'s collective {number}: gloo {found}, record {call}"
    return f"rank {rank}: gloo also has {left}" if left else ""


# The comparison

# Answers of pipesim that fit a verdict of gloo. Mismatched calls can complete, e.g. a larger recv.
_ANSWERS = {"complete": ("proved", "mismatch"), "hang": ("hang certain",)}


class Form:
    """A case, unchanged or with rank 1 skipping it."""

    def __init__(self, case, skipped, here):
        self.case, self.skipped = case, skipped
        self.name = case.name + (" without rank 1" if skipped else "")
        self.folder = pathlib.Path(here, self.name)
        self.folder.mkdir()
        self.said = "no answer"
        run = functools.partial(run_with_real_gloo, case, skipped, self.folder)
        self.job = real_gloo.Job(self.folder, case.ranks, run, "api_cases.py")

    def faults(self, outcome):
        """Yields the differences between gloo and pipesim, in words."""
        case = self.case
        run = functools.partial(in_process, case, self.skipped)
        recorded = record(run, ranks=case.ranks)
        try:
            report = recorded.check(rules="gloo")
        except RecordingFailed as error:
            yield f"no answer: {error}"
            return
        said = f"gloo: {outcome.verdict} {outcome.errors}, pipesim: {report.answer}"
        self.said = said
        if outcome.verdict == "error":
            if report.proved:
                yield said
        elif report.answer not in _ANSWERS[outcome.verdict]:
            yield f"{said}, stuck at {outcome.stuck}\n{report.text}{recorded.output}"
        if outcome.verdict != "complete":
            return
        for rank in range(case.ranks):
            found = json.loads((self.folder / f"{rank}.json").read_text())
            collectives, messages = calls_of_record(recorded.path, rank)
            if not case.same_calls:
                continue
            if messages != found["messages"]:
                yield f"rank {rank}'s messages: gloo {found['messages']}, record {messages}"
            if "dump" in found:
                dumped = collectives_of_dump(found["dump"], found["groups"])
                text = difference(rank, collectives, dumped)
                if text:
                    yield text


def main():
    program, *names = sys.argv[1:]
    os.environ["PIPESIM"] = os.path.abspath(program)
    launcher.import_torch()  # otherwise, each process would import all of torch again
    here = tempfile.mkdtemp()
    cases = [case for case in api_cases.CASES if not names or case.name in names]
    forms = [
        Form(case, skipped, here)
        for case in cases
        for skipped in (False, True)
        if not skipped or case.skipped and (api_cases.NEW or names)
    ]
    failed = 0
    for first in range(0, len(forms), AT_ONCE):
        some = forms[first : first + AT_ONCE]
        outcomes = real_gloo.run_jobs([form.job for form in some], quick_end=True)
        for form, outcome in zip(some, outcomes):
            faults = list(form.faults(outcome))
            failed += bool(faults)
            for fault in faults:
                print(f"{form.name}: {fault}", flush=True)
            if names:
                print(f"{form.name}: {form.said}")
    shutil.rmtree(here)
    print(f"{len(cases)} cases, {len(forms)} forms, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    real_gloo.run_test(main)
