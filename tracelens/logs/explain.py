"""The result of ``torch._dynamo.explain``, printed by a program."""

from __future__ import annotations

import re

from tracelens.logs import Log, Record
from tracelens.logs._stack import StackFrame
from tracelens.logs._text import Stripped
from tracelens.logs.compile_times import Phase

__all__ = ["BreakReason", "Explain", "Explanation", "GraphOps", "Phase", "StackFrame"]


class Explain(Log):
    """``ExplainOutput``."""

    name = "explain"
    switch = "print(torch._dynamo.explain(model)(*inputs))"
    marks = ("Graph Count: ",)
    continues = re.compile(
        r"Graph Break Count: |Op Count: |Break Reasons:|Ops per Graph:|Out Guards:|Compile Times: "
        r"| +\S|$|Function(?:, | {2,})Runtimes|-+ +-+$|[\w.<>]+(?:, | {2,})\d+\.\d{4}"
    )


class BreakReason(Record):
    """Why a graph ended, and where in the user's code."""

    at: int = 0
    reason: str = ""
    #: Explanation, hints and debug context, line by line.
    details: tuple[Stripped, ...] = ()
    stack_frames: tuple[StackFrame, ...] = ()


class GraphOps(Record):
    """The operations of one graph, as Python prints the functions."""

    operations: tuple[Stripped, ...] = ()


class Explanation(Record):
    """One call of explain. ``breaks`` is one less than ``graphs``: -1 for a skipped frame."""

    graphs: int
    breaks: int
    ops: int
    break_reasons: tuple[BreakReason, ...] = ()
    graph_ops: tuple[GraphOps, ...] = ()
    phases: tuple[Phase, ...] = ()
