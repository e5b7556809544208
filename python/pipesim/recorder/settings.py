"""The user's settings, from the command line and the Python API to the launcher."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Optional

DEFAULT_LIMIT = 64 * 1024
DEFAULT_SECONDS = 120.0


@dataclasses.dataclass(frozen=True)
class Settings:
    """One recording. Sizes are bytes, times seconds."""

    ranks: int
    out: str  # the folder of the record, absolute
    script: str = ""  # a file, or with `module` a module's name; empty: a Python function
    args: tuple[str, ...] = ()
    module: bool = False
    nodes: int = 1
    device: str = (
        "auto"  # "cpu", "cuda" (the stand-in), or "auto": cuda if the script asks for nccl
    )
    rules: Optional[str] = None  # "gloo" or "nccl"; None: what the script asks for
    values: str = "real"  # or "own": made up by each rank from its own data
    limit: int = DEFAULT_LIMIT  # values of more bytes are not carried
    one_by_one: bool = False  # rank after rank, for what does not fit in memory all at once
    steps: Optional[int] = None  # ends each rank after its n-th optimizer.step
    seconds: float = DEFAULT_SECONDS  # without progress
    env: tuple[tuple[str, str], ...] = ()
    chdir: Optional[str] = None
    preload: tuple[str, ...] = ()  # modules that the parents import before they fork
    progress: bool = False  # a line on the terminal, while it works
    output: str = "first"  # whose output is shown: "first" (rank 0), "all" or "none"

    @property
    def local_ranks(self) -> int:
        """Ranks of one node, as LOCAL_WORLD_SIZE."""
        return self.ranks // self.nodes

    @property
    def script_folder(self) -> Path:
        """Places in the record are relative to it."""
        if self.module or not self.script:
            return Path.cwd()
        return Path(self.script).resolve().parent

    @property
    def command(self) -> list[str]:
        """The script and its arguments as in the record: without this machine's folders."""
        if self.module:
            return ["-m", self.script, *self.args]
        name = Path(self.script).name if Path(self.script).is_absolute() else self.script
        return [name, *self.args]

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Settings:
        fields = json.loads(text)
        fields["args"] = tuple(fields["args"])
        fields["preload"] = tuple(fields["preload"])
        fields["env"] = tuple((key, value) for key, value in fields["env"])
        return Settings(**fields)
