"""The key-value store of a rank. All stores of the job share one store, in the broker.

torch itself uses a store to connect groups. Only calls by the user's code are recorded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from types import FrameType
from typing import Any, Optional, Union

import torch
import torch.distributed as dist

from pipesim.recorder import locks, polls
from pipesim.recorder import messages as m
from pipesim.recorder.places import is_result_used, is_users
from pipesim.recorder.rank_recorder import RankRecorder

Value = Union[str, bytes]

_StoreError = getattr(dist, "DistStoreError", RuntimeError)

# Ops whose answer depends on the earlier calls of other ranks.
_ASKING = frozenset({"compare_set", "count", "keys", "len", "pop", "try_pop"})

# Ops that wait for a key.
_WAITING = frozenset({"get", "pop", "wait"})


# Without libuv, TCPStore wakes no rank that waits for a key when compare_set sets it.
_NO_LIBUV = "no rank waits for a key before compare_set sets it: this store would not wake it"


def _has_libuv() -> bool:
    """Whether TCPStore uses libuv, as it does by default since 2.4."""
    major, minor = torch.__version__.split(".")[:2]
    return (int(major), int(minor)) >= (2, 4) and os.environ.get("USE_LIBUV", "1") != "0"


def _bytes(value: Value) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class RecordingStore(dist.Store):
    """A store that replaces TCPStore, FileStore and HashStore. C++'s PrefixStore also calls it,
    through trampolines (PythonStore in torch/csrc/distributed/c10d/init.cpp) with other names for
    some methods."""

    def __init__(
        self, recorder: RankRecorder, name: str = "", client: Optional[locks.Use] = None
    ) -> None:
        super().__init__()
        self._recorder = recorder
        self._client = client  # threads of one client wait for each other
        self._prefix = f"{name}/" if name else ""  # stores with different names share no keys
        self._timeout = timedelta(minutes=30)
        self._seconds: Optional[float] = None  # timeout set by the script itself
        self._clones: list[RecordingStore] = []  # keeps clones alive that only C++ holds

    def set(self, key: str, value: Value) -> None:
        self._call(m.StoreCall("set", (key,), value=_bytes(value)), sys._getframe(1))

    def get(self, key: str) -> bytes:
        value = self._call(m.StoreCall("get", (key,), seconds=self._seconds), sys._getframe(1))
        return bytes(value)

    def wait(self, keys: Sequence[str], timeout: Optional[timedelta] = None) -> None:
        seconds = timeout.total_seconds() if timeout else self._seconds
        self._call(m.StoreCall("wait", tuple(keys), seconds=seconds), sys._getframe(1))

    def add(self, key: str, amount: int) -> int:
        return int(self._call(m.StoreCall("add", (key,), amount=amount), sys._getframe(1)))

    def check(self, keys: Sequence[str]) -> bool:
        caller = sys._getframe(1)
        are_set = bool(self._call(m.StoreCall("check", tuple(keys)), caller))
        if are_set:
            self._note_wait(tuple(keys), caller)
        return are_set

    def compare_set(self, key: str, expected: Value, value: Value) -> bytes:
        caller = sys._getframe(1)
        if is_users(caller) and not _has_libuv():
            self._recorder.note("other", _NO_LIBUV)
        call = m.StoreCall("compare_set", (key,), _bytes(value), _bytes(expected))
        found = bytes(self._call(call, caller))
        if found not in (_bytes(value), _bytes(expected)):
            self._note_wait((key,), caller)
        return found

    def delete_key(self, key: str) -> bool:
        caller = sys._getframe(1)
        was_set, may_be_waited_for = self._call(m.StoreCall("delete", (key,)), caller)
        if was_set and may_be_waited_for and is_users(caller):
            self._recorder.note("store_delete", "others wait for a key that this rank deletes")
        return bool(was_set)

    def num_keys(self) -> int:
        return int(self._call(m.StoreCall("count", ()), sys._getframe(1)))

    deleteKey = delete_key
    getNumKeys = num_keys

    # Methods of 2.0 and later; `clone`, queues, `list_keys` and `barrier` are newer

    def has_extended_api(self) -> bool:
        return True

    def clone(self) -> RecordingStore:
        copy = RecordingStore(self._recorder, client=locks.Use() if self._client else None)
        copy._prefix, copy._timeout = self._prefix, self._timeout
        copy._seconds = self._seconds
        self._clones.append(copy)
        return copy

    def append(self, key: str, value: Value) -> None:
        self._call(m.StoreCall("append", (key,), value=_bytes(value)), sys._getframe(1))

    def multi_set(self, keys: Sequence[str], values: Sequence[Value]) -> None:
        for key, value in zip(keys, values):
            self._call(m.StoreCall("set", (key,), value=_bytes(value)), sys._getframe(1))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        caller = sys._getframe(1)
        return [bytes(self._call(m.StoreCall("get", (key,)), caller)) for key in keys]

    def list_keys(self) -> list[str]:
        caller = sys._getframe(1)
        keys = self._call(m.StoreCall("keys", ()), caller)
        return [key[len(self._prefix) :] for key in keys if key.startswith(self._prefix)]

    # In the record, each value of a queue has its own key, which one rank sets and one rank gets.

    def queue_push(self, key: str, value: Value) -> None:
        caller = sys._getframe(1)
        number = self._call(m.StoreCall("push", (key,), value=_bytes(value)), caller)
        if is_users(caller):
            self._recorder.add({"store": "set", "key": f"{key}#{number}"})

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        caller = sys._getframe(1)
        found = self._call(m.StoreCall("pop" if block else "try_pop", (key,)), caller)
        if found is None:
            raise getattr(dist, "QueueEmptyError", RuntimeError)("queue is empty")
        number, value = found
        if is_users(caller) and not block:
            self._recorder.add({"store": "get", "key": f"{key}#{number}"})
        return bytes(value)

    def queue_len(self, key: str) -> int:
        return int(self._call(m.StoreCall("len", (key,)), sys._getframe(1)))

    def barrier(self, key: str, world_size: int, timeout: Optional[timedelta] = None) -> None:
        """Waits for `world_size` ranks. Like torch's implementation, it uses two keys."""
        caller = sys._getframe(1)
        call = m.StoreCall("add", (f"{key}/num_members",), amount=1)
        if self._call(call, caller, asks=False) == world_size:
            self._call(m.StoreCall("set", (f"{key}/last_member",), value=b"1"), caller)
        seconds = timeout.total_seconds() if timeout else self._seconds
        self._call(m.StoreCall("wait", (f"{key}/last_member",), seconds=seconds), caller)

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout
        if is_users(sys._getframe(1)):
            self._seconds = timeout.total_seconds()

    @property
    def timeout(self) -> timedelta:
        return self._timeout

    def _call(self, call: m.StoreCall, caller: FrameType, asks: bool = True) -> Any:
        """Makes a call of the store. `asks`: the answer can reveal which rank came first."""
        entry: Optional[dict[str, Any]] = None
        if is_users(caller):
            entry = self._entry(call)
            if asks and (call.op in _ASKING or call.amount != 0):
                self._note_order(call, caller)
            if call.op == "check":
                self._note_answer(call, caller)
            if call.op == "append":
                self._recorder.note("store_order", "the store says which rank comes first")
        names = ", ".join(call.keys)
        call.keys = tuple(self._prefix + key for key in call.keys)
        if self._client is not None:
            self._client.call_store(call.op in _WAITING)
        reply = self._recorder.store_call(call, entry)
        if reply.late:
            milliseconds = round((call.seconds or 0) * 1000)
            error = _StoreError(f"wait timeout after {milliseconds}ms, keys: {names}")
            raise self._recorder.free.as_answer(error)
        return reply.value

    @staticmethod
    def _entry(call: m.StoreCall) -> Optional[dict[str, Any]]:
        """Returns the record's entry for a call, or None. The key of a pop is "#next" until it is
        known which value the pop gets."""
        if call.op in ("count", "keys", "len", "try_pop"):
            return None
        names = {"append": "set", "push": "set", "pop": "get"}
        entry: dict[str, Any] = {"store": names.get(call.op, call.op)}
        if call.op == "pop":
            entry["key"] = f"{call.keys[0]}#next"
        elif call.op in ("wait", "check"):
            entry["keys"] = list(call.keys)
        else:
            entry["key"] = call.keys[0]
        if call.op == "add":
            entry["amount"] = call.amount
        return entry

    def _note_order(self, call: m.StoreCall, caller: FrameType) -> None:
        """Adds a note that the answer depends on which rank came first, if the script uses the
        answer."""
        if self._note_answer(call, caller):
            self._recorder.note("store_order", "the store says which rank comes first")

    def _note_wait(self, keys: tuple[str, ...], caller: FrameType) -> None:
        """Records that the rank has waited for the keys, if a loop has polled them."""
        if is_users(caller) and polls.is_wait(caller):
            self._recorder.add({"store": "wait", "keys": list(keys)})

    def _note_answer(self, call: m.StoreCall, caller: FrameType) -> bool:
        """Notes a free answer, if the script uses it. Returns whether it does."""
        is_used = is_result_used(caller.f_code, caller.f_lasti)
        if is_used and self._recorder.free.is_free(caller):
            self._recorder.free.note("store", f"{call.op}()")
        return is_used
