"""The user's settings, which the command line or the Python API passes to the launcher."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Optional

DEFAULT_LIMIT = 64 * 1024
DEFAULT_SECONDS = 120.0


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a recording. Sizes are in bytes, times in seconds."""

    ranks: int
    out: str  # the folder of the record, absolute
    script: str = ""  # a file or, with `module`, the name of a module; empty: a Python function
    args: tuple[str, ...] = ()
    module: bool = False
    nodes: int = 1
    device: str = (
        "auto"  # "cpu", "cuda" (the stand-in), or "auto": cuda if the script asks for nccl
    )
    rules: Optional[str] = None  # "gloo" or "nccl"; None: the script's backend
    values: str = "real"  # "real", or "own": made up by each rank from its own data
    limit: int = DEFAULT_LIMIT  # size above which values are not carried
    one_by_one: bool = False  # run one rank after the other, if all do not fit in memory
    steps: Optional[int] = None  # number of optimizer.step calls after which a rank ends
    seconds: float = DEFAULT_SECONDS  # longest time without progress
    env: tuple[tuple[str, str], ...] = ()
    chdir: Optional[str] = None
    preload: tuple[str, ...] = ()  # modules that the parents import before they fork
    progress: bool = False  # show a progress line on the terminal
    trace: Optional[tuple[str, ...]] = None  # trace the user's code, and these installed files
    edits: tuple[tuple[str, str], ...] = ()  # source text to run instead of files, by absolute path
    variation: int = 0  # other random seeds and, if not 0, delays before reads of a clock
    # Kinds of free answers that the broker decides for `pipesim explore`; None: no exploration.
    explore: Optional[tuple[str, ...]] = None
    replay: tuple[tuple[str, str], ...] = ()  # the first answers: who is asked, and the answer
    folder: Optional[str] = None  # the folder in which the ranks run, if not that of the launcher
    output: str = "first"  # ranks whose output is shown: "first" (rank 0), "all" or "none"

    @property
    def local_ranks(self) -> int:
        """Returns the number of ranks per node, LOCAL_WORLD_SIZE."""
        return self.ranks // self.nodes

    @property
    def script_folder(self) -> Path:
        """Returns the folder that paths in the record are relative to."""
        if self.module or not self.script:
            return Path.cwd()
        return Path(self.script).resolve().parent

    @property
    def command(self) -> list[str]:
        """Returns the script and its arguments as in the record: without absolute paths to the
        script."""
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
        for name in ("trace", "explore"):
            fields[name] = None if fields[name] is None else tuple(fields[name])
        for name in ("env", "edits", "replay"):
            fields[name] = tuple((key, value) for key, value in fields[name])
        return Settings(**fields)
