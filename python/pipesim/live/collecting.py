"""Gathers the evidence of one job on this host into a folder that `pipesim diagnose` reads."""

from __future__ import annotations

import concurrent.futures
import glob
import json
import os
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import pipesim
from pipesim.live import access, attached, calls, logs, server, stacks
from pipesim.live.gone import GoneRank, gone_ranks
from pipesim.live.jobs import Job, Rank
from pipesim.live.processes import Processes

SECONDS_BETWEEN_LOOKS = 1.0  # looks at processor times and NCCL's counts
ANSWER_SECONDS = 2.0
_THREADS = 16


@dataclass
class RankFacts:
    """Facts about a process of the job."""

    rank: Rank
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stacks: str = ""  # source of the stacks; empty: none
    has_calls: bool = False
    state: str = ""
    cpu_share: Optional[float] = None
    switches: Optional[int] = None  # of its main thread, at the first look
    moved: Optional[bool] = None  # whether its main thread ran between the looks
    line: str = ""  # text of the line in which its main thread is

    @property
    def name(self) -> str:
        """Returns the end of the names of its files. A number at the end is a rank."""
        number = self.rank.number
        return f"process_{self.rank.pid}_" if number is None else f"rank_{number}"


@dataclass
class Facts:
    """The facts about a job on one host."""

    job: Job
    host: str
    time: float
    ranks: list[RankFacts]
    gone: list[GoneRank]
    seconds: float = 0.0
    has_ras: bool = False
    logs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # refused evidence, and advice


class Collector:
    """Gathers the evidence of `job` in `folder`, which exists."""

    def __init__(
        self,
        processes: Processes,
        job: Job,
        folder: str,
        host: str,
        number: Optional[signal.Signals] = None,
        pyspy: Optional[str] = None,
        seen: Optional[dict[int, int]] = None,
    ) -> None:
        self.processes = processes
        self.job = job
        self.folder = folder
        self.host = host
        self.signal = number  # the signal of faulthandler
        self.pyspy = pyspy or stacks.find_pyspy(processes, job.ranks)
        self.seen = seen  # the processes of ranks at an earlier look
        self.is_pyspy_refused = False

    def run(self) -> Facts:
        begin = time.monotonic()
        # The job may have been found long ago. Stores the states before py-spy asks.
        for rank in self.job.ranks:
            rank.stat = self.processes.stat(rank.pid) or rank.stat
        facts = Facts(
            self.job,
            self.host,
            time.time(),
            ranks=[RankFacts(rank, state=rank.stat.state) for rank in self.job.ranks],
            gone=gone_ranks(self.processes, self.job, self.seen),
        )
        for it in facts.ranks:
            it.switches = self.processes.switches(it.rank.pid)
        ras = calls.ras_address(self.job.ranks[0].environ)
        with concurrent.futures.ThreadPoolExecutor(_THREADS) as pool:
            report = pool.submit(self._ask_ras, ras)
            list(pool.map(self._gather, facts.ranks))
            reports = [report.result()]
        self._write_logs(facts)
        self._copy_attached(facts)
        time.sleep(max(0.0, begin + SECONDS_BETWEEN_LOOKS - time.monotonic()))
        if reports[0]:
            # A count that is equal in two reports does not move.
            reports.append(self._ask_ras(ras))
            self._write(f"ras_{self.host}_.json", "".join(reports).encode())
        self._look_again(facts, begin)
        facts.has_ras = bool(reports[0])
        self._add_notes(facts)
        facts.seconds = round(time.monotonic() - begin, 2)
        self._write(facts_name(self.host), facts_text(self.processes, facts).encode())
        return facts

    def _write(self, name: str, content: Union[str, bytes]) -> str:
        data = content.encode(errors="replace") if isinstance(content, str) else content
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)
        return name

    def _ask_ras(self, address: tuple[str, int]) -> str:
        if not self.processes.shares_network(self.job.ranks[0].pid):
            return ""
        return calls.ask_ras(address, ANSWER_SECONDS)

    def _gather(self, facts: RankFacts) -> None:
        rank = facts.rank
        # Only py-spy can read a stopped process: nothing in the process answers.
        is_stopped = rank.stat.is_stopped
        address = None if is_stopped else server.find_server(self.processes, rank)
        asked = calls.ask_pipe(self.processes, rank)
        if asked is False:
            facts.notes.append(
                "its Flight Recorder pipe was not used, because the dump would have stacks "
                "(TORCH_INCLUDE_STACK_TRACE=0 leaves them out)"
            )
        found = self._stacks(facts, address)
        if found.text:
            facts.stacks = found.source
            place = stacks.place_of_main(found.text)
            facts.line = self.processes.line_of(rank.pid, *place) if place else ""
            facts.files.append(self._write(f"stacks_{facts.name}.txt", found.text))
            if self.pyspy is not None and found.source == "py-spy":
                text = stacks.worker_stacks(self.processes, self.pyspy, self._children(rank.pid))
                if text:
                    facts.files.append(self._write(f"workers_{facts.name}.txt", text))
        self._write_dump(facts, address, bool(asked))

    def _stacks(self, facts: RankFacts, address: Optional[server.Address]) -> stacks.Stacks:
        """Asks py-spy, then the debug server, then faulthandler."""
        rank = facts.rank
        if self.pyspy is not None:
            found = stacks.ask_pyspy(self.pyspy, rank.pid)
            if found.text:
                return found
            facts.notes.append(found.error)
            self.is_pyspy_refused |= not self.processes.may_read_memory(rank.pid)
        if address is not None:
            found = stacks.ask_server(address, rank.number, ANSWER_SECONDS)
            if found.text:
                return found
            facts.notes.append(found.error)
        if self.signal is None or rank.stat.is_stopped:
            return stacks.Stacks()
        found = stacks.ask_faulthandler(self.processes, rank, self.signal)
        if not found.text:
            facts.notes.append(found.error)
        return found

    def _write_dump(
        self, facts: RankFacts, address: Optional[server.Address], is_asked: bool
    ) -> None:
        rank = facts.rank
        if rank.number is None:
            return  # a dump does not say its rank
        dump = None
        if address is not None:
            dump = calls.dump_of_server(address, ANSWER_SECONDS)
            if dump is None:
                facts.notes.append("the debug server has no dump of the Flight Recorder")
        ending = ".json"
        end = time.monotonic() + (ANSWER_SECONDS if is_asked else 0)
        while dump is None:
            dump, ending = calls.written_dump(self.processes, rank), ""
            if dump is not None or time.monotonic() >= end:
                break
            time.sleep(0.1)
        if dump is not None:
            facts.has_calls = True
            facts.files.append(self._write(f"calls_{facts.name}{ending}", dump))

    def _children(self, parent: int) -> list[int]:
        found = ((pid, self.processes.stat(pid)) for pid in self.processes.pids())
        return [pid for pid, stat in found if stat is not None and stat.parent == parent]

    def _write_logs(self, facts: Facts) -> None:
        gone = [rank.number for rank in facts.gone]
        for log in logs.find_logs(self.processes, self.job, gone, self.host):
            text = logs.end_of(log)
            if text is not None:
                facts.logs.append(self._write(log.name, text))

    def _copy_attached(self, facts: Facts) -> None:
        """Copies the folder of `pipesim attach`, if it has the notes of all ranks."""
        found = (attached.folder_of(self.processes, it.rank.pid) for it in facts.ranks)
        source = next(filter(None, found), None)
        if source is None:
            return
        if len(glob.glob(os.path.join(source, "rank*.calls"))) != self.job.world_size:
            facts.notes.append(
                "the notes of pipesim attach were not used: the folder on this host does not have "
                "those of all ranks"
            )
            return
        attached.copy(source, os.path.join(self.folder, "attach"))

    def _look_again(self, facts: Facts, begin: float) -> None:
        for it in facts.ranks:
            stat = self.processes.stat(it.rank.pid)
            span = time.monotonic() - begin
            if stat is None or stat.state == "zombie":
                it.notes.append("its process has ended meanwhile")
                continue
            it.cpu_share = round((stat.cpu - it.rank.stat.cpu) / span, 2)
            switches = self.processes.switches(it.rank.pid)
            if switches is not None and it.switches is not None:
                it.moved = switches != it.switches
            # A stop that was over at the second look does not keep the job from moving.
            if it.state != stat.state:
                it.state = "sleeping" if stat.is_stopped else stat.state

    def _add_notes(self, facts: Facts) -> None:
        """Adds notes on refused and missing evidence, with advice."""
        without = [it for it in facts.ranks if not it.stacks]
        if without and self.pyspy is None:
            facts.notes.append("py-spy was not found: " + access.help_without_pyspy())
        elif without and self.is_pyspy_refused:
            pid = without[0].rank.pid
            facts.notes.append(
                "py-spy may not read the processes: " + access.help_for_pyspy(self.processes, pid)
            )
        if without and (self.pyspy is None or self.is_pyspy_refused):
            facts.notes.append(access.help_for_other_stacks())
        if not self.processes.shares_network(self.job.ranks[0].pid):
            facts.notes.append(
                "the job has its own network: run pipesim collect in its container, to ask its "
                "debug servers and NCCL's RAS"
            )
        refused = access.help_for_environ(self.processes)
        if refused and (facts.job.missing() or not facts.ranks):
            facts.notes.append(refused)


def facts_name(host: str) -> str:
    return f"facts.{host}.json"


def host_name() -> str:
    return socket.gethostname().split(".")[0] or "localhost"


def facts_text(processes: Processes, facts: Facts) -> str:
    """Returns the content of the file of facts; docs/reference/facts-format.md explains it."""
    job = facts.job
    content: dict[str, Any] = {
        "pipesim_facts": 1,
        "pipesim": pipesim.__version__,
        "host": facts.host,
        "job": job.name,
        "launcher": job.launcher,
        "world_size": job.world_size,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(facts.time)),
        "seconds": facts.seconds,
        "expected": job.expected(),
        "ranks": [_rank_json(processes, it) for it in facts.ranks],
        "gone": [_gone_json(rank) for rank in facts.gone],
        "not_found": [n for n in job.missing() if n not in {rank.number for rank in facts.gone}],
        "ras": facts.has_ras,
        "logs": facts.logs,
        "notes": facts.notes,
        "conflicts": job.conflicts,
    }
    return json.dumps(content, indent=1) + "\n"


def _rank_json(processes: Processes, facts: RankFacts) -> dict[str, Any]:
    rank = facts.rank
    return {
        "rank": rank.number,
        "pid": rank.pid,
        "state": facts.state,
        "wchan": processes.wait_channel(rank.pid),
        "cpu_share": facts.cpu_share,
        "moved": facts.moved,
        "line": facts.line or None,
        "threads": rank.stat.threads,
        "seconds_running": processes.seconds_running(rank.pid),
        "python": processes.program(rank.pid),
        "torch": processes.torch_version(rank.pid),
        "stacks": facts.stacks or None,
        "files": facts.files,
        "notes": facts.notes,
    }


def _gone_json(rank: GoneRank) -> dict[str, Any]:
    return {
        "rank": rank.number,
        "pid": rank.pid,
        "exit_code": rank.exit_code,
        "why": rank.why or None,
    }
