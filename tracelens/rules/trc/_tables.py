"""What a printed table of the profiler means that has no columns of a GPU."""

from __future__ import annotations

from tracelens.logs.key_averages import Requested
from tracelens.traces.printed import PrintedProfile
from tracelens.words import percent

__all__ = ["of_table"]

MAX_NAMED = 3


def of_table(table: PrintedProfile, beside: Requested, *, asked: bool) -> str:
    """Say what shows that a GPU was used, or was to be recorded; else that it may be a CPU."""
    if table.on_gpu:
        names = ", ".join(f"`{name}`" for name in table.on_gpu[:MAX_NAMED])
        return f"{names} show that a GPU was used: how long it worked is not in this table."
    if beside.on_cuda:
        why = (
            "no kernel and no copy was recorded, though CUDA was to be"
            if asked
            else "CUDA is not among the profiler's activities"
        )
        return (
            f"The program in the same text puts its tensors on a CUDA device, and {why}: all times "
            "are those of the host, which launches the work and does not wait for it."
        )
    if asked:
        return (
            "The program in the same text asks for ProfilerActivity.CUDA. If anything ran on a "
            "GPU, none of it was recorded; if all of it ran on the CPU, nothing is missing."
        )
    return (
        f"Harmless for a program on the CPU{_longest(table)}. If it used a GPU, the profiler "
        "saw nothing of it: CUDA was not among its activities, or CUPTI could not be used."
    )


def _longest(table: PrintedProfile) -> str:
    own = table.of(lambda name: not name.startswith("ProfilerStep"))
    most = max(own, key=lambda one: one.host_ms, default=None)
    if most is None or not (most.host_ms and table.host_ms):
        return ""
    share = percent(min(1.0, most.host_ms / table.host_ms))
    return f", where `{most.name}` takes most of the time, {share}"
