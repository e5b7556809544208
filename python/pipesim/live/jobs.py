"""Finds the ranks of PyTorch jobs among the processes of this host."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Optional

from pipesim.live.processes import Processes, Stat


@dataclass(frozen=True)
class RankNames:
    """The variables in which a launcher tells a process its rank."""

    launcher: str
    rank: str
    size: tuple[str, ...]
    local_rank: str
    local_size: str
    needs: str = ""  # a variable without which the others mean something else


# Highest precedence first: torchrun below srun sets RANK next to SLURM_PROCID.
_NAMES = (
    RankNames("", "RANK", ("WORLD_SIZE",), "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    RankNames(
        "mpirun",
        "OMPI_COMM_WORLD_RANK",
        ("OMPI_COMM_WORLD_SIZE",),
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    RankNames("mpiexec", "PMI_RANK", ("PMI_SIZE",), "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    RankNames("prun", "PMIX_RANK", (), "", ""),
    # A batch script has SLURM_PROCID as well, but only srun's processes are in a step.
    RankNames(
        "srun",
        "SLURM_PROCID",
        ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        "SLURM_LOCALID",
        "SLURM_STEP_TASKS_PER_NODE",
        needs="SLURM_STEP_ID",
    ),
)

# Parts of the names of a job, as far as its launcher sets them.
_JOB_NAMES = ("TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID")

# Words in the commands of programs that start ranks but are not ranks themselves.
_LAUNCHERS = (
    "torchrun",
    "torch.distributed.run",
    "torch.distributed.launch",
    "deepspeed",
    "deepspeed.launcher",
    "accelerate",
    "accelerate.commands.launch",
    "mpirun",
    "mpiexec",
    "orterun",
    "prterun",
    "prted",
    "orted",
    "hydra_pmi_proxy",
    "srun",
    "slurmstepd:",
)

_LAUNCHER_FILES = ("torch/distributed/run.py", "torch/distributed/launch.py")

_STARTED_BY_PYTHON = (
    "multiprocessing.spawn",
    "multiprocessing.forkserver",
    "--multiprocessing-fork",
)


@dataclass
class Rank:
    """A process of a job."""

    pid: int
    number: Optional[int]  # rank; None if not known, as for mp.spawn
    local: Optional[int]
    stat: Stat
    environ: dict[str, str] = field(repr=False)


@dataclass
class Job:
    """The processes of one job on this host."""

    name: str
    launcher: str
    world_size: Optional[int]
    ranks: list[Rank]
    local_size: Optional[int]  # number of ranks that this host should have
    agent: Optional[int] = None  # the process that started the ranks
    refused: int = 0  # Python processes of its user whose environment may not be read
    conflicts: list[str] = field(default_factory=list)  # settings that do not fit together

    @property
    def numbers(self) -> set[int]:
        return {rank.number for rank in self.ranks if rank.number is not None}

    def expected(self) -> Optional[list[int]]:
        """Returns the ranks that this host should have, or None if that is not known."""
        if self.world_size is not None and self.local_size == self.world_size:
            return list(range(self.world_size))
        # torchrun numbers the ranks of a host one after the other. With another launcher, two ranks
        # show whether it does.
        bases = {
            rank.number - rank.local
            for rank in self.ranks
            if rank.number is not None and rank.local is not None
        }
        is_certain = self.launcher == "torchrun" or len(self.ranks) > 1
        if not is_certain or self.local_size is None or len(bases) != 1:
            return None
        base = bases.pop()
        return list(range(base, base + self.local_size))

    def missing(self) -> list[int]:
        """Returns the ranks that this host should have, but whose processes were not found."""
        expected = self.expected()
        return [] if expected is None else sorted(set(expected) - self.numbers)


def find_jobs(processes: Processes) -> list[Job]:
    """Returns all jobs on this host, sorted by name."""
    return _Finder(processes).jobs()


def choose_job(jobs: list[Job], wanted: Optional[str]) -> list[Job]:
    """Returns the jobs whose name contains `wanted`; one with exactly this name is preferred."""
    if wanted is None:
        return jobs
    exact = [job for job in jobs if job.name == wanted]
    return exact or [job for job in jobs if wanted in job.name]


def main_of(command: list[str]) -> str:
    """Returns the script or module that a Python command runs: "train.py", "torch.distributed.run".
    Empty if there is none."""
    words = iter(command[1:])
    for word in words:
        if word in ("-m", "-c"):
            return next(words, "") if word == "-m" else ""
        if word in ("-W", "-X"):
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


def is_launcher(command: list[str]) -> bool:
    """Whether this is the command of a program that starts ranks."""
    main = main_of(command)
    names = {os.path.basename(command[0]) if command else "", os.path.basename(main), main}
    return bool(names & set(_LAUNCHERS)) or main.endswith(_LAUNCHER_FILES)


def is_ours(command: list[str]) -> bool:
    """Whether this is a command of pipesim, which srun and mpirun give a rank as well."""
    return main_of(command).startswith("pipesim.")


class _Finder:
    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.stats: dict[int, Stat] = {}
        for pid in processes.pids():
            found = processes.stat(pid)
            if found is not None:
                self.stats[pid] = found
        self.commands = {pid: processes.command(pid) for pid in self.stats}
        self.pythons = [
            pid
            for pid, found in self.stats.items()
            if found.state not in ("zombie", "dead")
            and self.processes.is_python(pid)
            and not is_launcher(self.commands[pid])
            and not is_ours(self.commands[pid])
        ]
        self.environs = {pid: processes.environ(pid) for pid in self.pythons}

    def jobs(self) -> list[Job]:
        named: dict[str, list[tuple[RankNames, Rank]]] = {}
        spawned = self._spawned()
        parents_of_spawned = {self.stats[pids[0]].parent for pids in spawned}
        for pid in self.pythons:
            names = _names_of(self.environs[pid])
            if names is None or pid in parents_of_spawned or self._is_helper(pid):
                continue
            rank = self._rank(pid, names)
            named.setdefault(_key(self.environs[pid]), []).append((names, rank))
        jobs = [self._job(key, found) for key, found in named.items()]
        jobs += [self._spawned_job(pids) for pids in spawned]
        jobs = [job for job in jobs if job.ranks]
        # Prefers jobs that use PyTorch: other programs can also set RANK, and in a pod all do.
        torch = [j for j in jobs if any(self.processes.torch_folder(r.pid) for r in j.ranks)]
        for job in torch or jobs:
            user = self.processes.user(job.ranks[0].pid)
            job.refused = sum(self.processes.user(pid) == user for pid in self.processes.refused)
        return sorted(torch or jobs, key=lambda job: job.name)

    def _is_helper(self, pid: int) -> bool:
        """Whether Python started the process, which then inherits its parent's rank: data workers,
        and debug servers that outlive their rank."""
        command = " ".join(self.commands[pid])
        return any(word in command for word in _STARTED_BY_PYTHON) or "resource_tracker" in command

    def _rank(self, pid: int, names: RankNames) -> Rank:
        environ = self.environs[pid]
        local = environ.get(names.local_rank, "")
        return Rank(
            pid=pid,
            number=int(environ[names.rank]),
            local=int(local) if local.isdigit() else None,
            stat=self.stats[pid],
            environ=environ,
        )

    def _job(self, key: str, found: list[tuple[RankNames, Rank]]) -> Job:
        names = found[0][0]
        ranks = self._without_helpers([rank for _, rank in found])
        environ = ranks[0].environ
        agents = {rank.stat.parent for rank in ranks}
        agent = agents.pop() if len(agents) == 1 else None
        launcher = names.launcher
        if not launcher:
            launcher = "torchrun" if "TORCHELASTIC_RUN_ID" in environ else "RANK"
        # srun writes "4(x2)" for two hosts with four ranks each.
        local_size = environ.get(names.local_size, "").partition("(")[0]
        world = max(_size_of(rank.environ, names) for rank in ranks) or None
        return Job(
            name=key,
            launcher=launcher,
            world_size=world,
            ranks=sorted(ranks, key=lambda rank: rank.number or 0),
            local_size=int(local_size) if local_size.isdigit() else None,
            agent=agent,
            conflicts=_conflicts(ranks, names),
        )

    def _without_helpers(self, ranks: list[Rank]) -> list[Rank]:
        """Keeps one process for each rank."""
        by_pid = {rank.pid: rank for rank in ranks}
        wrapped = set()  # parents that only start the process of the rank
        for rank in ranks:
            parent = by_pid.get(rank.stat.parent)
            if parent is not None and parent.number == rank.number:
                has = self.processes.torch_folder
                if has(rank.pid) and not has(parent.pid):
                    wrapped.add(parent.pid)
        kept = []
        for rank in ranks:
            parent = by_pid.get(rank.stat.parent)
            is_child = (
                parent is not None and parent.number == rank.number and parent.pid not in wrapped
            )
            if not is_child and rank.pid not in wrapped:
                kept.append(rank)
        # A forked data worker outlives its rank for a while, with another parent than the ranks.
        agents = {r.stat.parent for r in kept if is_launcher(self.commands.get(r.stat.parent, []))}
        if agents:
            started = [r for r in kept if r.stat.parent in agents]
            left = {r.pid for r in kept if r.stat.parent in wrapped}
            kept = started + [r for r in kept if r.pid in left]
        first: dict[Optional[int], Rank] = {}
        for rank in sorted(kept, key=lambda rank: (rank.stat.started, rank.pid)):
            first.setdefault(rank.number, rank)
        return list(first.values())

    def _spawned(self) -> list[list[int]]:
        """Returns the groups of processes that one Python program started, as mp.spawn does, and
        that are connected with each other. Data workers are not connected."""
        children: dict[int, list[int]] = {}
        for pid in self.pythons:
            parent = self.stats[pid].parent
            if parent in self.environs and _names_of(self.environs[pid]) in (
                None,
                _names_of(self.environs[parent]),
            ):
                children.setdefault(parent, []).append(pid)
        groups = []
        for parent, pids in children.items():
            if len(pids) < 2:
                continue
            inherited = self.processes.inodes(parent)
            ports = {}
            for pid in pids:
                found = [c for c in self.processes.connections(pid) if c.inode not in inherited]
                ports[pid] = (
                    {c.local.port for c in found},
                    {c.remote.port for c in found if not c.listens},
                )
            group = [
                pid
                for pid in pids
                if any(
                    ports[pid][0] & ports[other][1] or ports[pid][1] & ports[other][0]
                    for other in pids
                    if other != pid
                )
            ]
            if len(group) > 1:
                groups.append(sorted(group, key=lambda pid: (self.stats[pid].started, pid)))
        return groups

    def _spawned_job(self, pids: list[int]) -> Job:
        parent = self.stats[pids[0]].parent
        ranks = [Rank(pid, None, None, self.stats[pid], self.environs[pid]) for pid in pids]
        script = os.path.basename(main_of(self.commands.get(parent, [])))
        return Job(
            name=f"{script or 'mp.spawn'} (process {parent})",
            launcher="mp.spawn",
            world_size=None,
            ranks=ranks,
            local_size=None,
            agent=parent,
        )


def _names_of(environ: dict[str, str]) -> Optional[RankNames]:
    for names in _NAMES:
        if environ.get(names.rank, "").isdigit() and (not names.needs or names.needs in environ):
            return names
    return None


def _size_of(environ: dict[str, str], names: RankNames) -> int:
    """Returns the number of ranks that a rank was told; 0 if it was told none."""
    told = (environ.get(name, "") for name in names.size)
    return next((int(size) for size in told if size.isdigit()), 0)


def _conflicts(ranks: list[Rank], names: RankNames) -> list[str]:
    """Returns a text if the ranks were told different numbers of ranks."""
    if not names.size:
        return []
    name = names.size[0]
    told: dict[str, list[str]] = {}
    for rank in sorted(ranks, key=lambda rank: rank.number or 0):
        told.setdefault(rank.environ.get(name, "not set"), []).append(str(rank.number))
    parts = [
        f"{size} for rank{'' if len(of) == 1 else 's'} {', '.join(of)}"
        for size, of in sorted(told.items())
    ]
    return [f"{name} is {' and '.join(parts)}, but must be equal"] if len(parts) > 1 else []


def _key(environ: dict[str, str]) -> str:
    """Returns the name of a job, which all of its ranks have in common."""
    elastic = environ.get("TORCHELASTIC_RUN_ID", "").replace("none", "")  # torchrun's default
    names = [elastic] if elastic else [environ[n] for n in _JOB_NAMES[1:] if environ.get(n)]
    master = environ.get("MASTER_ADDR", "")
    if environ.get("MASTER_PORT"):
        master += ":" + environ["MASTER_PORT"]
    return "@".join(part for part in (".".join(names), master) if part) or "job"
