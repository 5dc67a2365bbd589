"""Which of a few executions of oneDNN ran on a reference implementation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracelens.onednn.implementations import COMPUTE, Grade, grade
from tracelens.onednn.runs import is_unrolled

if TYPE_CHECKING:
    from tracelens.evidence import Seen
    from tracelens.logs.onednn_verbose import PrimitiveCreate, PrimitiveExec

__all__ = ["has_own_finding", "named", "told"]

#: So long a reference implementation is a finding of its own, whatever it computes.
LONG_MS = 1.0


def named(run: PrimitiveExec | PrimitiveCreate) -> str:
    """Return what ran, and how, for a sentence."""
    return f"`{run.primitive}` on `{run.impl}`"


def told(runs: Iterable[PrimitiveExec]) -> str:
    """Return the end of a sentence about these runs: which of them are slow, if any."""
    runs = list(runs)
    shown = {named(run): _is_slow(run) for run in runs}
    slow = [name for name, is_slow in shown.items() if is_slow]
    unrolled = next((run for run in runs if is_unrolled(run)), None)
    if not slow and unrolled is not None:
        return (
            f"; {named(unrolled)} copies the image apart and multiplies matrices, which is slower "
            "than a direct kernel: in channels-last (`.to(memory_format=torch.channels_last)`), or "
            "with more channels per group, there is one for most shapes"
        )
    if not slow:
        return "; none of it is a reference implementation"
    if len(slow) == len(shown):
        return ", a reference implementation, which is slow"
    if len(slow) == 1:
        return f"; the reference implementation is {slow[0]}"
    return f"; the reference implementations are {', '.join(slow)}"


def has_own_finding(rows: Iterable[Seen[PrimitiveExec]]) -> bool:
    """Tell whether ONE001 tells of one of them: a slow one that computes much, or takes long."""
    return any(
        _is_slow(row.record) and (row.record.primitive in COMPUTE or (row.ms or 0.0) >= LONG_MS)
        for row in rows
    )


def _is_slow(run: PrimitiveExec) -> bool:
    return grade(run.primitive, run.impl) is Grade.REFERENCE
