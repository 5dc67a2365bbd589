"""What takes less than an operator of the CPU in its shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.traces.measured import KernelWork
from tracelens.words import percent

__all__ = ["depthwise", "made_dense", "of_one_row"]

#: Weights of one input channel for each filter, of images with several: ``4x48x32x32 by 48x1x7x7``.
#: The backward pass is told by its result: the same weights were used forward.
_DEPTHWISE = re.compile(r"\d+x(?!1x)\d+x[\dx]+ by ((?!1x)\d+x1(?:x\d+){1,3})")
_BACKWARD = re.compile(r"[\dx]+ by ([\dx]+), backward")


#: A product of one row, and what its backward pass multiplies: a column by a row.
_ONE_ROW = re.compile(r"1x\d+ by .*|\d+x1 by 1x\d+")
#: How often such products are called at least where it is a loop that calls them.
MIN_ROWS = 1_000
#: Share of the trace from which on it is worth a word that a matrix is made dense.
MIN_DENSE = 0.1


def of_one_row(works: Iterable[KernelWork], whole: float, least: float) -> str:
    """Say so where products of one row each have the share ``least`` of a trace, and are many."""
    rows = [row for row in works if row.on_host and row.kind == "product"]
    rows = [row for row in rows if _ONE_ROW.fullmatch(row.shape)]
    n, ms = sum(row.count for row in rows), sum(row.ms for row in rows)
    if n < MIN_ROWS or not whole or ms < least * whole:
        return ""
    return (
        f"{n:,} products of one row each take {percent(min(1.0, ms / whole))}: where rows do not "
        "wait for each other, stacked they are one product"
    )


def made_dense(ms: float, whole: float) -> str:
    """Say so where ``to_dense`` takes ``ms`` milliseconds, which is much of a trace."""
    if not whole or ms < MIN_DENSE * whole:
        return ""
    return (
        f"`to_dense` takes {percent(min(1.0, ms / whole))}: a product with the sparse matrix as it "
        "is (`torch.sparse.mm`) needs neither it nor the zeros"
    )


def depthwise(works: Iterable[KernelWork], whole: float, least: float) -> str:
    """Say so where convolutions of one channel each have the share ``least`` of a trace.

    In channels_last the backward pass of 7 x 7 over 48 channels takes three fifths (torch 2.13).
    """
    rows = [row for row in works if row.on_host]
    found = [(row, _DEPTHWISE.fullmatch(row.shape)) for row in rows]
    weights = {match[1] for _, match in found if match}
    ms = sum(row.ms for row, match in found if match)
    again = [(row, _BACKWARD.fullmatch(row.shape)) for row in rows]
    ms += sum(row.ms for row, match in again if match and match[1] in weights)
    if not whole or ms < least * whole:
        return ""
    return (
        f"convolutions with one channel for each filter take {percent(min(1.0, ms / whole))}: with "
        "model and images in `torch.channels_last` they mostly take less"
    )
