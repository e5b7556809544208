"""Imports in the parents of ranks, before they fork, so that each rank need not import again.

Half of torch's import time is spent on `torch._dynamo` and its imports (fsdp, tensor, sympy). The
first optimizer and DDP need `torch._dynamo`; a script with collectives only does not.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import Optional

from pipesim.recorder.settings import Settings

_NEEDS_ALL = re.compile(
    r"optim|DistributedDataParallel|fully_shard|fsdp|FSDP|distributed\.tensor|DTensor|pipelining|"
    r"compile|dynamo|parallelize_module"
)
_OF_RANKS = (
    "patches", "rank_recorder", "free.background", "free.chance", "free.clocks", "free.dates",
    "free.draws", "free.failures", "free.files", "free.sets",
)  # fmt: skip
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))", re.M)


def import_torch(settings: Optional[Settings] = None) -> None:
    """Imports torch and the parts of torch that the script needs; without settings, all parts.
    Then imports the modules of `--preload`."""
    import_parts(settings is None or needs_all(settings))
    import torch

    torch.set_num_threads(1)
    import_recorder()
    if "torch._dynamo" in sys.modules:  # a test's process may have imported it for itself
        sys.modules["torch._dynamo"].config.disable = True
    if settings is not None:
        _preload(settings)


def import_parts(slow: bool) -> None:
    """Imports torch and the parts of it that training needs, with or without the slow ones."""
    import torch
    import torch.nn.parallel
    import torch.optim
    import torch.utils.checkpoint
    import torch.utils.data

    if "numpy" in sys.modules:  # torch has imported it; NumPy 2 imports this part when it is used
        importlib.import_module("numpy.random")
    if int(torch.__version__.split(".")[0]) < 2:
        import torch.distributed.optim
    elif slow:
        with contextlib.suppress(ImportError):
            import torch._dynamo
            import torch.distributed.fsdp
            import torch.distributed.optim
            import torch.distributed.pipelining
            import torch.distributed.tensor  # noqa: F401


def import_recorder() -> None:
    """Imports the modules of the recorder that a rank uses."""
    for name in _OF_RANKS:
        importlib.import_module(f"pipesim.recorder.{name}")


def remember_modules() -> None:
    """Calls `replacing.remember_modules`, which needs torch."""
    from pipesim.recorder import replacing

    replacing.remember_modules()


def _preload(settings: Settings) -> None:
    """Imports the modules of `--preload`, which can be in the folder of the script."""
    sys.path.insert(0, str(settings.script_folder))
    try:
        for name in settings.preload:
            importlib.import_module(name)
    finally:
        sys.path.pop(0)


def needs_all(settings: Settings) -> bool:
    """Whether the script or its imports seem to need the slow half of torch. Always true for a
    function, e.g. of a test: its process imports that half once for many recordings."""
    if not settings.script or settings.module:
        return True
    return _file_needs_all(Path(settings.script), settings.script_folder, set())


def _file_needs_all(path: Path, folder: Path, seen: set[Path]) -> bool:
    if path in seen:
        return False
    seen.add(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    if _NEEDS_ALL.search(text):
        return True
    for match in _IMPORT.finditer(text):
        for part in (match[1] or match[2]).split(","):
            name = part.split()[0] if part.split() else ""
            if _module_needs_all(name, path, folder, seen):
                return True
    return False


def _module_needs_all(name: str, importer: Path, folder: Path, seen: set[Path]) -> bool:
    base = folder
    if name.startswith("."):  # relative to the importer's package
        base = importer.parent
        name = name.lstrip(".")
    top = name.split(".")[0]
    if top in ("", "torch", "numpy", "__future__", *sys.builtin_module_names):
        return False
    own = base.joinpath(*name.split("."))
    for path in (own.with_suffix(".py"), own / "__init__.py"):
        if path.is_file():
            return _file_needs_all(path, folder, seen)
    try:
        spec = importlib.util.find_spec(top)  # imports nothing
    except (ImportError, ValueError):
        return False
    if spec is None or "-packages" not in (spec.origin or "-packages"):
        return False
    return _depends_on_torch(top)


def _depends_on_torch(package: str) -> bool:
    """Whether an installed package requires torch; true if its requirements are unknown."""
    from importlib import metadata

    try:
        requirements = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        return True
    return any(re.match(r"torch\b", requirement) for requirement in requirements)
