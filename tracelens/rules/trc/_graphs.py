"""Whether a step may be launched as one CUDA graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.logs.chrome_trace import RuntimeCall
from tracelens.traces.measured import TraceHeader

if TYPE_CHECKING:
    from tracelens.logs.recompiles import Recompile
    from tracelens.traces.rows import KernelTime

__all__ = ["in_use", "may_record", "mode_of"]


def in_use(calls: Table[RuntimeCall], source: str) -> bool:
    """Tell whether the program has CUDA graphs already: it launches them, or records some."""
    named = (row.record for row in calls.within(source))
    return any(call.captures or "GraphLaunch" in call.name for call in named)


def may_record(
    headers: Table[TraceHeader],
    source: str,
    recompiles: Table[Recompile],
    calls: Table[RuntimeCall],
) -> bool:
    """Tell whether CUDA graphs may be advised.

    Not where the program has some; nor for a GPU of Intel, or a device of Meta; nor where the log
    of the run shows that sizes change: with lengths that vary, a call of BERT took 7.5 ms instead
    of 2.9 on an H200, since each of them is recorded anew.
    """
    if in_use(calls, source):
        return False
    names = (name for row in headers.within(source) for name in row.record.devices)
    if any(name.startswith(("Intel", "MTIA")) for name in names):
        return False
    return not any("size mismatch at index" in row.text for row in recompiles)


def mode_of(times: Table[KernelTime], source: str) -> str:
    """Return the mode of ``torch.compile`` that has CUDA graphs and what the program has already.

    Where Triton's templates run, products were tuned: with ``reduce-overhead`` in its place, a step
    took 2.4 ms instead of 2.0 on an H200.
    """
    tuned = any(row.record.name.startswith("triton_tem_") for row in times.within(source))
    return "max-autotune" if tuned else "reduce-overhead"
