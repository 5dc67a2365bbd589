"""What failed: the table that a report begins with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracelens.evidence import Evidence
from tracelens.failures import Failure

__all__ = ["tables"]

#: Characters of a message that a table keeps.
MAX_MESSAGE = 300


def tables(evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
    """Return ``failures``: each failure once, with the user's line that it is about."""
    rows = [
        {
            "run": seen.first.input,
            "stage": seen.record.stage,
            "exception": seen.record.exception,
            "message": seen.record.message[:MAX_MESSAGE],
            "file": seen.record.file or None,
            "line": seen.record.line or None,
            "function": seen.record.function or None,
            "generated": seen.record.generated or None,
        }
        for seen in evidence.table(Failure)
    ]
    return {"failures": rows} if rows else {}
