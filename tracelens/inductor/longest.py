"""Generated kernels so long that the compiler of C++ takes minutes for one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.inductor.origins import Lines
from tracelens.logs.output_code import OutputModule

if TYPE_CHECKING:
    from tracelens.logs._stack import StackFrame
    from tracelens.logs.graph_code import FxGraph

__all__ = ["Longest", "longest"]

#: Lines of a kernel that are worth a word: most have fewer than 1,000.
MIN_LINES = 3_000
#: How the name of a kernel tells that slices are written into a tensor.
_WRITTEN = re.compile(r"(?=.*(?<!_to)_copy_)(?=.*(?:slice|select))")


class Longest(NamedTuple):
    """The longest kernel of C++."""

    lines: int = 0
    kernel: str = ""
    #: Whether slices are written into a tensor in it, each of which it computes from the last one.
    is_of_slices: bool = False
    #: The user's line that it computes; None without a graph.
    frame: StackFrame | None = None


def longest(modules: Table[OutputModule], graphs: Table[FxGraph]) -> Longest:
    """Return the longest kernel where it is extreme."""
    found = [
        (kernel.source.count("\n"), kernel.kernel, row)
        for row in modules
        for kernel in row.record.kernels.values()
        if kernel.device == "cpu"
    ]
    lines, name, row = max(found, key=lambda one: one[0], default=(0, "", None))
    if row is None or lines < MIN_LINES:
        return Longest()
    steps = (step for step, call in row.record.kernel_calls() if call.kernel == name)
    step = next(steps, None)
    frames = graphs.derived(Lines).of(row, step.comment) if step else ()
    return Longest(lines, name, bool(_WRITTEN.match(name)), user_code.best(frames))
