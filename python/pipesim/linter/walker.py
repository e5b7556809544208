"""Walks the statements of scripts in the order in which a rank executes them.

The walk collects the calls that ranks make together, and keeps what is known of each variable. Both
arms of a branch are walked. A finding is a test, loop or exit on which ranks can differ, if the
ranks then make different calls. What cannot be known counts as the same on all ranks.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any, Callable, Optional, Union

from pipesim.linter import known_calls, rules, syntax
from pipesim.linter.modules import Class, Function, Instance, Module
from pipesim.linter.values import ALL, UNKNOWN, WORLD, Call, Origin, Value, either, first, join

# A function that reaches more calls is cut, so that recursion ends.
_MAX_CALLS = 200
# Rounds after which values of arguments and attributes are assumed to be known.
_MAX_ROUNDS = 6

_ALL_RANKS = re.compile(r"(list\()?range\((\w+\.)*(\w*world\w*|get_world_size\(\))\)*")

_Branch = Union[ast.If, ast.IfExp]


@dataclasses.dataclass
class _Given:
    """A call of the script, and the values of its arguments."""

    node: ast.Call
    values: list[Value]
    named: dict[Optional[str], Value]


@dataclasses.dataclass
class _Exit:
    """Ranks that leave a block early, or that catch an exception."""

    node: ast.AST
    kind: str  # "return", "exit", "continue", "break", or "pass": an `except` that goes on
    origin: Optional[Origin]
    own: list[Call]  # calls of the ranks that leave
    others: list[Call]  # calls of the others before `position`
    position: int  # number of calls of the frame before the exit
    in_loop: bool


@dataclasses.dataclass
class _Unbalanced:
    """A test with one arm that makes calls that the other arm does not make."""

    node: ast.expr
    origin: Origin
    taken: list[Call]
    other: list[Call]

    def pairs_with(self, later: _Unbalanced) -> bool:
        """Whether the other ranks make the same calls at a later test, as in
        `if rank != 0: barrier()` ... `if rank == 0: barrier()`."""
        if (self.taken and self.other) or (later.taken and later.other):
            return False
        mine, theirs = self.taken or self.other, later.taken or later.other
        sides = [syntax.is_positive(each.node) == bool(each.taken) for each in (self, later)]
        return _same(mine, theirs) and sides[0] != sides[1]


@dataclasses.dataclass
class _Frame:
    """The state of the walk in a function, or at the top level of a module."""

    module: Module
    names: dict[str, Value]
    outer: dict[str, Value]
    function: Optional[Function] = None
    calls: list[Call] = dataclasses.field(default_factory=list)
    exits: list[_Exit] = dataclasses.field(default_factory=list)
    unbalanced: list[_Unbalanced] = dataclasses.field(default_factory=list)
    tests: list[Origin] = dataclasses.field(default_factory=list)  # around the statement
    results: list[Value] = dataclasses.field(default_factory=list)
    loops: int = 0

    def look_up(self, name: str) -> Value:
        return self.names.get(name) or self.outer.get(name) or UNKNOWN

    @contextlib.contextmanager
    def under(self, origin: Optional[Origin]) -> Iterator[None]:
        if origin is not None:
            self.tests.append(origin)
        yield
        if origin is not None:
            self.tests.pop()


class Walker:
    """Walks modules until nothing new is found, then reports."""

    def __init__(self, modules: Sequence[Module], report: Callable[[rules.Finding], None]) -> None:
        self._modules = modules
        self._report_to = report
        self._reporting = False
        self._threads: list[tuple[Module, ast.AST, Function]] = []
        self._own_calls: list[Call] = []  # calls of the library, each once

    def walk(self) -> None:
        known: Any = None
        for _ in range(_MAX_ROUNDS):
            self._walk_all()
            found = [
                [(f.parameters, f.result, len(f.calls), sorted(f.agreed)) for f in functions]
                + [(c.attributes, sorted(c.agreed)) for c in classes]
                for functions, classes in (
                    (list(m.functions.values()), list(m.classes.values())) for m in self._modules
                )
            ]
            state = repr(found)
            if state == known:
                break
            known = state
        self._reporting = True
        self._walk_all()
        self._check_threads()

    def _report(self, finding: rules.Finding) -> None:
        if self._reporting:
            self._report_to(finding)

    def _walk_all(self) -> None:
        self._threads.clear()
        self._own_calls.clear()
        for module in self._modules:
            names: dict[str, Value] = {}
            for name, neighbor in module.neighbors.items():
                local, _, original = name.partition(":")
                if original == "*":
                    names.update(neighbor.names)
                elif original:
                    names[local] = neighbor.names.get(original, UNKNOWN)
                else:
                    names[local] = Value(thing=neighbor)
            frame = _Frame(module, names, module.names)
            self._block(module.tree.body, frame)
            self._end(frame)
            module.names.update(frame.names)
            functions = list(module.functions.values())
            for function in functions:
                self._function(function)
            for function in list(module.functions.values())[len(functions) :]:
                self._function(function)

    def _function(self, function: Function) -> None:
        names = {name: self._parameter(function, name) for name in function.names}
        if (
            function.of_class
            and function.names
            and "staticmethod" not in syntax.decorators(function.node)
        ):
            names[function.names[0]] = Value(thing=Instance(function.of_class))
        frame = _Frame(function.module, names, function.inside, function)
        if isinstance(function.node, ast.Lambda):
            frame.results.append(self._value(function.node.body, frame))
        else:
            self._block(function.node.body, frame)
        self._end(frame)
        function.calls = frame.calls[:_MAX_CALLS]
        function.result = join(*frame.results) if frame.results else UNKNOWN

    def _parameter(self, function: Function, name: str) -> Value:
        if name in function.parameters:
            return function.parameters[name]
        if name in known_calls.RANK_ATTRIBUTES:
            return Value(differs=Origin("rank", name, function.node.lineno))
        return UNKNOWN

    # Statements

    def _block(self, statements: Sequence[ast.stmt], frame: _Frame) -> None:
        for statement in statements:
            walk = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if walk is not None:
                walk(statement, frame)
            else:
                self._children(statement, frame)

    def _children(self, node: ast.AST, frame: _Frame) -> None:
        """Walks a node of no interest: its expressions, then its statements."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._value(child, frame)
            elif isinstance(child, ast.stmt):
                self._block([child], frame)
            else:
                self._children(child, frame)

    def _functiondef(self, node: Any, frame: _Frame, of_class: Optional[Class] = None) -> None:
        for decorator in node.decorator_list:
            self._value(decorator, frame)
        function = self._define(node, node.name, frame, of_class)
        if of_class is None:
            frame.names[node.name] = Value(thing=function)
        else:
            of_class.methods[node.name] = function

    _asyncfunctiondef = _functiondef

    def _define(
        self, node: Any, name: str, frame: _Frame, of_class: Optional[Class] = None
    ) -> Function:
        inside = frame.module.names if frame.function is None else frame.names
        known = frame.module.functions.get(node)
        if known is None:
            known = Function(name, node, frame.module, inside, of_class)
            frame.module.functions[node] = known
        if frame.function is not None:
            known.inside = {**frame.outer, **inside}
        return known

    def _classdef(self, node: ast.ClassDef, frame: _Frame) -> None:
        things = [self._value(base, frame).thing for base in node.bases]
        bases = [thing for thing in things if isinstance(thing, Class)]
        found = frame.module.classes.setdefault(node, Class(node.name, bases))
        frame.names[node.name] = Value(thing=found)
        inner = dataclasses.replace(frame, names=dict(frame.names))
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._functiondef(statement, frame, found)
                continue
            self._block([statement], inner)
            for name in syntax.assigned([statement]):
                found.attributes[name] = inner.names.get(name, UNKNOWN)

    def _return(self, node: ast.Return, frame: _Frame) -> None:
        if node.value is not None:
            value = self._value(node.value, frame)
            if frame.tests and not value.differs and syntax.is_plain([node.value]):
                value = dataclasses.replace(value, differs=frame.tests[-1])
            frame.results.append(value)

    def _expr(self, node: ast.Expr, frame: _Frame) -> None:
        value = self._value(node.value, frame)
        if value.work and isinstance(node.value, ast.Call):
            name = self._library_call(node.value, frame)
            if name:
                self._report(rules.dropped_work(frame.module, node.value, name, value.work))

    def _assign(self, node: ast.Assign, frame: _Frame) -> None:
        value = self._value(node.value, frame)
        for target in node.targets:
            self._bind(target, value, frame)
        [target] = node.targets[:1]
        name = self._library_call(node.value, frame) if value.work else ""
        if name and isinstance(target, ast.Name) and not self._is_read(target.id, frame):
            self._report(rules.dropped_work(frame.module, node.value, name, value.work))

    def _is_read(self, name: str, frame: _Frame) -> bool:
        scope = frame.function.node if frame.function else frame.module.tree
        return any(
            isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Store)
            for node in ast.walk(scope)
        ) or any(isinstance(node, ast.Global) and name in node.names for node in ast.walk(scope))

    def _annassign(self, node: ast.AnnAssign, frame: _Frame) -> None:
        if node.value is not None:
            self._bind(node.target, self._value(node.value, frame), frame)

    def _augassign(self, node: ast.AugAssign, frame: _Frame) -> None:
        value = self._value(node.value, frame)
        if isinstance(node.target, ast.Name):
            old = frame.look_up(node.target.id)
            self._bind(node.target, join(old, Value(differs=value.differs)), frame)

    def _bind(self, target: ast.AST, value: Value, frame: _Frame) -> None:
        if isinstance(target, ast.Name):
            frame.names[target.id] = value
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, frame)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = value.items
            if len(items) != len(target.elts):
                items = (dataclasses.replace(value, items=()),) * len(target.elts)
            for each, item in zip(target.elts, items):
                self._bind(each, item, frame)
        elif isinstance(target, ast.Attribute):
            owner = self._value(target.value, frame).thing
            if isinstance(owner, Instance):
                old = owner.of.attributes.get(target.attr, value)
                owner.of.attributes[target.attr] = join(old, value)

    def _if(self, node: ast.If, frame: _Frame) -> None:
        origin = self._value(node.test, frame).differs
        before, start = dict(frame.names), len(frame.calls)
        with frame.under(origin):
            self._block(node.body, frame)
            taken_names, frame.names, middle = frame.names, dict(before), len(frame.calls)
            self._block(node.orelse, frame)
        kinds = syntax.exit_kind(node.body), syntax.exit_kind(node.orelse)
        self._compare_arms(node, origin, kinds, start, middle, frame)
        if kinds[0]:
            return
        if kinds[1]:
            frame.names = taken_names
            return
        frame.names = self._merged(taken_names, frame.names)
        if origin is not None:
            self._mark_assigned(node, origin, frame)

    def _merged(self, one: dict[str, Value], two: dict[str, Value]) -> dict[str, Value]:
        return {
            name: either(*{id(v): v for v in (one.get(name), two.get(name)) if v}.values())
            for name in {**one, **two}
        }

    def _mark_assigned(self, node: ast.If, origin: Origin, frame: _Frame) -> None:
        """Marks the variables to which the arms of `node` assign: they differ between ranks."""
        for name in syntax.assigned([*node.body, *node.orelse]):
            arms = [
                syntax.assigned(node.body).get(name, []),
                syntax.assigned(node.orelse).get(name, []),
            ]
            value = frame.look_up(name)
            if len(arms[0]) == len(arms[1]) == 1 and syntax.are_permutations(
                arms[0][0], arms[1][0]
            ):
                frame.names[name] = dataclasses.replace(value, order=origin)
            elif syntax.is_plain([*arms[0], *arms[1]]):
                frame.names[name] = dataclasses.replace(value, differs=value.differs or origin)

    def _compare_arms(
        self,
        node: _Branch,
        origin: Optional[Origin],
        kinds: tuple[str, str],
        start: int,
        middle: int,
        frame: _Frame,
    ) -> None:
        taken, other = frame.calls[start:middle], frame.calls[middle:]
        if [call.signature for call in taken] == [call.signature for call in other]:
            del frame.calls[middle:]  # the ranks make the same calls in both arms
        if origin is None or "raise" in kinds:
            return
        if bool(kinds[0]) != bool(kinds[1]):
            own, others = (taken, other) if kinds[0] else (other, taken)
            kind = kinds[0] or kinds[1]
            self._add_exit(node.test, kind, origin, own, others, frame)
        elif not _same(taken, other):
            frame.unbalanced.append(_Unbalanced(node.test, origin, _of_all(taken), _of_all(other)))

    def _add_exit(
        self,
        node: ast.AST,
        kind: str,
        origin: Optional[Origin],
        own: list[Call],
        others: list[Call],
        frame: _Frame,
    ) -> None:
        position = len(frame.calls)
        frame.exits.append(
            _Exit(node, kind, origin, list(own), list(others), position, frame.loops > 0)
        )

    @contextlib.contextmanager
    def _in_loop(self, frame: _Frame) -> Iterator[None]:
        """Enters a context for the body of a loop. At its end, the calls that `continue` and
        `break` skip are known, so checks these exits."""
        start, exits, before = len(frame.calls), len(frame.exits), dict(frame.names)
        frame.loops += 1
        yield
        frame.loops -= 1
        frame.names = self._merged(frame.names, before)
        rest = []
        for leave in frame.exits[exits:]:
            if leave.kind == "continue":
                self._check_exit(leave, frame.calls[leave.position :], frame)
            elif leave.kind == "break":
                again = frame.calls[leave.position :] + frame.calls[start:]
                self._check_exit(leave, again, frame)
            else:
                if leave.kind in ("return", "exit"):  # the others also make the next turns
                    leave.others += frame.calls[start:]
                rest.append(leave)
        frame.exits[exits:] = rest

    def _check_exit(self, leave: _Exit, following: list[Call], frame: _Frame) -> None:
        others = leave.others + following
        if _same(leave.own, others):
            return
        own = [call.signature for call in _of_all(leave.own)]
        for at, call in enumerate(_of_all(others)):
            if at >= len(own) or own[at] != call.signature:
                break
        else:
            return  # these ranks make more calls, and their further calls are unknown
        if isinstance(leave.node, ast.ExceptHandler):
            caught = frame.module.source(leave.node.type) if leave.node.type else "any exception"
            self._report(rules.swallowed_error(frame.module, leave.node, caught, leave.kind, call))
        elif leave.origin is not None:
            self._report(rules.early_exit(frame.module, leave.node, leave.origin, leave.kind, call))

    def _end(self, frame: _Frame) -> None:
        """Reports what is known only at the end of a function or module."""
        for leave in frame.exits:
            following = frame.calls[leave.position :]
            if leave.kind != "pass":
                self._check_exit(leave, following, frame)
            elif leave.in_loop or _of_all(following):
                self._check_exit(leave, [], frame)
        open_tests = list(frame.unbalanced)
        while open_tests:
            test = open_tests.pop(0)
            pair = next((later for later in open_tests if test.pairs_with(later)), None)
            if pair is not None:
                open_tests.remove(pair)
                continue
            self._report(rules.branch(frame.module, test.node, test.origin, test.taken, test.other))

    def _for(self, node: Any, frame: _Frame) -> None:
        value = self._value(node.iter, frame)
        start = len(frame.calls)
        with self._in_loop(frame):
            self._bind(node.target, Value(differs=value.differs, groups=value.groups), frame)
            self._block(node.body, frame)
        self._check_turns(node.iter, value, frame.calls[start:], frame)
        self._block(node.orelse, frame)

    _asyncfor = _for

    def _check_turns(self, node: ast.expr, value: Value, calls: list[Call], frame: _Frame) -> None:
        """Checks a loop over `node`, whose body makes `calls`."""
        everywhere = _of_all(calls)
        if value.order is not None and calls:
            self._report(rules.order(frame.module, node, value.order, calls[0]))
        if value.order is not None or value.differs is None or not everywhere:
            return
        # A display has the same length on all ranks, and so has a tensor of each rank's own data.
        is_display = isinstance(node, (ast.List, ast.Tuple))
        if not is_display and (value.differs.kind == "rank" or isinstance(node, ast.Call)):
            self._report(rules.loop(frame.module, node, value.differs, everywhere[0]))

    def _while(self, node: ast.While, frame: _Frame) -> None:
        start = len(frame.calls)
        value = self._value(node.test, frame)
        with self._in_loop(frame):
            self._block(node.body, frame)
        for poll in ast.walk(node.test):
            if self._polls_message(poll, frame):
                self._report(rules.poll_message(frame.module, poll))
        everywhere = _of_all(frame.calls[start:])
        if value.differs is not None and everywhere:
            self._report(rules.loop(frame.module, node.test, value.differs, everywhere[0]))
        self._block(node.orelse, frame)

    def _polls_message(self, node: ast.AST, frame: _Frame) -> bool:
        """Whether `node` is `work.is_completed()` of a send or recv."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        owner = node.func.value
        name = owner.id if isinstance(owner, ast.Name) else ""
        return node.func.attr == "is_completed" and frame.look_up(name).work == "message"

    def _with(self, node: Any, frame: _Frame) -> None:
        for item in node.items:
            value = self._value(item.context_expr, frame)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, value, frame)
        self._block(node.body, frame)

    _asyncwith = _with

    def _try(self, node: Any, frame: _Frame) -> None:
        before, start = dict(frame.names), len(frame.calls)
        self._block(node.body, frame)
        calls = frame.calls[start:]
        names = frame.names
        imports = any(isinstance(each, (ast.Import, ast.ImportFrom)) for each in node.body)
        for handler in node.handlers:
            frame.names = dict(before)
            names = self._merged(names, self._handler(handler, calls, imports, frame))
        frame.names = names
        self._block(node.orelse, frame)
        self._block(node.finalbody, frame)

    _trystar = _try

    def _handler(
        self, node: ast.ExceptHandler, calls: list[Call], imports: bool, frame: _Frame
    ) -> dict[str, Value]:
        """Walks an `except` of a block that makes `calls`. Returns the variables after it.
        `imports`: the block imports modules, which fails on all ranks alike."""
        text = frame.module.source(node.type) if node.type else ""
        own_only = not set(re.findall(r"\w+", text)) & known_calls.SAME_ON_ALL_RANKS and not imports
        start = len(frame.calls)
        origin = Origin("error", f"except {text}".strip(), node.lineno) if own_only else None
        self._block(node.body, frame)
        own = frame.calls[start:]
        del frame.calls[start:]  # no part of the usual way through the function
        kind = syntax.exit_kind(node.body)
        if origin is not None and kind not in ("raise", "exit"):
            self._add_exit(node, kind or "pass", origin, own, calls, frame)
        for name, values in syntax.assigned(node.body).items():
            if origin is not None and syntax.is_plain(values):
                value = frame.look_up(name)
                frame.names[name] = dataclasses.replace(value, differs=origin)
        return {} if kind else frame.names

    # Expressions

    def _value(self, node: ast.AST, frame: _Frame) -> Value:
        evaluate = getattr(self, f"_{type(node).__name__.lower()}_value", None)
        if evaluate is not None:
            value: Value = evaluate(node, frame)
            return value
        self._children(node, frame)
        return UNKNOWN

    def _name_value(self, node: ast.Name, frame: _Frame) -> Value:
        return frame.look_up(node.id)

    def _constant_value(self, node: ast.Constant, frame: _Frame) -> Value:
        return Value(groups=frozenset([WORLD])) if node.value is None else UNKNOWN

    def _lambda_value(self, node: ast.Lambda, frame: _Frame) -> Value:
        return Value(thing=self._define(node, "lambda", frame))

    def _namedexpr_value(self, node: ast.NamedExpr, frame: _Frame) -> Value:
        value = self._value(node.value, frame)
        self._bind(node.target, value, frame)
        return value

    def _await_value(self, node: ast.Await, frame: _Frame) -> Value:
        return self._value(node.value, frame)

    def _starred_value(self, node: ast.Starred, frame: _Frame) -> Value:
        return self._value(node.value, frame)

    def _attribute_value(self, node: ast.Attribute, frame: _Frame) -> Value:
        owner = self._value(node.value, frame)
        path = self._path(node, frame)
        if path.startswith(known_calls.PACKAGES):
            return Value(groups=frozenset([WORLD])) if path.endswith("group.WORLD") else UNKNOWN
        if isinstance(owner.thing, Module):
            return owner.thing.names.get(node.attr, UNKNOWN)
        known = owner.thing.of if isinstance(owner.thing, Instance) else owner.thing
        if isinstance(known, Class):
            method = known.method(node.attr)
            if method is not None and syntax.decorators(method.node) & {
                "property",
                "cached_property",
            }:
                frame.calls += self._calls_through(method, frame)
                return method.result
            if method is not None:
                return Value(thing=method)
            if node.attr in known.attributes or node.attr not in known_calls.RANK_ATTRIBUTES:
                return known.attribute(node.attr)
        if node.attr in known_calls.RANK_ATTRIBUTES:
            return Value(differs=Origin("rank", frame.module.source(node), node.lineno))
        return UNKNOWN

    def _subscript_value(self, node: ast.Subscript, frame: _Frame) -> Value:
        owner = self._value(node.value, frame)
        index = self._value(node.slice, frame)
        key = getattr(node.slice, "value", node.slice)  # Python 3.8 has an ast.Index
        key = key.value if isinstance(key, ast.Constant) else key
        if self._path(node.value, frame) == "os.environ" and key in known_calls.RANK_VARIABLES:
            return Value(differs=Origin("rank", frame.module.source(node), node.lineno))
        if isinstance(key, int) and -len(owner.items) <= key < len(owner.items):
            return owner.items[key]
        if isinstance(node.slice, ast.Slice) and not index.differs:
            return owner
        return Value(differs=owner.differs or index.differs, groups=owner.groups)

    def _slice_value(self, node: ast.Slice, frame: _Frame) -> Value:
        return join(*(self._value(n, frame) for n in (node.lower, node.upper, node.step) if n))

    def _list_value(self, node: Any, frame: _Frame) -> Value:
        items = [self._value(each, frame) for each in node.elts]
        return dataclasses.replace(
            join(UNKNOWN, *items), items=tuple(items), order=None, thing=None
        )

    _tuple_value = _list_value

    def _set_value(self, node: ast.Set, frame: _Frame) -> Value:
        self._list_value(node, frame)
        if all(isinstance(n, ast.Constant) and isinstance(n.value, int) for n in node.elts):
            return UNKNOWN  # small integers have the same order in all processes
        return Value(order=Origin("set", frame.module.source(node), node.lineno))

    def _dict_value(self, node: ast.Dict, frame: _Frame) -> Value:
        values = [self._value(each, frame) for each in [*node.keys, *node.values] if each]
        return Value(groups=join(UNKNOWN, *values).groups)

    def _binop_value(self, node: ast.BinOp, frame: _Frame) -> Value:
        value = join(self._value(node.left, frame), self._value(node.right, frame))
        return Value(differs=value.differs, order=value.order)

    def _unaryop_value(self, node: ast.UnaryOp, frame: _Frame) -> Value:
        return Value(differs=self._value(node.operand, frame).differs)

    def _boolop_value(self, node: ast.BoolOp, frame: _Frame) -> Value:
        value = self._value(node.values[0], frame)
        for each in node.values[1:]:
            start = len(frame.calls)
            more = self._value(each, frame)
            calls = _of_all(frame.calls[start:])
            if value.differs is not None and calls:  # `rank == 0 and dist.barrier()`
                arms = (calls, []) if isinstance(node.op, ast.And) else ([], calls)
                frame.unbalanced.append(_Unbalanced(node.values[0], value.differs, *arms))
            value = join(value, more)
        return value

    def _compare_value(self, node: ast.Compare, frame: _Frame) -> Value:
        operands = [node.left, *node.comparators]
        value = first(self._value(each, frame).differs for each in operands)
        if value is None:
            return UNKNOWN
        is_bound = isinstance(node.ops[0], (ast.GtE, ast.Lt)) and syntax.is_zero(
            node.comparators[0]
        )
        if is_bound or any(syntax.is_no_rank(each) for each in operands):
            return UNKNOWN  # whether there is a rank at all, which is the same on all ranks
        return Value(differs=value)

    def _ifexp_value(self, node: ast.IfExp, frame: _Frame) -> Value:
        origin = self._value(node.test, frame).differs
        start = len(frame.calls)
        with frame.under(origin):
            taken = self._value(node.body, frame)
            middle = len(frame.calls)
            other = self._value(node.orelse, frame)
        self._compare_arms(node, origin, ("", ""), start, middle, frame)
        value = either(taken, other)
        if origin is None:
            return value
        if syntax.are_permutations(node.body, node.orelse):
            return dataclasses.replace(value, order=origin)
        if syntax.is_plain([node.body, node.orelse]):
            return dataclasses.replace(value, differs=value.differs or origin)
        return value

    def _comprehension_value(self, node: Any, frame: _Frame) -> Value:
        names = dict(frame.names)
        parts, filters, start = [], [], len(frame.calls)
        for each in node.generators:
            value = self._value(each.iter, frame)
            parts.append((each.iter, value))
            self._bind(each.target, Value(differs=value.differs, groups=value.groups), frame)
            filters += [self._value(test, frame).differs for test in each.ifs]
        element = join(*(self._value(n, frame) for n in syntax.elements(node)))
        frame.names = names
        for iterated, value in parts:
            self._check_turns(iterated, value, frame.calls[start:], frame)
        return Value(
            differs=first([*(value.differs for _, value in parts), *filters]),
            order=first(value.order for _, value in parts),
            work=element.work,
            groups=element.groups,
        )

    _listcomp_value = _comprehension_value
    _generatorexp_value = _comprehension_value
    _dictcomp_value = _comprehension_value

    def _setcomp_value(self, node: ast.SetComp, frame: _Frame) -> Value:
        value = self._comprehension_value(node, frame)
        origin = Origin("set", frame.module.source(node), node.lineno)
        return dataclasses.replace(value, order=origin)

    # Calls

    def _path(self, node: ast.AST, frame: _Frame) -> str:
        """Returns the dotted name of a function as in its package, or an empty string."""
        names = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        names.append(frame.module.imports.get(node.id, node.id))
        return ".".join(reversed(names))

    def _library_call(self, node: ast.AST, frame: _Frame) -> str:
        """Returns the name of a function of torch.distributed or a framework, or an empty
        string."""
        if not isinstance(node, ast.Call):
            return ""
        path = self._path(node.func, frame)
        package, _, last = path.rpartition(".")
        if path.startswith(known_calls.CHECKPOINT_PACKAGE):
            single = any(each.arg == "no_dist" for each in node.keywords)
            return last if last in known_calls.CHECKPOINTS and not single else ""
        if path.startswith(known_calls.PACKAGES):
            return last
        if not isinstance(node.func, ast.Attribute):
            return ""
        owner = (package or frame.module.source(node.func.value)).rpartition(".")[2]
        last = node.func.attr
        if owner in known_calls.COMMUNICATORS and last in known_calls.COLLECTIVES:
            return last
        needed = known_calls.METHODS.get(last)
        packages = {path.split(".")[0] for path in frame.module.imports.values()}
        return last if needed in packages else ""

    def _call_value(self, node: ast.Call, frame: _Frame) -> Value:
        callee = self._value(node.func, frame).thing
        values = [self._value(each, frame) for each in node.args]
        named = {each.arg: self._value(each.value, frame) for each in node.keywords}
        given = _Given(node, values, named)
        if isinstance(callee, Instance):  # model(x)
            callee = callee.of.method("forward") or callee.of.method("__call__")
        if isinstance(callee, Class):
            start = callee.method("__init__")
            if start is not None:
                self._call_function(start, given, frame)
            return Value(thing=Instance(callee))
        if isinstance(callee, Function):
            return self._call_function(callee, given, frame)
        name = self._library_call(node, frame)
        if name:
            value = self._call_library(name, given, frame)
            if value is not None:
                return value
        return self._call_unknown(given, frame)

    def _call_function(self, callee: Function, given: _Given, frame: _Frame) -> Value:
        names = callee.names
        if callee.of_class is not None and "staticmethod" not in syntax.decorators(callee.node):
            names = names[1:]
        if not any(isinstance(each, ast.Starred) for each in given.node.args):
            values: dict[Optional[str], Value] = dict(zip(names, given.values))
            values.update(given.named)
            for name, default in syntax.defaults(callee.node).items():
                # Other defaults than constants are of no interest.
                is_none = isinstance(default, ast.Constant) and default.value is None
                values.setdefault(name, Value(groups=frozenset([WORLD])) if is_none else UNKNOWN)
            for name in names:
                if name in values:
                    callee.add_argument(name, values[name])
            nodes: dict[Optional[str], ast.expr] = dict(zip(names, given.node.args))
            nodes.update((each.arg, each.value) for each in given.node.keywords)
            for name in callee.agreed:
                if name in nodes:
                    self._agree(nodes[name], frame)
        if callee is not frame.function:
            frame.calls += self._calls_through(callee, frame)
        return callee.result

    def _calls_through(self, callee: Function, frame: _Frame) -> list[Call]:
        free = max(0, _MAX_CALLS - len(frame.calls))
        return [dataclasses.replace(call, via=callee.name) for call in callee.calls[:free]]

    def _call_library(self, name: str, given: _Given, frame: _Frame) -> Optional[Value]:
        """Returns the value of a call of a library, or None if the function is of no interest."""
        node = given.node
        if name in known_calls.RANK_FUNCTIONS:
            return Value(differs=Origin("rank", frame.module.source(node), node.lineno))
        if name in known_calls.MESSAGES:
            return Value(work="message")
        if name in known_calls.NEW_GROUPS:
            self._add_call(name, frozenset([WORLD]), node, frame)
            return Value(groups=frozenset([self._new_group(node, frame)]))
        collectives = (known_calls.COLLECTIVES, known_calls.CHECKPOINTS, known_calls.METHODS)
        if not any(name in table for table in collectives):
            return None
        self._add_call(name, self._groups(name, given, frame), node, frame)
        if name in known_calls.AGREEMENTS and node.args:
            self._agree(node.args[0], frame)
        asynchronous = next((k.value for k in node.keywords if k.arg == "async_op"), None)
        if isinstance(asynchronous, ast.Constant) and asynchronous.value:
            return Value(work="collective")
        return UNKNOWN

    def _groups(self, name: str, given: _Given, frame: _Frame) -> frozenset[str]:
        node = given.node
        position = known_calls.COLLECTIVES.get(name, len(node.args))
        for key in ("group", "process_group"):
            if key in given.named:
                value = given.named[key]
                text = next(frame.module.source(k.value) for k in node.keywords if k.arg == key)
                return value.groups or frozenset([text])
        if position < len(node.args):
            text = frame.module.source(node.args[position])
            return given.values[position].groups or frozenset([text])
        return frozenset([WORLD])

    def _new_group(self, node: ast.Call, frame: _Frame) -> str:
        """Returns the name of the group that the call makes."""
        ranks = node.args[0] if node.args else None
        ranks = next((k.value for k in node.keywords if k.arg == "ranks"), ranks)
        text = "" if ranks is None else frame.module.source(ranks)
        everywhere = text in ("", "None") or _ALL_RANKS.fullmatch(text)
        return f"{ALL if everywhere else 'the group'} of line {node.lineno}"

    def _add_call(self, name: str, groups: frozenset[str], node: ast.Call, frame: _Frame) -> None:
        call = Call(name, groups, node, frame.module.path)
        frame.calls.append(call)
        if name not in known_calls.NEW_GROUPS:
            self._own_calls.append(call)

    def _agree(self, node: ast.AST, frame: _Frame) -> None:
        """Marks a variable that a collective makes equal on all ranks."""
        if isinstance(node, ast.Name):
            value = frame.look_up(node.id)
            frame.names[node.id] = dataclasses.replace(value, differs=None, items=())
            if frame.function is not None and node.id in frame.function.names:
                frame.function.agreed.add(node.id)
        elif isinstance(node, ast.Attribute):
            owner = self._value(node.value, frame).thing
            if isinstance(owner, Instance):
                owner.of.agreed.add(node.attr)

    def _call_unknown(self, given: _Given, frame: _Frame) -> Value:
        """Returns the value of a call of a function that the script does not define."""
        node = given.node
        path = self._path(node.func, frame)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else path
        here = Origin("", frame.module.source(node), node.lineno)
        if last in known_calls.RANK_FUNCTIONS:
            return Value(differs=dataclasses.replace(here, kind="rank"))
        if path in ("os.getenv", "os.environ.get") and node.args:
            key = node.args[0]
            if isinstance(key, ast.Constant) and key.value in known_calls.RANK_VARIABLES:
                return Value(differs=dataclasses.replace(here, kind="rank"))
        if path in known_calls.CLOCKS:
            return Value(differs=dataclasses.replace(here, kind="clock"))
        if last == "is_completed":
            return Value(differs=dataclasses.replace(here, kind="poll"))
        if self._is_chance(path, last, frame):
            return Value(differs=dataclasses.replace(here, kind="chance"))
        if syntax.is_loss(last):
            return Value(differs=dataclasses.replace(here, kind="loss"))
        if last == "Thread" or last == "submit":
            target = given.named.get("target") or (given.values[0] if given.values else UNKNOWN)
            if isinstance(target.thing, Function):
                self._threads.append((frame.module, node, target.thing))
            return UNKNOWN
        values = given.values
        if isinstance(node.func, ast.Attribute):
            values = [self._value(node.func.value, frame), *values]
            if last in ("reverse", "sort"):
                self._reorder(node.func.value, last, frame)
        return self._passed_on(path, last, node, values, frame)

    def _reorder(self, node: ast.expr, last: str, frame: _Frame) -> None:
        if isinstance(node, ast.Name):
            origin = frame.tests[-1] if last == "reverse" and frame.tests else None
            value = frame.look_up(node.id)
            frame.names[node.id] = dataclasses.replace(value, order=origin, items=())

    def _passed_on(
        self, path: str, last: str, node: ast.Call, values: list[Value], frame: _Frame
    ) -> Value:
        value = join(UNKNOWN, *values)
        passes = last in known_calls.PASS_ON or path in known_calls.PASS_ON
        differs = value.differs if passes else None
        order = value.order if passes and last not in known_calls.ORDERED else None
        if last in known_calls.UNORDERED and (last in ("set", "frozenset") or value.order):
            integers = (
                node.args
                and isinstance(node.args[0], ast.Call)
                and (self._path(node.args[0].func, frame) == "range")
            )
            order = None if integers else Origin("set", frame.module.source(node), node.lineno)
        return Value(differs=differs, order=order, groups=value.groups if passes else frozenset())

    def _is_chance(self, path: str, last: str, frame: _Frame) -> bool:
        package = path.split(".")[0]
        if last in known_calls.SEEDS:
            frame.module.seeded.add(package)
        # Unlike these, `set_seed` and `seed_everything` seed all packages.
        known = frame.module.seeded <= {"random", "numpy", "torch"}
        is_seeded = package in frame.module.seeded or not known
        makes_generator = last[:1].isupper() or last in ("default_rng", *known_calls.SEEDS)
        return path.startswith(known_calls.CHANCES) and not makes_generator and not is_seeded

    # Threads

    def _check_threads(self) -> None:
        """Reports threads that make calls on a group that other threads also use."""
        for module, node, function in self._threads:
            own = {id(call.node) for call in function.calls}
            paths = _paths_of_program(module)
            others = [c for c in self._own_calls if c.path in paths and id(c.node) not in own]
            for call in function.calls:
                meets = [other for other in others if other.groups & call.groups]
                if meets:
                    self._report(rules.thread_group(module, node, call, meets[0]))
                    break


def _paths_of_program(module: Module) -> set[str]:
    """Returns the paths of a module and all that it imports."""
    paths: set[str] = set()
    modules = [module]
    while modules:
        one = modules.pop()
        if one.path not in paths:
            paths.add(one.path)
            modules += one.neighbors.values()
    return paths


def _of_all(calls: Sequence[Call]) -> list[Call]:
    """Returns the calls that every rank must make. Other calls can be for the members of a group
    only."""
    return [call for call in calls if call.of_all_ranks]


def _same(one: Sequence[Call], two: Sequence[Call]) -> bool:
    return [c.signature for c in _of_all(one)] == [c.signature for c in _of_all(two)]
