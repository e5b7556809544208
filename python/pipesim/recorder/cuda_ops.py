"""Implementations, on CPU tensors, of ops that builds of torch without CUDA lack."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from pipesim.recorder import values

# Function that marks the result of an op (second argument) as on the GPU of the op's input tensor
# (first argument).
MarkAs = Callable[[torch.Tensor, Any], Any]


def install(mark_as: MarkAs) -> None:
    """Installs the ops in the process of a rank."""
    _replace_amp()
    _replace_batch_norm(mark_as)


def _replace_batch_norm(mark_as: MarkAs) -> None:
    """Replaces the ops of SyncBatchNorm, which CPU builds lack
    (ATen/native/cuda/Normalization.cuh)."""

    def dims(x: torch.Tensor) -> list[int]:
        return [d for d in range(x.dim()) if d != 1]

    def wide(value: Any, x: torch.Tensor) -> Any:
        return None if value is None else value.view(1, -1, *[1] * (x.dim() - 2))

    def stats(x: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
        variance = x.var(dims(x), unbiased=False)
        return x.mean(dims(x)), (variance + eps).rsqrt()

    def gather_stats(
        x: Any, means: Any, invstds: Any, running_mean: Any, running_var: Any,
        momentum: float, eps: float, counts: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
        weight = counts.view(-1, 1).to(means.dtype)
        total = weight.sum()
        mean = (means * weight).sum(0) / total
        variances = invstds.pow(-2) - eps + (means - mean).square()
        variance = (variances * weight).sum(0) / total
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        if running_var is not None:
            unbiased = variance * total / (total - 1).clamp(min=1)
            running_var.lerp_(unbiased.to(running_var.dtype), momentum)
        return mean, (variance + eps).rsqrt()

    def elemt(x: Any, weight: Any, bias: Any, mean: Any, invstd: Any, eps: float) -> Any:
        result = (x - wide(mean, x)) * wide(invstd, x)
        if weight is not None:
            result = result * wide(weight, x)
        return result if bias is None else result + wide(bias, x)

    def backward_reduce(
        grad: Any, x: Any, mean: Any, invstd: Any, weight: Any, _: bool, for_weight: bool, for_bias: bool
    ) -> Any:
        sum_dy = grad.sum(dims(x))
        sum_dy_xmu = (grad * (x - wide(mean, x))).sum(dims(x))
        return (
            sum_dy,
            sum_dy_xmu,
            sum_dy_xmu * invstd if for_weight else None,
            sum_dy.clone() if for_bias else None,
        )

    def backward_elemt(
        grad: Any, x: Any, mean: Any, invstd: Any, weight: Any, sum_dy: Any, sum_dy_xmu: Any, counts: Any
    ) -> Any:
        total = counts.sum()
        centered = (x - wide(mean, x)) * wide(invstd.square() * sum_dy_xmu / total, x)
        result = (grad - wide(sum_dy / total, x) - centered) * wide(invstd, x)
        return result if weight is None else result * wide(weight, x)

    def marked(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def on_device(x: torch.Tensor, *args: Any) -> Any:
            with values.quiet():
                result = function(x, *args)
            return mark_as(x, result)

        return on_device

    for name, function in {
        "batch_norm_stats": stats,
        "batch_norm_gather_stats_with_counts": gather_stats,
        "batch_norm_elemt": elemt,
        "batch_norm_backward_reduce": backward_reduce,
        "batch_norm_backward_elemt": backward_elemt,
    }.items():
        setattr(torch, name, marked(function))


def _replace_amp() -> None:
    """Replaces the ops of GradScaler, which CPU builds lack (ATen/native/cuda/AmpKernels.cu)."""

    def check_and_unscale(grads: Any, found_inf: torch.Tensor, inverse: torch.Tensor) -> None:
        with values.quiet():
            for grad in grads:
                if not torch.isfinite(grad).all():
                    found_inf.fill_(1.0)
                grad.mul_(inverse)

    def update_scale(
        scale: torch.Tensor,
        tracker: torch.Tensor,
        found_inf: torch.Tensor,
        growth: float,
        backoff: float,
        interval: int,
    ) -> torch.Tensor:
        with values.quiet():
            if found_inf.item():
                scale.mul_(backoff)
                tracker.zero_()
            elif tracker.item() + 1 == interval:
                scale.mul_(growth)
                tracker.zero_()
            else:
                tracker.add_(1)
        return scale

    torch._amp_foreach_non_finite_check_and_unscale_ = check_and_unscale
    torch._amp_update_scale_ = update_scale
