"""The process group that replaces the groups of gloo and NCCL in the process of a rank.

Every call reaches this subclass of `torch.distributed.ProcessGroup`: calls of the Python API
directly, calls of DDP's reducer and functional collectives from C++, through trampolines
(torch/csrc/distributed/c10d/PyProcessGroup.hpp). Each method describes its call: inputs, outputs,
and the entry in the record.

Method names differ between versions of torch: 1.13 calls `_allgather_base`, 2.x also
`allgather_into_tensor_coalesced`. The group has the methods of all versions.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Optional, Union

import torch
import torch.distributed as dist

from pipesim.recorder import gloo_limits, values
from pipesim.recorder import messages as m
from pipesim.recorder.coverage import refusal, undecided
from pipesim.recorder.places import calls_from_cpp
from pipesim.recorder.rank_recorder import RankRecorder, blocking_wait
from pipesim.recorder.works import Group

Tensors = list[torch.Tensor]
Work = Any


# Collectives that complete at once in gloo if they have no elements.
_ALONE_WITHOUT_ELEMENTS = frozenset({"all_reduce", "all_gather", "reduce", "reduce_scatter"})


def _flat(tensors: Union[torch.Tensor, Sequence[torch.Tensor]]) -> Tensors:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _lists(tensors: Any) -> list[Tensors]:
    """Returns a list of lists. Overloads of 1.13 take one list, which becomes the only element."""
    if tensors and isinstance(tensors[0], torch.Tensor):
        return [list(tensors)]
    return [list(inner) for inner in tensors]


def _outside(frame: types.FrameType) -> types.FrameType:
    """Returns the frame that called the group."""
    own = os.path.dirname(__file__)
    while os.path.dirname(frame.f_code.co_filename) == own and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _reduce_name(options: Any) -> str:
    """Returns the name of a reduction, e.g. "SUM", from options, a ReduceOp or a RedOpType."""
    op = getattr(options, "reduceOp", options)
    op = getattr(op, "op", op)
    return str(getattr(op, "name", "SUM"))


def _sizes(tensor: torch.Tensor) -> str:
    """Returns the sizes of a tensor as torch's C++ prints them."""
    return f"({', '.join(map(str, tensor.shape))})"


class Options:
    """A stand-in for the Options of ProcessGroupNCCL, which a build without CUDA lacks, and of
    ProcessGroupGloo. torch reads and writes options; no recorded call depends on them."""

    def __init__(self, is_high_priority_stream: bool = False) -> None:
        self.is_high_priority_stream = is_high_priority_stream
        self.config = types.SimpleNamespace()  # ncclConfig_t
        self._timeout: Any = timedelta(minutes=10)
        self.group_name = ""
        self.global_ranks_in_group: list[int] = []


class RecordingGroup(dist.ProcessGroup):
    """A group that records every call. It replaces `ProcessGroupGloo` and `ProcessGroupNCCL`."""

    def __init__(
        self,
        recorder: RankRecorder,
        group: Group,
        rank: int,
        size: int,
        store: Any = None,
        device: Any = None,
        options: Optional[Options] = None,
        devices: Sequence[str] = (),
    ) -> None:
        """Makes a group. `device`: the device of `device_id=`. `devices`: the kinds of device whose
        tensors the group takes."""
        super().__init__(rank, size)
        self._recorder = recorder
        self.group = group
        self._index = rank
        self._store = store
        self._device = device
        self.options = options or Options()
        self._name = self._desc = group.name
        self._devices = list(devices) or ["cuda" if group.backend == "nccl" else "cpu"]
        self._splits = 0
        self.shrunk = False  # replaced by a smaller group
        # gloo's group in which all members meet before each collective, to compare their calls, if
        # TORCH_DISTRIBUTED_DEBUG is DETAIL.
        self.checks: Optional[RecordingGroup] = None

    # DDP's logger (reducer.cpp of 1.13) casts a group named "gloo" to ProcessGroupGloo.
    def getBackendName(self) -> str:
        return "pipesim"

    def name(self) -> str:
        return self.group.backend

    _get_backend_name = name

    # DeviceMesh and functional collectives of 2.x look up groups by name.
    @property
    def group_name(self) -> str:
        return self._name

    @property
    def group_desc(self) -> str:
        return self._desc

    def _set_group_name(self, name: str) -> None:
        super()._set_group_name(name)
        self._name = name

    def _set_group_desc(self, desc: str) -> None:
        super()._set_group_desc(desc)
        self._desc = desc

    @property
    def bound_device_id(self) -> Any:
        """Returns the device of `device_id=`. With a device, NCCL initializes communicators at
        once, by splitting the parent's communicator if there is a parent."""
        return self._device

    @property
    def _device_types(self) -> list[torch.device]:
        """Returns the kinds of device whose tensors the group takes."""
        return [torch.device(device) for device in self._devices]

    supports_coalescing = False
    supports_tensor_alloc = False
    supports_time_estimate = False
    supports_reconfigure = False
    supports_window = False
    use_pg_for_symm_mem_rendezvous = False

    @property
    def supports_splitting(self) -> bool:
        return self.group.backend == "nccl"

    supports_shrinking = supports_splitting

    def eager_connect_single_device(self, _: Any) -> None:
        pass

    # ncclCommSplit also waits for ranks outside the new groups; `patches` has recorded their part.
    def perform_nocolor_split(self, _: Any) -> None:
        pass

    def comm_split_count(self) -> int:
        return self._splits

    def split_group(
        self,
        ranks: Sequence[int],
        timeout: Any = None,
        opts: Any = None,
        group_name: Optional[str] = None,
        group_desc: Optional[str] = None,
        device_types: Any = None,
    ) -> Any:
        return dist.split_group(self, [list(ranks)], timeout, opts, group_desc)

    def shrink(self, excluded: Sequence[int], flags: int = 0, options: Any = None) -> Any:
        """Makes the group of the remaining ranks, which initialize a communicator by
        ncclCommShrink."""
        recorder = self._recorder
        self._splits += 1
        self.shrunk = True
        stay = [rank for index, rank in enumerate(self.group.ranks) if index not in excluded]
        name = f"{self.group.name}:shrunk:{self._splits}"
        group = recorder.define_group(name, stay, self.group.backend, eager=True)
        recorder.add({"new_group": group.id})
        index = stay.index(recorder.rank)
        given = (self._store, self._device, options or self.options, self._devices)
        return RecordingGroup(recorder, group, index, len(stay), *given)

    def _get_backend(self, device: Any) -> RecordingGroup:
        return self

    get_backend = _get_backend

    def get_group_store(self) -> Any:
        return self._store

    def _set_default_timeout(self, timeout: timedelta) -> None:
        self.options._timeout = timeout

    set_timeout = _set_default_timeout

    def _add_ephemeral_timeout(self, timeout: timedelta) -> None:
        pass

    def _has_hooks(self) -> bool:
        return False

    # Between _group_start and _group_end, NCCL aborts the communicators of all groups.
    def _group_start(self) -> None:
        pass

    _group_end = _wait_for_pending_works = _enable_collectives_timing = _group_start

    # Collectives

    def allreduce(self, tensors: Any, opts: Any = None) -> Work:
        tensors = _flat(tensors)
        return self._collective(
            "all_reduce", [[t] for t in tensors], [[t] for t in tensors], reduce=_reduce_name(opts)
        )

    allreduce_coalesced = allreduce

    def broadcast(self, tensors: Any, opts: Any = None) -> Work:
        tensors = _flat(tensors)
        root = opts if isinstance(opts, int) else opts.rootRank
        parts = [[t] for t in tensors]
        return self._collective("broadcast", parts, parts, root=root)

    def reduce(self, tensors: Any, opts: Any = None) -> Work:
        tensors = _flat(tensors)
        parts = [[t] for t in tensors]
        root = opts if isinstance(opts, int) else opts.rootRank
        return self._collective("reduce", parts, parts, root=root, reduce=_reduce_name(opts))

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        for given, parts in zip(_flat(inputs), _lists(outputs)):
            self._check_sizes("allgather", given, parts)
        tensors, parts = _flat(inputs), _lists(outputs)
        if len({t.shape for t in parts[0]}) > 1 and not torch.__version__.startswith("1."):
            return self._broadcast_all(tensors[0], parts[0])
        return self._collective("all_gather", [[t] for t in tensors], parts)

    def _broadcast_all(self, own: torch.Tensor, outputs: Tensors) -> Work:
        """Makes a broadcast from each rank, as ProcessGroupNCCL implements an all_gather of tensors
        of different sizes."""
        self._recorder.start_coalescing()
        for root, output in enumerate(outputs):
            given = own if root == self._index else output
            self._collective("broadcast", [[given]], [[output]], root=root)
        return self._recorder.end_coalescing()

    # In 1.13, `outputs` has a list per rank with a tensor per input; a call needs the transpose.
    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        by_rank = _lists(outputs)
        by_part = [list(part) for part in zip(*by_rank)] if len(by_rank) > 1 else by_rank
        return self._collective("all_gather", [[t] for t in _flat(inputs)], by_part)

    def _allgather_base(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> Work:
        self._check_form("_allgather_base")
        return self._collective("all_gather", [[input]], [[output]])

    def allgather_into_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        return self._collective("all_gather", [[t] for t in inputs], [[t] for t in outputs])

    def gather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        root = opts.rootRank
        if root == self._index:
            for given, parts in zip(_flat(inputs), _lists(outputs)):
                self._check_sizes("gather", given, parts)
        return self._collective("gather", [[t] for t in _flat(inputs)], _lists(outputs), root=root)

    def gather_single(self, output: Any, input: torch.Tensor, opts: Any = None) -> Work:
        """Records a gather into one tensor (2.14). Only the root has an output."""
        root = opts.rootRank
        outputs = [[output]] if root == self._index else []
        return self._collective("gather", [[input]], outputs, root=root)

    gather_into_tensor = gather_single

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        outputs = _flat(outputs)
        if opts.rootRank == self._index:
            for output, parts in zip(outputs, _lists(inputs)):
                self._check_sizes("scatter", output, parts)
        return self._collective(
            "scatter",
            _lists(inputs),
            [[t] for t in outputs],
            root=opts.rootRank,
            size=values.size_of(outputs) * self.size(),
        )

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        self._check_form("reduce_scatter")
        parts = [[t] for t in _flat(outputs)]
        reduce = _reduce_name(opts)
        return self._collective("reduce_scatter", _lists(inputs), parts, reduce=reduce)

    def _reduce_scatter_base(
        self, output: torch.Tensor, input: torch.Tensor, opts: Any = None
    ) -> Work:
        self._check_form("_reduce_scatter_base")
        self._check_scattered([output], [input])
        return self._collective("reduce_scatter", [[input]], [[output]], reduce=_reduce_name(opts))

    def reduce_scatter_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        self._check_scattered(outputs, inputs)
        parts, reduce = [[t] for t in outputs], _reduce_name(opts)
        return self._collective("reduce_scatter", [[t] for t in inputs], parts, reduce=reduce)

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        self._check_form("alltoall")
        self._check_sizes("alltoall", outputs[0], outputs)
        self._check_sizes("alltoall", inputs[0], inputs)
        if self._is_gloo():
            gloo_limits.check_exchange(inputs, outputs)
        to = tuple(values.size_of([t]) for t in inputs)
        from_ = tuple(values.size_of([t]) for t in outputs)
        return self._collective("all_to_all", [list(inputs)], [list(outputs)], splits=(to, from_))

    def alltoall_base(
        self,
        output: torch.Tensor,
        input: torch.Tensor,
        output_splits: Any = None,
        input_splits: Any = None,
        opts: Any = None,
    ) -> Work:
        ranks = self.size()
        fault = gloo_limits.fault_of_parts(
            output, output_splits, ranks
        ) or gloo_limits.fault_of_parts(input, input_splits, ranks)
        if fault and self._is_gloo():
            return self._recorder.fail_in_worker(self.group, fault, _outside(sys._getframe(1)))
        if fault:
            raise RuntimeError(fault)
        splits = (self._bytes_of(input, input_splits), self._bytes_of(output, output_splits))
        return self._collective("all_to_all", [[input]], [[output]], splits=splits)

    # New names of methods that later versions of torch have renamed.
    all_gather_single = _allgather_base
    reduce_scatter_single = _reduce_scatter_base
    all_to_all_single = alltoall_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    def barrier(self, opts: Any = None) -> Work:
        return self._collective("barrier", [], [])

    def monitored_barrier(
        self, timeout: Optional[timedelta] = None, wait_all_ranks: bool = False
    ) -> None:
        """Records gloo's sends and recvs with rank 0. Their tags are two numbers of the group's
        collectives, which gloo counts from 0."""
        there = self._recorder.skip_numbers(self.group, 2) - 1
        back = there + 1
        default = getattr(dist.distributed_c10d, "default_pg_timeout", None)
        seconds = timeout.total_seconds() if timeout and timeout != default else None
        with values.quiet():
            token = [torch.zeros(1, dtype=torch.int32)]
        if self._index:
            self._wait_for([self.send(token, 0, there), self.recv(token, 0, back)], None)
            return
        others = range(1, self.size())
        self._wait_for([self.recv(token, rank, there) for rank in others], seconds)
        self._wait_for([self.send(token, rank, back) for rank in others], seconds)

    def _wait_for(self, works: list[Work], seconds: Optional[float]) -> None:
        for work in works:
            self._recorder.wait(work, _outside(sys._getframe(1)), seconds)

    # Sends and receives

    def send(self, tensors: Any, peer: int, tag: int = 0) -> Work:
        tensors = _flat(tensors)
        if self._is_gloo():
            gloo_limits.check_message(tensors)
        destination = self.group.ranks[peer]

        def message(call: int, _: int) -> m.Send:
            carried = self._recorder.carried([tensors], values.size_of(tensors))
            return m.Send(call, self._channel(tag), destination, carried)

        return self._message("send", tensors, {"peer": destination}, tag, message, lambda _: None)

    def recv(self, tensors: Any, peer: int, tag: int = 0) -> Work:
        return self._recv(_flat(tensors), self.group.ranks[peer], {}, tag)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        self._recorder.note(
            "any_source", "recv from any source: which rank it got is one of several"
        )
        # A placeholder until the source is known: the broker's reply replaces it.
        guess = next(r for r in self.group.ranks if r != self._recorder.rank)
        return self._recv(_flat(tensors), None, {"peer": guess, "any": True}, tag)

    def _recv(self, tensors: Tensors, source: Optional[int], entry: Any, tag: int) -> Work:
        if self._is_gloo():
            gloo_limits.check_message(tensors)

        def receive(reply: m.Reply) -> None:
            with values.quiet():
                data = b"".join(reply.value) if reply.value is not None else b""
                values.write(tensors, data or bytes(values.size_of(tensors)))

        return self._message(
            "recv",
            tensors,
            {"peer": source, **entry},
            tag,
            lambda call, _: m.Recv(call, self._channel(tag), source),
            receive,
        )

    # Other methods that torch calls

    def _set_sequence_number_for_group(self) -> None:
        pass

    def _get_sequence_number_for_group(self) -> int:
        return 0

    def _start_coalescing(self, *_: Any) -> None:
        self._recorder.start_coalescing()

    # 2.x uses the returned Work; 1.13 passes a list of the calls' Works, and ignores the result.
    def _end_coalescing(self, *_: Any) -> Work:
        return self._recorder.end_coalescing()

    # Descriptions of calls

    def _check_sizes(self, call: str, like: torch.Tensor, tensors: Sequence[torch.Tensor]) -> None:
        """Raises under gloo's rules if a tensor's sizes differ from the sizes of `like`."""
        if not self._is_gloo():
            return
        for index, tensor in enumerate(tensors):
            if tensor.shape != like.shape:
                raise RuntimeError(
                    f"ProcessGroupGloo::{call}: invalid tensor size at index {index} "
                    f"(expected {_sizes(like)}, got {_sizes(tensor)})"
                )

    def _channel(self, tag: int) -> tuple[Any, ...]:
        """Returns the channel of a send or recv. Sends and recvs of one channel match in order.
        NCCL has no tags."""
        return (self.group.key, None if self._on_device() else tag)

    def _on_device(self) -> bool:
        return self._recorder.is_device_group(self.group)

    def _is_on_device(self, pieces: list[Tensors]) -> bool:
        """Whether a call's tensors are on a GPU of the stand-in. Tensors from C++, such as a
        reducer's buckets, have no mark, but count as on the GPU."""
        if self._recorder.device != "cuda":
            return False
        first = next((tensor for piece in pieces for tensor in piece), None)
        caller = _outside(sys._getframe(1)).f_code.co_filename
        marked = hasattr(first, "_pipesim_device")
        return first is not None and (marked or calls_from_cpp(caller))

    def _is_gloo(self) -> bool:
        return (self._recorder.settings.rules or self.group.backend) == "gloo"

    def _check_form(self, form: str) -> None:
        if self._is_gloo():
            gloo_limits.check_form(form)

    def _check_scattered(self, outputs: Tensors, inputs: Tensors) -> None:
        if self._is_gloo():
            for output, input in zip(outputs, inputs):
                gloo_limits.check_scattered(output, input, self.size())

    def _blocking(self) -> bool:
        return self.group.backend == "nccl" and blocking_wait()

    def _bytes_of(self, tensor: torch.Tensor, splits: Any) -> tuple[int, ...]:
        """Returns the bytes for each member. `splits`: sizes along the first dimension; if it is
        empty, all members get the same size."""
        if splits is None or len(splits) == 0:
            return (values.size_of([tensor]) // self.size(),) * self.size()
        rows = tensor.size(0)
        row = values.size_of([tensor]) // rows if rows else 0
        return tuple(int(split) * row for split in splits)

    def _collective(
        self,
        op: str,
        inputs: list[Tensors],
        outputs: list[Tensors],
        *,
        root: Optional[int] = None,
        reduce: str = "SUM",
        size: Optional[int] = None,
        splits: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
    ) -> Work:
        """Records a collective.

        `inputs` and `outputs`: the pieces of each tensor of the call (a coalesced call has several
        tensors). `root` is a rank in the group. `size`: bytes in the record, by default the size of
        the inputs."""
        recorder, group = self._recorder, self.group
        caller = _outside(sys._getframe(1))
        if self.checks is not None:
            recorder.wait(self.checks.barrier(), caller)
        error = ""
        if self._is_gloo():
            tensors = [t for part in [*inputs, *outputs] for t in part]
            gloo_limits.check_reduction(reduce)
            fault = gloo_limits.fault_in_worker(reduce, tensors)
            if splits[0] and not fault:
                fault = gloo_limits.fault_of_splits(*splits, self._index)
            if fault:
                return recorder.fail_in_worker(group, fault, caller)
            error = gloo_limits.fault_after(reduce, tensors)
        with values.quiet():
            types = tuple(values.type_name(part[0]) for part in inputs or outputs if part)
            given = sum(values.size_of(part) for part in inputs) if size is None else size
            entry: dict[str, Any] = {"call": op, "g": group.id, "n": 0}
            if op != "barrier":
                entry.update(bytes=given, type=types[0] if types else "uint8")
            if self._blocking():
                entry["blocking"] = True
            if root is not None:
                entry["root"] = group.ranks[root]
            to, from_ = splits
            if len(set(to + from_)) > 1:
                entry.update(to=list(to), **{"from": list(from_)})
            if self._is_gloo() and self._is_on_device(inputs or outputs):
                entry["on_device"] = True
            # gloo does not compare types, nor the sizes of the transfers that implement a call.
            messages = ("broadcast", "gather", "scatter", "all_to_all")
            gloo_sizes = self._is_gloo() and op in messages
            compared = 0 if op == "all_to_all" or gloo_sizes else given
            of_type = len(types) if self._is_gloo() else types
            signature = (op, compared, of_type, root, group.ranks)

            def message(call: int, number: int) -> m.Collective:
                return m.Collective(
                    call,
                    group.key,
                    number,
                    group.ranks,
                    signature,
                    op,
                    root or 0,
                    reduce,
                    types,
                    splits,
                    recorder.carried(inputs, given, op != "broadcast" or root == self._index),
                    alone=self._is_gloo() and given == 0 and op in _ALONE_WITHOUT_ELEMENTS,
                    size=given if gloo_sizes else None,
                )

            def receive(reply: m.Reply) -> None:
                with values.quiet():
                    _put(op, inputs, outputs, reply.value)

            return recorder.call(
                group,
                entry,
                message,
                receive,
                [t for part in outputs for t in part],
                self._on_device() and op != "barrier",
                caller,
                error,
            )

    def _message(
        self, op: str, tensors: Tensors, peer: Any, tag: int, message: Any, receive: Any
    ) -> Work:
        recorder = self._recorder
        caller = _outside(sys._getframe(1))
        with values.quiet():
            entry = {
                "call": op,
                "g": self.group.id,
                "n": 0,
                **peer,
                "tag": tag or None,
                "bytes": values.size_of(tensors),
                "type": values.type_name(tensors[0]),
                "blocking": self._blocking(),
            }
            return recorder.call(
                self.group, entry, message, receive, tensors, self._on_device(), caller
            )


def _put(op: str, inputs: list[Tensors], outputs: list[Tensors], value: m.Parts) -> None:
    """Writes the result of a collective to `outputs`; without a result, writes the rank's own
    data."""
    if value is not None:
        for part, data in zip(outputs, value):
            values.write(part, data)
    elif op not in ("all_reduce", "broadcast", "reduce", "barrier"):
        for index, part in enumerate(outputs):
            own = values.read(inputs[index]) if index < len(inputs) else b""
            values.write_own(part, own)


def _refuse_what_is_not_recorded() -> None:
    """Adds methods that raise NotRecorded for the methods of torch's groups that RecordingGroup
    lacks, including methods of later versions."""
    backend = getattr(torch._C._distributed_c10d, "Backend", dist.ProcessGroup)
    names = {*dir(dist.ProcessGroup), *dir(backend)} - set(vars(RecordingGroup))
    for name in undecided("ProcessGroup", sorted(names)):
        refuse = refusal(f"ProcessGroup.{name}")
        original = getattr(dist.ProcessGroup, name, None) or getattr(backend, name)
        new = property(refuse) if isinstance(original, property) else refuse
        setattr(RecordingGroup, name, new)


_refuse_what_is_not_recorded()
