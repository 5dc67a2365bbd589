"""Small traces for tests: events by hand, and a reader that gives them out in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tracelens.evidence import Evidence
from tracelens.traces.reading import read_trace

__all__ = ["Bytes", "copy", "kernel", "launch", "op", "read", "span", "text"]

Json = dict[str, Any]


class Bytes:
    """A reader of bytes in memory, which gives at most ``most`` of them at a time."""

    def __init__(self, data: bytes, most: int = 1 << 30) -> None:
        self._data = data
        self._at = 0
        self._most = most

    def read(self, size: int, /) -> bytes:
        start = self._at
        self._at += min(size, self._most)
        return self._data[start : self._at]


def span(category: str, name: str, ts: float, dur: float, **fields: Any) -> Json:
    return {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": 1} | (
        fields
    )


def op(name: str, ts: float, dur: float, tid: int = 1) -> Json:
    return span("cpu_op", name, ts, dur, tid=tid)


def launch(ts: float, dur: float = 1, name: str = "cudaLaunchKernel") -> Json:
    return span("cuda_runtime", name, ts, dur)


def copy(name: str, ts: float, dur: float, size: object, stream: int = 7) -> Json:
    return span("gpu_memcpy", name, ts, dur, pid=0, tid=stream, args={"bytes": size})


def kernel(name: str, ts: float, dur: float, stream: int = 7, device: int = 0) -> Json:
    return span("kernel", name, ts, dur, pid=device, tid=stream)


def text(events: Iterable[object], **header: Any) -> bytes:
    return json.dumps({"schemaVersion": 1, **header, "traceEvents": list(events)}).encode()


def read(events: Iterable[object], **header: Any) -> Evidence:
    return read_trace(Bytes(text(events, **header)), "trace.json")
