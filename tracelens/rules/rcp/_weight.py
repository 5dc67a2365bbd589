"""Whether recompiles for sizes are where the compile time of a run went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tracelens.dynamo.recompile_history import Step, histories
from tracelens.evidence import Table
from tracelens.frames import Frame
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.frames.recompile_cost import measured_ms
from tracelens.logs.recompiles import Recompile
from tracelens.rules.rcp._changes import owner
from tracelens.words import length

__all__ = ["Weight"]

#: Recompiles for sizes and numbers, whichever rule tells them.
SIZES = frozenset({"RCP002", "RCP004", "RCP016", "RCP023"})
#: They matter where they took this part of all compile seconds, and so many milliseconds.
MIN_SHARE, MIN_MS = 0.5, 20_000.0
#: Half is what one recompile takes beside the first compilation: from here on it is information.
NOTE_SHARE = 0.3
#: Part of all compile seconds from which one finding deserves to be told for them.
MIN_PART = 0.1


class Weight(NamedTuple):
    """What one process spent on compiling, and what on recompiles for sizes, as Dynamo measured it.

    Of several ranks, which compile side by side, the slowest counts. The clocks of a log are too
    coarse to turn a note into a warning.
    """

    whole_ms: float
    sizes_ms: float

    @classmethod
    def of(
        cls, recompiles: Table[Recompile], frames: Table[Frame], seconds: Table[CompileSeconds]
    ) -> Weight:
        """Add up what was measured; nothing where nothing was."""
        whole = [1000 * r.record.seconds for r in seconds if r.record.basis == "measured"]
        if not whole:
            return cls(0.0, 0.0)
        by_process: defaultdict[tuple[str, str], list[Step]] = defaultdict(list)
        for history in histories(recompiles):
            for step in history.steps:
                if owner(step).code in SIZES:
                    by_process[step.place.process].append(step)
        each = [measured_ms(steps, frames) for steps in by_process.values()]
        return cls(max(whole), max(each, default=0.0))

    def heavy(self, steps: Sequence[Step], frames: Table[Frame]) -> str:
        """Return what ``steps`` took, where compile time went to sizes; else an empty text.

        It is a part of a sentence: ``96 s of the 3.2 min that compiling took``.
        """
        if self.sizes_ms < max(MIN_MS, MIN_SHARE * self.whole_ms):
            return ""
        return self._part(steps, frames, MIN_PART)

    def notable(self, steps: Sequence[Step], frames: Table[Frame]) -> str:
        """Return the same where ``steps`` alone are a good part of it, though not the most."""
        if self.sizes_ms < MIN_MS:
            return ""
        return self._part(steps, frames, NOTE_SHARE)

    def _part(self, steps: Sequence[Step], frames: Table[Frame], least: float) -> str:
        ms = measured_ms(steps, frames)
        part = f"{length(ms)} of the {length(self.whole_ms)} that compiling took"
        return part if ms >= max(least * self.whole_ms, 1.0) else ""
