"""Rows about what kernels do not tell by name: operators, functions and lines that launch them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.traces.measured import Measured
from tracelens.traces.names import Name
from tracelens.traces.sites import LaunchedAt, launched_at
from tracelens.traces.spans import Kind

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["LaunchedIn", "launched_in"]


class LaunchedIn(Measured):
    """All calls of one operator, or of a function, but those inside another. Milliseconds."""

    #: Or the function: ``file(line): name``.
    operator: str
    calls: int
    device_ms: float
    kernels: int


def launched_in(reading: Reading) -> Iterator[tuple[Name, LaunchedIn | LaunchedAt]]:
    """Yield what each of these launched, where kernels and calls are joined."""
    if any(reading.devices.activities.correlations):
        for kind in (Kind.FORM, Kind.VALIDATES):
            yield from _launched_in(reading, kind)
        yield from launched_at(reading)


def _launched_in(reading: Reading, kind: Kind) -> Iterator[tuple[Name, LaunchedIn]]:
    tree, spans = reading.spans.of({kind}), reading.spans
    if tree is None:
        return
    whole = tree.inclusive(tree.launched(reading.runtime.calls, reading.devices.activities))
    sums: dict[int, tuple[int, float, int]] = {}
    for position, at in enumerate(tree.order):
        if tree.above[position] < 0:
            calls, us, kernels = sums.get(spans.names[at], (0, 0.0, 0))
            more = whole[position]
            sums[spans.names[at]] = calls + 1, us + more.us, kernels + more.kernels
    for number, (calls, us, kernels) in sums.items():
        name = spans.name_table.items[number]
        row = LaunchedIn(
            operator=str(name.record), calls=calls, device_ms=round(us / 1000, 6), kernels=kernels
        )
        yield name, row
