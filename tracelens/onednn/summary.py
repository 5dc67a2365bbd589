"""How a report shows primitives: as a table of what ran, and as lines of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from tracelens.evidence import Seen, Table, Times
from tracelens.logs import Record
from tracelens.onednn.implementations import grade
from tracelens.onednn.runs import Spent
from tracelens.report import EvidenceLine

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import PrimitiveExec

__all__ = ["primitives", "quote"]

R = TypeVar("R", bound=Record)

#: Rows of the table; what is left out is the cheapest.
MAX_ROWS = 200


def primitives(execs: Table[PrimitiveExec], isa: str = "") -> list[dict[str, Any]]:
    """Return one row per primitive, implementation, direction, data types and shape.

    ``ms`` is the total, ``share`` the part of all execution time, both sides without what first
    executions took longer (as findings say it), ``gflops`` the rate at the median
    time, or ``gbs`` where the primitive only moves data. ``engine`` is there where it is not the
    CPU's. The most expensive row is first.
    """
    groups: dict[tuple[str, ...], tuple[PrimitiveExec, Times]] = {}
    for seen in execs:
        run = seen.record
        key = (run.primitive, run.impl, run.prop_kind, run.precision, run.shape, run.engine)
        _, times = groups.setdefault(key, (run, Times()))
        if seen.times is not None:
            times.merge(seen.times)
    spent = Spent.of(execs)
    rows = [_row(run, times, spent.share(times.steady), isa) for run, times in groups.values()]
    rows.sort(key=lambda row: (-row["ms"], -row["count"], row["primitive"], row["shape"]))
    return rows[:MAX_ROWS]


def quote(row: Seen[R], note: str = "") -> EvidenceLine:
    """Return the first line of ``row`` as it stands in the log, with its time."""
    line = row.quote(note)
    if row.times is None or not line.text.endswith(","):
        return line
    return line.model_copy(update={"text": f"{line.text}{row.times.first:g}"})


def _row(run: PrimitiveExec, times: Times, share: float, isa: str) -> dict[str, Any]:
    median = times.median
    operations, moved = run.flops, run.bytes
    return {
        "primitive": run.primitive,
        "impl": run.impl,
        "class": str(grade(run.primitive, run.impl, isa)),
        **({"engine": run.engine} if run.engine[:3] not in {"", "cpu"} else {}),
        "prop_kind": run.prop_kind,
        "dtypes": run.precision,
        "shape": run.shape,
        "count": times.n,
        "ms": _short(times.total),
        "median_ms": _short(median),
        "share": round(share, 4),
        "gflops": _short(operations / median / 1e6) if operations and median else None,
        "gbs": _short(moved / median / 1e6) if not operations and moved and median else None,
    }


def _short(value: float) -> float:
    """Round to four significant digits."""
    return float(f"{value:.4g}")
