"""A Python source file, and edits of whole statements as text. Other lines do not change."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Optional

from pipesim.why.sites import text_of

Lines = list[str]

_BODIES = ("body", "orelse", "finalbody")


class CannotEdit(Exception):
    """An edit would change more than it says, such as the text of a string with several lines."""


def segment(node: Optional[ast.AST], text: str) -> str:
    found = ast.get_source_segment(text, node) if node is not None else None
    return found or ""


class Source:
    """A Python source file. `unit`: one level of indentation. `inserted`: a line that the file does
    not have; 0 if there is none."""

    def __init__(self, path: str, text: Optional[str] = None, inserted: int = 0) -> None:
        self.path, self.inserted = path, inserted
        self.text = text_of(path) if text is None else text
        self.lines = self.text.split("\n")
        self.tree = ast.parse(self.text, path)
        self._places: dict[ast.stmt, tuple[list[ast.stmt], int, Any]] = {}
        for owner in ast.walk(self.tree):
            for name in _BODIES:
                block = getattr(owner, name, None)
                if isinstance(block, list):
                    self._places.update({each: (block, i, owner) for i, each in enumerate(block)})
        found = re.search(r"^(?:    |\t| +)(?=\S)", self.text, re.MULTILINE)
        self.unit = found[0] if found else "    "

    # Finding

    def segment(self, node: Optional[ast.AST]) -> str:
        return segment(node, self.text)

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Returns the statements of the block that has this statement."""
        return self._places[statement][0]

    def index(self, statement: ast.stmt) -> int:
        return self._places[statement][1]

    def owner(self, statement: ast.stmt) -> Any:
        """Returns the node that has the block of this statement."""
        return self._places[statement][2]

    def statements_at(self, line: int) -> list[ast.stmt]:
        """Returns the statements that contain a line, innermost first."""
        found = [each for each in self._places if _first(each) <= line <= _last(each)]
        return sorted(found, key=lambda each: (_last(each) - _first(each), -each.col_offset))

    def all(self, kind: type) -> Iterator[Any]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kind))

    def function_at(self, line: int) -> Optional[ast.AST]:
        """Returns the innermost function that contains a line."""
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        return next((s for s in self.statements_at(line) if isinstance(s, functions)), None)

    def is_elif(self, statement: ast.stmt) -> bool:
        head = self.lines[statement.lineno - 1].encode()[statement.col_offset :]
        return isinstance(statement, ast.If) and head.startswith(b"elif")

    def line(self, line: int) -> int:
        """Returns the number of a line of the file in this text."""
        return line + 1 if 0 < self.inserted <= line else line

    # Text

    def indentation(self, statement: ast.stmt) -> str:
        """Returns the indentation of the statement's line."""
        line = self.lines[_first(statement) - 1]
        return line[: len(line) - len(line.lstrip())]

    def is_alone(self, statement: ast.stmt) -> bool:
        """Whether no other statement is on the statement's lines."""
        before = self.lines[_first(statement) - 1].encode()[: statement.col_offset]
        after = self._after(statement)
        return not before.strip() and (not after or after.startswith("#"))

    def _after(self, statement: ast.stmt) -> str:
        """Returns the rest of the line after a statement."""
        line = self.lines[_last(statement) - 1].encode()
        return line[statement.end_col_offset :].decode().strip()

    def piece(self, *statements: ast.stmt) -> Lines:
        """Returns the lines of statements of one block, without their indentation. Comments
        directly above a statement belong to it, except at the beginning of its block."""
        found: Lines = []
        for statement in statements:
            if not self.is_alone(statement):
                if statement.lineno != _last(statement):
                    raise CannotEdit
                rest = self._after(statement)
                comment = f"  {rest}" if rest.startswith("#") else ""
                found.append(self.segment(statement) + comment)
                continue
            begin = _first(statement)
            if self.index(statement) > 0:
                while self.lines[begin - 2].strip().startswith("#"):
                    begin -= 1
            found += self._dedented(statement, begin)
        return found

    def _dedented(self, statement: ast.stmt, begin: int) -> Lines:
        indentation = self.indentation(statement)
        found = []
        for line in self.lines[begin - 1 : _last(statement)]:
            if line.strip() and not line.startswith(indentation):
                raise CannotEdit  # a string or a continued line with less indentation
            found.append(line[len(indentation) :])
        if len(found) > 1 and any(_is_long_string(node) for node in ast.walk(statement)):
            raise CannotEdit
        return found

    def indented(self, lines: Sequence[str], unit: Optional[str] = None) -> Lines:
        unit = self.unit if unit is None else unit
        return [unit + line if line.strip() else line for line in lines]

    def without_elif(self, statement: ast.If) -> Source:
        """Returns this source with an `elif` as an `if` in the `else` of the branch above."""
        first, *rest = self._dedented(statement, statement.lineno)
        lines = ["else:", *self.indented([first[len("el") :], *rest])]
        text = self._with(
            statement.lineno, _last(statement), self.indented(lines, self.indentation(statement))
        )
        return Source(self.path, text, inserted=statement.lineno)

    # Edits; each returns a new text

    def replaced(self, first: ast.stmt, last: ast.stmt, new: Sequence[str]) -> str:
        """Replaces the statements from `first` to `last`, of one block, with lines."""
        block, begin, owner = self._places[first]
        end = self.index(last)
        lines = list(new)
        while begin > 0 and _last(block[begin - 1]) == _first(block[begin]):  # `a; b`
            begin -= 1
            lines = self.piece(block[begin]) + lines
        while end + 1 < len(block) and _first(block[end + 1]) == _last(block[end]):
            end += 1
            lines += self.piece(block[end])
        is_whole = begin == 0 and end + 1 == len(block)
        if not lines and is_whole and not isinstance(owner, ast.Module):
            lines = ["pass"]
        line = self.lines[_first(block[begin]) - 1]
        head = line.encode()[: block[begin].col_offset].decode()
        indentation = self.indentation(block[begin])
        if head.strip():  # `if x: y` keeps its header
            lines = [head.strip(), *self.indented(lines)]
        return self._with(
            _first(block[begin]), _last(block[end]), self.indented(lines, indentation)
        )

    def _with(self, begin: int, end: int, lines: Sequence[str]) -> str:
        return "\n".join([*self.lines[: begin - 1], *lines, *self.lines[end:]])

    def after(self, statement: ast.stmt, lines: Sequence[str]) -> str:
        """Inserts lines after a statement."""
        if self.is_alone(statement):
            indentation = self.indentation(statement)
            last = _last(statement)
            return self._with(last + 1, last, self.indented(lines, indentation))
        return self.replaced(statement, statement, [*self.piece(statement), *lines])

    def before(self, statement: ast.stmt, lines: Sequence[str]) -> str:
        """Inserts lines before a statement, and before the comments above it."""
        begin = _first(statement)
        while begin > 1 and self.lines[begin - 2].strip().startswith("#"):
            begin -= 1
        indentation = self.indentation(statement)
        return self._with(begin, begin - 1, self.indented(lines, indentation))

    def substituted(self, *changes: tuple[ast.AST, str]) -> str:
        """Replaces the source of expressions."""
        lines = [line.encode() for line in self.lines]
        for node, text in sorted(changes, key=lambda c: _position(c[0]), reverse=True):
            begin, column = _position(node)
            end = (getattr(node, "end_lineno", begin) or begin) - 1
            end_column = getattr(node, "end_col_offset", 0)
            new = lines[begin - 1][:column] + text.encode() + lines[end][end_column:]
            lines[begin - 1 : end + 1] = [new]
        return b"\n".join(lines).decode()


def _first(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _last(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 1), getattr(node, "col_offset", 0)


def _is_long_string(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )
    return is_text and getattr(node, "end_lineno", 0) > getattr(node, "lineno", 0)


def diff(old: str, new: str, name: str) -> Lines:
    """Returns a unified diff with one line of context."""
    a, b = old.split("\n"), new.split("\n")
    least, begin, end = min(len(a), len(b)), 0, 0
    while begin < least and a[begin] == b[begin]:
        begin += 1
    while end < least - begin and a[-1 - end] == b[-1 - end]:
        end += 1
    # Compares only what differs: lines that occur often count also, unlike in unified_diff.
    matcher = difflib.SequenceMatcher(
        None, a[begin : len(a) - end], b[begin : len(b) - end], autojunk=False
    )
    codes = [
        (tag, begin + i, begin + last_i, begin + j, begin + last_j)
        for tag, i, last_i, j, last_j in matcher.get_opcodes() if tag != "equal"
    ]  # fmt: skip
    found = [f"--- {name}", f"+++ {name}"]
    while codes:
        hunk = [codes.pop(0)]
        while codes and codes[0][1] - hunk[-1][2] <= 2:  # their contexts touch
            hunk.append(codes.pop(0))
        found += _hunk(a, b, hunk)
    return found


def _hunk(a: Lines, b: Lines, codes: Sequence[tuple[str, int, int, int, int]]) -> Lines:
    shift = codes[0][3] - codes[0][1]
    first, last = max(0, codes[0][1] - 1), min(len(a), codes[-1][2] + 1)
    lines, at = [], first
    for _, i, last_i, j, last_j in codes:
        lines += [f" {line}" for line in a[at:i]]
        lines += [f"-{line}" for line in a[i:last_i]] + [f"+{line}" for line in b[j:last_j]]
        at = last_i
    lines += [f" {line}" for line in a[at:last]]
    counts = [len(lines) - sum(line[0] == sign for line in lines) for sign in "+-"]
    return [f"@@ -{first + 1},{counts[0]} +{first + shift + 1},{counts[1]} @@", *lines]
