"""Counters of what oneDNN executed: time by implementation, and how much of it is reference."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.report.compare.measures import MAX_ROWS, Measure, named, rows, summed, watched
from tracelens.report.model import Report

__all__ = ["primitives"]

#: Classes of implementations that do nothing about speed.
SLOW = {"reference", "disguised"}
#: Primitives whose executions tell how much a program did, whatever layouts it used.
PRODUCTS = {"matmul", "inner_product", "convolution", "deconvolution", "rnn"}
WORK = "onednn_products"


def primitives(report: Report) -> Iterator[Measure]:
    """Yield executions and their time, by implementation, and the shares of slow ones.

    How long a program ran is in every total; what one product took with its reorders is not.
    """
    found = rows(report, "primitives")
    if not found and not watched(report, "onednn_verbose"):
        return
    cut = len(found) >= MAX_ROWS
    whole = summed(found, "ms") or 0.0
    yield Measure("onednn_ms", round(whole, 4), unit="ms", at_least=cut, grows_with=WORK)
    impls = [row | {"impl": f"{row['primitive']} {row['impl']}"} for row in found]
    yield from named("onednn_ms", impls, "impl", "ms", unit="ms", at_least=cut, grows_with=WORK)
    moved = [row for row in found if row["primitive"] == "reorder"]
    products = summed([row for row in found if row["primitive"] in PRODUCTS], "count")
    yield Measure(WORK, products or 0, better=None, at_least=cut)
    if products:
        yield Measure("onednn_ms_per_product", round(whole / products, 5), unit="ms")
        reorders = summed(moved, "count") or 0
        yield Measure("reorders_per_product", round(reorders / products, 3))
    calls = summed(found, "count") or 0
    yield Measure("onednn_calls", calls, better=None, at_least=cut)
    yield from named("onednn_calls", found, "primitive", "count", better=None, at_least=cut)
    if whole:
        slow = summed([row for row in found if row.get("class") in SLOW], "ms") or 0.0
        yield Measure("reference_share", round(slow / whole, 4), unit="share")
        yield Measure("reorder_share", round((summed(moved, "ms") or 0.0) / whole, 4), unit="share")
