"""A few pasted lines: where counts say nothing, what stands beside what does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tracelens.evidence import Seen
from tracelens.words import length, percent

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import PrimitiveExec

__all__ = ["LEAST_MS", "SHARE_OF_EXCERPT", "adjacent", "is_excerpt", "too_little"]

#: Executions up to which a log is an excerpt: no iteration can be told from the next.
MAX_EXECUTIONS = 60
#: Part of the time shown from which a defect of an excerpt is reported.
SHARE_OF_EXCERPT = 0.2
#: Milliseconds in all below which a share is noise in a whole log, and no warning in any.
LEAST_MS = 0.5
#: Lines between a reorder and what reads it: the reorder of another operand.
MAX_DISTANCE = 2


def is_excerpt(execs: Iterable[Seen[PrimitiveExec]]) -> bool:
    """Whether the log holds so few executions that it must be one that somebody pasted."""
    return sum(row.count for row in execs) <= MAX_EXECUTIONS


def too_little(
    ms: float, share: float, least: float, execs: Iterable[Seen[PrimitiveExec]], *, is_run: bool
) -> str:
    """Return why reorders that took ``ms`` are not worth a change; empty where they may be.

    An excerpt is judged by its shares: how long the whole run took it does not say. That it shows
    compiling, too (``is_run``), says that it is a short run, where only a large share counts.
    """
    if share < least:
        return f"they take less than {percent(least)} of the time"
    if ms < LEAST_MS and not (is_excerpt(execs) and (share >= SHARE_OF_EXCERPT or not is_run)):
        return f"they take {length(ms)} in all"
    return ""


def adjacent(before: Seen[Any], after: Seen[Any]) -> bool:
    """Whether the first line of ``after`` stands straight behind that of ``before``."""
    one, other = before.first, after.first
    same = (one.input, one.writer) == (other.input, other.writer)
    return same and 0 < other.line - one.line <= MAX_DISTANCE
