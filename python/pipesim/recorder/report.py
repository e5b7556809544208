"""The recorder's own report on stderr: how the ranks ended, and advice."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable

from pipesim.recorder.launcher import Outcome
from pipesim.recorder.rank import rank_file_name
from pipesim.recorder.settings import Settings

_LOGS = "'pipesim diagnose' reads the stacks and NCCL logs of a job that hangs"

# Advice for scripts that are not recorded, by the module that they import.
_OF_RUNTIME = {
    "jax": "the script imports JAX, whose collectives are not recorded: write the calls of each "
    f"process as host programs ('pipesim new -o job.yaml' is a start); {_LOGS}",
    "mpi4py": "the script imports mpi4py (MPI), whose calls are not recorded: write them as a GOAL "
    "file, which 'pipesim run job.goal' runs, or as host programs ('pipesim new -o job.yaml'); "
    f"{_LOGS}",
    "ray": "the script imports Ray, whose workers are not ranks of this recording: record the "
    "function that each worker runs, with 'from pipesim import record': record(train, ranks=8)",
}


def ranks_text(ranks: Iterable[int]) -> str:
    """Returns "rank 3" or "ranks 0-2, 5"."""
    spans: list[list[int]] = []
    for rank in sorted(ranks):
        if spans and spans[-1][1] == rank - 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
    return f"rank {text}" if len(spans) == 1 and spans[0][0] == spans[0][1] else f"ranks {text}"


def is_empty(settings: Settings) -> bool:
    """Whether no rank called torch.distributed, so that there is nothing to judge."""
    for rank in range(settings.ranks):
        with open(os.path.join(settings.out, rank_file_name(rank)), encoding="utf-8") as file:
            if len(list(itertools.islice(file, 3))) > 2:
                return False
    return True


def report(outcome: Outcome, settings: Settings) -> str:
    """Returns the report's lines, or "" if there is nothing to report."""
    lines: list[str] = []
    for text, ranks in outcome.tracebacks.items():
        end = outcome.ends[ranks[0]]
        how = "raised an exception" if end["end"] == "raised" else f"exited with {end['code']}"
        lines.append(f"{ranks_text(ranks)} {how}:")
        lines += [f"  {line}" for line in text.rstrip().splitlines()]
    if outcome.interrupted:
        lines.append("interrupted: the record ends where each rank was")
    elif outcome.stopped:
        lines.append(
            f"warning: no progress for {settings.seconds:g} s: {ranks_text(outcome.stopped)} did "
            "not end, so the record ends where each rank was"
        )
        lines.append(
            f"  help: '--seconds {5 * settings.seconds:g}' waits longer, '--steps 3' ends the "
            "record after three training steps"
        )
    elif outcome.died:
        lines.append(
            f"warning: the process of {ranks_text(outcome.died)} died (out of memory, a crash in "
            "C++?); the record ends where it was"
        )
        lines.append(
            "  help: shrink the model, not the layout; or run one rank after the other with "
            "'--one-by-one'"
        )
    # A rank can have failed before its first call.
    if not outcome.backend and not outcome.interrupted and not outcome.tracebacks:
        how = "error" if is_empty(settings) else "warning"
        lines.append(f"{how}: no rank called torch.distributed.init_process_group")
        lines += [f"  help: {_OF_RUNTIME[name]}" for name in outcome.runtimes]
        if not outcome.runtimes:
            lines.append(
                "  help: the script runs as under torchrun; one that starts its own processes is "
                "recorded if it uses torch.multiprocessing.spawn"
            )
    return "".join(f"{line}\n" for line in lines)
