"""What happened on the host in one step, or in all of a trace, added up as it comes."""

from __future__ import annotations

import math
from typing import Any

from tracelens.traces.names import Name

__all__ = ["MAX_FRAMES", "Tally"]

#: Compile ids remembered per step.
MAX_FRAMES = 1_000
#: Compiled frames take at least this part of the time of an optimizer's other operators where they
#: are what it does.
MOST = 0.5


class Tally:
    """What happened in one step, or in all of the trace. Microseconds."""

    def __init__(self, start: float = 0.0, length: float = 0.0) -> None:
        self.start = start
        #: Kept as it is written: the start can be so large that their sum is less exact.
        self.length = length
        self.number: int | None = None
        self.text = ""
        #: By the parts that a span was the outermost of: a handful of sets.
        self._us: dict[int, float] = {}
        self.regions = 0
        self.frames: dict[str, None] = {}
        self.nested = 0
        #: Frames that were compiled by themselves, as far as their calls show it.
        self.apart: dict[str, None] = {}
        self.compiles: dict[str, None] = {}
        #: Operators of each optimizer: those that take one tensor, those that take lists, and
        #: their time; the time of compiled frames that each calls.
        self._updates: dict[Name | None, list[float]] = {}
        self._compiled: dict[Name, float] = {}

    def take(self, parts: int, us: float) -> None:
        """Add the time of a span that is the outermost of its ``parts``."""
        self._us[parts] = self._us.get(parts, 0.0) + us

    def spent(self, part: int) -> float:
        """Return the time of all spans that are the outermost of a part."""
        return math.fsum(us for parts, us in self._us.items() if parts & part)

    @property
    def _by_compiled(self) -> set[Name]:
        """Optimizers whose work is compiled code, and what prepares it."""
        none = [0, 0, 0.0]
        return {
            name
            for name, us in self._compiled.items()
            if us >= MOST * self._updates.get(name, none)[2]
        }

    def call(self, frame: str, *, nested: bool, apart: bool) -> None:
        """Count a call of a compiled frame."""
        self.regions += 1
        self.nested += nested
        if len(self.frames) < MAX_FRAMES:
            self.frames[frame] = None
            if apart:
                self.apart[frame] = None

    def update(self, optimizer: Name | None, us: float, *, multi: bool) -> None:
        """Count an operator in an optimizer, but in compiled code."""
        each = self._updates.setdefault(optimizer, [0, 0, 0.0])
        each[multi] += 1
        each[2] += us

    def update_compiled(self, optimizer: Name, us: float) -> None:
        """Count a compiled frame that an optimizer calls."""
        self._compiled[optimizer] = self._compiled.get(optimizer, 0.0) + us

    def counted(self) -> dict[str, Any]:
        """Return the fields of a span that are counts."""
        updates, compiled = self._updates.items(), self._by_compiled
        return {
            "regions": self.regions,
            "frames": tuple(self.frames),
            "nested": self.nested,
            "apart": tuple(self.apart),
            "compiles": tuple(self.compiles),
            "optimizer_single": sum(int(each[0]) for _, each in updates),
            "optimizer_multi": sum(int(each[1]) for _, each in updates),
            "optimizer_plain": sum(int(each[0]) for name, each in updates if name not in compiled),
            "optimizers_compiled": tuple(sorted({str(name.record) for name in compiled})),
        }
