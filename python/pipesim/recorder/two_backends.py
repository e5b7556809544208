"""A group with two backends, such as `cpu:gloo,cuda:nccl`.

The group has two independent communicators, each with its own sequence numbers. The device of the
first tensor selects the communicator of a call; the options of a barrier select the barrier's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Optional

import torch

from pipesim.recorder.places import calls_from_cpp
from pipesim.recorder.process_group import RecordingGroup
from pipesim.recorder.rank_recorder import RankRecorder
from pipesim.recorder.works import Group

_CALLS = (
    "allreduce allreduce_coalesced broadcast reduce allgather allgather_coalesced _allgather_base "
    "allgather_into_tensor_coalesced gather scatter reduce_scatter _reduce_scatter_base "
    "reduce_scatter_tensor_coalesced alltoall alltoall_base all_gather_single "
    "reduce_scatter_single all_to_all_single all_gather_single_coalesced "
    "reduce_scatter_single_coalesced send recv recv_anysource"
).split()


def _first_tensor(value: Any) -> Optional[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, (list, tuple)):
        return next((t for t in map(_first_tensor, value) if t is not None), None)
    return None


def _from_python() -> bool:
    """Whether the group was called from Python. Tensors from C++ lack the stand-in's mark."""
    return not calls_from_cpp(sys._getframe(2).f_code.co_filename)


def _dispatched(name: str) -> Callable[..., Any]:
    of_half = getattr(RecordingGroup, name)

    def call(self: TwoBackendsGroup, *args: Any, **kwargs: Any) -> Any:
        first = _first_tensor(args)
        on_host = first is not None and not hasattr(first, "_pipesim_device") and _from_python()
        return of_half(self.on_host if on_host else self, *args, **kwargs)

    return call


class TwoBackendsGroup(RecordingGroup):
    """NCCL's half of a group with two backends; `on_host` is gloo's half."""

    def __init__(
        self, on_host: Group, recorder: RankRecorder, group: Group, rank: int, size: int, *more: Any
    ) -> None:
        super().__init__(recorder, group, rank, size, *more)
        self.on_host = RecordingGroup(recorder, on_host, rank, size)

    def barrier(self, opts: Any = None) -> Any:
        """Records a barrier, on NCCL's half if the options name devices or the group is bound to a
        device."""
        asks_device = bool(getattr(opts, "device_ids", None)) or self.bound_device_id is not None
        return RecordingGroup.barrier(self if asks_device else self.on_host, opts)

    def monitored_barrier(self, *args: Any, **kwargs: Any) -> None:
        self.on_host.monitored_barrier(*args, **kwargs)


for _name in _CALLS:
    setattr(TwoBackendsGroup, _name, _dispatched(_name))
