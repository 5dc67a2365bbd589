"""What is measured on a trace while it passes by, and what stands around its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from tracelens.evidence import Evidence, Seen
from tracelens.logs import Joined, Record

__all__ = ["Measured", "TraceHeader"]


class Measured(Joined):
    """Base: one record per thing measured and input, at the event where it was first seen."""

    switch = "torch.profiler.profile(...)"

    @classmethod
    def walks(cls) -> tuple[type[Record], ...]:
        """What is measured is found as it is."""
        return (cls,)

    @classmethod
    def join(cls, evidence: Evidence) -> Iterator[Seen[Self]]:
        """Return what the reader measured."""
        for seen in evidence.measured:
            if isinstance(seen.record, cls):
                yield seen


class TraceHeader(Measured):
    """What stands around the events: how the trace was recorded, and on what."""

    schema_version: int | None = None
    #: Names of the devices, in order; empty ones where the driver gives none.
    devices: tuple[str, ...] = ()
    #: First part of the compute capability of the first device: 8 is Ampere, 9 Hopper.
    major: int | None = None
    #: ``nccl``, ``gloo``; empty outside distributed runs.
    backend: str = ""
    rank: int | None = None
    world_size: int | None = None
    record_shapes: bool = False
    with_stack: bool = False
    profile_memory: bool = False
    with_modules: bool = False
    with_flops: bool = False
    #: ``CUDA 12.9``, ``HIP 7.0.51831``; empty without a device.
    runtime: str = ""
    #: Version of torch, where somebody put it there.
    torch: str = ""
