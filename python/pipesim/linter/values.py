"""Values as far as lint knows them: whether ranks can have different ones, and what they are."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any, Optional

# Group of all ranks. The name of any other group that has all ranks starts with ALL.
WORLD = "the world group"
ALL = "a group of all ranks"


@dataclasses.dataclass(frozen=True)
class Origin:
    """The reason why ranks can have different values."""

    kind: str  # "rank", "set", "clock", "chance", "loss", "error" or "poll"
    text: str  # the user's words for it: "rank == 0", "time.time()"
    line: int


@dataclasses.dataclass(frozen=True)
class Value:
    """The value of an expression, as far as it is known."""

    differs: Optional[Origin] = None  # ranks can have different values
    order: Optional[Origin] = None  # ranks can iterate over it in different orders
    items: tuple[Value, ...] = ()  # elements of a tuple or list
    work: str = ""  # "message" or "collective": an operation that is not done
    groups: frozenset[str] = frozenset()  # the process groups that it can be
    thing: Any = None  # the Module, Class, Function or instance (Instance) that it is


UNKNOWN = Value()


@dataclasses.dataclass(frozen=True)
class Call:
    """A call that all ranks of a group make together."""

    name: str
    groups: frozenset[str]
    node: ast.AST  # the call of the library's function
    path: str  # file that has the call
    via: str = ""  # function of the script through which it was reached

    @property
    def line(self) -> int:
        return int(getattr(self.node, "lineno", 0))

    @property
    def of_all_ranks(self) -> bool:
        return all(group == WORLD or group.startswith(ALL) for group in self.groups)

    @property
    def signature(self) -> tuple[str, frozenset[str]]:
        return self.name, self.groups


def join(*values: Value) -> Value:
    """Returns what is known of a value that can be any of `values`."""
    values = tuple(value for value in values if value is not UNKNOWN) or (UNKNOWN,)
    if len(values) == 1:
        return values[0]
    lengths = {len(value.items) for value in values}
    things = [value.thing for value in values if value.thing is not None]
    return Value(
        differs=first(value.differs for value in values),
        order=first(value.order for value in values),
        items=(
            tuple(join(*each) for each in zip(*(value.items for value in values)))
            if len(lengths) == 1
            else ()
        ),
        work=next((value.work for value in values if value.work), ""),
        groups=frozenset().union(*(value.groups for value in values)),
        thing=things[0] if things else None,
    )


def either(*values: Value) -> Value:
    """Returns what is known of a variable that one of several assignments set. The result is a
    known group only if all of `values` are."""
    value = join(*values)
    return (
        value
        if all(each.groups for each in values)
        else dataclasses.replace(value, groups=frozenset())
    )


def first(origins: Any) -> Optional[Origin]:
    return next((origin for origin in origins if origin is not None), None)
