"""What a graph break is a part of: a library, the first call, a whole training step."""

from __future__ import annotations

from tracelens.report.stories import Story

__all__ = [
    "CLOCKS",
    "PACKING",
    "cold_start",
    "library",
    "recurrent",
    "traced_autograd",
    "training_step",
]

#: Functions that programs take times with.
CLOCKS = frozenset(
    {"time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "time.perf_counter_ns"}
)
#: Functions around the call of a recurrent module.
PACKING = frozenset({"pack_padded_sequence", "pack_sequence", "pad_packed_sequence"})


def cold_start(file: str, line: int) -> Story:
    """Return the story of a line that only the first call reaches."""
    return "cold start", file, line


def library(package: str) -> tuple[Story, ...]:
    """Return the story of all breaks of one library."""
    return (("breaks of a library", package),) if package else ()


def training_step(file: str, function: str) -> tuple[Story, ...]:
    """Return the story of a function that calls ``backward()``, logs, counts and takes times."""
    return (("training step", file, function),) if function else ()


def recurrent(file: str, function: str) -> tuple[Story, ...]:
    """Return the story of a function that packs sequences for a recurrent module."""
    return (("recurrent", file, function),) if function else ()


def traced_autograd() -> Story:
    """Return the story of all calls that one setting lets Dynamo trace."""
    return ("traced autograd",)
