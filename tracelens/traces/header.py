"""What stands around the events of a trace: fields that Kineto, torch and others put there."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from tracelens.logs._trace_events import loads
from tracelens.traces.measured import TraceHeader

__all__ = ["read_header"]

T = TypeVar("T")
#: Devices that are listed.
MAX_DEVICES = 64
_FLAGS = ("record_shapes", "with_stack", "profile_memory", "with_modules", "with_flops")


class _Device(msgspec.Struct):
    name: str = ""
    #: Compute capability of CUDA devices; a generation number of others.
    major: int | float | str | None = msgspec.field(name="computeMajor", default=None)


class _Distributed(msgspec.Struct):
    backend: str = ""
    rank: int | None = None
    world_size: int | None = None


def read_header(text: bytes) -> TraceHeader:
    """Return the header of JSON ``text``. A field of another type than expected is not there."""
    try:
        fields = loads(text)
    except (ValueError, RecursionError):
        fields = {}
    if not isinstance(fields, dict):
        return TraceHeader()
    devices: list[_Device] = []
    for field in ("deviceProperties", "computeProperties"):
        devices = devices or _field(fields, field, list[_Device], [])
    distributed = _field(fields, "distributedInfo", _Distributed, _Distributed())
    return TraceHeader(
        schema_version=_field(fields, "schemaVersion", int | None, None),
        devices=tuple(device.name for device in devices[:MAX_DEVICES]),
        major=next((d.major for d in devices if isinstance(d.major, int)), None),
        backend=distributed.backend,
        rank=distributed.rank,
        world_size=distributed.world_size,
        runtime=_runtime(fields),
        torch=_field(fields, "torch_version", str, "")
        or _field(fields, "pytorch_version", str, ""),
        **{flag: bool(_field(fields, flag, int | bool, 0)) for flag in _FLAGS},
    )


def _field(fields: dict[str, Any], name: str, kind: type[T] | Any, otherwise: T) -> T:
    try:
        value: T = msgspec.convert(fields.get(name, otherwise), kind)
    except (ValueError, RecursionError):
        return otherwise
    return value


def _runtime(fields: dict[str, Any]) -> str:
    """Return the version of CUDA or HIP from its number: 12090 is 12.9, 70226015 is 7.2.26015."""
    cuda = _field(fields, "cuda_runtime_version", int, 0)
    if cuda:
        return f"CUDA {cuda // 1000}.{cuda % 1000 // 10}"
    hip = _field(fields, "hip_runtime_version", int, 0)
    return f"HIP {hip // 10_000_000}.{hip // 100_000 % 100}.{hip % 100_000}" if hip else ""
