"""The public names of torch.distributed: recorded, local, or refused.

`tests/record/coverage_test.py` compares these lists with the names of the installed torch, so the
test fails until each name of a new version is in a list. A call of an unlisted name raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

# Recorded functions and methods, by owner.
RECORDED = {
    "torch.distributed": """
        all_gather all_gather_coalesced all_gather_into_tensor all_gather_object all_gather_single
        all_reduce all_reduce_coalesced all_to_all all_to_all_single barrier batch_isend_irecv
        broadcast broadcast_object_list destroy_process_group gather gather_into_tensor
        gather_object gather_single
        init_device_mesh init_process_group irecv isend monitored_barrier new_group new_subgroups
        new_subgroups_by_enumeration recv recv_object_list reduce reduce_scatter
        reduce_scatter_single reduce_scatter_tensor scatter scatter_object_list send
        send_object_list shrink_group split_group""".split(),
    "ProcessGroup": """
        all_gather_single all_gather_single_coalesced all_to_all_single allgather
        allgather_coalesced allgather_into_tensor_coalesced allreduce allreduce_coalesced alltoall
        alltoall_base barrier broadcast gather gather_into_tensor gather_single monitored_barrier recv recv_anysource reduce
        reduce_scatter reduce_scatter_single reduce_scatter_single_coalesced
        reduce_scatter_tensor_coalesced scatter send shrink split_group
        _allgather_base _reduce_scatter_base _start_coalescing _end_coalescing""".split(),
    "Store": """
        add append barrier check compare_set delete_key get multi_get multi_set queue_pop
        queue_push set wait""".split(),
    "Work": "get_future is_completed is_success synchronize wait block_current_stream".split(),
}

# Types, constants, and functions that need no other rank, by owner.
LOCAL = {
    "torch.distributed": """
        AllToAllOptions AllreduceCoalescedOptions AllreduceOptions Backend BackendConfig
        BarrierOptions BroadcastOptions BuiltinCommHookType DebugLevel DeviceMesh DistBackendError
        DistError DistNetworkError DistStoreError FileStore GatherOptions GradBucket GroupMember
        GroupName HashStore Logger P2POp PrefixStore ProcessGroup ProcessGroupGloo
        ProcessGroupMPI ProcessGroupNCCL ProcessGroupNCCL2 ProcessGroupNCCLLazy ProcessGroupUCC
        ProcessGroupXCCL QueueEmptyError RankType ReduceOp ReduceOptions ReduceScatterOptions
        Reducer ScatterOptions Store TCPStore Work default_pg_timeout dist_backend get_backend
        get_backend_config get_backend_impl get_debug_level get_default_backend_for_device get_global_rank
        get_group_rank get_node_local_rank get_pg_count get_process_group_ranks get_rank
        get_world_size group is_available is_backend_available is_gloo_available is_initialized
        is_mpi_available is_nccl_available is_torchelastic_launched is_ucc_available
        is_xccl_available log record_comm reduce_op register_rendezvous_handler remote_device
        rendezvous set_debug_level set_debug_level_from_env set_timeout supports_complex""".split(),
    "ProcessGroup": """
        BackendType Options boxed unbox rank size name group_name group_desc bound_device_id
        options abort shutdown set_timeout get_group_store eager_connect_single_device
        perform_nocolor_split comm_split_count get_backend supports_coalescing supports_reconfigure
        supports_shrinking supports_splitting supports_tensor_alloc supports_window supports_time_estimate use_pg_for_symm_mem_rendezvous
        CUSTOM GLOO MPI NCCL UCC UNDEFINED XCCL
        _add_ephemeral_timeout _backend_id _device_types _enable_collectives_timing _get_backend _get_backend_name
        _get_sequence_number_for_group _has_hooks _id _pybind11_conduit_v1_ _register_backend
        _set_default_backend _set_default_timeout _set_group_desc _set_group_name _set_group_uid
        _set_sequence_number_for_group _wait_for_pending_works""".split(),
    "Store": """
        clone has_extended_api list_keys num_keys queue_len set_timeout timeout
        _pybind11_conduit_v1_""".split(),
    "Work": """
        boxed unbox exception result source_rank timeout _source_rank _get_op_type
        _get_sequence_number
        _pybind11_conduit_v1_""".split(),
}

# Calls that raise, and the reason. docs/how-to/record.md also lists them.
NOT_RECORDED = {
    "torch.distributed.rpc.init_rpc": "remote calls do not go through a process group",
    "torch.distributed.breakpoint": "it waits for a debugger's input",
    "torch.distributed.all_gather_multigpu": "one rank drives several GPUs",
    "torch.distributed.all_reduce_multigpu": "one rank drives several GPUs",
    "torch.distributed.broadcast_multigpu": "one rank drives several GPUs",
    "torch.distributed.reduce_multigpu": "one rank drives several GPUs",
    "torch.distributed.reduce_scatter_multigpu": "one rank drives several GPUs",
    "ProcessGroup.merge": "its ranks are those of two jobs",
    "ProcessGroup.merge_remote_group": "its ranks are those of two jobs",
    "ProcessGroup.split": "split_group makes such groups",
    "ProcessGroup.allreduce_sparse": "its values are not those of a dense tensor",
    "ProcessGroup.setUsePgForSymmMemRendezvous": "kernels write into each other's memory",
    "ProcessGroup.reconfigure": "its ranks change while the job runs",
    "ProcessGroup.get_reconfigure_handle": "its ranks change while the job runs",
    "ProcessGroup.new_window": "kernels write into each other's memory",
    "ProcessGroup.allocate_tensor": "the memory is that of a GPU",
    "ProcessGroup.mem_allocator": "the memory is that of a GPU",
    "ProcessGroup.memory_stats": "the memory is that of a GPU",
    "ProcessGroup.suspend": "the memory is that of a GPU",
    "ProcessGroup.resume": "the memory is that of a GPU",
    "ProcessGroup._register_on_completion_hook": "a hook that the watchdog would call",
    "ProcessGroup.register_pre_hook": "a hook that the backend would call",
    "ProcessGroup.register_post_hook": "a hook that the backend would call",
    "ProcessGroup.register_abort_hook": "a hook that the backend would call",
    "ProcessGroup.unregister_pre_hook": "a hook that the backend would call",
    "ProcessGroup.unregister_post_hook": "a hook that the backend would call",
    "ProcessGroup.unregister_abort_hook": "a hook that the backend would call",
    "ProcessGroup.get_error": "it reports the state of the watchdog",
    "Work.get_future_result": "it reports the state of the watchdog",
    "Work._get_duration": "nothing is timed",
    "PrefixStore.queue_push": "use the store without a prefix",
    "PrefixStore.queue_pop": "use the store without a prefix",
    "PrefixStore.queue_len": "use the store without a prefix",
    "PrefixStore.list_keys": "use the store without a prefix",
}


class NotRecorded(NotImplementedError):
    """An error: the script calls a function that the recorder does not support."""

    def __init__(self, name: str, why: str = "") -> None:
        why = why or NOT_RECORDED.get(name, "this version of pipesim does not know it")
        super().__init__(f"pipesim record: {name} is not recorded: {why}")


def refusal(name: str) -> Callable[..., NoReturn]:
    """Returns a function that raises `NotRecorded`."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NotRecorded(name)

    refuse.__name__ = name.rpartition(".")[2]
    return refuse


def undecided(owner: str, names: Iterable[str]) -> list[str]:
    """Returns the elements of `names` that are neither recorded nor local names of this owner."""
    known = {*RECORDED[owner], *LOCAL[owner]}
    return [name for name in names if not name.startswith("__") and name not in known]
