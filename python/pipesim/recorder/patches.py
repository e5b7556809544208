"""Patches that put the recorder into torch, in the process of a rank, before the script runs.

The patches replace the process groups, and functions whose calls a process group does not see:
creating and destroying groups, batches, waits, the begin and end of a backward, optimizer steps,
and `multiprocessing.spawn`. Names that the installed version of torch lacks are skipped.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Optional

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d
import torch.multiprocessing

from pipesim.recorder import locks
from pipesim.recorder.coverage import NOT_RECORDED, NotRecorded, refusal
from pipesim.recorder.process_group import Options, RecordingGroup
from pipesim.recorder.rank_recorder import RankRecorder
from pipesim.recorder.replacing import after_each_step, replace
from pipesim.recorder.store import RecordingStore
from pipesim.recorder.two_backends import TwoBackendsGroup
from pipesim.recorder.works import Group

_WORLD = "pipesim:world"
_KEPT_KEYS = (
    "keys of the first init_process_group are gone from the store at the second; torchrun's store "
    "keeps them, and gloo of torch 2.13 then hangs"
)
_SHORTEST_DEFAULT = datetime.timedelta(minutes=10)  # among the backends' timeouts
_KINDS_OF_NCCL = ("nccl2", "nccl-legacy", "nccl-lazy")


def install(recorder: RankRecorder) -> None:
    """Installs all patches of this module."""
    _replace_backends(recorder)
    _replace_groups(recorder)
    _replace_independent_groups(recorder)
    _replace_stores(recorder)
    _replace_works(recorder)
    _replace_futures(recorder)
    _replace_training(recorder)
    _replace_spawn(recorder)
    _refuse_what_is_not_recorded()


def _replace_backends(recorder: RankRecorder) -> None:
    class Backend(type):
        def __instancecheck__(cls, thing: Any) -> bool:
            """Whether `thing` is a group of this backend. Object collectives of 1.13 choose their
            device by this test. 2.x asserts that a new group passes the test, and makes gloo's
            group first if a group has two backends."""
            if not isinstance(thing, RecordingGroup):
                return False
            return cls.__name__ == "ProcessGroupGloo" or thing.group.backend == "nccl"

    def make(name: str, store: Any, rank: int, size: int, options: Options) -> RecordingGroup:
        made = make_unchecked(name, store, rank, size, options)
        if dist.get_debug_level() == dist.DebugLevel.DETAIL:
            add_checks(made, rank, size)
        return made

    def add_checks(made: RecordingGroup, rank: int, size: int) -> None:
        group = recorder.define_group(f"{made.group.name}:checks", made.group.ranks, "gloo")
        recorder.add({"new_group": group.id})
        recorder.rendezvous(f"connect:{group.name}", 0, group.ranks)
        halves = [made, made.on_host] if isinstance(made, TwoBackendsGroup) else [made]
        for half in halves:
            half.checks = RecordingGroup(recorder, group, rank, size)

    def make_unchecked(
        name: str, store: Any, rank: int, size: int, options: Options
    ) -> RecordingGroup:
        group = recorder.group_being_made
        if group is None:
            return _independent_group(recorder, name, store, rank, size, options)
        on_host = recorder.half_being_made
        if "gloo" in (group.backend, on_host and on_host.backend):
            # gloo's constructor connects all members.
            recorder.rendezvous(f"connect:{group.name}", 0, group.ranks)
        being_bound = recorder.device_being_bound
        devices = recorder.devices_being_made
        if on_host is not None:
            return TwoBackendsGroup(
                on_host, recorder, group, rank, size, store, being_bound, options, devices
            )
        return RecordingGroup(recorder, group, rank, size, store, being_bound, options, devices)

    def backend(name: str) -> type:
        def new(cls: type, store: Any, rank: int, size: int, *args: Any, **kwargs: Any) -> Any:
            options = next((given for given in args if isinstance(given, Options)), Options())
            if "timeout" in kwargs:
                options._timeout = kwargs["timeout"]
            return make(name, store, rank, size, options)

        return Backend(name, (), {"__new__": new, "Options": Options})

    def create(given: Any, options: Any = None) -> RecordingGroup:
        """Makes a group, as the creator of a backend does. In 2.14 and later, gloo and NCCL also
        have creators."""
        options = options if isinstance(options, Options) else Options()
        options._timeout = given.timeout
        return make("a group", given.store, given.group_rank, given.group_size, options)

    for name in ("ProcessGroupGloo", "ProcessGroupNCCL"):
        replace(name, (c10d,), backend(name))
        setattr(dist, name, getattr(c10d, name))
    c10d._GLOO_AVAILABLE = c10d._NCCL_AVAILABLE = True
    if getattr(c10d, "default_pg_nccl_timeout", None) is None:  # 2.x warns if the build lacks NCCL
        replace("default_pg_nccl_timeout", (c10d,), datetime.timedelta(minutes=10))
    # torch's wrapper is a group in C++, around which there is nothing to record.
    replace("_create_process_group_wrapper", (c10d,), lambda wrapped_pg, **_: wrapped_pg)
    if hasattr(c10d.Backend, "_ensure_backend_registered"):
        _replace_creators(create)


def _replace_creators(create: Callable[..., Any]) -> None:
    """Replaces the creators of gloo and of NCCL's several backends, which 2.14 and later find by
    entry points."""
    plugins = c10d.Backend._plugins
    for name in ("gloo", "nccl", *_KINDS_OF_NCCL):
        with contextlib.suppress(Exception):  # the build can lack this backend
            c10d.Backend._ensure_backend_registered(name)
        if name.upper() in plugins:
            changed = {"creator_fn": create, "extended_api": True}
            plugins[name.upper()] = plugins[name.upper()]._replace(**changed)
        elif name in _KINDS_OF_NCCL:
            c10d.Backend.register_backend(name, create, extended_api=True, devices=["cuda"])


def _independent_group(
    recorder: RankRecorder, name: str, store: Any, rank: int, size: int, options: Options
) -> RecordingGroup:
    """Makes a group outside new_group, as `_dist2` does. Raises NotRecorded unless all ranks are
    members: the ranks of a smaller group are unknown."""
    if (rank, size) != (recorder.rank, recorder.world):
        raise NotRecorded(
            f"{name}(...) of {size} ranks", "which ranks of the job they are is unknown"
        )
    backend = "gloo" if name == "ProcessGroupGloo" else "nccl"
    number = recorder.number(_WORLD, "independent group")
    group = recorder.define_group(f"independent:{number}", range(size), backend)
    recorder.add({"new_group": group.id})
    if backend == "gloo":
        recorder.rendezvous(f"connect:{group.name}", 0, group.ranks)
    return RecordingGroup(recorder, group, rank, size, store, options=options)


def _backend_name(asked: str, device: str) -> str:
    """Returns `gloo` or `nccl`: the backend for `device`. `asked` can name a backend for each kind
    of device, e.g. `cpu:gloo,cuda:nccl` (2.x), or be `undefined`, which means the default."""
    by_device = dict(part.split(":") for part in asked.lower().split(",") if ":" in part)
    default = "nccl" if device == "cuda" else "gloo"
    name = by_device.get(device, default) if by_device else asked.lower()
    for each in by_device.values() or [name]:
        if each not in ("gloo", "nccl", "undefined", "", *_KINDS_OF_NCCL):
            raise NotRecorded(f"the backend '{each}'")
    if name in _KINDS_OF_NCCL:
        return "nccl"
    return name if name in ("gloo", "nccl") else default


def _devices(asked: str) -> list[str]:
    """Returns the kinds of device for which 2.x registers the backends; empty in 1.13."""
    if not hasattr(c10d, "BackendConfig"):
        return []
    return list(c10d.BackendConfig(c10d.Backend(asked)).get_device_backend_map())


def _has_half_on_host(asked: str, device: str) -> bool:
    """Whether gloo makes the calls with CPU tensors in a group of NCCL. Up to about 2.8, an
    undefined backend selects a backend for each kind of device."""
    parts = asked.lower().split(",")
    every = torch.__version__.startswith(tuple(f"2.{minor}." for minor in range(9)))
    both = "cpu:gloo" in parts and "cuda:nccl" in parts
    return device == "cuda" and (both or (asked.lower() == "undefined" and every))


def _check_size(recorder: RankRecorder, rank: int, world_size: int) -> None:
    if world_size not in (-1, None, recorder.world):
        raise RuntimeError(
            f"pipesim record: the script asks for world_size={world_size}, but it is recorded "
            f"with --ranks {recorder.world}"
        )
    if rank not in (-1, None, recorder.rank):
        raise RuntimeError(
            f"pipesim record: the script takes this process for rank {rank}, but it is rank "
            f"{recorder.rank}; let it take its rank from the environment variable RANK"
        )


def _split_source(recorder: RankRecorder, backend: str, given: Any) -> Optional[Group]:
    """Returns the group whose communicator new_group splits, or None.

    In 2.x, with `device_id=`, this is the group of all ranks. Ranks outside the new group take part
    in the split whatever the new group's backend is (_new_process_group_helper)."""
    world = c10d.GroupMember.WORLD
    if not isinstance(world, RecordingGroup) or not world.bound_device_id:
        return None
    is_member = recorder.rank in given["global_ranks_in_group"]
    splits = world.supports_splitting and (backend == "nccl" or not is_member)
    return world.group if splits else None


def _note_timeout(recorder: RankRecorder, timeout: Optional[datetime.timedelta]) -> None:
    """Notes a timeout shorter than any default: calls of a group that take longer raise."""
    if timeout is not None and timeout < _SHORTEST_DEFAULT:
        seconds = f"{timeout.total_seconds():g}"
        recorder.note("other", f"each call of a group ends within {seconds} s, the group's timeout")


def _replace_groups(recorder: RankRecorder) -> None:
    original_helper = c10d._new_process_group_helper
    signature = inspect.signature(original_helper)
    kept: list[Any] = []  # keeps groups alive: C++ cannot call a collected group

    @functools.wraps(original_helper)
    def _new_process_group_helper(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        is_world = not given["global_ranks_in_group"]
        if is_world:  # with `store=`, no rendezvous has checked the size
            _check_size(recorder, given["group_rank"], given["group_size"])
            if kept:
                recorder.note("other", _KEPT_KEYS)
        if str(given["backend"]) == "fake" and not is_world:  # exchanges nothing, never waits
            return original_helper(*args, **kwargs)
        name = given["group_name"] or str(c10d._group_count)
        backend = _backend_name(str(given["backend"]), recorder.device)
        parent = None if is_world else _split_source(recorder, backend, given)
        ranks = range(recorder.world) if is_world else given["global_ranks_in_group"]
        desc = given.get("group_desc") or ""
        eager = given.get("device_id") is not None
        group = recorder.define_group(name, ranks, backend, desc, eager, parent)
        recorder.store_client.call_store(waits=True)  # its members connect through the store
        _note_timeout(recorder, given.get("timeout"))
        on_host = None
        if _has_half_on_host(str(given["backend"]), recorder.device):
            on_host = recorder.define_group(name, ranks, "gloo", desc)
        if is_world:
            recorder.add({"init": group.id})
            recorder.rendezvous(_WORLD, 0, range(recorder.world))
        else:
            key = int(name) if parent is None and name.isdigit() else None
            recorder.add(
                {"new_group": group.id, "key": key, "parent": parent.id if parent else None}
            )
            if on_host is not None:
                recorder.add({"new_group": on_host.id, "key": key})
        recorder.group_being_made, recorder.half_being_made = group, on_host
        recorder.device_being_bound = given.get("device_id")
        recorder.devices_being_made = _devices(str(given["backend"]))
        made = original_helper(*args, **kwargs)
        recorder.group_being_made = recorder.half_being_made = None
        recorder.device_being_bound = None
        kept.append(made)
        return made

    def _store_based_barrier(rank: int, store: Any, *args: Any, **kwargs: Any) -> None:
        """Waits for all ranks of the job, including ranks outside the new group, as new_group does
        in 1.13."""
        last = recorder.file.last
        if last is not None and "new_group" in last:
            last["store_barrier"] = True
        number = recorder.number(_WORLD, "store barrier")
        recorder.rendezvous(_WORLD, number, range(recorder.world))

    original_destroy = c10d.destroy_process_group

    @functools.wraps(original_destroy)
    def destroy_process_group(group: Any = None) -> None:
        destroyed = group if group is not None else c10d.GroupMember.WORLD
        if isinstance(destroyed, RecordingGroup) and not destroyed.shrunk:
            recorder.destroy(destroyed, destroyed.group)
        original_destroy(group)

    original_batch = c10d.batch_isend_irecv

    @functools.wraps(original_batch)
    def batch_isend_irecv(p2p_op_list: Any) -> Any:
        recorder.batch = recorder.next_batch()
        try:
            return original_batch(p2p_op_list)
        finally:
            recorder.batch = None

    if hasattr(c10d, "split_group"):
        replace("split_group", (c10d, dist), _splitter(recorder, original_helper, kept))
    if hasattr(c10d, "_get_split_source"):  # in 2.14, C++ would split; the recorder does it instead
        replace("_get_split_source", (c10d,), lambda _: None)
    if hasattr(c10d, "_create_shrunk_process_group"):

        def _create_shrunk_process_group(
            made: RecordingGroup, _: Any, metadata: Any, *__: Any
        ) -> Any:
            """Returns the group that `RecordingGroup.shrink` has made, with its final name."""
            made._set_group_name(metadata["new_group_name"])
            kept.append(made)
            return made

        replace("_create_shrunk_process_group", (c10d,), _create_shrunk_process_group)

    for function in (
        _new_process_group_helper,
        _store_based_barrier,
        destroy_process_group,
        batch_isend_irecv,
    ):
        modules = (c10d, dist) if hasattr(dist, function.__name__) else (c10d,)
        replace(function.__name__, modules, function)


def _check_is_part(asked: str, parents: str) -> None:
    """Checks the backends for `split_group(backend=)` of 2.13. Raises ValueError unless they are
    among the parent's."""
    have = dict(part.split(":") for part in parents.split(","))
    for device in _devices(asked):
        name = c10d.BackendConfig(c10d.Backend(asked)).get_device_backend_map()[device]
        if device in have and have[device] == name:
            continue
        if ":" in asked or device not in have:
            raise ValueError(
                f"Requested backend '{name}' for device '{device}' is not that of the parent "
                f"process group ({parents})"
            )


def _splitter(
    recorder: RankRecorder, original_helper: Callable[..., Any], kept: list[Any]
) -> Callable[..., Any]:
    """Returns a replacement of `split_group` (2.6 and later), which would make a C++ group around
    ProcessGroupNCCL."""

    def define(ranks: list[int], parent: Group, desc: str) -> Group:
        name = str(c10d._world.group_count)
        group = recorder.define_group(name, ranks, "nccl", desc, eager=True, parent=parent)
        recorder.add({"new_group": group.id, "parent": parent.id})
        return group

    @functools.wraps(c10d.split_group)
    def split_group(
        parent_pg: Any = None,
        split_ranks: Any = None,
        timeout: Any = None,
        pg_options: Any = None,
        group_desc: Optional[str] = None,
        backend: Any = None,
    ) -> Any:
        """Splits `parent_pg`; all members of the parent make this call. `split_ranks` holds ranks
        in the parent. `backend` selects the parent's backends that the new group also has."""
        if not split_ranks:
            raise ValueError("split_ranks cannot be None or empty")
        world = c10d._get_default_group()
        parent = parent_pg if parent_pg else world
        if not world.bound_device_id:
            raise RuntimeError(
                "No device associated with the default pg, not safe to split any process groups"
            )
        if recorder.rank not in parent.group.ranks:
            raise ValueError(
                f"Global rank {recorder.rank} is not part of the parent group {parent_pg}"
            )
        if not parent.supports_splitting:
            raise RuntimeError(
                "No backend for the parent process group or its backend does not support splitting"
            )
        kind = c10d._world.pg_map[parent][0]
        if backend is not None:
            _check_is_part(str(backend), c10d._world.pg_backend_config[parent])
            kind = c10d.Backend(str(backend))
        splits = [sorted(ranks) for ranks in split_ranks]
        if any(len(ranks) == 0 for ranks in splits):
            raise ValueError("the split group cannot be empty")
        if any(len(ranks) != len(set(ranks)) for ranks in splits):
            raise ValueError("the split group cannot have duplicate ranks")
        members = [[parent.group.ranks[rank] for rank in ranks] for ranks in splits]
        own = next((ranks for ranks in members if recorder.rank in ranks), None)
        desc = group_desc or ""
        if own is None:  # ncclCommSplit also waits for ranks outside the new groups
            if members:
                define(members[0], parent.group, desc)
            return None
        group = define(own, parent.group, desc)
        c10d._world.group_count += 1
        recorder.group_being_made = group
        recorder.device_being_bound = world.bound_device_id
        recorder.devices_being_made = _devices(str(kind))
        parent._splits += 1
        made, _ = original_helper(
            len(own),
            own.index(recorder.rank),
            own,
            kind,
            c10d._world.pg_map[world][1],
            group.name,
            backend_options=pg_options,
            timeout=timeout or c10d._get_default_timeout(c10d.Backend("nccl")),
            device_id=world.bound_device_id,
            group_desc=desc or None,
        )
        recorder.group_being_made = recorder.device_being_bound = None
        kept.append(made)
        c10d._world.pg_group_ranks[made] = {rank: index for index, rank in enumerate(own)}
        return made

    return split_group


def _replace_stores(recorder: RankRecorder) -> None:
    world = RecordingStore(recorder, client=recorder.store_client)
    kept = [world]  # keeps stores alive: in 2.x, only C++ holds them

    def rendezvous(
        url: str, rank: int = -1, world_size: int = -1, **_: Any
    ) -> Iterator[tuple[RecordingStore, int, int]]:
        """Yields the store, rank and size of this recording, for every URL."""
        _check_size(recorder, rank, world_size)
        yield world, recorder.rank, recorder.world

    replace("rendezvous", (c10d,), rendezvous)

    def store_class(name: str) -> type:
        def new(cls: type, *args: Any, **kwargs: Any) -> RecordingStore:
            address = ":".join(str(a) for a in args[:2]) if name == "TCPStore" else str(args[:1])
            client = locks.Use() if name == "TCPStore" else None
            store = RecordingStore(recorder, f"{name} {address}", client)
            kept.append(store)
            return store

        return type(name, (), {"__new__": new})

    for name in ("TCPStore", "FileStore", "HashStore"):
        if hasattr(dist, name):
            replace(name, (dist,), store_class(name))


def _replace_independent_groups(recorder: RankRecorder) -> None:
    """Replaces the groups of `_dist2` (2.9 and later), which torch.distributed does not know."""
    try:
        import torch.distributed._dist2 as dist2
    except ImportError:
        return

    def maker(name: str) -> Callable[..., RecordingGroup]:
        def make(store: Any, rank: int, size: int, timeout: Any, *_: Any, **__: Any) -> Any:
            options = Options()
            options._timeout = timeout
            return _independent_group(recorder, name, store, rank, size, options)

        return make

    dist2._BACKENDS.update(gloo=maker("ProcessGroupGloo"), nccl=maker("ProcessGroupNCCL"))


def _replace_works(recorder: RankRecorder) -> None:
    work_type: Any = torch._C._distributed_c10d.Work
    original_future_of = work_type.get_future

    def wait(self: Any, timeout: Any = None) -> bool:
        # A timeout of 0 (kNoTimeout) means the group's own timeout.
        seconds = timeout.total_seconds() if timeout else None
        recorder.wait(self, sys._getframe(1), seconds)
        return True

    def synchronize(self: Any) -> None:
        recorder.wait(self, sys._getframe(1))

    def is_completed(self: Any) -> bool:
        return recorder.poll(self, sys._getframe(1))

    def get_future(self: Any) -> Any:
        return recorder.take_future(self) or original_future_of(self)

    def source_rank(self: Any) -> int:
        return recorder.source_of(self)

    if hasattr(work_type, "block_current_stream"):
        original_block = work_type.block_current_stream

        def block_current_stream(self: Any) -> None:
            if recorder.device == "cuda":  # without GPUs, gloo's own method raises
                recorder.wait(self, sys._getframe(1))
            else:
                original_block(self)

        work_type.block_current_stream = block_current_stream
    for function in (wait, synchronize, is_completed, get_future, source_rank):
        setattr(work_type, function.__name__, function)
    work_type._source_rank = source_rank
    work_type.is_success = is_completed


def _replace_futures(recorder: RankRecorder) -> None:
    future_type: Any = torch._C.Future
    original = future_type.wait

    def wait(self: Any) -> Any:
        if not self.done():
            recorder.wait_for_futures()
        return original(self)

    future_type.wait = wait


def _replace_training(recorder: RankRecorder) -> None:
    original_backward = torch.autograd.backward

    @functools.wraps(original_backward)
    def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
        if recorder.backward_depth == 0:
            recorder.add({"backward": "begin"})
            recorder.launch_backward(tensors)
        end = recorder.begin_backward(tensors)
        try:
            original_backward(tensors, *args, **kwargs)
        finally:
            end()
        if recorder.backward_depth == 0:
            recorder.add({"backward": "end"})

    replace("backward", (torch.autograd,), backward)

    after_each_step(recorder.step)


def _replace_spawn(recorder: RankRecorder) -> None:
    def spawn(
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        nprocs: int = 1,
        join: bool = True,
        daemon: bool = False,
        start_method: str = "spawn",
    ) -> Optional[Any]:
        """Runs `fn` in this process, which already is one of the processes to spawn."""
        local = recorder.settings.local_ranks
        if nprocs != local:
            raise RuntimeError(
                f"pipesim record: the script spawns {nprocs} processes, but it is recorded with "
                f"{local} on each node; use --ranks {nprocs * recorder.settings.nodes}"
            )
        fn(recorder.rank % local, *args)
        if not join:
            warnings.warn("pipesim record: spawn(join=False) ran the function at once")
        return None

    replace("spawn", (torch.multiprocessing,), spawn)


def _refuse_what_is_not_recorded() -> None:
    owners = {
        "torch.distributed.rpc": getattr(dist, "rpc", None),
        "torch.distributed": dist,
        "Work": torch._C._distributed_c10d.Work,
        "PrefixStore": dist.PrefixStore,
    }
    for name in NOT_RECORDED:
        owner, _, attribute = name.rpartition(".")
        if hasattr(owners.get(owner), attribute):
            setattr(owners[owner], attribute, refusal(name))
