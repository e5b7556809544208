"""The functions of torch.distributed, of frameworks and of Python that the rules of lint know."""

from __future__ import annotations

# Collectives, with the position of their argument `group`.
COLLECTIVES = {
    "all_gather": 2,
    "all_gather_coalesced": 2,
    "all_gather_into_tensor": 2,
    "all_gather_object": 2,
    "all_gather_tensor": 2,
    "_all_gather_base": 2,
    "all_reduce": 2,
    "all_reduce_coalesced": 2,
    "all_to_all": 2,
    "all_to_all_single": 4,
    "barrier": 0,
    "broadcast": 2,
    "broadcast_object_list": 2,
    "gather": 3,
    "gather_object": 3,
    "monitored_barrier": 0,
    "reduce": 3,
    "reduce_scatter": 3,
    "reduce_scatter_tensor": 3,
    "_reduce_scatter_base": 3,
    "scatter": 3,
    "scatter_object_list": 3,
}
BARRIERS = frozenset(["barrier", "monitored_barrier", "wait_for_everyone"])
# Modules that import none of these packages, even through others, are not walked.
JOB_PACKAGES = frozenset(["accelerate", "deepspeed", "lightning", "pytorch_lightning", "torch"])
# Functions that all ranks of the job must call, even ranks outside the new group.
NEW_GROUPS = frozenset(
    ["init_device_mesh", "new_group", "new_subgroups", "new_subgroups_by_enumeration"]
)
MESSAGES = frozenset(["batch_isend_irecv", "irecv", "isend"])
CHECKPOINTS = frozenset(["async_save", "load", "load_state_dict", "save", "save_state_dict"])

# Collectives that leave the same values on all ranks of the group, in their first argument.
AGREEMENTS = frozenset(
    "all_gather all_gather_into_tensor all_gather_object _all_gather_base all_reduce broadcast "
    "broadcast_object_list".split()
)

# Modules with the functions of torch.distributed, and names for them in scripts.
PACKAGES = ("torch.distributed.", "deepspeed.comm.", "dist.")
CHECKPOINT_PACKAGE = "torch.distributed.checkpoint."
# Names of objects of frameworks that have collectives as methods.
COMMUNICATORS = frozenset(["accelerator", "comm", "dist", "fabric", "strategy"])
# Collectives of frameworks, by the name of the method, with the package that has them.
METHODS = {
    "gather_for_metrics": "accelerate",
    "save_checkpoint": "deepspeed",
    "wait_for_everyone": "accelerate",
}

RANK_FUNCTIONS = frozenset(
    "get_data_parallel_rank get_local_rank get_node_local_rank get_pipeline_model_parallel_rank "
    "get_rank get_tensor_model_parallel_rank is_main_process is_pipeline_first_stage "
    "is_pipeline_last_stage is_rank_zero".split()
)
RANK_ATTRIBUTES = frozenset(
    "global_rank is_global_zero is_local_main_process is_main_process is_rank_zero "
    "local_process_index local_rank process_index rank".split()
)
RANK_VARIABLES = frozenset(["GROUP_RANK", "LOCAL_RANK", "RANK", "SLURM_LOCALID", "SLURM_PROCID"])

CLOCKS = frozenset(
    [f"time.{name}" for name in ("time", "monotonic", "perf_counter", "process_time")]
    + ["datetime.datetime.now", "datetime.now", "datetime.datetime.utcnow"]
)
CHANCES = ("random.", "numpy.random.", "secrets.", "torch.rand", "torch.multinomial")
SEEDS = frozenset(["manual_seed", "manual_seed_all", "seed", "seed_everything", "set_seed"])

# Functions and methods whose result differs between ranks if an argument or the object does.
PASS_ON = frozenset(
    "abs all any as_tensor bool ceil clone copy cpu detach enumerate filter float floor fromkeys "
    "int isfinite isinf isnan item iter items keys len list map math.ceil max mean min next range "
    "reversed round set sorted str sum tensor tolist tuple values zip".split()
)
# Functions whose result has no defined order, or is not affected by the order of an argument.
UNORDERED = frozenset(["difference", "frozenset", "intersection", "set", "union"])
ORDERED = frozenset(["all", "any", "len", "max", "min", "sorted", "sum"])

# Exceptions that usually all ranks raise alike, or that end the job.
SAME_ON_ALL_RANKS = frozenset(
    "AttributeError ImportError IndexError KeyError KeyboardInterrupt ModuleNotFoundError "
    "NameError NotImplementedError StopIteration SystemExit TypeError ValueError".split()
)
EXITS = frozenset(["_exit", "exit", "quit", "sys.exit", "os._exit"])
