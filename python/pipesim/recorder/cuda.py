"""A stand-in for CUDA: scripts written for GPUs run unchanged, on CPU tensors with a mark.

A `TorchFunctionMode` sees nearly every call with tensors. It replaces `device="cuda"` by the CPU,
marks the results of calls with a marked input, answers `.device` and `.is_cuda`, and records reads
of marked tensors, in which the host waits for the current stream. `torch.cuda` gets stand-ins for
its functions, streams and events. Custom kernels (Triton, apex, flash-attention) cannot run.

Wrappers handle calls that torch does not offer to the mode: `nn.Parameter`, wrapper subclasses
(DTensor), indexing in torch 1.13. All kernels that C++ launches in a backward count as one.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, Optional

import torch
import torch.cuda
from torch.overrides import TorchFunctionMode

from pipesim.recorder import cuda_modules, cuda_ops, cuda_streams, values
from pipesim.recorder.cuda_streams import Cuda, DeviceLike, Event, Stream, installed
from pipesim.recorder.replacing import replace
from pipesim.recorder.rank_recorder import RankRecorder

_MARK = "_pipesim_device"

# Calls that give the host a value of their tensor, or whose result's size depends on its values.
_READS = frozenset(
    "item tolist __bool__ __int__ __float__ __index__ __complex__ __repr__ __format__ __contains__ "
    "nonzero argwhere masked_select unique unique_consecutive equal allclose is_nonzero bincount "
    "_local_scalar_dense".split()
)

# Calls that make a tensor on the default device.
_FACTORIES = frozenset(
    "empty empty_strided eye full linspace logspace normal ones rand randn randint randperm range "
    "arange zeros tensor as_tensor scalar_tensor tril_indices triu_indices".split()
)

# Calls that launch no kernel themselves, e.g. queries, allocations and views.
_NO_KERNEL = frozenset(
    "__get__ __set__ __len__ size dim ndimension numel nelement stride storage_offset element_size "
    "data_ptr is_floating_point is_complex is_contiguous requires_grad_ detach view view_as "
    "reshape t transpose permute expand expand_as unsqueeze squeeze chunk split narrow select "
    "flatten unbind register_hook retain_grad storage untyped_storage empty empty_like new_empty "
    "empty_strided __hash__ is_pinned get_device _is_view backward".split()
)


@functools.lru_cache(maxsize=None)
def _inner_name(kind: Any) -> str:
    """Returns the attribute that holds the values of a wrapper tensor (a DTensor, or the result of
    a functional collective), or "". The mode does not see the construction of such tensors."""
    return next((name for name in ("_local_tensor", "elem") if hasattr(kind, name)), "")


def device_of(tensor: Any) -> Optional[int]:
    """Returns the index of the GPU that the tensor counts as being on, or None for a CPU tensor."""
    mark: Optional[int] = getattr(tensor, _MARK, None)
    kind: Any = type(tensor)
    if mark is None and kind is not torch.Tensor and _inner_name(kind):
        return device_of(getattr(tensor, _inner_name(kind), None))
    return mark


def _mark(result: Any, device: Optional[int]) -> Any:
    if isinstance(result, torch.Tensor):
        setattr(result, _MARK, device)
    elif isinstance(result, (tuple, list)):
        for item in result:
            _mark(item, device)
    return result


def _mark_as(tensor: torch.Tensor, result: Any) -> Any:
    """Returns `result`, marked as on the GPU of `tensor` if `tensor` is on a GPU."""
    device = device_of(tensor)
    return result if device is None else _mark(result, device)


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


class _Mode(TorchFunctionMode):
    """The function mode that sees calls with tensors. It is off while it handles a call."""

    def __init__(self, cuda: Cuda) -> None:
        super().__init__()
        self._cuda = cuda

    def __torch_function__(
        self, func: Any, _types: Any, args: Any = (), kwargs: Optional[dict[str, Any]] = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if func is torch.device and args and isinstance(args[0], int) and not values.is_quiet():
            return func("cuda", args[0])  # a bare index means a device of the accelerator
        # Module.to parses its arguments with _parse_to, and needs the device as it was given.
        if values.is_quiet() or name == "_parse_to" or func is torch.device:
            return func(*args, **kwargs)
        if name in ("__get__", "__set__"):
            return self._property(func, name, args)
        special = _SPECIAL.get(name)
        if special is not None and args and isinstance(args[0], torch.Tensor):
            return special(self._cuda, self, args[0], args[1:], kwargs)
        return self._call(func, name, args, kwargs)

    def _property(self, func: Any, kind: str, args: Any) -> Any:
        # `func` is a new object each time, so it is identified by its name.
        name = getattr(getattr(func, "__self__", None), "__name__", "")
        mark = device_of(args[0])
        if mark is not None and kind == "__get__":
            if name == "device":
                return torch.device("cuda", mark)
            if name in ("is_cuda", "is_cpu"):
                return name == "is_cuda"
        result = func(*args)
        if kind == "__set__" and len(args) > 1 and device_of(args[1]) is not None:
            _mark(args[0], device_of(args[1]))
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
        if source is not None and _reads(name, args, kwargs):
            self._cuda.add({"read": name.strip("_")}, None)
        if target is None and name in _FACTORIES and kwargs.get("device") is None:
            target = self._cuda.default_device
        result = func(*args, **kwargs)
        on_device = target if target is not None else source
        if on_device is None:
            return result
        if name not in _NO_KERNEL and not _is_distributed(func):
            self._cuda.launch()
        in_place = name.endswith("_") and not name.endswith("__")
        if in_place and target is None:
            return result  # stays on the device of its tensor
        if "device" in kwargs and target is None and kwargs["device"] is not None:
            return result  # the call asks for the CPU
        return _mark(result, on_device)

    def _take(self, device: Any) -> tuple[Optional[int], Any]:
        """Returns the GPU that `device` names, or None, and the device to pass to torch instead."""
        if _is_cuda(device) or (isinstance(device, int) and not isinstance(device, bool)):
            return self._cuda.index(device), torch.device("cpu")
        return None, device


def _is_distributed(func: Any) -> bool:
    """Whether `func` is of torch.distributed, whose calls have entries of their own."""
    return (getattr(func, "__module__", None) or "").startswith("torch.distributed")


def _reads(name: str, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether the host waits in this call for a tensor's values: as its result, or to compute the
    size of its result."""
    if name == "__getitem__":
        return _has_mask(args[1])
    if name == "where":  # `where(condition)` is nonzero
        return len(args) == 1 and not kwargs
    if name == "repeat_interleave":
        repeats = args[1] if len(args) > 1 else kwargs.get("repeats", args[0])
        return isinstance(repeats, torch.Tensor) and kwargs.get("output_size") is None
    if name == "tensor":
        return not isinstance(args[0], torch.Tensor) or device_of(args[0]) is not None
    return name in _READS


def _has_mask(index: Any) -> bool:
    indices = index if isinstance(index, tuple) else (index,)
    return any(isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8) for i in indices)


def _is_cuda(device: Any) -> bool:
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, str) and (device == "cuda" or device.startswith("cuda:"))


# Methods that behave differently for tensors on a GPU


def _copy(tensor: torch.Tensor, device: Optional[int]) -> torch.Tensor:
    """Returns a copy on `device`: a new tensor, like the result of a copy between devices."""
    return _remark(tensor.clone(), device)


def _to_cuda(cuda: Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    target = cuda.index(args[0] if args else kwargs.get("device"))
    return tensor if device_of(tensor) == target else _copy(tensor, target)


def _to_cpu(cuda: Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    if device_of(tensor) is None:
        return tensor
    cuda.add({"read": "cpu"}, None)
    return _copy(tensor, None)


def _to(cuda: Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    """Implements `to(device, dtype)`, `to(dtype)` and `to(other)`, each with non_blocking and
    copy."""
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
    given.pop("non_blocking", None)  # the host waits anyway if the memory is not pinned
    if source is not None and target is None:
        cuda.add({"read": "cpu"}, None)
    given = {key: value for key, value in given.items() if value not in (None, False)}
    result = tensor.to(**given) if given else tensor
    if result is tensor and source == target:
        return tensor
    return _copy(tensor, target) if result is tensor else _remark(result, target)


def _remark(result: torch.Tensor, device: Optional[int]) -> torch.Tensor:
    return result if device is None else _mark(result, device)


def _copy_(cuda: Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    if device_of(tensor) is None and args and device_of(args[0]) is not None:
        cuda.add({"read": "copy_"}, None)
    return tensor.copy_(*args, **kwargs)


def _backward(cuda: Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> None:
    """Runs a backward with the mode on; otherwise the mode would miss the calls in its hooks."""
    names = ("gradient", "retain_graph", "create_graph", "inputs")
    given = {**dict(zip(names, args)), **kwargs}
    gradient = given.pop("gradient", None)
    with mode:
        torch.autograd.backward(tensor, gradient, **given)


def _launch_backward(cuda: Cuda, roots: Any) -> None:
    """Counts a kernel for a backward on the GPU, whose kernels C++ launches."""
    roots = [roots] if torch.is_tensor(roots) else roots
    if any(device_of(root) is not None for root in roots):
        cuda.launch()


def _numpy(cuda: Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    device = device_of(tensor)
    if device is not None:
        raise TypeError(
            f"can't convert cuda:{device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )
    return tensor.numpy(*args, **kwargs)


def _same(cuda: Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    return tensor


def _type(cuda: Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> Any:
    """Implements `type()`, which returns a name, and `type(dtype or name)`, a conversion, perhaps
    to another device."""
    wanted = args[0] if args else kwargs.get("dtype")
    device = device_of(tensor)
    if wanted is None:
        name: str = tensor.type()
        return name if device is None else name.replace("torch.", "torch.cuda.", 1)
    if isinstance(wanted, torch.dtype):
        return _to(cuda, mode, tensor, (wanted,), {})
    on_cuda = isinstance(wanted, _TypedMaker) or "torch.cuda." in str(wanted)
    cpu_type = wanted.cpu_type if isinstance(wanted, _TypedMaker) else wanted
    if isinstance(cpu_type, str):
        cpu_type = cpu_type.replace("torch.cuda.", "torch.")
    target = (cuda.current if device is None else device) if on_cuda else None
    if device is not None and target is None:
        cuda.add({"read": "type"}, None)
    return _remark(tensor.clone().type(cpu_type), target)


def _get_device(cuda: Cuda, mode: _Mode, tensor: Any, args: Any, kwargs: Any) -> int:
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
    "type": _type,
}


def install(recorder: RankRecorder) -> None:
    """Installs the stand-in in the process of a rank, after the parent has imported torch."""
    cuda = cuda_streams.install(recorder)
    recorder.device = "cuda"
    recorder.stream = cuda.of_entry
    recorder.launch_backward = functools.partial(_launch_backward, cuda)
    default = Stream()
    _replace_functions(cuda, default)
    cuda_ops.install(_mark_as)
    _replace_defaults(cuda)
    _replace_load(cuda)
    _wrap_what_the_mode_misses(cuda)
    cuda_modules.install(lambda: _mode_on(cuda))
    _keep_mode_in_backward()
    _Mode(cuda).__enter__()
    _enter_in_threads(cuda)


def _keep_mode_in_backward() -> None:
    """Keeps the mode on in hooks of a backward. Otherwise, the mode would handle the call of
    `grad` (in 2.13, also of `backward`), and would be off during this call."""
    autograd: Any = torch.autograd
    autograd.has_torch_function = lambda _: False
    original = autograd.grad

    @functools.wraps(original)
    def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        gradients = original(outputs, inputs, *args, **kwargs)
        for gradient, tensor in zip(gradients, [inputs] if torch.is_tensor(inputs) else inputs):
            if gradient is not None:
                _mark_as(tensor, gradient)
        return gradients

    replace("grad", (autograd,), grad)


def _mode_on(cuda: Cuda) -> contextlib.AbstractContextManager[Any]:
    """Returns a context in which the mode is on, even while it handles a call."""
    modes = torch.overrides._get_current_function_mode_stack()
    is_on = any(isinstance(mode, _Mode) for mode in modes)
    return contextlib.nullcontext() if is_on else _Mode(cuda)


def _enter_in_threads(cuda: Cuda) -> None:
    """Turns the mode on in every new thread, because a mode applies only to its own thread: user
    threads, and the thread that pins batches in a DataLoader."""
    thread: Any = threading.Thread
    original = thread._bootstrap_inner  # `run` is often replaced by a subclass

    def _bootstrap_inner(self: threading.Thread) -> None:
        with _Mode(cuda):
            original(self)

    thread._bootstrap_inner = _bootstrap_inner


def _replace_functions(cuda: Cuda, default: Stream) -> None:
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
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=48 * 1024,
        shared_memory_per_block_optin=163 * 1024,
        shared_memory_per_multiprocessor=164 * 1024,
        warp_size=32,
        L2_cache_size=40 * 1024**2,
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName="pipesim",
        uuid="00000000-0000-0000-0000-000000000000",
    )
    functions: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda *_: True,
        "is_current_stream_capturing": lambda: False,
        "can_device_access_peer": lambda device, peer: True,
        "set_sync_debug_mode": lambda mode: None,
        "get_sync_debug_mode": lambda: 0,
        "get_rng_state_all": lambda: [torch.get_rng_state() for _ in range(gpus)],
        "set_rng_state_all": lambda states: None,
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
        functions[f"{type_name}Tensor"] = _TypedMaker(cuda, cpu_type)
    graphs = sys.modules.get("torch.cuda.graphs", torch.cuda)
    for name, function in functions.items():
        for module in (torch.cuda, torch.cuda.random, torch.cuda.memory, graphs):
            if module is torch.cuda or hasattr(module, name):
                setattr(module, name, function)
    version = (2, 27, 5)
    nccl = sys.modules.get("torch.cuda.nccl")
    if nccl is not None:
        setattr(nccl, "version", lambda: version)
    for name, answer in {
        "_cuda_getDevice": lambda: cuda.current,
        # c10d's logger needs the version, even while it reports an exception.
        "_nccl_version": lambda: version[0] << 32 | version[1] << 16 | version[2],
    }.items():
        setattr(torch._C, name, answer)
    _replace_accelerator(cuda, functions)


def _replace_accelerator(cuda: Cuda, functions: dict[str, Any]) -> None:
    """Replaces `torch.accelerator` (2.6 and later), which has the functions of torch.cuda under
    names for all kinds of device."""
    accelerator: Any = getattr(torch, "accelerator", None)
    if accelerator is None:
        return
    names = "device_count current_stream set_stream synchronize empty_cache memory_stats".split()
    answers = {
        **{name: functions[name] for name in names},
        **{name: call for name, call in functions.items() if "memory_" in name},
        "is_available": lambda: True,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": functions["current_device"],
        "current_device_idx": functions["current_device"],
        "set_device_index": functions["set_device"],
        "set_device_idx": functions["set_device"],
        "device_index": functions["device"],
        "get_memory_info": functions["mem_get_info"],
    }
    for name, answer in answers.items():
        if hasattr(accelerator, name):
            replace(name, (accelerator,), answer)
    c_functions = {
        "getAccelerator": lambda: torch.device("cuda"),
        "getDeviceIndex": functions["current_device"],
        "setDeviceIndex": functions["set_device"],
        "getStream": functions["current_stream"],
        "setStream": functions["set_stream"],
        "synchronizeDevice": functions["synchronize"],
    }
    for name, answer in c_functions.items():
        if hasattr(torch._C, f"_accelerator_{name}"):
            setattr(torch._C, f"_accelerator_{name}", answer)


class _TypedMaker:
    """A stand-in for `torch.cuda.FloatTensor` and the like, which make tensors and name a type."""

    def __init__(self, cuda: Cuda, cpu_type: Callable[..., torch.Tensor]) -> None:
        self._cuda = cuda
        self.cpu_type = cpu_type

    def __call__(self, *args: Any) -> torch.Tensor:
        tensor: torch.Tensor = _mark(self.cpu_type(*args), self._cuda.current)
        return tensor


def _replace_defaults(cuda: Cuda) -> None:
    """Replaces the setters of the default device and type, random generators, and NVTX ranges."""
    original_type = torch.set_default_tensor_type

    def set_default_tensor_type(wanted: Any) -> None:
        if isinstance(wanted, str) and wanted.startswith("torch.cuda."):
            wanted = getattr(torch.cuda, wanted.rpartition(".")[2])
        on_cuda = isinstance(wanted, _TypedMaker)
        cuda.default_device = cuda.current if on_cuda else None
        original_type(wanted.cpu_type if on_cuda else wanted)

    replace("set_default_tensor_type", (torch,), set_default_tensor_type)
    original_device: Any = getattr(torch, "set_default_device", None)
    if original_device is not None:

        def set_default_device(device: Any) -> None:
            cuda.default_device = cuda.index(device) if _is_cuda(device) else None
            original_device("cpu" if _is_cuda(device) else device)

        replace("set_default_device", (torch,), set_default_device)
    original_generator = torch.Generator

    class Kind(type):
        def __instancecheck__(cls, thing: Any) -> bool:
            return isinstance(thing, original_generator)

    def new(cls: type, device: Any = "cpu") -> Any:
        return original_generator(device="cpu" if _is_cuda(device) else device)

    replace("Generator", (torch,), Kind("Generator", (), {"__new__": new}))
    if hasattr(torch.cuda, "nvtx"):  # marks for a profiler
        nvtx: Any = torch.cuda.nvtx
        for name in ("range_push", "range_pop", "range_start", "range_end", "mark"):
            setattr(nvtx, name, lambda *_, **__: 0)
        nvtx.range = lambda *_, **__: contextlib.nullcontext()


class _Location:
    """A stand-in for a storage, to find out where `map_location` of torch.load moves it."""

    def __init__(self, device: Optional[int]) -> None:
        self.mark = device

    def cuda(self, device: DeviceLike = None, *_: Any, **__: Any) -> _Location:
        return _Location(installed().index(device))

    def cpu(self) -> _Location:
        return _Location(None)


def _replace_load(cuda: Cuda) -> None:
    """Replaces torch.load, so that `map_location` changes the marks of the loaded tensors. Also
    records a read when a marked tensor is pickled."""
    original = torch.load

    def moved(tensor: torch.Tensor, where: Any) -> None:
        old = device_of(tensor)
        name = "cpu" if old is None else f"cuda:{old}"
        if isinstance(where, dict):
            where = where.get(name, name)
        elif callable(where):
            where = where(_Location(old), name)
            if where is None:  # leaves the tensor where it was
                return
        if isinstance(where, _Location):
            new = where.mark
        else:
            new = cuda.index(where) if _is_cuda(where) else None
        if new is not None:
            setattr(tensor, _MARK, new)
        elif old is not None:
            delattr(tensor, _MARK)

    def move(thing: Any, where: Any) -> None:
        if isinstance(thing, torch.Tensor):
            moved(thing, where)
        elif isinstance(thing, torch.nn.Module):
            for tensor in [*thing.parameters(), *thing.buffers()]:
                moved(tensor, where)
        elif isinstance(thing, dict):
            for value in thing.values():
                move(value, where)
        elif isinstance(thing, (list, tuple, set)):
            for value in thing:
                move(value, where)

    @functools.wraps(original)
    def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        if map_location is None:
            return original(f, None, *args, **kwargs)
        with values.quiet():
            result = original(f, "cpu", *args, **kwargs)
            move(result, map_location)
        return result

    replace("load", (torch, torch.serialization), load)
    original_reduce = torch.Tensor.__reduce_ex__

    def reduce_ex(self: torch.Tensor, protocol: Any) -> Any:
        if device_of(self) is not None and not values.is_quiet():
            cuda.add({"read": "pickle"}, None)
        with values.quiet():
            return original_reduce(self, protocol)

    setattr(torch.Tensor, "__reduce_ex__", reduce_ex)


def _wrap_what_the_mode_misses(cuda: Cuda) -> None:
    original_parameter = torch.nn.Parameter.__new__

    def new(cls: type, data: Any = None, requires_grad: bool = True) -> Any:
        parameter = original_parameter(cls, data, requires_grad)
        mark = device_of(data)
        return parameter if mark is None else _mark(parameter, mark)

    torch.nn.Parameter.__new__ = new
    original_wrapper = torch.Tensor._make_wrapper_subclass

    def make_wrapper(*args: Any, **kwargs: Any) -> Any:
        """Makes a wrapper (e.g. a DTensor) on the CPU, where its values are, for autograd."""
        device = kwargs.get("device")
        if not _is_cuda(device):
            return original_wrapper(*args, **kwargs)
        kwargs["device"] = torch.device("cpu")
        return _mark(original_wrapper(*args, **kwargs), cuda.index(device))

    torch.Tensor._make_wrapper_subclass = staticmethod(make_wrapper)
    torch.Tensor.record_stream = lambda tensor, stream: None  # not offered to the mode in 1.13
    torch.Tensor.pin_memory = lambda tensor, *_, **__: tensor  # not offered in threads of C++
    if torch.__version__.startswith("1."):  # 2.x offers indexing to the mode
        original_getitem = torch.Tensor.__getitem__

        def getitem(self: torch.Tensor, index: Any) -> Any:
            mark = device_of(self)
            result = original_getitem(self, index)
            if mark is None or values.is_quiet():
                return result
            if _has_mask(index):
                cuda.add({"read": "getitem"}, None)
            return _mark(result, mark)

        torch.Tensor.__getitem__ = getitem
