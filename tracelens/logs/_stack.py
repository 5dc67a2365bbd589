"""Python stack frames, as they stand in several kinds of log, and whose code they are."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import field_validator

from tracelens import grammars
from tracelens.late import late
from tracelens.logs import Record

__all__ = ["StackFrame", "innermost"]

_FRAME = late(r'  File "[^\n]+(?:\n    [^\n]+)?')


class StackFrame(Record):
    """One frame of a stack trace: ``File "/home/ana/m.py", line 7, in forward`` and its code."""

    file: str
    #: 0 where it is not told.
    line: int = 0
    function: str = ""
    code: str = ""

    @field_validator("function", "code", mode="after")
    @classmethod
    def _bare(cls, text: str) -> str:
        return text.strip()


def innermost(text: str) -> Iterator[StackFrame]:
    """Yield the last frame of each of the stacks in ``text``, which empty lines part."""
    import tracelens.logs.graph_breaks  # noqa: PLC0415 -- it is made of frames

    grammar = grammars.load("graph_breaks", tracelens.logs.graph_breaks.__name__)
    for block in text.split("\n\n"):
        frames = _FRAME.findall(block)
        try:
            found = grammar.parse("\n" + frames[-1], "stack") if frames else None
        except grammars.Unreadable:
            continue
        if isinstance(found, StackFrame):
            yield found
