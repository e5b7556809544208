"""The values of tensors as bytes, the results of collectives, and made-up values.

Bytes are read and written through the tensor's address. Unlike NCCL, `copy_` would increment
version counters, and autograd would then refuse a backward (FSDP2 of torch 2.6).
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator, Sequence
from typing import Optional

import torch

from pipesim.recorder import messages as m


class _Quiet(threading.local):
    depth = 0


_quiet = _Quiet()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Enters a context for the recorder's own ops, which the CUDA stand-in ignores.

    DisableTorchFunction would not suffice: in torch 1.13, it does not turn modes off.
    """
    _quiet.depth += 1
    try:
        yield
    finally:
        _quiet.depth -= 1


def is_quiet() -> bool:
    return _quiet.depth > 0


def size_of(tensors: Sequence[torch.Tensor]) -> int:
    """Returns the size of all elements in bytes."""
    return sum(t.numel() * t.element_size() for t in tensors)


def dtype_name(dtype: torch.dtype) -> str:
    """Returns the name of an element type in the record, e.g. "float32"."""
    return str(dtype).rpartition(".")[2]


def type_name(tensor: torch.Tensor) -> str:
    """Returns the name of the element type in the record, e.g. "float32"."""
    return dtype_name(tensor.dtype)


def read(tensors: Sequence[torch.Tensor]) -> bytes:
    """Returns the bytes of the elements, one tensor after the other."""
    chunks = []
    for tensor in tensors:
        dense = tensor.detach().contiguous()
        chunks.append(ctypes.string_at(dense.data_ptr(), dense.numel() * dense.element_size()))
    return b"".join(chunks)


def write(tensors: Sequence[torch.Tensor], data: bytes) -> None:
    """Sets the elements of the tensors. Elements after the end of `data` do not change."""
    offset = 0
    for tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        chunk = data[offset : offset + size]
        offset += size
        if not chunk:
            continue
        if tensor.is_contiguous():
            ctypes.memmove(tensor.data_ptr(), chunk, len(chunk))
        else:
            dense = tensor.detach().clone(memory_format=torch.contiguous_format)
            ctypes.memmove(dense.data_ptr(), chunk, len(chunk))
            tensor.data.copy_(dense)


def write_own(outputs: Sequence[torch.Tensor], own: bytes) -> None:
    """Fills the outputs by repeating the rank's own data; with zeros if `own` is empty."""
    size = size_of(outputs)
    if own:
        write(outputs, (own * (size // len(own) + 1))[:size])
    else:
        write(outputs, bytes(size))


class Combined:
    """The result of a collective that needs the calls of all members, in the order of the group."""

    def __init__(self, calls: list[m.Collective]) -> None:
        self._calls = calls
        self._shared: Optional[list[bytes]] = None  # cached result that several members get

    def of(self, index: int) -> m.Parts:
        """Returns the result of the `index`-th member of the group."""
        first = self._calls[0]
        if first.op in ("all_reduce", "reduce", "reduce_scatter"):
            if self._shared is None:
                self._shared = [
                    reduce([_part(call, k) for call in self._calls], name, first.reduce)
                    for k, name in enumerate(first.types)
                ]
            if first.op != "reduce_scatter":
                return self._shared
            return [_slice(part, index, len(self._calls)) for part in self._shared]
        if first.op in ("all_gather", "gather"):
            if self._shared is None:
                count = len(first.values or [])
                self._shared = [
                    b"".join(self._padded(call, k) for call in self._calls) for k in range(count)
                ]
            return self._shared
        if first.op == "all_to_all":
            takes = self._calls[index].splits[1]
            sent = (self._sent(call, index) for call in self._calls)
            return [b"".join(part.ljust(size, b"\0") for part, size in zip(sent, takes))]
        return []

    def _padded(self, call: m.Collective, index: int) -> bytes:
        """Returns the call's values, padded to the size of the root's values."""
        root = self._calls[call.root]
        return _part(call, index).ljust(len(_part(root, index)), b"\0")

    @staticmethod
    def _sent(call: m.Collective, index: int) -> bytes:
        begin = sum(call.splits[0][:index])
        return _part(call, 0)[begin : begin + call.splits[0][index]]


def from_root(call: m.Collective, index: int) -> m.Parts:
    """Returns the values that the `index`-th member gets in a broadcast or scatter. `call`: the
    root's call."""
    if call.op == "broadcast" or call.values is None:
        return call.values
    return [_slice(part, index, len(call.members)) for part in call.values]


def _part(call: m.Collective, index: int) -> bytes:
    return (call.values or [])[index]


def _slice(data: bytes, index: int, count: int) -> bytes:
    size = len(data) // count
    return data[index * size : (index + 1) * size]


def reduce(parts: list[bytes], type_name: str, op: str) -> bytes:
    """Reduces elementwise, in the order of the group. `op` is the name of a
    torch.distributed.ReduceOp."""
    if not parts[0]:
        return b""
    dtype = getattr(torch, type_name)
    tensors = [torch.frombuffer(bytearray(part), dtype=dtype) for part in parts]
    total = tensors[0]
    for tensor in tensors[1:]:
        if op in ("SUM", "AVG", "PREMUL_SUM"):
            total = total + tensor
        elif op == "PRODUCT":
            total = total * tensor
        elif op == "MIN":
            total = torch.minimum(total, tensor)
        elif op == "MAX":
            total = torch.maximum(total, tensor)
        elif op == "BAND":
            total = total & tensor
        elif op == "BOR":
            total = total | tensor
        else:
            total = total ^ tensor
    if op == "AVG":
        total = total / len(tensors) if total.is_floating_point() else total // len(tensors)
    return read([total.to(dtype)])
