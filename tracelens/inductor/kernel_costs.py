"""What generated kernels cost, by a trace of the run that the log is of."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.report import Cost

if TYPE_CHECKING:
    from tracelens.traces.rows import KernelTime

__all__ = ["cost_of"]


def cost_of(kernels: AbstractSet[str], times: Table[KernelTime]) -> Cost | None:
    """Return the time of all runs of ``kernels`` on the GPU, at most what leaving them out saves.

    None where no trace of the run holds them.
    """
    if not len(times):
        return None
    from tracelens.traces.views import COMPUTING  # noqa: PLC0415 -- most logs come without a trace

    rows = [row.record for row in times if row.record.share is not None]
    ms = sum(row.sum_ms for row in rows if row.full_name in kernels)
    whole = sum(row.sum_ms for row in rows)
    return Cost(ms=ms, share=ms / whole, basis="upper_bound", of=COMPUTING) if ms else None
