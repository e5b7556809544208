"""Notes calls that C++ makes: functional collectives, and calls of DDP's reducer.

From 2.14 on, torch calls a hook before each call of a group. The hook notes the calls of DDP's
reducer; it does not say enough about those of functional collectives.

Otherwise, such calls pass the dispatcher. A Python kernel at the key BackendSelect notes a call,
and redispatches it by `OpOverload.redispatch`, which releases the GIL. A kernel must never enter a
backend with the GIL held: gloo's worker holds gloo's mutex while it takes the GIL to destroy a
finished work, so the process would deadlock.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Mapping
from typing import Any, Callable

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

from pipesim.attach.calls import DESCRIBE, Call, Group, NotKnown, out_of_place, with_row_splits
from pipesim.attach.noting import Noting
from pipesim.recorder.replacing import replace

# Functional ops. Their arguments begin with the input; the last one is the name of the group.
_FUNCTIONAL = {
    "all_reduce": "all_reduce",
    "all_reduce_": "all_reduce",
    "all_reduce_coalesced": "all_reduce",
    "all_reduce_coalesced_": "all_reduce",
    "all_gather_into_tensor": "all_gather",
    "all_gather_into_tensor_out": "all_gather",
    "all_gather_into_tensor_coalesced": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_tensor_out": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "broadcast": "broadcast",
    "broadcast_": "broadcast",
}

# Functional ops that attach does not describe.
_NOT_NOTED = ("isend", "irecv", "batch_p2p_ops")

# Calls that a hook describes, by torch's name.
_HOOKED = {
    "ALLREDUCE": "all_reduce",
    "BROADCAST": "broadcast",
    "REDUCE": "reduce",
    "ALLGATHER": "all_gather",
    "REDUCE_SCATTER": "reduce_scatter",
    "BARRIER": "barrier",
}
_BACKEND_SELECT = torch._C.DispatchKey.BackendSelect
_HOOK_ID = 0x7069706573  # unlike those of other tools

# Ops that DDP calls from C++, and the methods of ProcessGroup that they correspond to.
_OF_REDUCER = {"allreduce_": "allreduce", "broadcast_": "broadcast", "allgather_": "allgather"}


class Kernels:
    """The kernels of this process."""

    def __init__(self, noting: Noting) -> None:
        self._noting = noting
        self._libraries: dict[str, Any] = {}
        self._has_reducer = False
        self._hooked: list[weakref.ref[Any]] = []
        self._wait_op: Any = None

    def install(self) -> None:
        """Installs the kernels of functional collectives. The kernels of the reducer follow with
        the first DDP module, because they slow down the calls of all callers."""
        if not hasattr(dist.ProcessGroup, "unbox"):
            self._install_nothing()
            return
        for name, op in _FUNCTIONAL.items():
            packet = getattr(torch.ops._c10d_functional, name, None)
            if packet is not None:
                self._add(packet.default, self._kernel_of(packet.default, op))
        for name in _NOT_NOTED:
            packet = getattr(torch.ops._c10d_functional, name, None)
            if packet is not None:
                self._add(packet.default, functools.partial(self._not_noted, packet.default, name))
        self._wait_op = torch.ops._c10d_functional.wait_tensor.default
        self._add(self._wait_op, self._wait_tensor)
        self._before_ddp(self._install_reducer)
        self._before_broadcasts()

    def _before_broadcasts(self) -> None:
        """Installs the reducer's kernels for other modules that broadcast their parameters."""
        original = dist._broadcast_coalesced

        @functools.wraps(original)
        def _broadcast_coalesced(*args: Any, **kwargs: Any) -> None:
            self._call_native(self._install_reducer, original, args, kwargs)

        replace("_broadcast_coalesced", (dist,), _broadcast_coalesced)

    def _install_nothing(self) -> None:
        """Notes, once DDP is used, that the record lacks calls of C++: the ops of this torch hide
        their group."""
        noting = self._noting
        self._before_ddp(lambda: noting.incomplete("calls of DDP are not noted with this torch"))

    def _before_ddp(self, action: Callable[[], None]) -> None:
        cls = torch.nn.parallel.DistributedDataParallel
        original = cls.__init__

        @functools.wraps(original)
        def __init__(*args: Any, **kwargs: Any) -> None:
            self._call_native(action, original, args, kwargs)

        setattr(cls, "__init__", __init__)

    def _call_native(
        self, prepare: Callable[[], None], original: Any, args: Any, kwargs: Mapping[str, Any]
    ) -> None:
        """Calls a function of torch whose C++ waits for the calls that it makes."""
        own = self._noting.own
        try:
            prepare()
        except Exception as error:
            self._noting.fail(error)
        is_outer = not own.in_native
        own.in_native = True
        try:
            original(*args, **kwargs)
        finally:
            if is_outer:
                own.in_native = False
                self._noting.leave()

    def _install_reducer(self) -> None:
        if self._has_reducer or not self._noting.active:
            return
        self._has_reducer = True
        if hasattr(dist.ProcessGroup, "register_pre_hook"):
            for pg in list(c10d._pg_map):
                self._hook(pg)
            self._noting.on_group = self._hook
            return
        for name, method in _OF_REDUCER.items():
            op = getattr(torch.ops.c10d, name).default
            self._add(op, functools.partial(self._of_reducer, op, method))

    def _add(self, op: Any, kernel: Callable[..., Any]) -> None:
        namespace, _, name = op._schema.name.partition("::")
        library = self._libraries.get(namespace)
        if library is None:
            library = torch.library.Library(namespace, "IMPL")
            self._libraries[namespace] = library
        library.impl(name, kernel, "BackendSelect", with_keyset=True)

    def _hook(self, pg: Any) -> None:
        pg.register_pre_hook(_HOOK_ID, functools.partial(self._before_call, pg.group_name))
        self._hooked.append(weakref.ref(pg))

    def _before_call(self, name: str, about: Any) -> None:
        """The hook. C++ takes the GIL for it only, and makes the call afterwards."""
        noting = self._noting
        if noting.own.inside or not noting.active:
            return
        try:
            op = _HOOKED.get(about.name.name)
            tensors = about.input_tensors or about.output_tensors

            def describe(group: Group, *_: Any) -> Call:
                if op is None:
                    raise NotKnown(f"{about.name.name} of a C++ caller")
                if op == "barrier":
                    return Call(op, 0, None)
                root = group.ranks[about.root] if op in ("broadcast", "reduce") else None
                return out_of_place(op, tensors, root)

            known = noting.call(describe, name, (tensors,), sys._getframe(), native=True)
            noting.expect(known)
            if not noting.own.in_native:
                noting.leave()
        except Exception as error:
            noting.fail(error)

    def remove(self) -> None:
        """Removes kernels and hooks, so that C++ does not call Python while the interpreter ends:
        torch 2.14 crashes in ~GroupRegistry if a hook is left."""
        for reference in self._hooked:
            pg = reference()
            if pg is not None:
                pg.unregister_pre_hook(_HOOK_ID)
        self._hooked.clear()
        for library in self._libraries.values():
            library._destroy()
        self._libraries.clear()

    # The kernels

    def _made(self, op: Any, below: Any, args: tuple[Any, ...], known: Any, keep: bool) -> Any:
        """Makes a call that has been noted, with the GIL released."""
        own = self._noting.own
        own.inside = True
        try:
            result = op.redispatch(below, *args)
        except BaseException as error:
            self._noting.failed(error)
            raise
        finally:
            own.inside = False
            self._noting.recount(known)
            if known is not None:
                self._noting.leave()
        if keep and known is not None:
            self._noting.keep_results(result, known)
        return result

    def _kernel_of(self, op: Any, name: str) -> Callable[..., Any]:
        """Returns the kernel of a functional op."""
        noting = self._noting
        names = [argument.name for argument in op._schema.arguments]
        at = {each: i for i, each in enumerate(names)}
        of_group, of_root = at["group_name"], at.get("src")

        def describe(group: Group, *args: Any) -> Call:
            inputs = (args[0],) if isinstance(args[0], torch.Tensor) else args[0]
            root = group.ranks[args[of_root]] if of_root is not None else None
            call = out_of_place(name, inputs, root)
            if name != "all_to_all":
                return call
            splits = (args[at["input_split_sizes"]], args[at["output_split_sizes"]])
            return with_row_splits(call, args[0], splits)

        def kernel(keys: Any, *args: Any) -> Any:
            below = keys.remove(_BACKEND_SELECT)
            if noting.own.inside or not noting.active or _is_traced(args[0]):
                return op.redispatch(below, *args)
            known = noting.call(describe, args[of_group], args, sys._getframe(1))
            return self._made(op, below, args, known, keep=True)

        return kernel

    def _not_noted(self, op: Any, name: str, keys: Any, *args: Any) -> Any:
        self._noting.incomplete(f"functional {name} is not noted")
        return op.redispatch(keys.remove(_BACKEND_SELECT), *args)

    def _of_reducer(self, op: Any, method: str, keys: Any, *args: Any) -> Any:
        noting = self._noting
        below = keys.remove(_BACKEND_SELECT)
        if noting.own.inside or not noting.active:
            return op.redispatch(below, *args)
        at = 2 if method == "allgather" else 1
        known = None
        try:
            name = dist.ProcessGroup.unbox(args[at]).group_name
            given = args[:at] if method != "broadcast" else (args[0], int(args[2]))
            known = noting.call(DESCRIBE[method], name, given, sys._getframe(1), native=True)
        except Exception as error:
            noting.fail(error)
        return self._made(op, below, args, known, keep=False)

    def _wait_tensor(self, keys: Any, tensor: torch.Tensor) -> Any:
        noting, op = self._noting, self._wait_op
        below = keys.remove(_BACKEND_SELECT)
        if noting.own.inside or not noting.active or _is_traced(tensor):
            return op.redispatch(below, tensor)
        noted = noting.wait_for_result(tensor, sys._getframe(1))
        try:
            return op.redispatch(below, tensor)
        except BaseException as error:
            noting.failed(error)
            raise
        finally:
            noting.waited(noted)


def _is_traced(tensors: Any) -> bool:
    """Whether a compiler traces the op, which then makes no call."""
    first = tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors
    if not isinstance(first, torch.Tensor):
        return False
    return first.device.type == "meta" or type(first).__name__ in ("FakeTensor", "FunctionalTensor")
