"""A GPU that the machine has, and of which the trace of a program on the CPU holds nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tracelens.evidence import Seen
from tracelens.logs.chrome_trace import RuntimeCall
from tracelens.traces.measured import SelfTime

__all__ = ["missing", "unused"]

#: An operator that takes this long each time, milliseconds, computes: no launch waits as long.
LONG_MS = 50.0
#: Its least share of the trace.
MIN_SHARE = 0.2
_RUNTIMES = ("cuda_", "hip_", "xpu_")


def unused(
    devices: tuple[str, ...],
    calls: Iterable[Seen[RuntimeCall]],
    own: list[Seen[SelfTime]],
    called: Mapping[str, int],
    whole: float,
) -> str:
    """Say that nothing ran on a GPU that is there; nothing where the trace may not have shown it.

    It would have, where the profiler recorded calls of its runtime; and operators that take very
    long each time compute on the CPU.
    """
    name = next(iter(devices), "")
    recorded = any(row.record.category.startswith(_RUNTIMES) for row in calls)
    long = any(
        row.record.ms >= max(MIN_SHARE * whole, LONG_MS * called[row.record.name])
        for row in own
        if row.record.name.startswith("aten::") and row.record.name in called
    )
    if not name or not (recorded or long):
        return ""
    return (
        f"the machine has a GPU ({name}), on which nothing ran: the model and its data are on the "
        'CPU; `model.to("cuda")`, and the same for the data, moves them'
    )


def missing(devices: tuple[str, ...]) -> str:
    """Say so where a GPU is named of which nothing was recorded."""
    name = next(iter(devices), "")
    return (
        f" The machine has a GPU ({name}), of which nothing was recorded: if the program uses it, "
        "record it too, with `ProfilerActivity.CUDA`."
        if name
        else ""
    )
