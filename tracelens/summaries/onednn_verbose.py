"""What oneDNN and MKL ran, and in what precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracelens.evidence import Evidence, Table
from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec
from tracelens.onednn import precision, summary

__all__ = ["precisions", "tables"]


def tables(evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
    """Return ``primitives``: what ran, and ``precision``: what products were computed in.

    Both with the most expensive first.
    """
    rows = summary.primitives(evidence.table(PrimitiveExec), _isa(evidence))
    return {**({"primitives": rows} if rows else {}), **precisions(evidence)}


def precisions(evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
    """Return ``precision``, with the products of MKL."""
    execs, calls = evidence.table(PrimitiveExec), Table[Any](())
    if "mkl_verbose" in evidence.kinds:
        from tracelens.logs.mkl_verbose import MklCall  # noqa: PLC0415 -- of few logs

        calls = evidence.table(MklCall)
    return precision.tables(execs, calls, _isa(evidence))


def _isa(evidence: Evidence) -> str:
    return next((seen.record.isa for seen in evidence.table(CpuIsa)), "")
