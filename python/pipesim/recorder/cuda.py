"""CUDA without CUDA: scripts written for GPUs run as they are, on CPU tensors with a mark.

A `TorchFunctionMode` sees nearly every call with tensors: it takes `device="cuda"` out, marks what
comes out of a call with a marked input, answers `.device` and `.is_cuda`, and records reads of
marked tensors, in which the host waits for the current stream. `torch.cuda` gets stand-ins for its
functions, streams and events. Custom kernels (Triton, apex, flash-attention) cannot run.

What the mode is not offered is wrapped: `nn.Parameter`, wrapper subclasses (DTensor), indexing in
torch 1.13. Kernels that C++ launches in a backward are not counted.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Optional, Union

import torch
import torch.cuda
from torch.overrides import TorchFunctionMode

from pipesim.recorder import values
from pipesim.recorder.patches import replace
from pipesim.recorder.rank_file import Entry
from pipesim.recorder.rank_recorder import RankRecorder

DeviceLike = Union[torch.device, str, int, None]

_MARK = "_pipesim_device"

# Calls that give the host a value of their tensor, or depend on one for the size of the result.
_READS = frozenset(
    "item tolist __bool__ __int__ __float__ __index__ __complex__ __repr__ __format__ __contains__ "
    "nonzero argwhere masked_select unique unique_consecutive equal allclose is_nonzero bincount "
    "_local_scalar_dense".split()
)

# Calls that launch no kernel: they look at a tensor, or make a view of it.
_NO_KERNEL = frozenset(
    "__get__ __set__ __len__ size dim ndimension numel nelement stride storage_offset element_size "
    "data_ptr is_floating_point is_complex is_contiguous requires_grad_ detach view view_as "
    "reshape t transpose permute expand expand_as unsqueeze squeeze chunk split narrow select "
    "flatten unbind register_hook retain_grad storage untyped_storage empty empty_like new_empty "
    "empty_strided __hash__ is_pinned get_device _is_view backward".split()
)


def device_of(tensor: Any) -> Optional[int]:
    """The index of the GPU that the tensor is taken to be on; None: a CPU tensor."""
    return getattr(tensor, _MARK, None)


def _mark(result: Any, device: int) -> Any:
    if isinstance(result, torch.Tensor):
        setattr(result, _MARK, device)
    elif isinstance(result, (tuple, list)):
        for item in result:
            _mark(item, device)
    return result


def _marked_input(arguments: Any) -> Optional[int]:
    for value in arguments:
        if isinstance(value, torch.Tensor):
            found = device_of(value)
        elif isinstance(value, (tuple, list)):
            found = _marked_input(value)
        else:
            continue
        if found is not None:
            return found
    return None


class Stream:
    """A stand-in for torch.cuda.Stream; `id` is its name in the record, None the default one's."""

    def __init__(self, device: DeviceLike = None, priority: int = 0, **_: Any) -> None:
        self._cuda = _installed()
        self.device = torch.device("cuda", self._cuda.index(device))
        self.priority = priority
        self.cuda_stream = self._cuda.next_stream()
        self.id: Optional[str] = f"s{self.cuda_stream}" if self.cuda_stream else None
        if self.id is not None:
            self._cuda.define({"def": self.id, "stream": f"stream {self.cuda_stream}"})

    def record_event(self, event: Optional[Event] = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        self.wait_event(stream.record_event())

    def synchronize(self) -> None:
        self._cuda.add({"synchronize": "stream"}, self)

    def query(self) -> bool:
        return True

    def __enter__(self) -> Stream:
        self._cuda.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._cuda.stack.pop()


class Event:
    """A stand-in for torch.cuda.Event. One that was never recorded is waited for by nobody."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._cuda = _installed()
        self.id = ""

    def record(self, stream: Optional[Stream] = None) -> None:
        if not self.id:
            self.id = self._cuda.next_event()
            self._cuda.define({"def": self.id, "event": ""})
        self._cuda.add({"record": self.id}, stream)

    def wait(self, stream: Optional[Stream] = None) -> None:
        if self.id:
            self._cuda.add({"stream_wait": self.id}, stream)

    def synchronize(self) -> None:
        if self.id:
            self._cuda.add({"synchronize": "event", "e": self.id}, None)

    def query(self) -> bool:
        return True

    def elapsed_time(self, _: Event) -> float:
        return 1.0


class _Cuda:
    """The GPUs of one rank: current device and stream, and the ids of streams and events."""

    def __init__(self, recorder: RankRecorder) -> None:
        self.recorder = recorder
        self.current = 0
        self.stack: list[Stream] = []  # of `with stream`
        self.kernels: dict[Optional[str], int] = {}  # by stream, since its last entry
        self._streams = -1  # the first made is the default stream, number 0
        self._events = 0

    def next_stream(self) -> int:
        self._streams += 1
        return self._streams

    def next_event(self) -> str:
        self._events += 1
        return f"e{self._events}"

    def define(self, definition: Entry) -> None:
        self.recorder.file.define(definition, self.recorder.place())

    def add(self, entry: Entry, stream: Optional[Stream]) -> None:
        """An entry on this stream, or on the current one."""
        with values.quiet():
            on = stream.id if stream is not None else self.stream_id()
            self.recorder.add({**entry, "s": on, "k": self.kernels.pop(on, None)})

    def stream_id(self) -> Optional[str]:
        return self.stack[-1].id if self.stack else None

    def of_entry(self) -> Entry:
        """`s` and `k` of an entry of the recorder."""
        on = self.stream_id()
        return {"s": on, "k": self.kernels.pop(on, None)}

    def index(self, device: DeviceLike) -> int:
        """The index of a device as torch.cuda's functions take it."""
        if device is None:
            return self.current
        if isinstance(device, int):
            return device if device >= 0 else self.current
        found = torch.device(device).index
        return self.current if found is None else found


_cuda: Optional[_Cuda] = None


def _installed() -> _Cuda:
    assert _cuda is not None, "install() comes first"
    return _cuda


class _Mode(TorchFunctionMode):
    """Sees calls with tensors; it is off while it handles one."""

    def __init__(self, cuda: _Cuda) -> None:
        super().__init__()
        self._cuda = cuda

    def __torch_function__(
        self, func: Any, _types: Any, args: Any = (), kwargs: Optional[dict[str, Any]] = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        # Module.to reads its arguments by _parse_to, and has to get the device as it was given.
        if values.is_quiet() or name == "_parse_to" or func is torch.device:
            return func(*args, **kwargs)
        if name in ("__get__", "__set__"):
            return self._property(func, name, args)
        special = _SPECIAL.get(name)
        if special is not None and args and isinstance(args[0], torch.Tensor):
            return special(self._cuda, self, args[0], args[1:], kwargs)
        return self._call(func, name, args, kwargs)

    def _property(self, func: Any, kind: str, args: Any) -> Any:
        # A new object each time, so it is known by its name.
        name = getattr(getattr(func, "__self__", None), "__name__", "")
        mark = device_of(args[0])
        if mark is not None and kind == "__get__":
            if name == "device":
                return torch.device("cuda", mark)
            if name in ("is_cuda", "is_cpu"):
                return name == "is_cuda"
        result = func(*args)
        if kind == "__set__" and len(args) > 1 and device_of(args[1]) is not None:
            _mark(args[0], args[1]._pipesim_device)
        return result if mark is None else _mark(result, mark)

    def _call(self, func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        target = None
        if "device" in kwargs:
            target, kwargs["device"] = self._take(kwargs["device"])
        if any(_is_cuda(value) for value in args):
            target = self._take(next(value for value in args if _is_cuda(value)))[0]
            args = tuple(torch.device("cpu") if _is_cuda(value) else value for value in args)
        kwargs.pop("pin_memory", None)
        source = _marked_input(args)
        if source is None and kwargs:
            source = _marked_input(kwargs.values())
        if source is not None and name in _READS:
            self._cuda.add({"read": name.strip("_")}, None)
        result = func(*args, **kwargs)
        on_device = target if target is not None else source
        if on_device is None:
            return result
        if name not in _NO_KERNEL:
            stream = self._cuda.stream_id()
            self._cuda.kernels[stream] = self._cuda.kernels.get(stream, 0) + 1
        in_place = name.endswith("_") and not name.endswith("__")
        if in_place and target is None:
            return result  # it is on the device where its tensor was
        if "device" in kwargs and target is None and kwargs["device"] is not None:
            return result  # asked for on the CPU
        return _mark(result, on_device)

    def _take(self, device: Any) -> tuple[Optional[int], Any]:
        """The GPU that this names, and what to call torch with instead."""
        if _is_cuda(device) or (isinstance(device, int) and not isinstance(device, bool)):
            return self._cuda.index(device), torch.device("cpu")
        return None, device


def _is_cuda(device: Any) -> bool:
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, str) and (device == "cuda" or device.startswith("cuda:"))


# Methods of tensors that are not what they are on a CPU


def _copy(tensor: torch.Tensor, device: Optional[int]) -> torch.Tensor:
    """A new tensor, as a copy between devices is."""
    return _remark(tensor.clone(), device)


def _to_cuda(cuda: _Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    target = cuda.index(args[0] if args else kwargs.get("device"))
    return tensor if device_of(tensor) == target else _copy(tensor, target)


def _to_cpu(cuda: _Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    if device_of(tensor) is None:
        return tensor
    cuda.add({"read": "cpu"}, None)
    return _copy(tensor, None)


def _to(cuda: _Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    """`to(device, dtype)`, `to(dtype)`, `to(other)`, each with non_blocking and copy."""
    if args and isinstance(args[0], torch.dtype):
        names = ["dtype", "non_blocking", "copy"]
    else:
        names = ["device", "dtype", "non_blocking", "copy"]
        if args and isinstance(args[0], torch.Tensor):
            args = (args[0], args[0].dtype, *args[1:])
    given = {**dict(zip(names, args)), **kwargs}
    device, source = given.pop("device", None), device_of(tensor)
    if isinstance(device, torch.Tensor):
        target = device_of(device)
    else:
        target = source if device is None else mode._take(device)[0]
    given.pop("non_blocking", None)  # to memory that is not pinned, the host waits all the same
    if source is not None and target is None:
        cuda.add({"read": "cpu"}, None)
    given = {key: value for key, value in given.items() if value not in (None, False)}
    result = tensor.to(**given) if given else tensor
    if result is tensor and source == target:
        return tensor
    return _copy(tensor, target) if result is tensor else _remark(result, target)


def _remark(result: torch.Tensor, device: Optional[int]) -> torch.Tensor:
    return result if device is None else _mark(result, device)


def _copy_(cuda: _Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    if device_of(tensor) is None and args and device_of(args[0]) is not None:
        cuda.add({"read": "copy_"}, None)
    return tensor.copy_(*args, **kwargs)


def _backward(cuda: _Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> None:
    """With the mode on, or no hook of the backward would be seen."""
    names = ("gradient", "retain_graph", "create_graph", "inputs")
    given = {**dict(zip(names, args)), **kwargs}
    gradient = given.pop("gradient", None)
    with mode:
        torch.autograd.backward(tensor, gradient, **given)


def _numpy(cuda: _Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    device = device_of(tensor)
    if device is not None:
        raise TypeError(
            f"can't convert cuda:{device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )
    return tensor.numpy(*args, **kwargs)


def _same(cuda: _Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    return tensor


def _get_device(cuda: _Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> int:
    device = device_of(tensor)
    return -1 if device is None else device


_SPECIAL: dict[str, Callable[..., Any]] = {
    "to": _to,
    "cuda": _to_cuda,
    "cpu": _to_cpu,
    "copy_": _copy_,
    "backward": _backward,
    "numpy": _numpy,
    "pin_memory": _same,
    "get_device": _get_device,
}


def install(recorder: RankRecorder) -> None:
    """In the process of a rank, after all of torch that it needs has been imported."""
    global _cuda
    cuda = _cuda = _Cuda(recorder)
    recorder.device = "cuda"
    recorder.stream = cuda.of_entry
    default = Stream()
    _replace_functions(cuda, default)
    _replace_amp()
    _wrap_what_the_mode_misses(cuda)
    _keep_version_counters_of_fsdp()
    _Mode(cuda).__enter__()


def _replace_functions(cuda: _Cuda, default: Stream) -> None:
    gpus = cuda.recorder.settings.local_ranks

    def set_device(device: DeviceLike) -> None:
        cuda.current = cuda.index(device)

    def synchronize(device: DeviceLike = None) -> None:
        cuda.add({"synchronize": "device"}, None)

    def current_stream(device: DeviceLike = None) -> Stream:
        return cuda.stack[-1] if cuda.stack else default

    @contextlib.contextmanager
    def stream(stream: Optional[Stream]) -> Iterator[None]:
        if stream is None:
            yield
            return
        with stream:
            yield

    @contextlib.contextmanager
    def device(device: DeviceLike) -> Iterator[None]:
        before = cuda.current
        set_device(device)
        try:
            yield
        finally:
            cuda.current = before

    def set_stream(stream: Stream) -> None:
        cuda.stack[:] = [stream]

    properties = types.SimpleNamespace(
        name="pipesim",
        major=8,
        minor=0,
        total_memory=80 * 1024**3,
        multi_processor_count=108,
    )
    functions: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda *_: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "_lazy_call": lambda *_, **__: None,
        "device_count": lambda: gpus,
        "current_device": lambda: cuda.current,
        "set_device": set_device,
        "device": device,
        "synchronize": synchronize,
        "Stream": Stream,
        "Event": Event,
        "current_stream": current_stream,
        "default_stream": lambda device=None: default,
        "stream": stream,
        "set_stream": set_stream,
        "get_device_name": lambda device=None: properties.name,
        "get_device_capability": lambda device=None: (properties.major, properties.minor),
        "get_device_properties": lambda device=None: properties,
        "empty_cache": lambda: None,
        "ipc_collect": lambda: None,
        "mem_get_info": lambda device=None: (properties.total_memory, properties.total_memory),
        "memory_stats": lambda device=None: {},
        "memory_summary": lambda *_, **__: "",
        "reset_peak_memory_stats": lambda device=None: None,
        "reset_max_memory_allocated": lambda device=None: None,
        "get_rng_state": lambda device="cuda": torch.get_rng_state(),
        "set_rng_state": lambda state, device="cuda": torch.set_rng_state(state),
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "seed": lambda: None,
        "seed_all": lambda: None,
        "initial_seed": lambda: 0,
    }
    for memory in ("allocated", "reserved", "cached"):
        for prefix in ("memory_", "max_memory_"):
            functions[prefix + memory] = lambda device=None: 0
    for type_name in ("Float", "Half", "BFloat16", "Double", "Long", "Int", "Bool", "Byte"):
        cpu_type = getattr(torch, f"{type_name}Tensor")
        functions[f"{type_name}Tensor"] = functools.partial(_typed, cuda, cpu_type)
    for name, function in functions.items():
        for module in (torch.cuda, torch.cuda.random, torch.cuda.memory):
            if module is torch.cuda or hasattr(module, name):
                setattr(module, name, function)
    for name, answer in {"_cuda_getDevice": lambda: cuda.current}.items():
        setattr(torch._C, name, answer)


def _typed(cuda: _Cuda, cpu_type: Callable[..., torch.Tensor], *args: Any) -> torch.Tensor:
    """`torch.cuda.FloatTensor(...)`."""
    tensor: torch.Tensor = _mark(cpu_type(*args), cuda.current)
    return tensor


def _replace_amp() -> None:
    """The ops of GradScaler, which CPU builds lack (ATen/native/cuda/AmpKernels.cu)."""

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


def _keep_version_counters_of_fsdp() -> None:
    """FSDP2 gathers into tensors that a backward needs: on a GPU that is no change to autograd."""
    fsdp = sys.modules.get("torch.distributed.fsdp._fully_shard._fsdp_collectives")
    original: Any = getattr(fsdp, "foreach_all_gather_copy_out", None)
    if original is None:
        return

    @functools.wraps(original)
    def foreach_all_gather_copy_out(result: Any, parameters: Any, group: Any) -> None:
        with contextlib.ExitStack() as kept:
            for parameter in parameters:
                for tensor in getattr(parameter, "all_gather_outputs", ()):
                    kept.enter_context(torch.autograd._unsafe_preserve_version_counter(tensor))
            original(result, parameters, group)

    replace("foreach_all_gather_copy_out", (fsdp,), foreach_all_gather_copy_out)


def _wrap_what_the_mode_misses(cuda: _Cuda) -> None:
    original_parameter = torch.nn.Parameter.__new__

    def new(cls: type, data: Any = None, requires_grad: bool = True) -> Any:
        parameter = original_parameter(cls, data, requires_grad)
        mark = device_of(data)
        return parameter if mark is None else _mark(parameter, mark)

    torch.nn.Parameter.__new__ = new
    original_wrapper = torch.Tensor._make_wrapper_subclass

    def make_wrapper(*args: Any, **kwargs: Any) -> Any:
        """DTensor: autograd needs the device to be that of the values."""
        device = kwargs.get("device")
        if not _is_cuda(device):
            return original_wrapper(*args, **kwargs)
        kwargs["device"] = torch.device("cpu")
        return _mark(original_wrapper(*args, **kwargs), cuda.index(device))

    torch.Tensor._make_wrapper_subclass = staticmethod(make_wrapper)
    torch.Tensor.record_stream = lambda tensor, stream: None  # torch 1.13 does not offer it
    if torch.__version__.startswith("1."):  # offered to the mode from 2.0 on
        original_getitem = torch.Tensor.__getitem__

        def getitem(self: torch.Tensor, index: Any) -> Any:
            mark = device_of(self)
            result = original_getitem(self, index)
            if mark is None or values.is_quiet():
                return result
            indices = index if isinstance(index, tuple) else (index,)
            if any(isinstance(i, torch.Tensor) and i.dtype == torch.bool for i in indices):
                cuda.add({"read": "getitem"}, None)
            return _mark(result, mark)

        torch.Tensor.__getitem__ = getitem
