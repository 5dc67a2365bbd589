"""The record types that a frame gathers, by name: a log kind that was not read is not imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tracelens.dynamo.phases import FramePhases
from tracelens.logs import Record

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["BREAK", "METRICS", "MODULE", "RECOMPILE", "TABLE", "TREE", "every", "held", "imported"]

#: A module of log kinds, and a record type in it.
Name = tuple[str, str]

METRICS: Name = ("tracelens.logs.torch_trace", "CompilationMetrics")
MODULE: Name = ("tracelens.logs.output_code", "OutputModule")
RECOMPILE: Name = ("tracelens.logs.recompiles", "Recompile")
BREAK: Name = ("tracelens.logs.graph_breaks", "GraphBreak")
TREE: Name = ("tracelens.logs.guards", "GuardTree")
TABLE: Name = ("tracelens.logs.autotune", "AutotuneTable")
#: What has a compile id in its place.
_GATHERED: tuple[Name, ...] = (
    METRICS,
    RECOMPILE,
    ("tracelens.logs.recompile_limits", "RecompileLimit"),
    BREAK,
    TREE,
    MODULE,
)


def imported(name: Name) -> type[Any] | None:
    """Return a record type; None where its module is not imported, so that no record is of it."""
    module, stem = name
    return getattr(sys.modules.get(module), stem, None)


def every() -> Iterator[type[Record]]:
    """Yield all of the types without which there is no frame, imported."""
    for module, stem in (*_GATHERED, TABLE):
        yield getattr(importlib.import_module(module), stem)


def held(evidence: Evidence) -> Iterator[type[Record]]:
    """Yield those that the evidence may hold."""
    yield from (kind for name in _GATHERED if (kind := imported(name)) is not None)
    if evidence.ticks:
        yield FramePhases
