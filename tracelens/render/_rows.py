"""Cells of a report's tables, for drawings: a saved report may hold anything in any of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["number", "word"]


def number(row: Mapping[str, Any], key: str, default: float = 0.0) -> float:
    """Return a cell as a finite number that is not negative; ``default`` for anything else."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return float(value) if math.isfinite(value) and value >= 0 else default


def word(row: Mapping[str, Any], key: str) -> str:
    """Return a cell as text; empty where there is none."""
    value = row.get(key)
    return "" if value is None else " ".join(str(value).split())
