"""From where Dynamo was called: the stack with which the structured log begins a compilation."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import msgspec

from tracelens.evidence import Evidence, Seen
from tracelens.instances import lean
from tracelens.logs import Record
from tracelens.logs._shapes import RawFrame, file_names
from tracelens.logs._stack import StackFrame

__all__ = ["CompileStart", "start"]

#: Frames that are remembered.
MAX_FRAMES = 20_000


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
        files = (names.get((place.input, place.writer, number), "") for number in self.numbers)
        return CompileStart(
            stack=tuple(
                _frame(file, frame.line, frame.function, frame.code)
                for file, frame in zip(files, self.stack, strict=True)
            )
        )


@lru_cache(maxsize=MAX_FRAMES)
def _frame(file: str, line: int, function: str, code: str) -> StackFrame:
    """Return a frame: most compilations begin in the same ones, which are kept once."""
    return lean(StackFrame(file=file, line=line, function=function, code=code))


class _Content(msgspec.Struct):
    stack: list[RawFrame] = []


def start(content: bytes) -> Record:
    """Return the record of a ``dynamo_start``."""
    frames = msgspec.json.decode(content, type=_Content).stack
    return NumberedStart(
        stack=tuple(_frame("", one.line or 0, one.name or "", one.loc or "") for one in frames),
        numbers=tuple(one.filename for one in frames),
    )
