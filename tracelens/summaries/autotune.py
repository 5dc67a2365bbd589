"""How the candidates of each autotuned shape spread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracelens.evidence import Evidence
from tracelens.logs.autotune import AutotuneTable

__all__ = ["tables"]

#: Shapes, those with the largest spread of times first, and candidates of each.
MAX_SHAPES, MAX_CHOICES = 30, 12


def tables(evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
    """Return ``autotune_candidates``: what was tried for a shape, the fastest first."""
    found = [seen.record for seen in evidence.table(AutotuneTable) if seen.record.ranked]
    found.sort(key=lambda table: -table.ranked[-1].ms)
    rows = [
        {
            "op": table.op,
            "shape": table.shape,
            "candidate": choice.kernel,
            "template": choice.is_template,
            "ms": choice.ms,
        }
        for table in found[:MAX_SHAPES]
        for choice in table.ranked[:MAX_CHOICES]
    ]
    return {"autotune_candidates": rows} if rows else {}
