"""Wraps the functions of torch that Python callers use: methods of process groups, waits, and the
creation of groups."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Callable

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

from pipesim.attach.calls import DESCRIBE, Group
from pipesim.attach.native import Kernels
from pipesim.attach.noting import Noting, by_others
from pipesim.recorder.coverage import LOCAL
from pipesim.recorder.places import is_torch
from pipesim.recorder.replacing import after_each_step, replace

# Methods that exchange nothing between ranks, or only while a group is made.
_QUIET = {*LOCAL["ProcessGroup"], "split_group", "register_pre_hook", "unregister_pre_hook"}


def install(noting: Noting) -> None:
    """Installs all wrappers of this module, unless attach is switched off."""
    if noting.is_off or not dist.is_available():
        return
    _wrap_methods(noting)
    _wrap_works(noting)
    _wrap_futures(noting)
    _wrap_groups(noting)
    _wrap_batches(noting)
    _wrap_stores(noting)
    _wrap_training(noting)
    _wrap_ends(noting)
    kernels = Kernels(noting)
    kernels.install()
    noting.at_end.append(kernels.remove)


def _classes() -> list[Any]:
    """Returns ProcessGroup and, in 1.13, its subclasses, which can have their own methods."""
    found = [dist.ProcessGroup]
    for name in ("ProcessGroupGloo", "ProcessGroupNCCL", "_ProcessGroupWrapper"):
        cls = getattr(torch._C._distributed_c10d, name, None)
        if cls is not None and issubclass(cls, dist.ProcessGroup):
            found.append(cls)
    return found


def _wrap_methods(noting: Noting) -> None:
    for cls in _classes():
        for name, original in list(vars(cls).items()):
            if name in DESCRIBE:
                setattr(cls, name, _noted(noting, DESCRIBE[name], original))
            elif name == "_set_sequence_number_for_group":
                setattr(cls, name, _accepted(noting, original))
            elif callable(original) and not name.startswith("__") and name not in _QUIET:
                if name not in ("_start_coalescing", "_end_coalescing"):
                    setattr(cls, name, _not_noted(noting, name, original))


def _noted(noting: Noting, describe: Callable[..., Any], original: Any) -> Any:
    own = noting.own

    @functools.wraps(original)
    def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if own.inside or not noting.active:
            return original(self, *args, **kwargs)
        given = (*args, *kwargs.values()) if kwargs else args
        known = noting.call(describe, id(self), given, sys._getframe(1))
        own.inside = True
        try:
            work = original(self, *args, **kwargs)  # releases the GIL
        except BaseException as error:
            noting.failed(error)
            raise
        finally:
            own.inside = False
            noting.recount(known)
        noting.returned(known, work)
        return work

    return _call


def _not_noted(noting: Noting, name: str, original: Any) -> Any:
    """Wraps a method that attach does not know: its call makes the record incomplete."""

    @functools.wraps(original)
    def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not noting.own.inside:
            noting.incomplete(f"ProcessGroup.{name} is not noted")
        return original(self, *args, **kwargs)

    return _call


def _accepted(noting: Noting, original: Any) -> Any:
    """Wraps the method by which 1.13 sets the number of a new group's calls."""

    @functools.wraps(original)
    def _set_sequence_number_for_group(self: Any) -> None:
        original(self)
        noting.accept(self)

    return _set_sequence_number_for_group


def _wrap_works(noting: Noting) -> None:
    work_type: Any = torch._C._distributed_c10d.Work
    own = noting.own

    def waiting(name: str) -> None:
        original = getattr(work_type, name)

        def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
            if own.inside or not noting.active:
                return original(self, *args, **kwargs)
            has_timeout = bool((args or kwargs) and next(iter((*args, *kwargs.values()))))
            noted = noting.wait(self, sys._getframe(), has_timeout)
            own.inside = True
            try:
                return original(self, *args, **kwargs)  # releases the GIL
            except BaseException as error:
                noting.failed(error, has_timeout)
                raise
            finally:
                own.inside = False
                noting.waited(noted)

        setattr(work_type, name, functools.wraps(original)(wait))

    for name in ("wait", "synchronize"):
        waiting(name)

    def before(name: str, note: Callable[[Any], None]) -> None:
        original = getattr(work_type, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if noting.active and not own.inside:
                note(self)
            return original(self, *args, **kwargs)

        setattr(work_type, name, call)

    before("is_completed", lambda work: noting.poll(work, sys._getframe(2)))
    before("is_success", lambda work: noting.poll(work, sys._getframe(2)))
    before("get_future", noting.take_future)
    for name in ("_source_rank", "source_rank"):
        _tell_source(noting, work_type, name)


def _tell_source(noting: Noting, work_type: Any, name: str) -> None:
    original = getattr(work_type, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def source_rank(self: Any) -> int:
        source = int(original(self))
        noting.received(self, source)
        return source

    setattr(work_type, name, source_rank)


def _wrap_futures(noting: Noting) -> None:
    future_type: Any = torch._C.Future
    original = future_type.wait

    @functools.wraps(original)
    def wait(self: Any) -> Any:
        if not noting.active or not noting.wait_for_futures():
            return original(self)
        try:
            return original(self)
        except BaseException as error:
            noting.failed(error)
            raise
        finally:
            noting.leave()

    future_type.wait = wait


def _backends(asked: str) -> dict[str, str]:
    """Returns the backend for each kind of device; "" stands for every kind."""
    parts = [part.split(":") for part in asked.lower().split(",") if ":" in part]
    if parts:
        return {device: name for device, name in parts}
    if asked.lower() in ("undefined", "", "none"):
        has_cuda = torch.cuda.is_available()
        return {"cpu": "gloo", "cuda": "nccl"} if has_cuda else {"": "gloo"}
    return {"": asked.lower()}


def _record_backend(name: str) -> str:
    return "nccl" if name.startswith("nccl") else "gloo"


def _wrap_groups(noting: Noting) -> None:
    original_helper = c10d._new_process_group_helper
    signature = inspect.signature(original_helper)
    store_barrier = torch.__version__.startswith("1.")
    world: dict[str, Group] = {}

    def define(given: dict[str, Any]) -> dict[str, Group]:
        """Notes that a group is made. Returns it by kind of device."""
        is_world = not given["global_ranks_in_group"]
        backends = _backends(str(given["backend"]))
        main = backends.get("cuda") or next(iter(backends.values()))
        if is_world:
            noting.begin(given["group_rank"], given["group_size"], _record_backend(main))
        ranks = list(given["global_ranks_in_group"]) or list(range(given["group_size"]))
        name = given["group_name"] or str(getattr(c10d, "_group_count", "0"))
        desc, eager = given.get("group_desc") or "", given.get("device_id") is not None
        made: dict[str, Group] = {}
        if "fake" in backends.values():
            return made
        for device, backend in backends.items():
            if backend not in ("gloo", "nccl"):
                noting.incomplete(f"the rules of the backend '{backend}' are not known")
            group = noting.define_group(name, ranks, _record_backend(backend), desc, eager)
            if group is None:
                return {}
            made[device] = group
            entry: dict[str, Any] = {"init" if is_world else "new_group": group.id}
            if not is_world:
                entry.update({"key": int(name)} if str(name).isdigit() else {})
                entry.update({"store_barrier": True} if store_barrier else {})
                entry.update(_parent(group, world))
            noting.mark(entry, stands=True)
        if is_world:
            world.clear()
            world.update(made)
        return made

    @functools.wraps(original_helper)
    def _new_process_group_helper(*args: Any, **kwargs: Any) -> Any:
        if noting.is_off:
            return original_helper(*args, **kwargs)
        made: dict[str, Group] = {}
        try:
            made = define(_arguments(signature, args, kwargs))
        except Exception as error:
            noting.fail(error)
        result = original_helper(*args, **kwargs)
        noting.leave()
        pg = result[0] if isinstance(result, tuple) else result
        if made:
            noting.add_group(pg, made)
        return result

    original_destroy = c10d.destroy_process_group

    @functools.wraps(original_destroy)
    def destroy_process_group(group: Any = None) -> None:
        destroyed = group if group is not None else c10d.GroupMember.WORLD
        for each in noting.groups.get(id(destroyed), {}).values():
            noting.mark({"destroy": each.id}, stands=True)
        for pg in list(c10d._pg_map) if destroyed is c10d.GroupMember.WORLD else [destroyed]:
            noting.remove_group(pg)
        try:
            original_destroy(group)
        finally:
            noting.leave()

    for function in (_new_process_group_helper, destroy_process_group):
        modules = (c10d, dist) if hasattr(dist, function.__name__) else (c10d,)
        replace(function.__name__, modules, function)
    if hasattr(c10d, "split_group"):
        _wrap_split(noting, world)


def _arguments(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the arguments of a call by name, with the defaults."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def _parent(group: Group, world: dict[str, Group]) -> dict[str, str]:
    """Returns the parent of a new group, if NCCL splits the communicator of all ranks for it: with
    `device_id=`, whatever the backend of a group without this rank is."""
    made = c10d.GroupMember.WORLD
    of_nccl = next((each for each in world.values() if each.backend == "nccl"), None)
    if of_nccl is None or not getattr(made, "bound_device_id", None):
        return {}
    splits = group.backend == "nccl" or made.rank() not in group.ranks
    return {"parent": of_nccl.id} if splits else {}


def _wrap_split(noting: Noting, world: dict[str, Group]) -> None:
    original = c10d.split_group
    signature = inspect.signature(original)
    splits: dict[str, int] = {}  # by parent

    def define(given: dict[str, Any]) -> dict[str, Group]:
        parent_pg = given["parent_pg"] or c10d._get_default_group()
        by_device = noting.groups[id(parent_pg)]
        rank = c10d.get_rank()
        made: dict[str, Group] = {}
        for device, parent in by_device.items():
            splits[parent.id] = splits.get(parent.id, 0) + 1
            members = [[parent.ranks[i] for i in sorted(part)] for part in given["split_ranks"]]
            own = next((part for part in members if rank in part), members[0])
            name = f"{parent.name}:{splits[parent.id]}"
            desc = given.get("group_desc") or ""
            group = noting.define_group(name, own, parent.backend, desc, eager=True)
            if group is None:
                return {}
            noting.mark({"new_group": group.id, "parent": parent.id}, stands=True)
            made[device] = group
        return made

    @functools.wraps(original)
    def split_group(*args: Any, **kwargs: Any) -> Any:
        made: dict[str, Group] = {}
        try:
            if noting.active:
                made = define(_arguments(signature, args, kwargs))
        except Exception as error:
            noting.fail(error)
        pg = original(*args, **kwargs)
        noting.leave()
        if pg is not None and made:
            noting.add_group(pg, made)
        return pg

    replace("split_group", (c10d, dist), split_group)


def _wrap_batches(noting: Noting) -> None:
    """Wraps batches and coalesced calls, which NCCL makes as one call."""
    original_batch = c10d.batch_isend_irecv

    @functools.wraps(original_batch)
    def batch_isend_irecv(p2p_op_list: Any) -> Any:
        noting.mark({}, "G begin")
        noting.own.in_batch = True
        try:
            return original_batch(p2p_op_list)
        finally:
            noting.own.in_batch = False
            noting.mark({}, "G end")

    replace("batch_isend_irecv", (c10d, dist), batch_isend_irecv)
    begin = getattr(dist.ProcessGroup, "_start_coalescing", None)
    end = getattr(dist.ProcessGroup, "_end_coalescing", None)
    if begin is None or end is None:  # 1.13 has them in c10d
        return

    @functools.wraps(begin)
    def _start_coalescing(self: Any, *args: Any) -> Any:
        if noting.active:
            noting.own.coalesced_since = noting.calls_of_thread()
            if not noting.own.in_batch:
                noting.mark({}, "G begin")
        result = begin(self, *args)
        noting.accept(self)
        return result

    @functools.wraps(end)
    def _end_coalescing(self: Any, *args: Any) -> Any:
        work = end(self, *args)
        noting.accept(self)
        if noting.active:
            noting.coalesced(self, noting.own.coalesced_since, work)
            if not noting.own.in_batch:
                noting.mark({}, "G end")
        return work

    setattr(dist.ProcessGroup, "_start_coalescing", _start_coalescing)
    setattr(dist.ProcessGroup, "_end_coalescing", _end_coalescing)


def _wrap_stores(noting: Noting) -> None:
    """Makes the record incomplete if the script waits for a key of a store."""
    store_type: Any = dist.Store

    def wrap(name: str) -> None:
        original = getattr(store_type, name)

        @functools.wraps(original)
        def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
            if noting.active and not is_torch(sys._getframe(1).f_code.co_filename):
                noting.incomplete("waits for keys of a store are not noted")
            return original(self, *args, **kwargs)

        wait.__code__ = wait.__code__.replace(co_name=name)  # places name the function
        setattr(store_type, name, wait)

    for name in ("get", "wait", "multi_get", "queue_pop"):
        if hasattr(store_type, name):
            wrap(name)


def _wrap_training(noting: Noting) -> None:
    original = torch.autograd.backward

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> None:
        if not noting.active:
            return original(*args, **kwargs)
        thread = noting.begin_backward()
        how = "end"
        try:
            original(*args, **kwargs)
        except BaseException as error:
            how = "stop"
            if by_others(error):  # of a call that DDP's reducer waits for
                noting.failed(error)
            raise
        finally:
            noting.end_backward(thread, how)
        return None

    replace("backward", (torch.autograd,), backward)
    after_each_step(lambda: noting.mark({}, "S"))


def _wrap_ends(noting: Noting) -> None:
    shown = sys.excepthook

    def excepthook(kind: Any, error: Any, trace: Any) -> None:
        noting.raised(kind, error, trace)
        shown(kind, error, trace)

    sys.excepthook = excepthook
    atexit.register(noting.clean_up)
    os.register_at_fork(after_in_child=noting.leave_fork)
