"""Permissions that `pipesim collect` lacks, and what helps."""

from __future__ import annotations

import os
import pwd
from typing import Optional

from pipesim.live.processes import Processes

_SYS_PTRACE = 19  # CAP_SYS_PTRACE


def help_for_pyspy(processes: Processes, pid: int) -> str:
    """Returns advice on how to let py-spy read the memory of a process, after py-spy was
    refused."""
    own, user = os.geteuid(), processes.user(pid)
    capabilities = int(_own_status(processes).get("CapEff", "0"), 16)
    if own != 0 and user is not None and user != own:
        return f"the job runs as {_name_of(user)}: run pipesim collect as this user or as root"
    if own == 0 and not capabilities >> _SYS_PTRACE & 1:
        return (
            "this container lacks CAP_SYS_PTRACE: add it (docker run --cap-add SYS_PTRACE; in "
            'Kubernetes, capabilities: {add: ["SYS_PTRACE"]}), or run pipesim collect on the host'
        )
    scope = yama_scope(processes)
    if scope == 3:
        return "kernel.yama.ptrace_scope is 3, which lasts until this machine starts again"
    if scope and own != 0:
        return (
            f"kernel.yama.ptrace_scope is {scope}: run pipesim collect as root, or allow it for "
            "all processes of a user: sudo sysctl kernel.yama.ptrace_scope=0"
        )
    return "a security profile (seccomp, AppArmor, SELinux) forbids it: run pipesim collect as root"


def help_without_pyspy() -> str:
    """Returns advice on how to get stacks on a machine without py-spy."""
    return "pip install py-spy, into any environment of this machine, and run the command again"


def help_for_other_stacks() -> str:
    """Returns advice on how to get stacks without py-spy in the next run of the job."""
    return (
        "no py-spy is needed if the script calls torch.distributed.debug.start_debug_server(), or "
        "faulthandler.register(signal.SIGUSR1, all_threads=True) and you add --signal SIGUSR1"
    )


def help_for_environ(processes: Processes) -> Optional[str]:
    """Returns why some processes could not be recognised, or None."""
    if not processes.refused:
        return None
    users = {processes.user(pid) for pid in processes.refused}
    names = sorted(_name_of(user) for user in users if user is not None)
    count = len(processes.refused)
    return (
        f"the environment of {count} Python process{'' if count == 1 else 'es'} of "
        f"{', '.join(names) or 'other users'} may not be read: run pipesim collect as this user "
        "or as root"
    )


def yama_scope(processes: Processes) -> Optional[int]:
    path = os.path.join(processes.root, "sys", "kernel", "yama", "ptrace_scope")
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _own_status(processes: Processes) -> dict[str, str]:
    path = os.path.join(processes.root, "self", "status")
    try:
        with open(path) as file:
            lines = file.read().splitlines()
    except OSError:
        return {}
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
