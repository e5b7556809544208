"""Sites: the branches, loops and assignments of a source file, and the source that reports them.

The syntax tree is rewritten in memory; lines stay the same. `T` is the rank's `tracer.Tracer`:

    if test:                ->  if T.test(K, test):            outcome; T.operand keeps the operands
    for x in xs:            ->  for x in T.items(K, xs):       each item, and the number of items
    x = value               ->  x = T.value(K, value)          a short text of the value
    x.append(1)             ->  x.append(1); T.changed(K, x)   the value after a mutation
    def f(a): ...           ->  T.enter(K, (a,)); try: ... finally: T.leave()
    except E: ...           ->  except E: T.handler(K); ...

`while`, `assert`, `a if t else b`, filters of comprehensions and `t and f()` are also tests. No
expression is evaluated twice. Lambdas and f-strings do not change.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

# The name of the tracer in `builtins`.
TRACER = "__pipesim_tracer__"

# Methods that change their object, in addition to those of torch that end in "_".
_MUTATORS = frozenset(
    "add append appendleft clear discard extend insert load_state_dict pop popitem popleft put "
    "remove reverse setdefault shuffle sort update".split()
)

# A site in the source: the number of the file in its trace, shifted, plus the number of the site.
FILE_SHIFT = 20

LOOPS = ("for", "while")
LOCAL_TESTS = ("ifexp", "filter", "and")  # tests within a statement


@dataclasses.dataclass(eq=False)
class Site:
    """A point of a file that reports events. `parent`: the site of the statement around it in the
    same function. Nodes are those of the original source."""

    kind: str  # def, if, while, assert, for, ifexp, filter, and, set, return, change, except, case
    path: str
    line: int
    end: int  # last line of the statement or expression
    text: str
    function: str  # dotted name; empty at the top level
    parent: Optional[Site]
    number: int  # index in the file
    names: list[str] = dataclasses.field(default_factory=list)  # operands, targets, parameters
    value: Optional[ast.expr] = None  # the test, the iterable, the assigned or returned value
    target: Optional[ast.expr] = None  # target of a loop or an assignment
    calls: bool = True  # an arm contains a call

    def inside(self, other: Site) -> bool:
        """Whether this site is within the statement of `other`."""
        at = self.parent
        while at is not None and at is not other:
            at = at.parent
        return at is other


class _Rewriter(ast.NodeTransformer):
    """Collects the sites of a file, and makes the rewritten tree. Never changes the original tree,
    whose nodes belong to the sites."""

    def __init__(self, path: str, source: str, file: int) -> None:
        self.sites: list[Site] = []
        self._path, self._file = path, file
        self._lines = [line.encode() for line in source.split("\n")]
        self._function = ""
        self._parent: Optional[Site] = None

    # Tools

    def _segment(self, node: Any) -> str:
        """Returns the first source line of a node. ast.get_source_segment would split the whole
        file again for each node."""
        last = node.end_col_offset if node.end_lineno == node.lineno else None
        return self._lines[node.lineno - 1][node.col_offset : last].decode()

    def _site(self, kind: str, node: Any, text: str = "", **fields: Any) -> Site:
        self.sites.append(
            Site(kind, self._path, node.lineno, node.end_lineno, text or self._segment(node),
                 self._function, self._parent, len(self.sites), **fields)
        )  # fmt: skip
        return self.sites[-1]

    def _call(self, method: str, at: ast.AST, *arguments: Any) -> ast.Call:
        """Returns a call of the tracer. Sites are passed as numbers."""
        function = ast.Attribute(ast.Name(TRACER, ast.Load()), method, ast.Load())
        nodes = [self._argument(argument) for argument in arguments]
        return ast.fix_missing_locations(ast.copy_location(ast.Call(function, nodes, []), at))

    def _argument(self, argument: Any) -> ast.expr:
        if isinstance(argument, Site):
            return ast.Constant((self._file << FILE_SHIFT) + argument.number)
        return argument if isinstance(argument, ast.expr) else ast.Constant(argument)

    def _statement(self, method: str, at: ast.AST, *arguments: Any) -> ast.Expr:
        return ast.copy_location(ast.Expr(self._call(method, at, *arguments)), at)

    def _with(self, node: Any, **fields: Any) -> Any:
        new = copy.copy(node)
        for name, value in fields.items():
            setattr(new, name, value)
        return new

    def _all(self, nodes: Sequence[Any], parent: Optional[Site]) -> list[Any]:
        outer, self._parent = self._parent, parent
        found: list[Any] = []
        for node in nodes:
            new = self.visit(node) if isinstance(node, ast.AST) else node
            found += new if isinstance(new, list) else [new]
        self._parent = outer
        return found

    def generic_visit(self, node: Any) -> Any:
        new = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(new, name, self._all(value, self._parent))
            elif isinstance(value, ast.AST):
                setattr(new, name, self.visit(value))
        return new

    def module(self, tree: ast.Module) -> ast.Module:
        place = ast.copy_location(ast.Pass(), ast.parse("0").body[0])
        site = self._site("def", place, "<module>")
        site.end = len(self._lines)
        body = self._all(tree.body, None)
        head = 0  # a docstring and imports from __future__ stay first
        while head < len(body) and (
            isinstance(body[head], ast.ImportFrom) and body[head].module == "__future__"
            or isinstance(body[head], ast.Expr) and isinstance(body[head].value, ast.Constant)
        ):  # fmt: skip
            head += 1
        enter = self._statement("enter", place, site, ast.Tuple([], ast.Load()))
        rest = ast.Try(body[head:] or [place], [], [], [self._statement("leave", place)])
        new = ast.Module([*body[:head], enter, ast.copy_location(rest, place)], tree.type_ignores)
        return ast.fix_missing_locations(new)

    # Tests

    def _test(self, kind: str, node: Any, test: ast.expr, **fields: Any) -> tuple[Site, ast.Call]:
        site = self._site(kind, node, self._segment(test), value=test, **fields)
        outer, self._parent = self._parent, site if kind == "while" else self._parent
        operands = self._operands(test, site)
        self._parent = outer
        return site, self._call("either" if kind == "and" else "test", test, site, operands)

    def _operands(self, test: ast.expr, site: Site) -> ast.expr:
        if isinstance(test, ast.BoolOp):
            return self._with(test, values=[self._operands(value, site) for value in test.values])
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._with(test, operand=self._operands(test.operand, site))
        if isinstance(test, ast.Compare):
            sides = [self._operand(side, site) for side in (test.left, *test.comparators)]
            return self._with(test, left=sides[0], comparators=sides[1:])
        return self._operand(test, site)

    def _operand(self, operand: ast.expr, site: Site) -> ast.expr:
        if isinstance(operand, (ast.Constant, ast.NamedExpr)):
            return self.visit(operand)
        site.names.append(ast.unparse(operand))
        return self._call("operand", operand, site, len(site.names) - 1, self.visit(operand))

    def visit_If(self, node: ast.If) -> ast.If:
        site, test = self._test("if", node, node.test)
        body, orelse = self._all(node.body, site), self._all(node.orelse, site)
        return self._with(node, test=test, body=body, orelse=orelse)

    def visit_While(self, node: ast.While) -> ast.While:
        site, test = self._test("while", node, node.test)
        body, orelse = self._all(node.body, site), self._all(node.orelse, self._parent)
        return self._with(node, test=test, body=body, orelse=orelse)

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        return self._with(node, test=self._test("assert", node, node.test)[1])

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        site, test = self._test("ifexp", node, node.test, calls=_has_call(node.body, node.orelse))
        body, orelse = self._all([node.body, node.orelse], site)
        return self._with(node, test=test, body=body, orelse=orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.BoolOp:
        """Reports the operands of `t and f()` that decide whether a call is made."""
        values = []
        for i, value in enumerate(node.values):
            calls = _has_call(*node.values[i + 1 :])
            values.append(self._test("and", value, value)[1] if calls else self.visit(value))
        return self._with(node, values=values)

    def visit_For(self, node: ast.For) -> ast.For:
        iterable, site = self._iterable(node, node)
        body, orelse = self._all(node.body, site), self._all(node.orelse, self._parent)
        return self._with(node, iter=iterable, body=body, orelse=orelse)

    def _iterable(self, loop: Any, at: Any) -> tuple[ast.Call, Site]:
        text = f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}"
        iterable = self.visit(loop.iter)
        site = self._site("for", at, text, value=loop.iter, target=loop.target)
        return self._call("items", loop.iter, site, iterable), site

    def _comprehension(self, node: Any) -> Any:
        names = [name for name in ("key", "value", "elt") if hasattr(node, name)]
        elements = {name: getattr(node, name) for name in names}
        calls = _has_call(*elements.values())
        generators = []
        for loop in node.generators:
            iterable = self._iterable(loop, node)[0] if calls else self.visit(loop.iter)
            tests = [self._test("filter", test, test, calls=False)[1] for test in loop.ifs]
            generators.append(self._with(loop, iter=iterable, ifs=tests))
        new = {name: self.visit(element) for name, element in elements.items()}
        return self._with(node, generators=generators, **new)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # Functions

    def _def(self, node: Any) -> Any:
        outer, self._function = (
            (self._function, self._parent),
            f"{self._function}.{node.name}".lstrip("."),
        )
        self._parent = None
        given = node.args
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        names = [each.arg for each in parameters if each is not None]
        site = self._site("def", node, node.name, names=names)
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        body = self._all(node.body[first:], None)
        at = node.body[0]
        values = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
        enter = self._statement("enter", at, site, values)
        leave = self._statement("leave", node.body[-1])
        rest = [ast.copy_location(ast.Try(body, [], [], [leave]), at)] if body else [leave]
        self._function, self._parent = outer
        decorators = self._all(node.decorator_list, self._parent)
        new = self._with(node, body=[*node.body[:first], enter, *rest], decorator_list=decorators)
        return ast.fix_missing_locations(new)

    visit_FunctionDef = visit_AsyncFunctionDef = _def

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        outer, self._function = self._function, f"{self._function}.{node.name}".lstrip(".")
        body = self._all(node.body, self._parent)
        self._function = outer
        return self._with(node, body=body)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        kind = ast.unparse(node.type) if node.type is not None else ""
        site = self._site("except", node, f"except {kind}".strip())
        body = [self._statement("handler", node.body[0], site), *self._all(node.body, site)]
        return self._with(node, body=body)

    def visit_match_case(self, node: Any) -> Any:
        site = self._site("case", node.body[0], f"case {ast.unparse(node.pattern)}")
        body = [self._statement("handler", node.body[0], site), *self._all(node.body, site)]
        return self._with(node, body=body)

    # Values

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        names = [name for target in node.targets for name in target_names(target)]
        value = self.visit(node.value)
        target = node.targets[0]
        site = self._site("set", node, names=names, value=node.value, target=target)
        new = self._with(node, value=self._call("value", node.value, site, value))
        changed = [target for target in node.targets if isinstance(target, ast.Subscript)]
        return [new, *self._changes(node, changed, node.value)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        if node.value is None:
            return node
        return self._assigned(node, "set", node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.NamedExpr:
        return self._assigned(node, "set", node.target)

    def visit_Return(self, node: ast.Return) -> ast.Return:
        return node if node.value is None else self._assigned(node, "return", None)

    def _assigned(self, node: Any, kind: str, target: Optional[ast.expr]) -> Any:
        names = target_names(target) if target is not None else []
        value = self.visit(node.value)
        site = self._site(kind, node, names=names, value=node.value, target=target)
        return self._with(node, value=self._call("value", node.value, site, value))

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        new = self._with(node, value=self.visit(node.value))
        return [new, *self._changes(node, [node.target], node.value)]

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        owners = [t.value for t in node.targets if isinstance(t, (ast.Subscript, ast.Attribute))]
        return [node, *self._changes(node, owners)]

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        new, call = self._with(node, value=self.visit(node.value)), node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            name = call.func.attr
            if name in _MUTATORS or (name.endswith("_") and not name.endswith("__")):
                return [new, *self._changes(node, [call.func.value], call)]
        return [new]

    def _changes(
        self, node: ast.stmt, objects: Sequence[ast.expr], value: Optional[ast.expr] = None
    ) -> list[ast.stmt]:
        """Returns statements that report objects after a statement has changed them, if they are
        plain names: reading these has no effect."""
        found: list[ast.stmt] = []
        for each in objects:
            while isinstance(each, ast.Subscript):
                each = each.value
            base = each
            while isinstance(base, ast.Attribute):
                base = base.value
            name = ast.unparse(each)
            if isinstance(base, ast.Name) and name not in ("self", "cls"):
                site = self._site("change", node, names=[name], value=value)
                read = ast.copy_location(ast.parse(name, mode="eval").body, node)
                found.append(self._statement("changed", node, site, read))
        return found


def _has_call(*nodes: ast.AST) -> bool:
    calls = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
    return any(isinstance(each, calls) for node in nodes for each in ast.walk(node))


def target_names(target: ast.expr) -> list[str]:
    """Returns the names that an assignment to `target` sets, e.g. `x` and `y[0]`."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for each in target.elts for name in target_names(each)]
    if isinstance(target, ast.Starred):
        return target_names(target.value)
    return [ast.unparse(target)]


def read_names(node: Optional[ast.AST]) -> list[str]:
    """Returns the names and dotted names that an expression reads, without called functions and
    lambdas."""
    found: dict[str, None] = {}

    def visit(node: ast.AST, called: bool = False) -> None:
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.Call):
            visit(node.func, called=True)
            for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                visit(argument)
        elif isinstance(node, ast.Attribute):
            if not called:
                found[ast.unparse(node)] = None
            visit(node.value)
        elif isinstance(node, ast.Name):
            if not called:
                found[node.id] = None
        else:
            for child in ast.iter_child_nodes(node):
                visit(child)

    if node is not None:
        visit(node)
    return list(found)


def called_names(node: Optional[ast.AST]) -> list[str]:
    """Returns the last parts of the names of the functions that an expression calls."""
    calls = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)] if node else []
    return [last_name(each) for each in calls]


def last_name(function: ast.expr) -> str:
    """Returns the last part of a dotted name, or "" for other expressions."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def rewrite(path: str, source: str, file: int) -> ast.Module:
    """Returns the rewritten tree. `file`: the number of the file in its trace."""
    return _Rewriter(path, source, file).module(ast.parse(source, path))


# Edited texts, by absolute path; read instead of the files.
_texts: dict[str, str] = {}


@contextlib.contextmanager
def edited(texts: Iterable[tuple[str, str]]) -> Iterator[None]:
    """Reads these texts in the place of their files."""
    edit(texts)
    try:
        yield
    finally:
        edit(())


def edit(texts: Iterable[tuple[str, str]]) -> None:
    """Reads these texts, and no others, in the place of their files from now on."""
    _texts.clear()
    _texts.update(texts)
    tree_of.cache_clear()
    sites_of.cache_clear()


def edited_text(path: str) -> Optional[str]:
    """Returns the edited text of a file; None if it is not edited."""
    return _texts.get(os.path.abspath(path))


def text_of(path: str) -> str:
    text = edited_text(path)
    return Path(path).read_text(encoding="utf-8", errors="replace") if text is None else text


@functools.lru_cache(maxsize=None)
def tree_of(path: str) -> ast.Module:
    return ast.parse(text_of(path), path)


@functools.lru_cache(maxsize=None)
def sites_of(path: str) -> list[Site]:
    """Returns the sites of a file, in the order of their numbers."""
    rewriter = _Rewriter(path, text_of(path), 0)
    rewriter.module(tree_of(path))
    return rewriter.sites
