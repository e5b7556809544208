"""Replacements, for the stand-in for GPUs, in modules of torch that not every script imports."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch

from pipesim.recorder import values
from pipesim.recorder.after_import import after_import
from pipesim.recorder.replacing import replace

ModeOn = Callable[[], "contextlib.AbstractContextManager[Any]"]


def install(mode_on: ModeOn) -> None:
    """Installs each replacement after the import of its module. `mode_on` makes a context in which
    the stand-in's mode is on."""
    after_import("torch.distributed.fsdp._fully_shard._fsdp_collectives", _keep_version_counters)
    after_import("torch.distributed.tensor._api", lambda module: _keep_mode(module, mode_on))
    after_import("torch.distributed.tensor._random", _replace_random_states)
    after_import("torch.distributed.tensor._dispatch", _replace_random_op)
    after_import("torch.utils.checkpoint", _compare_no_devices)
    after_import("torch.export", _trace_on_the_cpu)
    after_import("torch.nn.parallel.distributed", _allow_bf16_hook)


def _keep_version_counters(module: Any) -> None:
    """Keeps the version counters of tensors that FSDP2 gathers into and a backward needs: on a GPU,
    autograd does not see these writes."""
    original = module.foreach_all_gather_copy_out

    @functools.wraps(original)
    def foreach_all_gather_copy_out(result: Any, parameters: Any, group: Any) -> None:
        with contextlib.ExitStack() as kept:
            for parameter in parameters:
                for tensor in getattr(parameter, "all_gather_outputs", ()):
                    kept.enter_context(torch.autograd._unsafe_preserve_version_counter(tensor))
            original(result, parameters, group)

    replace("foreach_all_gather_copy_out", (module,), foreach_all_gather_copy_out)


def _keep_mode(module: Any, mode_on: ModeOn) -> None:
    """Turns the mode on in ops on DTensors, which run Python below the dispatcher."""

    def on(function: Any) -> Any:
        @functools.wraps(function)
        def with_mode(*args: Any, **kwargs: Any) -> Any:
            with mode_on():
                return function(*args, **kwargs)

        return with_mode

    dispatcher = module.DTensor._op_dispatcher
    for name in (
        "dispatch",
        "_propagate_op_sharding_dispatch_slow_path",
        "_dispatch_get_local_results_slow_path",
        "_dispatch_fast_path_python_tail",
    ):
        if hasattr(type(dispatcher), name):
            setattr(type(dispatcher), name, on(getattr(type(dispatcher), name)))

    class Handlers(dict[Any, Any]):
        """Custom handlers of ops, including those of `loss_parallel`. They run with the mode on."""

        def update(self, *args: Any, **kwargs: Any) -> None:
            super().update({op: on(handler) for op, handler in dict(*args, **kwargs).items()})

    handlers = Handlers()
    handlers.update(dispatcher._custom_op_handlers)
    dispatcher._custom_op_handlers = handlers


def _replace_random_states(module: Any) -> None:
    """Replaces the state of a GPU's generator, 16 bytes with a seed and an offset. The stand-in
    uses the CPU's generator, which ranks do not share."""
    tracker = getattr(module, "OffsetBasedRNGTracker", None)
    if tracker is None:
        return
    tracker._get_device_state = lambda _: torch.zeros(16, dtype=torch.uint8, device="cuda")
    tracker._set_device_state = lambda _, state: None
    tracker._distribute_region = lambda *_, **__: contextlib.nullcontext()


def _replace_random_op(module: Any) -> None:
    """Replaces the op with which 2.13 sets the generator's state around another op; builds without
    CUDA lack it."""
    if hasattr(module, "run_dtensor_rng_op"):
        module.run_dtensor_rng_op = lambda _, __, op, *args, **kwargs: op(*args, **kwargs)


def _compare_no_devices(module: Any) -> None:
    """Excludes the device when checkpoint compares activations: an activation saved within an op
    has no mark, a recomputed one has."""
    checks = getattr(module, "_allowed_determinism_checks_to_fns", None)
    if checks is None:
        return
    original = checks["default"]

    def metadata(tensor: torch.Tensor) -> Any:
        return {**original(tensor), "device": None}

    checks["default"] = metadata


def _trace_on_the_cpu(module: Any) -> None:
    """Turns the stand-in off in torch.export: fake tensors on a GPU end the process in a build
    without CUDA."""
    original = module.export

    @functools.wraps(original)
    def export(*args: Any, **kwargs: Any) -> Any:
        with values.quiet():
            return original(*args, **kwargs)

    replace("export", (module,), export)


def _allow_bf16_hook(module: Any) -> None:
    """Sets the build's CUDA version while DDP checks whether it supports a bf16 hook."""
    original = module.DistributedDataParallel._check_comm_hook

    @functools.wraps(original)
    def _check_comm_hook(*args: Any, **kwargs: Any) -> None:
        version: Any = torch.version
        before, version.cuda = version.cuda, "12.8"
        try:
            original(*args, **kwargs)
        finally:
            version.cuda = before

    module.DistributedDataParallel._check_comm_hook = _check_comm_hook
