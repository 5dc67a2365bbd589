"""From where Dynamo was called: the stack with which the structured log begins a compilation."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from tracelens.evidence import Evidence, Seen
from tracelens.logs import Record
from tracelens.logs._shapes import RawFrame, file_names
from tracelens.logs._stack import StackFrame

__all__ = ["CompileStart", "start"]


class CompileStart(Record):
    """The frames that led to a compilation, the outermost first.

    The last is the function that is compiled. A function that runs eagerly under a compiled one is
    not in it, only what torch called it by.
    """

    from_code: ClassVar[bool] = True

    stack: tuple[StackFrame, ...] = ()

    @property
    def compiled(self) -> StackFrame | None:
        """The function that is compiled: the line is that of its definition."""
        return self.stack[-1] if self.stack else None


class NumberedStart(CompileStart):
    """The same, before its files are known."""

    numbers: tuple[int, ...] = ()

    def resolved(self, seen: Seen[Any], evidence: Evidence) -> CompileStart:
        """Return it with its files."""
        names, place = file_names(evidence), seen.first
        return CompileStart(
            stack=tuple(
                frame.model_copy(
                    update={"file": names.get((place.input, place.writer, number), "")}
                )
                for frame, number in zip(self.stack, self.numbers, strict=True)
            )
        )


class _Content(msgspec.Struct):
    stack: list[RawFrame] = []


def start(content: bytes) -> Record:
    """Return the record of a ``dynamo_start``."""
    frames = msgspec.json.decode(content, type=_Content).stack
    return NumberedStart(
        stack=tuple(
            StackFrame(file="", line=one.line or 0, function=one.name or "", code=one.loc or "")
            for one in frames
        ),
        numbers=tuple(one.filename for one in frames),
    )
