"""What a graph break is a part of: a library, the first call, a whole training step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.report.stories import Story

if TYPE_CHECKING:
    from tracelens.rules.gbr._break_data import BreakData

__all__ = [
    "CLOCKS",
    "PACKING",
    "cold_start",
    "differentiated",
    "entered",
    "library",
    "recurrent",
    "traced_autograd",
    "training_step",
    "within_entered",
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


def differentiated(file: str, function: str) -> tuple[Story, ...]:
    """Return the story of a function that takes a gradient of what it marks for it."""
    return (("differentiated", file, function),) if function else ()


def recurrent(file: str, function: str) -> tuple[Story, ...]:
    """Return the story of a function that packs sequences for a recurrent module."""
    return (("recurrent", file, function),) if function else ()


def traced_autograd() -> Story:
    """Return the story of all calls that one setting lets Dynamo trace."""
    return ("traced autograd",)


def entered(file: str, line: int) -> Story:
    """Return the story of a call that no graph holds, and that Dynamo then enters all the same."""
    return "entered", file, line


def within_entered(data: BreakData) -> Iterator[Story]:
    """Return the calls through which a break in a package is reached from other code.

    Where such a call is left out of what is compiled, Dynamo enters the package no more.
    """
    for line in data.stack:
        if data.package and user_code.package(line.file) != data.package:
            yield entered(line.file, line.line)
