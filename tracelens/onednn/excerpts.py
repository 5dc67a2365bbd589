"""A few pasted lines: where counts say nothing, what stands beside what does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tracelens.evidence import Seen

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import PrimitiveExec

__all__ = ["SHARE_OF_EXCERPT", "adjacent", "is_excerpt"]

#: Executions up to which a log is an excerpt: no iteration can be told from the next.
MAX_EXECUTIONS = 60
#: Part of the time shown from which a defect of an excerpt is reported.
SHARE_OF_EXCERPT = 0.2
#: Lines between a reorder and what reads it: the reorder of another operand.
MAX_DISTANCE = 2


def is_excerpt(execs: Iterable[Seen[PrimitiveExec]]) -> bool:
    """Whether the log holds so few executions that it must be one that somebody pasted."""
    return sum(row.count for row in execs) <= MAX_EXECUTIONS


def adjacent(before: Seen[Any], after: Seen[Any]) -> bool:
    """Whether the first line of ``after`` stands straight behind that of ``before``."""
    one, other = before.first, after.first
    same = (one.input, one.writer) == (other.input, other.writer)
    return same and 0 < other.line - one.line <= MAX_DISTANCE
