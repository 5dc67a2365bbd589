"""Which function Dynamo gave up, where a graph break does not say so.

The line of a break is where tracing stopped, often in a function that was inlined. What is given up
is the function that was being compiled, perhaps several calls further out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.logs._stack import StackFrame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracelens.dynamo.breaks import BreakSite
    from tracelens.evidence import Place, Table
    from tracelens.frames import Frame

__all__ = ["LostFrames"]

RESUMED = "torch_dynamo_resume_in_"
#: What Dynamo calls by itself at a ``with``: the function around it is lost.
_ENTERED = frozenset({"__enter__", "__exit__"})
#: Records behind the loss of a function that are looked at: stacks are not that deep.
MAX_LATER = 100
#: Frames of torch and of the standard library have no compilation of their own.
_OWN = 2


class LostFrames:
    """The code objects by compile id, where the log names them."""

    def __init__(self, frames: Table[Frame]) -> None:
        """Note what recompilations and the structured log say."""
        self._codes = {
            (*row.first.process, row.record.id.partition("/")[0]): row.record
            for row in frames
            if row.record.function
        }

    def of(self, site: BreakSite) -> tuple[StackFrame, ...]:
        """Return the functions that the breaks of one line made Dynamo give up, outermost first."""
        stack = [frame for frame in site.stack if frame.function not in _ENTERED]
        own = [f for f in stack if user_code.distance(f.file, f.function) < _OWN]
        # A context manager of the program's own is a generator: what enters it is given up.
        inner = site.entered or user_code.best(stack) or site.line
        found = {self._lost(site, at, own) or inner: None for at in _skips(site)}
        order = {frame: number for number, frame in enumerate(own)}
        return tuple(sorted(found, key=lambda frame: order.get(frame, len(order))))

    def _lost(self, site: BreakSite, at: int, own: list[StackFrame]) -> StackFrame | None:
        place = site.events[at][0]
        code = self._codes.get((*place.process, _number(place)))
        if code is not None and code.function is not None:
            name = _name(code.function)
            same = [frame for frame in own if (frame.function, frame.file) == (name, code.file)]
            if same:
                return same[-1]
        depth = _calls_below(site, at)
        if 0 < depth < len(own):
            return own[-1 - depth]
        return own[-1] if own and not depth and _is_called(site, at) else None


def _skips(site: BreakSite) -> Iterator[int]:
    return (at for at, (_, seen) in enumerate(site.events) if seen.record.skips_frame)


def _calls_below(site: BreakSite, at: int) -> int:
    """Return how many calls lie between the function given up and the line of the break.

    Once it runs eagerly, the function that it calls is compiled by itself, and its graph breaks at
    the same line; then the next one, down to the function that the line is in.
    """
    lost = site.events[at][0]
    below: dict[str, None] = {}
    for place, _ in site.events[at + 1 : at + 1 + MAX_LATER]:
        number = _number(place)
        if place.process != lost.process or number == _number(lost) or number in below:
            continue
        if not place.frame.partition("_")[0].endswith("/0"):
            break
        below[number] = None
    return len(below)


def _is_called(site: BreakSite, at: int) -> bool:
    """Whether a function is given up that another one calls, whose graph breaks there before.

    What is called at a break is the next that is compiled; the way that is printed is the caller's.
    """
    lost = site.events[at][0]
    if not _number(lost).isdecimal():
        return False
    before = str(int(_number(lost)) - 1)
    return any(
        place.process == lost.process and _number(place) == before for place, _ in site.events[:at]
    )


def _number(place: Place) -> str:
    return place.frame.partition("/")[0]


def _name(function: str) -> str:
    """Return the function that a code object is cut out of, without its class."""
    rest = function.removeprefix(RESUMED)
    return rest if rest == function else rest.rpartition("_at_")[0]
