"""Counters of what Inductor wrote: kernels, library calls, fallbacks, and what a search chose."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.report.compare.measures import MAX_ROWS, Measure, Row, named, rows, summed, watched
from tracelens.report.model import Report

__all__ = ["generated_code", "tuning", "winners"]

#: The rule whose findings are the operators that no code was generated for.
FALLBACK = "IND001"


def generated_code(report: Report) -> Iterator[Measure]:
    """Yield how many kernels and library calls the generated code has, and what fell back."""
    found = [row for row in rows(report, "kernels") if "kernel" in row]
    if not found and not watched(report, "output_code"):
        return
    graphs = {(row.get("run"), row.get("frame"), row.get("graph")) for row in found}
    frames = rows(report, "frames")
    yield Measure("graphs", len(graphs), better=None, at_least=len(found) >= MAX_ROWS)
    kernels, cut = summed(frames, "kernels"), len(found) >= MAX_ROWS
    if not cut or kernels is None:
        kernels = len(found)
    yield Measure("kernels", kernels, at_least=cut and kernels == len(found))
    counted: list[Row] = [{"language": row.get("language"), "n": 1} for row in found]
    if len({row["language"] for row in counted}) > 1:
        yield from named("kernels", counted, "language", "n", at_least=cut)
    if (calls := summed(frames, "library_calls")) is not None:
        yield Measure("library_calls", calls, better=None, at_least=len(frames) >= MAX_ROWS)
    yield from _fallbacks(report)


def _fallbacks(report: Report) -> Iterator[Measure]:
    found = [
        (", ".join(finding.data.get("operators", ())), int(finding.data.get("calls") or 0))
        for finding in report.findings
        if finding.code == FALLBACK and finding.data.get("calls")
    ]
    yield Measure("fallbacks", sum(calls for _, calls in found))
    yield from (Measure("fallbacks", calls, of=name) for name, calls in found)


def tuning(report: Report) -> Iterator[Measure]:
    """Yield how long the search for the fastest candidate took."""
    found = rows(report, "autotune")
    if found:
        cut = len(found) >= MAX_ROWS
        yield Measure("autotune_searches", len(found), better=None, at_least=cut)
        if (seconds := summed(found, "seconds")) is not None:
            yield Measure("autotune_s", round(seconds, 3), unit="s", at_least=cut)
        if (best := summed(found, "winner_ms")) is not None:
            yield Measure("autotune_winners_ms", round(best, 4), unit="ms", at_least=cut)


def winners(report: Report) -> dict[str, tuple[str | None, float | None]]:
    """Return who won each search, and its time; of several searches for one shape, the last."""
    return {
        " ".join(str(row[key]) for key in ("op", "shape", "dtype") if row.get(key)): (
            row.get("winner"),
            row.get("winner_ms"),
        )
        for row in rows(report, "autotune")
    }
