"""Counters of what Dynamo did: frames, entries, recompilations, breaks, guards, compile time."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.report.compare.measures import MAX_ROWS, Measure, named, rows, summed, watched
from tracelens.report.compiling import compiling
from tracelens.report.model import Report

__all__ = ["compilation", "graph_breaks", "guards", "recompiles"]

#: Any of these names each compiled frame; others name those in which something happened.
_FRAMES = ("torch_trace", "guards")
#: Any of these names at least those that a graph was compiled for.
_GRAPHS = ("output_code", "graph_code", "aot_graphs", "post_grad_graphs")


def compilation(report: Report) -> Iterator[Measure]:
    """Yield how many frames were compiled, into how many entries, and what that took.

    Without a structured log, the time is that between the first and the last record of a frame.
    """
    found = rows(report, "frames")
    if not watched(report, *_FRAMES, *_GRAPHS):
        return
    codes = {(row.get("run"), row.get("writer"), _code(row["frame"])) for row in found}
    cut = len(found) >= MAX_ROWS or not watched(report, *_FRAMES)
    yield Measure("frames", len(codes), better=None, at_least=cut)
    yield Measure("entries", len(found), at_least=cut)
    measured = watched(report, "torch_trace")
    # By the clocks of a log, a compilation may seem shorter than the searches in it.
    searched = summed(rows(report, "autotune"), "seconds") or 0.0
    if total := round(max(compiling(found, measured=measured).seconds, searched), 3):
        complete = measured and len(found) < MAX_ROWS
        yield Measure("compile_s", total, unit="s", at_least=not complete)
    yield from named(
        "compile_s", rows(report, "compile_phases"), "phase", "seconds", unit="s", at_least=False
    )


def _code(frame: str) -> str:
    return str(frame).partition("/")[0]


def recompiles(report: Report) -> Iterator[Measure]:
    """Yield how often something was compiled again, and which functions."""
    found = rows(report, "recompiles")
    if not found and not watched(report, "recompiles", "recompiles_verbose", "torch_trace"):
        return
    yield Measure("recompiles", summed(found, "count") or 0, at_least=len(found) >= MAX_ROWS)
    yield from named("recompiles", found, "function", "count")


def graph_breaks(report: Report) -> Iterator[Measure]:
    """Yield how often the graph broke, by cause, and how many frames were given up."""
    found = rows(report, "graph_breaks")
    if not found and not watched(report, "graph_breaks", "torch_trace"):
        return
    cut = len(found) >= MAX_ROWS
    yield Measure("graph_breaks", summed(found, "count") or 0, at_least=cut)
    yield from named("graph_breaks", found, "type", "count")
    yield Measure("frames_skipped", summed(found, "frames_skipped") or 0, at_least=cut)


def guards(report: Report) -> Iterator[Measure]:
    """Yield how many guards are checked, and how long one check of all takes."""
    found = rows(report, "guards")
    if not found and not watched(report, "guards"):
        return
    cut = len(found) >= MAX_ROWS
    yield Measure("guards", summed(found, "guards") or 0, at_least=cut)
    if (latency := summed(found, "latency_us")) is not None:
        yield Measure("guard_us", round(latency, 2), unit="us", at_least=cut)
