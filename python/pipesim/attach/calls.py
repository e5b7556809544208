"""Descriptions, for the record, of calls of a process group's methods.

A description reads sizes and types of tensors, never values. Its keys are those of
docs/reference/record-format.md, as in the recorder's `RecordingGroup`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, Optional

import torch

Tensors = Sequence[torch.Tensor]
Splits = tuple[tuple[int, ...], tuple[int, ...]]


class Group(NamedTuple):
    """A process group in the record: one for each backend of torch's group."""

    id: str
    name: str  # name in torch; of a split, "PARENT:N"
    ranks: tuple[int, ...]
    backend: str


class Call(NamedTuple):
    """A call without its place. Calls that are equal have the same line."""

    op: str
    size: int  # bytes
    type: Optional[torch.dtype]  # a barrier has none
    root: Optional[int] = None  # rank of the job
    peer: Optional[int] = None  # rank of the job
    tag: int = 0
    any_source: bool = False
    splits: Optional[Splits] = None


class NotKnown(Exception):
    """A call that attach cannot describe; the record says so."""


def _size(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _flat(tensors: Any) -> list[torch.Tensor]:
    """Returns a tensor, or the tensors in nested lists, as a flat list."""
    if isinstance(tensors, torch.Tensor):
        return [tensors]
    return [tensor for inner in tensors for tensor in _flat(inner)]


def _of(op: str, inputs: Any, outputs: Any = (), root: Optional[int] = None) -> Call:
    if len(inputs) == 1 and isinstance(inputs[0], torch.Tensor):  # most calls
        tensor = inputs[0]
        size = tensor.numel() * tensor.element_size()
        # In half of the time of Call(...).
        return tuple.__new__(Call, (op, size, tensor.dtype, root, None, 0, False, None))
    given = _flat(inputs)
    first = given or _flat(outputs)
    return Call(op, sum(map(_size, given)), first[0].dtype if first else torch.uint8, root)


def _root(options: Any) -> int:
    return options if isinstance(options, int) else int(options.rootRank)


def _in_place(op: str) -> Callable[..., Call]:
    return lambda group, tensors, *_: _of(op, tensors)


def _from_root(op: str) -> Callable[..., Call]:
    return lambda group, tensors, options, *_: _of(op, tensors, (), group.ranks[_root(options)])


def _out_of_place(op: str) -> Callable[..., Call]:
    return lambda group, outputs, inputs, *_: _of(op, inputs, outputs)


def _one_tensor(op: str) -> Callable[..., Call]:
    return lambda group, output, input, *_: _of(op, (input,))


def _all_gather(group: Group, outputs: Any, inputs: Any, *_: Any) -> Call:
    if group.backend == "nccl" and len({tensor.shape for tensor in _flat(outputs)}) > 1:
        raise NotKnown("an all_gather of tensors of different sizes")
    return _of("all_gather", inputs, outputs)


def _gather(group: Group, outputs: Any, inputs: Any, options: Any) -> Call:
    return _of("gather", [inputs] if isinstance(inputs, torch.Tensor) else inputs, (),
               group.ranks[_root(options)])  # fmt: skip


def _scatter(group: Group, outputs: Any, inputs: Any, options: Any) -> Call:
    call = _of("scatter", inputs, outputs, group.ranks[_root(options)])
    return call._replace(size=sum(map(_size, outputs)) * len(group.ranks))


def _all_to_all(group: Group, outputs: Tensors, inputs: Tensors, *_: Any) -> Call:
    splits = (tuple(map(_size, inputs)), tuple(map(_size, outputs)))
    return _with_splits(_of("all_to_all", inputs, outputs), splits)


def _all_to_all_single(
    group: Group,
    output: torch.Tensor,
    input: torch.Tensor,
    output_splits: Any = None,
    input_splits: Any = None,
    *_: Any,
) -> Call:
    def sizes(tensor: torch.Tensor, splits: Any) -> tuple[int, ...]:
        if splits is None or len(splits) == 0:
            return (_size(tensor) // len(group.ranks),) * len(group.ranks)
        row = _size(tensor) // max(1, tensor.size(0))
        return tuple(int(split) * row for split in splits)

    splits = (sizes(input, input_splits), sizes(output, output_splits))
    return _with_splits(_of("all_to_all", (input,)), splits)


def out_of_place(op: str, inputs: Any, root: Optional[int]) -> Call:
    """Describes a functional collective."""
    return _of(op, inputs, (), root)


def with_row_splits(call: Call, input: torch.Tensor, splits: tuple[Any, Any]) -> Call:
    """Adds the splits of a functional all_to_all, which are numbers of rows to and from ranks."""
    row = _size(input) // max(1, input.size(0))
    to, from_ = (tuple(int(split) * row for split in part) for part in splits)
    return _with_splits(call, (to, from_))


def _with_splits(call: Call, splits: Splits) -> Call:
    """Adds the splits, unless all parts have the same size."""
    return call._replace(splits=splits) if len(set(splits[0] + splits[1])) > 1 else call


def _barrier(group: Group, *_: Any) -> Call:
    return Call("barrier", 0, None)


def _send(group: Group, tensors: Tensors, peer: int, tag: int = 0, *_: Any) -> Call:
    return _of("send", tensors)._replace(peer=group.ranks[peer], tag=tag)


def _recv(group: Group, tensors: Tensors, peer: int, tag: int = 0, *_: Any) -> Call:
    return _of("recv", tensors)._replace(peer=group.ranks[peer], tag=tag)


def _recv_any(group: Group, tensors: Tensors, tag: int = 0, *_: Any) -> Call:
    return _of("recv", tensors)._replace(any_source=True, tag=tag)


# Descriptions of the methods of ProcessGroup that communicate, in all versions of torch.
DESCRIBE: dict[str, Callable[..., Call]] = {
    "allreduce": _in_place("all_reduce"),
    "allreduce_coalesced": _in_place("all_reduce"),
    "broadcast": _from_root("broadcast"),
    "reduce": _from_root("reduce"),
    "allgather": _all_gather,
    "allgather_coalesced": _out_of_place("all_gather"),
    "allgather_into_tensor_coalesced": _out_of_place("all_gather"),
    "all_gather_single_coalesced": _out_of_place("all_gather"),
    "_allgather_base": _one_tensor("all_gather"),
    "all_gather_single": _one_tensor("all_gather"),
    "gather": _gather,
    "gather_single": _gather,
    "gather_into_tensor": _gather,
    "scatter": _scatter,
    "reduce_scatter": _out_of_place("reduce_scatter"),
    "reduce_scatter_tensor_coalesced": _out_of_place("reduce_scatter"),
    "reduce_scatter_single_coalesced": _out_of_place("reduce_scatter"),
    "_reduce_scatter_base": _one_tensor("reduce_scatter"),
    "reduce_scatter_single": _one_tensor("reduce_scatter"),
    "alltoall": _all_to_all,
    "alltoall_base": _all_to_all_single,
    "all_to_all_single": _all_to_all_single,
    "barrier": _barrier,
    "monitored_barrier": _barrier,
    "send": _send,
    "recv": _recv,
    "recv_anysource": _recv_any,
}


def device_of(arguments: Sequence[Any]) -> str:
    """Returns the kind of device of a call's tensors, e.g. "cpu", or "" for a barrier."""
    for argument in arguments:
        while isinstance(argument, (list, tuple)) and argument:
            argument = argument[0]
        if isinstance(argument, torch.Tensor):
            return argument.device.type
    return ""
