"""Python's statements and expressions, which a traced recording must not change. Each rank
all-reduces a sum of all results, so the record shows whether a result differs."""

from __future__ import annotations

import dataclasses
import functools
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
results: list[object] = []


def keep(*values: object) -> None:
    results.extend(values)


@dataclasses.dataclass
class Point:
    x: int
    y: int = 2
    tags: list[str] = dataclasses.field(default_factory=list)

    @property
    def norm(self) -> int:
        return self.x**2 + self.y**2


class Once:
    """An object whose truth and whose comparison may be asked for only once."""

    def __init__(self) -> None:
        self.asked = 0

    def __bool__(self) -> bool:
        self.asked += 1
        return True

    def __lt__(self, other: object) -> Once:
        return self


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return wrapper


@decorated
def variadic(a, /, b, *rest, c=3, **named):
    "A docstring."
    keep(len(locals()))
    return a + b + sum(rest) + c + sum(named.values())


def counter():
    count = 0

    def step():
        nonlocal count
        count += 1
        return count

    return step


def fibonacci(n):
    a, b = 0, 1
    while a < n:
        yield a
        a, b = b, a + b
    else:
        yield -1


def unwinding():
    for number in range(3):
        try:
            if number == 1:
                raise KeyError(number)
        except KeyError as error:
            keep(str(error))
            continue
        else:
            keep("else")
        finally:
            keep("finally")
    else:
        keep("done")
    return "end"


once = Once()
keep("yes" if once else "no", once.asked)
if once < 3:
    keep(once.asked)
keep(variadic.__doc__, variadic(1, 2, 3, d=4), variadic(1, b=2))
keep(list(fibonacci(30)), unwinding(), Point(1).norm, Point(2, tags=["a"]))
step = counter()
keep([step() for _ in range(3) if step() % 2], {k: v for k, v in zip("ab", (1, 2))})
keep(sum(x * y for x in range(4) for y in range(x) if x and y), {x % 3 for x in range(7)})
keep(1 < len(results) <= 1000, not results, None or step(), 0 and step(), results and step())
first, *others = range(5)
table = {"a": [1]}
table["a"].append(2)
table["b"] = first
del table["b"]
keep(others, table, f"{first!r:>4}", (lambda n: n if n else step())(0))
if (n := step()) > 2:
    keep(n)
with torch.no_grad() as nothing:
    keep(nothing, torch.is_grad_enabled())
assert results, "not empty"
total: int = 0
for index, value in enumerate(results):
    total += hash_of if (hash_of := len(repr(value))) % 2 else index
    if total > 10_000:
        break
print(sys.argv, __name__, __file__.rpartition("/")[2], total, results)
dist.all_reduce(torch.full((total,), float(total)))
