"""Apple's GPU, of which the profiler records nothing: operators show that a program runs on it."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.late import late
from tracelens.logs.chrome_trace import Operator
from tracelens.traces.names import Name

__all__ = ["MPS", "on_mps"]

#: As what they are counted among the events of devices that are not read.
MPS = "MPS"
_OF_MPS = late(r"(?:^|_)mps(?:_|$)")
#: What also tensors have that are nested, on any device.
_OR_NESTED = "linear_backward"


def on_mps(names: Iterable[Name]) -> dict[str, int]:
    """Count the operators that run on Apple's GPU and nowhere else."""
    calls = [
        (name.record.op, name.count)
        for name in names
        if isinstance(name.record, Operator) and name.record.namespace == "aten"
    ]
    nested = any("nested" in op for op, _ in calls)
    count = sum(n for op, n in calls if _OF_MPS.search(op) or (op == _OR_NESTED and not nested))
    return {MPS: count} if count else {}
