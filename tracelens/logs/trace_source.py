"""The lines and calls of the program that Dynamo traced."""

from __future__ import annotations

from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped

__all__ = ["TraceSource", "TracedCall", "TracedLine"]


class TraceSource(Log):
    """``[__trace_source]`` and ``[__trace_call]``."""

    name = "trace_source"
    switch = 'TORCH_LOGS="trace_source"'
    artifacts = frozenset({"__trace_source", "__trace_call"})


class TracedLine(Record):
    """A line that Dynamo reached. ``function`` goes on with the class or scope in parentheses."""

    at: int = 0
    file: str
    line: int
    function: Stripped
    code: Stripped = ""


class TracedCall(Record):
    """A call that became a node of the graph, or that Dynamo followed."""

    at: int = 0
    #: ``FX`` or ``inlined``.
    kind: str
    callee: str
    file: str
    line: int
    function: Stripped
    code: Stripped = ""
