"""Reads scripts, and the modules that they import from their own folder."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
from typing import Optional, Union

from pipesim.linter import known_calls
from pipesim.linter.values import UNKNOWN, Call, Value, either, join

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]


@dataclasses.dataclass(eq=False, repr=False)
class Function:
    """A function of the script. `module` and `inside` are where its free names are looked up."""

    name: str
    node: FunctionNode
    module: Module
    inside: dict[str, Value]
    of_class: Optional[Class] = None
    # Known after the function and its callers were read.
    parameters: dict[str, Value] = dataclasses.field(default_factory=dict)
    calls: list[Call] = dataclasses.field(default_factory=list)
    result: Value = UNKNOWN
    agreed: set[str] = dataclasses.field(default_factory=set)  # parameters made equal on all ranks

    @property
    def names(self) -> list[str]:
        arguments = self.node.args
        return [each.arg for each in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]

    def add_argument(self, name: str, value: Value) -> None:
        known = self.parameters.get(name)
        self.parameters[name] = value if known is None else either(known, value)


@dataclasses.dataclass(eq=False, repr=False)
class Class:
    name: str
    bases: list[Class]
    methods: dict[str, Function] = dataclasses.field(default_factory=dict)
    attributes: dict[str, Value] = dataclasses.field(default_factory=dict)
    agreed: set[str] = dataclasses.field(default_factory=set)

    def method(self, name: str) -> Optional[Function]:
        found = self.methods.get(name)
        return found or next((f for f in (base.method(name) for base in self.bases) if f), None)

    def attribute(self, name: str) -> Value:
        values = [base.attribute(name) for base in self.bases]
        value = join(self.attributes.get(name, UNKNOWN), *values)
        return dataclasses.replace(value, differs=None) if name in self.agreed else value


@dataclasses.dataclass(frozen=True)
class Instance:
    """An object of a class of the script."""

    of: Class


@dataclasses.dataclass(eq=False, repr=False)
class Module:
    """A file. `imports`: dotted paths of what it imports, by the names that it gives them."""

    path: str
    tree: ast.Module
    lines: list[str]
    imports: dict[str, str] = dataclasses.field(default_factory=dict)
    names: dict[str, Value] = dataclasses.field(default_factory=dict)
    functions: dict[ast.AST, Function] = dataclasses.field(default_factory=dict)
    classes: dict[ast.AST, Class] = dataclasses.field(default_factory=dict)
    neighbors: dict[str, Module] = dataclasses.field(default_factory=dict)
    seeded: set[str] = dataclasses.field(default_factory=set)  # packages that the module seeds

    def source(self, node: ast.AST) -> str:
        """Returns the text of an expression in one line."""
        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        lines = [line.encode() for line in self.lines[first - 1 : last]]
        lines[-1] = lines[-1][: getattr(node, "end_col_offset", None)]
        lines[0] = lines[0][getattr(node, "col_offset", 0) :]
        return " ".join(b" ".join(lines).decode("utf-8", "replace").split())


class Reader:
    """Reads each file once."""

    def __init__(self) -> None:
        self._modules: dict[str, Module] = {}
        self._read: list[Module] = []

    def job_modules(self) -> list[Module]:
        """Returns the modules of distributed jobs: those that import a package for them, directly
        or through others, and all that such modules import. Imported modules are first."""
        found: set[str] = set()
        for module in self._read:  # its imports were read before it, except in cycles
            packages = {path.split(".")[0] for path in module.imports.values()}
            neighbors = {neighbor.path for neighbor in module.neighbors.values()}
            if packages & known_calls.JOB_PACKAGES or neighbors & found:
                found.add(module.path)
        for module in reversed(self._read):
            if module.path in found:
                found.update(neighbor.path for neighbor in module.neighbors.values())
        return [module for module in self._read if module.path in found]

    def read(self, path: str) -> Module:
        """Returns the module at `path`, with its neighbors. Raises OSError, SyntaxError or
        ValueError."""
        real = os.path.realpath(path)
        if real in self._modules:
            return self._modules[real]
        with open(path, "rb") as file:
            data = file.read()
        tree = ast.parse(data, filename=path)
        text = data.decode("utf-8", "replace")
        module = self._modules[real] = Module(path, tree, re.split("\r\n|\r|\n", text))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._add_import(module, node)
            elif isinstance(node, ast.ImportFrom):
                self._add_names(module, node)
        self._read.append(module)
        return module

    def _add_import(self, module: Module, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            module.imports[name] = alias.name if alias.asname else name
            neighbor = self._neighbor(module, alias.name, 0)
            if neighbor and (alias.asname or "." not in alias.name):
                module.neighbors[name] = neighbor

    def _add_names(self, module: Module, node: ast.ImportFrom) -> None:
        source = self._neighbor(module, node.module or "", node.level)
        for alias in node.names:
            name = alias.asname or alias.name
            module.imports[name] = f"{node.module or ''}.{alias.name}".lstrip(".")
            inner = self._neighbor(module, f"{node.module or ''}.{alias.name}", node.level)
            if inner:
                module.neighbors[name] = inner
            elif source:
                module.neighbors[f"{name}:{alias.name}"] = source

    def _neighbor(self, module: Module, name: str, level: int) -> Optional[Module]:
        """Returns a module of the script's own folder, or None for an installed one."""
        folder = os.path.dirname(module.path)
        for _ in range(level - 1):
            folder = os.path.join(folder, os.pardir)
        path = os.path.join(folder, *name.strip(".").split("."))
        for file in (path + ".py", os.path.join(path, "__init__.py")):
            if name.strip(".") and os.path.isfile(file):
                try:
                    return self.read(file)
                except (OSError, SyntaxError, ValueError, RecursionError):
                    return None
        return None
