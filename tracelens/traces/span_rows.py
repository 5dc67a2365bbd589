"""Rows about modules and compiled regions: what they took on the host and on the device."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracelens.logs.chrome_trace import CompiledRegion, ModuleCall
from tracelens.traces.measured import Measured
from tracelens.traces.names import Name
from tracelens.traces.spans import Kind, Owned, Tree

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["ModuleTime", "Recomputed", "RegionTime", "modules", "paths_of", "recomputed", "regions"]

#: Modules that are listed, those that take longest; and their depth.
MAX_MODULES = 200
MAX_DEPTH = 40


class ModuleTime(Measured):
    """All calls of one ``nn.Module``, by its way from the outermost. Milliseconds."""

    #: ``Encoder_0 > Layer_3 > Linear_7``: classes, each with a number among those of its class.
    module: str
    depth: int
    calls: int
    host_ms: float
    #: Kernels and copies that were launched in it, and in it but in no module inside it; None on
    #: the CPU.
    device_ms: float | None
    self_device_ms: float | None
    kernels: int | None


class RegionTime(Measured):
    """All calls of one compiled frame, or of a compiled backward pass. Milliseconds."""

    name: str
    #: Compile id; empty where the trace has none.
    frame: str
    calls: int
    host_ms: float
    device_ms: float | None
    kernels: int | None
    #: Looking for the code whose guards hold, just before its calls.
    lookup_ms: float
    #: Calls of compiled frames directly inside: each continues after a graph break, or is of a
    #: function that was not made part of the graph, or was compiled by itself.
    breaks: int
    longest_ms: float


class Recomputed(Measured):
    """What checkpointing computes again in the backward pass. Milliseconds."""

    calls: int
    host_ms: float
    #: What was launched in it; None on the CPU.
    device_ms: float | None


@dataclass
class _Sum:
    """What the spans of one row add up to. Microseconds."""

    first: Name
    calls: int = 0
    host: float = 0.0
    device: float = 0.0
    own: float = 0.0
    kernels: int = 0
    breaks: int = 0
    lookup: float = 0.0
    longest: float = 0.0

    def add(self, us: float, whole: Owned, own: Owned) -> None:
        self.calls += 1
        self.host += us
        self.device += whole.us
        self.own += own.us
        self.kernels += whole.kernels
        self.longest = max(self.longest, us)


def modules(reading: Reading) -> Iterator[tuple[Name, ModuleTime]]:
    """Yield the modules, what takes longest first."""
    tree = reading.spans.of({Kind.MODULE})
    if tree is None:
        return
    spans = reading.spans
    mine, paths = paths_of(tree)
    sums: dict[int, _Sum] = {}
    known, owned, whole = _owned(reading, tree)
    for position, (at, path) in enumerate(zip(tree.order, mine, strict=True)):
        name = spans.name_table.items[spans.names[at]]
        us = spans.ends[at] - spans.starts[at]
        sums.setdefault(path, _Sum(name)).add(us, whole[position], owned[position])
    best = sorted(sums.items(), key=lambda pair: (-pair[1].device, -pair[1].host, pair[0]))
    for path, each in best[:MAX_MODULES]:
        yield (
            each.first,
            ModuleTime(
                module=paths[path][0],
                depth=paths[path][1],
                calls=each.calls,
                host_ms=_ms(each.host),
                device_ms=_ms(each.device) if known else None,
                self_device_ms=_ms(each.own) if known else None,
                kernels=each.kernels if known else None,
            ),
        )


def paths_of(tree: Tree) -> tuple[array[int], list[tuple[str, int]]]:
    """Return the way of each span of modules, by number, and the ways with their depths."""
    spans = tree.spans
    numbers: dict[tuple[int, int], int] = {}
    paths: list[tuple[str, int]] = []
    mine = array("i")
    for position, at in enumerate(tree.order):
        above = tree.above[position]
        outer = mine[above] if above >= 0 else -1
        path = numbers.setdefault((outer, spans.names[at]), len(paths))
        if path == len(paths):
            name = spans.name_table.items[spans.names[at]]
            paths.append(_path(name, paths[outer] if outer >= 0 else ("", 0)))
        mine.append(path)
    return mine, paths


def _path(name: Name, outer: tuple[str, int]) -> tuple[str, int]:
    record = name.record
    own = str(record).removeprefix("nn.Module: ") if isinstance(record, ModuleCall) else name.text
    path, depth = outer
    if depth >= MAX_DEPTH:
        return outer
    return f"{path} > {own}" if path else own, depth + 1


def regions(reading: Reading) -> Iterator[tuple[Name, RegionTime]]:
    """Yield the compiled regions and backward passes, what takes longest first."""
    tree = reading.spans.of({Kind.REGION, Kind.BACKWARD})
    if tree is None:
        return
    spans = reading.spans
    sums: dict[int, _Sum] = {}
    known, owned, whole = _owned(reading, tree)
    for position, at in enumerate(tree.order):
        name = spans.name_table.items[spans.names[at]]
        us = spans.ends[at] - spans.starts[at]
        sums.setdefault(spans.names[at], _Sum(name)).add(us, whole[position], owned[position])
    for above in tree.above:
        if above >= 0:
            sums[spans.names[tree.order[above]]].breaks += 1
    for number, us in _lookups(reading, tree):
        sums[number].lookup += us
    for each in sorted(sums.values(), key=lambda one: (-one.device, -one.host, one.first.first)):
        record = each.first.record
        row = RegionTime(
            name=str(record),
            frame=record.frame if isinstance(record, CompiledRegion) else "",
            calls=each.calls,
            host_ms=_ms(each.host),
            device_ms=_ms(each.device) if known else None,
            kernels=each.kernels if known else None,
            lookup_ms=_ms(each.lookup),
            breaks=each.breaks,
            longest_ms=_ms(each.longest),
        )
        yield each.first, row


def recomputed(reading: Reading) -> Iterator[tuple[Name, Recomputed]]:
    """Yield what checkpointing computes again, if it does."""
    spans = reading.spans
    begun = sorted(spans.evaluated)
    for at, kind in enumerate(spans.kinds):
        if kind == Kind.CHECKPOINT:  # the backward pass follows in it
            after = bisect_right(begun, spans.starts[at])
            first = begun[after] if after < len(begun) else spans.starts[at]
            spans.ends[at] = first if first < spans.ends[at] else spans.starts[at]
    tree = spans.of({Kind.RECOMPUTED, Kind.CHECKPOINT})
    if tree is None:
        return
    known, owned, _ = _owned(reading, tree)
    us = math.fsum(
        spans.ends[at] - spans.starts[at]
        for position, at in enumerate(tree.order)
        if tree.above[position] < 0
    )
    row = Recomputed(
        calls=len(tree.order),
        host_ms=_ms(us),
        device_ms=_ms(math.fsum(each.us for each in owned)) if known else None,
    )
    yield spans.name_table.items[spans.names[tree.order[0]]], row


def _owned(reading: Reading, tree: Tree) -> tuple[bool, list[Owned], list[Owned]]:
    """Return whether the device is known, what spans brought it alone, and with those inside."""
    activities = reading.devices.activities
    known = len(activities.starts) > 0 and any(activities.correlations)
    if not known:
        nothing = [Owned(0.0, 0)] * len(tree.order)
        return False, nothing, nothing
    owned = tree.launched(reading.runtime.calls, activities)
    return True, owned, tree.inclusive(owned)


def _lookups(reading: Reading, tree: Tree) -> Iterator[tuple[int, float]]:
    """Yield what region comes next on its thread after lookups, and the time of these."""
    spans = reading.spans
    coming: defaultdict[int, list[tuple[float, bool, int]]] = defaultdict(list)
    for at in tree.order:
        coming[spans.threads[at]].append((spans.starts[at], True, at))
    for at, kind in enumerate(spans.kinds):
        if kind == Kind.LOOKUP:
            coming[spans.threads[at]].append((spans.starts[at], False, at))
    for of_it in coming.values():
        waiting: list[float] = []
        for _, is_region, at in sorted(of_it):
            if is_region:
                if waiting:
                    yield spans.names[at], math.fsum(waiting)
                waiting = []
            else:
                waiting.append(spans.ends[at] - spans.starts[at])


def _ms(us: float) -> float:
    """Return milliseconds, in whole nanoseconds."""
    return round(us / 1000, 6)
