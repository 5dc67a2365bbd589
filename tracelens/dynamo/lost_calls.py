"""What is compiled by itself only because the function around it was given up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracelens.evidence import Place, Table
from tracelens.logs._stack import StackFrame

if TYPE_CHECKING:  # what a log has nothing of is not imported
    from tracelens.logs._starts import CompileStart

__all__ = ["LostCalls"]

#: Where torch calls what ``torch.compile`` returned.
ENTRY = "torch/_dynamo/eval_frame.py"

Start = tuple[tuple[str, str], tuple[StackFrame, ...]]


class LostCalls:
    """The compilations that began below a call of a compiled function, by that call."""

    def __init__(self, starts: Table[CompileStart]) -> None:
        """Sort them: the stacks of ``TORCH_TRACE`` up to torch's entry say which call it is."""
        self._calls: dict[Start, dict[StackFrame, None]] = {}
        self._outermost: dict[tuple[str, str, str], Start] = {}
        for place, seen in starts.events():
            stack = seen.record.stack
            call = _entry(place, stack)
            if call is None:
                continue
            if len(stack) == len(call[1]) + 1:
                self._outermost.setdefault(place.compilation, call)
            else:
                self._calls.setdefault(call, {}).setdefault(stack[-1])

    def of(self, places: Iterable[Place]) -> tuple[StackFrame, ...]:
        """Return the functions compiled below what was compiled at ``places``, each once.

        Nothing where that is not what the program itself calls: its callers may run eagerly, and
        then what is compiled next to it has the same stack.
        """
        calls = dict.fromkeys(self._outermost.get(place.compilation) for place in places)
        found = (self._calls.get(call, {}) for call in calls if call is not None)
        return tuple(dict.fromkeys(frame for frames in found for frame in frames))


def _entry(place: Place, stack: tuple[StackFrame, ...]) -> Start | None:
    """Return the stack up to torch's entry, of one process; None for a compilation elsewhere."""
    ends = [at for at, frame in enumerate(stack) if frame.file.endswith(ENTRY)]
    return (place.process, stack[: ends[-1] + 1]) if ends else None
