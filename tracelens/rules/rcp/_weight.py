"""Whether recompiles for sizes are where the compile time of a run went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tracelens.dynamo.recompile_history import Step, histories
from tracelens.evidence import Table
from tracelens.frames import Frame
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.frames.recompile_cost import beside_first, cost_of, measured_ms
from tracelens.logs.recompiles import Recompile
from tracelens.report import Cost
from tracelens.rules.rcp._changes import owner
from tracelens.words import length

__all__ = ["Weight", "longer"]

#: Recompiles for sizes and numbers, whichever rule tells them.
SIZES = frozenset({"RCP002", "RCP004", "RCP016", "RCP023"})
#: They matter where they took this part of all compile seconds, and so many milliseconds.
MIN_SHARE, MIN_MS = 0.5, 20_000.0
#: In a short run they are worth a word from so many milliseconds on, where they took most of all
#: compile time and are more than a warm-up: so many of one function, or one so many times as long
#: as its first entry. Two recompiles that take what the first compilation took are neither.
SHORT_MS, MORE, DEARER = 5_000.0, 3, 1.5
#: From so many times on, code for constant sizes is worth a thought.
LONGER = 2.0
#: Half is what one recompile takes beside the first compilation: from here on it is information.
NOTE_SHARE = 0.3
#: Of several that together took the first of these, the second is a good part for each.
TOGETHER, EACH = 0.4, 0.2
#: From here on a last, smaller batch is information: to leave it out costs next to nothing. In a
#: short run it is where it took more than half of all compile time.
LAST_SHARE, LAST_MS = 0.2, 10_000.0
LAST_MOST = 0.52
#: By the clocks of a log, recompiles that took more than this of compiling are all that it tells:
#: the first compilations began before its first line, or end with none.
MOST_AGAIN = 0.99
#: By the clocks, which may be off by a part, this much of compiling is surely most of it.
NEARLY_ALL = 0.875
#: Part of all compile seconds from which one finding deserves to be told for them.
MIN_PART = 0.1


class Weight(NamedTuple):
    """What one process spent on compiling, and what on recompiles for sizes, as Dynamo measured it.

    Of several ranks, which compile side by side, the slowest counts. Without measured seconds the
    clocks of the log are taken, which are good enough for information: too coarse for a warning,
    but where nearly all of it went there, and to more of one function than a warm-up.
    """

    whole_ms: float
    sizes_ms: float
    is_measured: bool = True
    #: The most recompiles for sizes of one function.
    most: int = 0

    @classmethod
    def of(
        cls, recompiles: Table[Recompile], frames: Table[Frame], seconds: Table[CompileSeconds]
    ) -> Weight:
        """Add up what was measured, else what the clocks tell."""
        rows = [row.record for row in seconds]
        measured = any(one.basis == "measured" for one in rows)
        rows = [one for one in rows if one.basis == "measured"] or rows
        slowest = max(rows, key=lambda one: one.seconds, default=None)
        by_process: defaultdict[tuple[str, str], list[Step]] = defaultdict(list)
        most = 0
        for history in histories(recompiles):
            found = [step for step in history.steps if owner(step).code in SIZES]
            most = max(most, len(found))
            for step in found:
                by_process[step.place.process].append(step)
        each = [_taken(steps, frames, measured=measured) for steps in by_process.values()]
        if measured and not any(each):  # a table of phases alone: the sum, and no single entry
            measured = False
            each = [_taken(steps, frames, measured=measured) for steps in by_process.values()]
        whole = 1000 * slowest.seconds if slowest else 0.0
        return cls(whole, max(each, default=0.0), measured, most)

    def heavy(self, steps: Sequence[Step], frames: Table[Frame]) -> str:
        """Return what ``steps`` took, where compile time went to sizes; else an empty text.

        It is a part of a sentence: ``96 s of the 3.2 min that compiling took``.
        """
        least = MIN_SHARE if self.is_measured else NEARLY_ALL
        told = self.is_measured or (self._known_rest() and self.most >= MORE)
        if not told or self.sizes_ms < max(MIN_MS, least * self.whole_ms):
            return ""
        return self._part(steps, frames, MIN_PART)

    def notable(self, steps: Sequence[Step], frames: Table[Frame]) -> str:
        """Return the same where ``steps`` alone are a good part of it, though not the most."""
        if self.sizes_ms >= MIN_MS:
            is_most = self.sizes_ms >= TOGETHER * self.whole_ms
            return self._part(steps, frames, EACH if is_most else NOTE_SHARE)
        if self.sizes_ms < max(SHORT_MS, MIN_SHARE * self.whole_ms):
            return ""
        if self.most >= MORE:
            return self._part(steps, frames, MIN_PART)
        if beside := _beside(steps, frames):
            return self._part(steps, frames, NOTE_SHARE) if beside >= DEARER else ""
        return self._part(steps, frames, DEARER / (1 + DEARER)) if self._known_rest() else ""

    def of_tensor(
        self, source: str, steps: Sequence[Step], alike: Sequence[Step], frames: Table[Frame]
    ) -> str:
        """Return what the dimensions of one tensor took: with all marked, one entry does."""
        if len(alike) <= len(steps):
            return ""
        part = self.heavy(alike, frames) or self.notable(alike, frames)
        return f"{part}, the other dimensions of `{source}` included" if part else ""

    def last_batch(self, steps: Sequence[Step], frames: Table[Frame]) -> str:
        """Return the same where ``steps`` are for one smaller batch, and there is a rest."""
        if not self._known_rest():
            return ""
        long = max(LAST_SHARE, LAST_MS / self.whole_ms)
        short = max(LAST_MOST, SHORT_MS / self.whole_ms)
        return self._part(steps, frames, min(long, short))

    def unrolled(self, steps: Sequence[Step], frames: Table[Frame]) -> str:
        """Return the same of entries that hold a loop unrolled, as the first one does."""
        return self._part(steps, frames, MIN_PART) if self.whole_ms >= MIN_MS else ""

    def most_of_all(self, steps: Sequence[Step], frames: Table[Frame]) -> str:
        """Return the same where ``steps`` alone are the most of a long compile time."""
        if not self._known_rest():
            return ""
        return self._part(steps, frames, max(MIN_SHARE, MIN_MS / self.whole_ms))

    def is_dear(self, cost: Cost | None) -> bool:
        """Whether what can be had back took as long as sizes that are told, of a known whole."""
        ms = cost.ms if cost is not None and cost.basis in {"estimated", "measured"} else None
        return ms is not None and ms >= max(MIN_MS, MIN_PART * self.whole_ms)

    def _known_rest(self) -> bool:
        """Whether the log tells what the other compilations took, so that a share says much."""
        known = 1.0 if self.is_measured else MOST_AGAIN
        return self.sizes_ms < known * self.whole_ms

    def _part(self, steps: Sequence[Step], frames: Table[Frame], least: float) -> str:
        by_process: defaultdict[tuple[str, str], list[Step]] = defaultdict(list)
        for step in steps:
            by_process[step.place.process].append(step)
        each = (_taken(own, frames, measured=self.is_measured) for own in by_process.values())
        ms = max(each, default=0.0)
        part = f"{length(ms)} of the {length(self.whole_ms)} that compiling took"
        if not self.is_measured and not self._known_rest():
            part = f"about {length(ms)}, by the clocks of the log"
        elif not self.is_measured:
            part = f"about {part}, by the clocks of the log"
        return part if ms >= max(least * self.whole_ms, 1.0) else ""


def longer(steps: Sequence[Step], frames: Table[Frame]) -> float:
    """Return how many times as long as its function's first entry one took; 0: not so much.

    Code for symbolic sizes can take several times as long to compile.
    """
    most = _beside(steps, frames)
    return most if most >= LONGER else 0.0


def _beside(steps: Sequence[Step], frames: Table[Frame]) -> float:
    return max((beside_first(step, frames) for step in steps), default=0.0)


def _taken(steps: Sequence[Step], frames: Table[Frame], *, measured: bool) -> float:
    """Return the milliseconds that ``steps`` took; none where the clocks give only a bound."""
    if measured:
        return measured_ms(steps, frames)
    cost = cost_of(steps, frames)
    return (cost.ms or 0.0) if cost is not None and cost.basis == "estimated" else 0.0
