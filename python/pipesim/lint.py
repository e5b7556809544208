"""`python3 -m pipesim.lint FILE...`: prints what lint finds in PyTorch scripts, as JSON.

`pipesim lint` runs it and prints the findings as text. Only the standard library is needed.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

from pipesim.linter.modules import Module, Reader
from pipesim.linter.rules import Finding
from pipesim.linter.walker import Walker


def lint(paths: list[str]) -> list[dict[str, Any]]:
    """Returns the `findings` of each script, or its `error` if the script cannot be read."""
    reader = Reader()
    results: dict[str, dict[str, Any]] = {}
    modules: dict[str, Module] = {}
    for path in paths:
        try:
            modules[path] = reader.read(path)
            results[path] = {"path": path, "findings": []}
        except (OSError, SyntaxError, ValueError, RecursionError) as error:
            results[path] = {"path": path, "error": _error(error)}
    given = {module.path: path for path, module in modules.items()}
    found: dict[tuple[str, int, int, str], Finding] = {}

    def report(finding: Finding) -> None:
        key = (finding.path, finding.line, finding.column, finding.rule)
        found.setdefault(key, finding)

    Walker(reader.job_modules(), report).walk()
    for key in sorted(found):
        if key[0] in given:
            finding = dataclasses.asdict(found[key])
            del finding["path"]
            results[given[key[0]]]["findings"].append(finding)
    return [results[path] for path in paths]


def _error(error: Exception) -> dict[str, Any]:
    if isinstance(error, SyntaxError):
        # Python counts columns of characters from 1; 0 stands for the end of the previous line.
        line, column = error.lineno or 1, max(1, error.offset or 1)
        before = (error.text or "")[: column - 1]
        return {"line": line, "column": len(before.encode()) + 1, "message": error.msg}
    return {"line": 0, "column": 0, "message": getattr(error, "strerror", None) or str(error)}


def main(arguments: list[str]) -> int:
    sys.setrecursionlimit(20_000)  # the walk recurses into expressions
    json.dump({"files": lint(arguments)}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
