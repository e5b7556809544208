"""The key-value store of a rank: all stores of the job are one, in the broker.

torch itself uses a store to connect groups. Only calls that the user's code makes are recorded.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Sequence
from datetime import timedelta
from types import CodeType, FrameType
from typing import Any, Optional, Union

import torch.distributed as dist

from pipesim.recorder import messages as m
from pipesim.recorder.places import is_users
from pipesim.recorder.rank_recorder import RankRecorder

Value = Union[str, bytes]


def _bytes(value: Value) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class RecordingStore(dist.Store):
    """In the place of TCPStore, FileStore and HashStore; also called by C++'s PrefixStore, whose
    trampolines (PythonStore in torch/csrc/distributed/c10d/init.cpp) use some other names."""

    def __init__(self, recorder: RankRecorder, name: str = "") -> None:
        super().__init__()
        self._recorder = recorder
        self._prefix = f"{name}/" if name else ""  # stores of other names share no keys
        self._timeout = timedelta(minutes=30)

    def set(self, key: str, value: Value) -> None:
        self._call(m.StoreCall("set", (key,), value=_bytes(value)), sys._getframe(1))

    def get(self, key: str) -> bytes:
        value = self._call(m.StoreCall("get", (key,)), sys._getframe(1))
        return bytes(value)

    def wait(self, keys: Sequence[str], timeout: Optional[timedelta] = None) -> None:
        self._call(m.StoreCall("wait", tuple(keys)), sys._getframe(1))

    def add(self, key: str, amount: int) -> int:
        return int(self._call(m.StoreCall("add", (key,), amount=amount), sys._getframe(1)))

    def check(self, keys: Sequence[str]) -> bool:
        return bool(self._call(m.StoreCall("check", tuple(keys)), sys._getframe(1)))

    def compare_set(self, key: str, expected: Value, value: Value) -> bytes:
        call = m.StoreCall("compare_set", (key,), _bytes(value), _bytes(expected))
        return bytes(self._call(call, sys._getframe(1)))

    def delete_key(self, key: str) -> bool:
        return bool(self._call(m.StoreCall("delete", (key,)), sys._getframe(1)))

    def num_keys(self) -> int:
        return int(self._call(m.StoreCall("count", ()), sys._getframe(1)))

    deleteKey = delete_key
    getNumKeys = num_keys

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout

    @property
    def timeout(self) -> timedelta:
        return self._timeout

    def _call(self, call: m.StoreCall, caller: FrameType) -> Any:
        entry: Optional[dict[str, Any]] = None
        if is_users(caller) and call.op != "count":
            entry = {"store": call.op}
            if call.op in ("wait", "check"):
                entry["keys"] = list(call.keys)
            else:
                entry["key"] = call.keys[0]
            if call.op == "add":
                entry["amount"] = call.amount
            if call.op == "compare_set" or call.amount != 0:
                self._note_order(caller)
        call.keys = tuple(self._prefix + key for key in call.keys)
        return self._recorder.store_call(call, entry)

    def _note_order(self, caller: FrameType) -> None:
        """What the store answers depends on which rank came first, if the script looks at it."""
        if _is_result_used(caller.f_code, caller.f_lasti):
            self._recorder.note("store_order", "the store says which rank comes first")


@functools.lru_cache(maxsize=None)
def _is_result_used(code: CodeType, offset: int) -> bool:
    """Whether the instruction behind the call at `offset` does not drop what it returned."""
    later = (i for i in dis.get_instructions(code) if i.offset > offset)
    return next(later).opname != "POP_TOP"
