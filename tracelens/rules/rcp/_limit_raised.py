"""Limits that raised: where the function that was compiled too often was called."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracelens.logs._stack import StackFrame
from tracelens.remedies import Remedy
from tracelens.rules.rcp._states import too_few

if TYPE_CHECKING:
    from tracelens.evidence import Place, Seen, Table
    from tracelens.failures import Failure
    from tracelens.logs import compile_errors

__all__ = ["RECORD", "called_at", "callee", "fatal_among", "untold"]

#: What is to be done in most cases where the exception alone is there.
_MOSTLY = (
    " Where they are sizes or lengths, compile that function with `dynamic=True`, or pad to a few"
    " sizes; where there are few variants, raise `torch._dynamo.config.recompile_limit` to their"
    " number."
)
_CALL = re.compile(r"(?:^|[=(\s])((?:\w+\.)*\w+)\(")


def called_at(endings: Table[Failure]) -> StackFrame | None:
    """Return the line of the program that the text of the exception names, with its code."""
    for seen in endings.where(lambda one: one.cause == "recompile-limit" and bool(one.file)):
        one = seen.record
        code = _below(seen, one.file, one.line)
        return StackFrame(file=one.file, line=one.line, function=one.function, code=code)
    return None


def _below(seen: Seen[Failure], file: str, line: int) -> str:
    """Return the line of code below the frame; empty where none was pasted."""
    lines = seen.text.split("\n")
    frames = (f"{file}:{line}", f'"{file}", line {line}')
    at = next((n for n, text in enumerate(lines) if any(one in text for one in frames)), None)
    code = lines[at + 1] if at is not None and at + 1 < len(lines) else ""
    return code.strip() if code.startswith("  ") else ""


def callee(frame: StackFrame) -> str:
    """Return what the line calls; empty where it is no simple call."""
    found = _CALL.search(frame.code or "")
    return found[1] if found else ""


def untold(at: StackFrame | None) -> str:
    """Say what the text does not tell, and what it does."""
    if at is None:
        return "Which function, and what changed from call to call, is not in the log."
    return "What changed from call to call is not in the log; the line of the call is."


def fatal_among(
    places: Sequence[Place], errors: Table[compile_errors.Failure], endings: Table[Failure]
) -> set[Place]:
    """Return those of ``places`` after which torch raised an exception instead of going on."""
    ends = [at for at, seen in errors.events() if seen.record.is_limit]
    for seen in endings.where(lambda one: one.cause == "recompile-limit" and not one.suppressed):
        if not seen.record.fact("quoted"):
            ends += [at._replace(line=at.line_of(seen.record.at)) for at in seen.places]
    found: set[Place] = set()
    ordered = sorted(places, key=_by_line)
    for at in ends:
        before = bisect_left(ordered, (at.input, at.line), key=_by_line)
        found.update(one for one in ordered[:before][-1:] if one.input == at.input)
    return found


def _by_line(place: Place) -> tuple[str, int]:
    return place.input, place.line


RECORD = Remedy(
    "record-recompiles",
    lambda data: (
        "See which guards failed: a log with this switch names them."
        + (_MOSTLY if data.ended_program and not data.cause else "")
    ),
    when="the log does not say what changed, or that alone cannot fill the limit",
    applies=lambda data: not data.cause or too_few(data),
    env='TORCH_LOGS="recompiles"',
    basis="untestable",
    proof="it records more; the rule about the cause then says what to do",
)
