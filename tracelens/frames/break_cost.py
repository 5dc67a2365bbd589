"""What a graph break costs in compile time: what follows it is compiled as a function of its own.

What it costs in each step, less to fuse and Python in between, no log of the compiler tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.frames import Frame
from tracelens.logs.torch_trace import CompilationMetrics
from tracelens.report import Cost

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.evidence import Table

__all__ = ["cost_of_break"]


def cost_of_break(site: BreakSite, frames: Table[Frame]) -> Cost | None:
    """Return what the functions that resume after ``site`` took to compile; None if none is known.

    Dynamo names such a function after the one that it is cut out of, and the line of the break.
    """
    lines = [*site.stack, site.line]
    names = {
        (frame.file, f"torch_dynamo_resume_in_{frame.function.rpartition('.')[2]}_at_{frame.line}")
        for frame in lines
        if frame.function
    }
    found = [row.record for row in frames if (row.record.file, row.record.function) in names]
    seconds = [frame.compile_seconds or 0.0 for frame in found]
    if not sum(seconds):
        return None
    exact = all(frame.of(CompilationMetrics) for frame in found)
    entries = "1 entry" if len(found) == 1 else f"{len(found)} entries"
    return Cost(
        ms=sum(seconds) * 1000,
        basis="measured" if exact else "estimated",
        of=f"compiling what comes after the break, {entries}",
    )
