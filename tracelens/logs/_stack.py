"""Python stack frames, as they stand in several kinds of log, and whose code they are."""

from __future__ import annotations

from pydantic import field_validator

from tracelens.logs import Record

__all__ = ["StackFrame"]


class StackFrame(Record):
    """One frame of a stack trace: ``File "/home/ana/m.py", line 7, in forward`` and its code."""

    file: str
    line: int
    function: str = ""
    code: str = ""

    @field_validator("function", "code", mode="after")
    @classmethod
    def _bare(cls, text: str) -> str:
        return text.strip()
