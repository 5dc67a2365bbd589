"""How long a step took, with its spread: what two traces are compared by."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean, median, stdev
from typing import Any

from tracelens.evidence import Evidence, Times
from tracelens.logs.chrome_trace import CompiledRegion
from tracelens.traces.measured import Step, TraceHeader, Window

__all__ = ["step_times"]

#: Compiled frames with a row of their own.
MAX_REGIONS = 20


def step_times(evidence: Evidence) -> list[dict[str, Any]]:
    """Return rows of {kind, name, rank, n, mean_ms, std_ms, min_ms, max_ms, median_ms}.

    ``kind`` is ``step`` (one ``ProfilerStep#N``), ``trace`` (all that was recorded, of each rank),
    or ``region`` (one call of a compiled frame).
    """
    return [*_spans(evidence, "step"), *_spans(evidence, "trace"), *_regions(evidence)]


def _spans(evidence: Evidence, kind: str) -> Iterator[dict[str, Any]]:
    """Yield a row per rank."""
    headers = evidence.table(TraceHeader)
    ranks = {header.first.input: header.record.rank for header in headers}
    times: defaultdict[str, list[float]] = defaultdict(list)
    for seen in evidence.table(Step if kind == "step" else Window):
        times[seen.first.input].append(seen.record.ms)
    for path, found in times.items():
        yield {"kind": kind, "name": None, "rank": ranks.get(path), **_of(found)}


def _of(values: Sequence[float]) -> dict[str, Any]:
    return {
        "n": len(values),
        "mean_ms": round(fmean(values), 4),
        "std_ms": round(stdev(values), 4) if len(values) > 1 else None,
        "min_ms": round(min(values), 4),
        "max_ms": round(max(values), 4),
        "median_ms": round(median(values), 4),
    }


def _regions(evidence: Evidence) -> Iterator[dict[str, Any]]:
    found = [seen for seen in evidence.table(CompiledRegion) if seen.times and seen.times.n]
    for seen in sorted(found, key=lambda seen: (-seen.ms, seen.text))[:MAX_REGIONS]:
        times = seen.times
        if times is None:
            continue
        yield {
            "kind": "region",
            "name": str(seen.record)[:200],
            "rank": None,
            "n": times.n,
            "mean_ms": round(times.total / times.n, 4),
            "std_ms": _std(times),
            "min_ms": round(times.min, 4),
            "max_ms": round(times.max, 4),
            "median_ms": None,  # buckets tell too little
        }


def _std(times: Times) -> float | None:
    """Return the standard deviation, as near as the buckets tell (3 % of each time)."""
    if times.n < 2:
        return None
    mean = times.total / times.n
    squares = 0.0
    for key, count in times.buckets.items():
        middle = 2.0 ** ((key + 0.5) / times.RESOLUTION) if key > -(1 << 20) else 0.0
        squares += count * (min(max(middle, times.min), times.max) - mean) ** 2
    return round(math.sqrt(squares / (times.n - 1)), 4)
