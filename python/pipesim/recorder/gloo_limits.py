"""Calls that ProcessGroupGloo refuses, with gloo's error text.

gloo checks some arguments in the call, which then raises and leaves no trace. It finds other faults
only in the worker thread that runs a collective: the collective has its number in the group, but
this rank never takes part in it, and its `wait` raises.

The limits were measured with torch 1.13.1 and 2.13.0. Every 2.x is assumed to behave like 2.13.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import torch

_OLD = int(torch.__version__.split(".", maxsplit=1)[0]) < 2

_INTEGERS = {torch.int8, torch.uint8, torch.int32, torch.int64}
_TYPES = _INTEGERS | {torch.float16, torch.float32, torch.float64}
if not _OLD:
    _TYPES |= {torch.bfloat16, torch.bool}

# Calls that gloo in torch 1.13 does not support, with its error text.
_MISSING = {
    "reduce_scatter": "ProcessGroupGloo does not support reduce_scatter",
    "_reduce_scatter_base": "ProcessGroup gloo does not support _reduce_scatter_base",
    "alltoall": "ProcessGroup gloo does not support alltoall",
    "_allgather_base": "no support for _allgather_base in Gloo process group",
}


def _refuse(text: str) -> None:
    raise RuntimeError(text)


def check_form(form: str) -> None:
    """Raises if gloo lacks `form`, a method of the process group."""
    if _OLD and form in _MISSING:
        _refuse(_MISSING[form])


def fault_in_worker(name: str, tensors: Sequence[torch.Tensor]) -> str:
    """Returns the error of a collective that fails before it communicates, or "". `name`: the
    ReduceOp, e.g. "SUM". Sends and recvs take any type."""
    if name in ("BAND", "BOR", "BXOR") and not _is_integral(tensors):
        return f"Cannot use ReduceOp.{name} with non-integral dtype"
    if any(tensor.dtype not in _TYPES for tensor in tensors):
        return "Invalid scalar type"
    return ""


def fault_of_parts(tensor: torch.Tensor, splits: Optional[Sequence[int]], ranks: int) -> str:
    """Returns the error of an all_to_all whose `splits` do not fit its tensor, or "". NCCL raises
    it in the call. Without splits, all parts are equal. `splits` can be an array of NumPy."""
    sizes = [] if splits is None else [int(size) for size in splits]
    if sizes and len(sizes) != ranks:
        return "Number of tensor splits not equal to group size"
    if sizes and sum(sizes) != tensor.size(0):
        return "Split sizes doesn't match total dim 0 size"
    return ""


def fault_of_splits(to: Sequence[int], from_: Sequence[int], own: int) -> str:
    """Returns the error of an all_to_all in which member `own` sends itself a different size than
    it receives from itself, or ""."""
    if to[own] == from_[own]:
        return ""
    return "[enforce fail at alltoallv.cc] recvLength == sendLength"


def fault_after(name: str, tensors: Sequence[torch.Tensor]) -> str:
    """Returns the error of a collective that fails once it has communicated, or ""."""
    if name != "AVG" or not tensors or not _is_integral(tensors):
        return ""
    kind = tensors[0].type().split(".")[-1][: -len("Tensor")]
    return f"result type Float can't be cast to the desired output type {kind}"


def _is_integral(tensors: Sequence[torch.Tensor]) -> bool:
    return all(tensor.dtype in _INTEGERS | {torch.bool} for tensor in tensors)


def check_reduction(name: str) -> None:
    """Raises if gloo lacks the ReduceOp `name`."""
    if _OLD and name == "AVG":
        _refuse("Cannot use ReduceOp.AVG with Gloo")


def check_exchange(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    """Raises if the inputs of an all_to_all differ in size from its outputs. Within each of the two
    lists, all tensors have one size."""
    if inputs[0].size() != outputs[0].size():
        _refuse("ProcessGroupGloo::alltoall: input and output tensors must have the same size")


def check_scattered(output: torch.Tensor, input: torch.Tensor, ranks: int) -> None:
    """Raises if the sizes of a reduce_scatter do not match: the input is one tensor, split among
    `ranks` along its first dimension."""
    if not output.dim() or not input.dim():
        return  # gloo crashes
    needed, given = output.size(0) * ranks, input.size(0)
    if needed != given:
        _refuse(
            "Check failed: outputShape[0] * worldSize == inputShape[0] "
            f"({needed} vs. {given}). "
        )


def check_message(tensors: Sequence[torch.Tensor]) -> None:
    if not all(tensor.is_contiguous() for tensor in tensors):
        _refuse("input tensor has to be contiguous")
