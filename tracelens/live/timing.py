"""Blocks of timed runs: the unchanged program twice and a changed one, again and again.

Several changes of one program share the unchanged runs: a round runs the unchanged program twice
and each change once, in an order that turns, which gives every change a block. A change that has
its answer leaves the round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol

from tracelens.experiment import Knob
from tracelens.live import clocks, conditions
from tracelens.live.clocks import Clock, floor_of
from tracelens.live.run_cache import RunCache
from tracelens.live.runs import Recorded, Run, RunFailed, crowding, refuse_few_steps
from tracelens.live.sides import OutOfTime, Timing, key_of, or_raise, under
from tracelens.live.statistics import LOOKS, Block, Judgement, judge
from tracelens.live.workload import Side

__all__ = ["SoFar", "Timer", "threads_of", "timing_of"]

Of = Literal["step", "run"]
#: Ratio of wall times below which less CPU time is no gain.
WAITED = 0.9


class _Bench(Protocol):
    """What a laboratory gives: runs, and what it knows of sides."""

    @property
    def left(self) -> float:
        """Seconds of the budget that are left."""

    @property
    def run_cache(self) -> RunCache:
        """What is kept from one call to the next."""

    @property
    def is_whole(self) -> bool:
        """Whether timed programs run to their ends."""

    def known(self, side: Side) -> Recorded | None:
        """Return what a side's recorded run showed, if it was recorded."""

    def run_once(self, side: Side, of: Of) -> Run:
        """Run a side once without logging."""

    def in_turns(self, sides: Sequence[Side]) -> list[Run] | None:
        """Run sides without logging, at once and in turn; None where they are to run alone."""

    def say(self, text: str) -> None:
        """Tell what is being done."""


@dataclass
class _Pair:
    """Two sides, the blocks of them so far, and what these say."""

    before: Side
    after: Side
    of: Of
    #: Both sides with what their recorded runs showed; empty where one was not recorded.
    sides: list[tuple[Side, Recorded]] = field(default_factory=list)
    runs: list[tuple[Run, ...]] = field(default_factory=list)
    best: Timing | None = None
    failed: RunFailed | None = None

    @property
    def is_settled(self) -> bool:
        """Whether more runs would be wasted."""
        return self.failed is not None or (
            self.best is not None and self.best.judgement.settled(last=len(self.runs) >= LOOKS[-1])
        )

    @property
    def coming(self) -> int:
        """How many blocks are missing for the next look."""
        return next((look for look in LOOKS if look > len(self.runs)), LOOKS[-1]) - len(self.runs)

    @property
    def longest(self) -> float:
        """What the longest run so far took, in seconds."""
        return max((run.seconds for block in self.runs for run in block), default=0.0)

    @property
    def answer(self) -> Timing | RunFailed | None:
        """What is known when nothing more is run; None where nothing is."""
        if self.failed is not None or self.best is None or self.is_settled:
            return self.failed or self.best
        return replace(self.best, unfinished=True)


class SoFar(NamedTuple):
    """What is known of two sides at a moment."""

    #: Per block the unchanged run, the same again, and the changed one.
    runs: tuple[tuple[Run, ...], ...]
    answer: Timing | RunFailed | None


class Timer:
    """Times sides against each other; each pair once.

    Args:
        bench: What runs them.
    """

    def __init__(self, bench: _Bench) -> None:
        self._bench = bench
        self._pairs: dict[tuple[str, str, str], _Pair] = {}

    def blocks(self, before: Side, after: Side, of: Of) -> Timing:
        """Time two sides in interleaved blocks, until the answer is clear.

        Raises:
            RunFailed: A program did not end well.
            OutOfTime: The budget does not suffice.
        """
        for _ in self.together(before, [after], of):
            pass
        answer = self._pair(before, after, of).answer
        if answer is None:
            raise OutOfTime
        return or_raise(answer)

    def so_far(self, before: Side, after: Side, of: Of) -> SoFar:
        """Return the blocks of two sides that were run, and what they say; nothing is run."""
        key = (key_of(before), key_of(after), of)
        if key not in self._pairs and self._bench.known(before) and self._bench.known(after):
            self._pair(before, after, of)  # what is kept of it
        pair = self._pairs.get(key)
        return SoFar(tuple(pair.runs), pair.answer) if pair is not None else SoFar((), None)

    def together(
        self,
        before: Side,
        afters: Sequence[Side],
        of: Of,
        on_round: Callable[[], None] | None = None,
    ) -> Iterator[Side]:
        """Time several changes of one program in the same rounds, and yield each that is settled.

        What the time does not suffice for is left as it is; the last named are left first.
        ``on_round`` is called after every round.
        """
        pairs = list({id(p): p for p in (self._pair(before, a, of) for a in afters)}.values())
        while pairs:
            for pair in [pair for pair in pairs if pair.is_settled]:
                pairs.remove(pair)
                yield pair.after
            pairs = self._fitting(pairs)
            if not pairs:
                return
            try:
                self._round(before, pairs)
            except OutOfTime:
                return
            except RunFailed as failed:
                for pair in pairs:
                    pair.failed = failed
            if on_round is not None:
                on_round()

    def _pair(self, before: Side, after: Side, of: Of) -> _Pair:
        key = (key_of(before), key_of(after), of)
        if key not in self._pairs:
            known = [(side, self._bench.known(side)) for side in (before, after)]
            sides = [(side, found) for side, found in known if found is not None]
            pair = _Pair(before, after, of, sides if len(sides) == 2 else [])
            pair.runs = (
                self._bench.run_cache.blocks(self._name(of), pair.sides) if pair.sides else []
            )
            looks = [look for look in LOOKS if look <= len(pair.runs)]
            if looks:
                pair.best = self._judged(pair, pair.runs[: looks[-1]])
            if (
                len(pair.runs) >= LOOKS[-1]
                and pair.best
                and pair.best.judgement.answer == "unclear"
            ):
                pair.runs, pair.best = [], None  # asked again: it may be clear this time
            self._pairs[key] = pair
        return self._pairs[key]

    def _name(self, of: Of) -> str:
        return f"{of}, whole: {self._bench.is_whole}"

    def _fitting(self, pairs: list[_Pair]) -> list[_Pair]:
        """Return those of which the next look can be reached in the time that is left."""
        fitting = list(pairs)
        while fitting:
            longest = max(self._longest(pair) for pair in fitting)
            rounds = min(pair.coming for pair in fitting)
            enough = (2 + len(fitting)) * longest * rounds <= self._bench.left
            if enough or (len(fitting) == 1 and fitting[0].best is None):
                break
            fitting.pop()
        return fitting

    def _longest(self, pair: _Pair) -> float:
        known = [known for _, known in pair.sides]
        recorded = [one.seconds if pair.of == "run" else one.timed_seconds for one in known]
        return pair.longest or max(recorded, default=0.0)

    def _round(self, before: Side, pairs: Sequence[_Pair]) -> None:
        """Add a block to every pair.

        Raises:
            RunFailed: The unchanged program did not end well.
            OutOfTime: Before it was through; the runs of the round are lost.
        """
        sides = [before, before, *(pair.after for pair in pairs)]
        number = min(len(pair.runs) for pair in pairs)
        found = self._in_turns(sides, pairs, number) or self._one_by_one(sides, pairs, number)
        for place, pair in enumerate(pairs, start=2):
            if pair.failed is None:
                self._add(pair, (found[0], found[1], found[place]))

    def _in_turns(
        self, sides: Sequence[Side], pairs: Sequence[_Pair], number: int
    ) -> dict[int, Run]:
        """Run a round at once, each making steps in its turn; empty where that cannot be.

        Waiting for a turn costs no CPU time, so only where that is the clock.
        """
        by_cpu = all(pair.of == "step" and _clock(pair) == "cpu" for pair in pairs)
        if not by_cpu:
            return {}
        self._bench.say(f"timing block {number + 1}, {len(sides)} runs in turn")
        found = self._bench.in_turns(sides)
        return dict(enumerate(found)) if found is not None else {}

    def _one_by_one(
        self, sides: Sequence[Side], pairs: Sequence[_Pair], number: int
    ) -> dict[int, Run]:
        """Run a round, one run after the other."""
        found: dict[int, Run] = {}
        for step in range(len(sides)):
            # Each stands everywhere equally often, so that a steady drift favours none.
            place = (step - number) % len(sides)
            self._bench.say(f"timing block {number + 1}, {under(sides[place])}")
            try:
                found[place] = self._bench.run_once(sides[place], pairs[0].of)
            except RunFailed as failed:
                if place < 2:
                    raise
                pairs[place - 2].failed = failed
        return found

    def _add(self, pair: _Pair, block: tuple[Run, ...]) -> None:
        pair.runs.append(block)
        if pair.of == "step" and len(pair.runs) == 1:
            try:
                refuse_few_steps(block)
            except RunFailed as failed:
                pair.failed = failed
                return
        if pair.sides:
            self._bench.run_cache.keep_blocks(self._name(pair.of), pair.sides, pair.runs)
        if len(pair.runs) in LOOKS:
            pair.best = self._judged(pair, pair.runs)

    def _judged(self, pair: _Pair, runs: Sequence[tuple[Run, ...]]) -> Timing:
        return timing_of(runs, pair.after.knob, [known for _, known in pair.sides], pair.of)


def _clock(pair: _Pair) -> Clock:
    return clocks.choose(pair.after.knob, [known for _, known in pair.sides])


def timing_of(
    runs: Sequence[tuple[Run, ...]], knob: Knob, sides: Sequence[Recorded], of: Of = "step"
) -> Timing:
    """Return what blocks of runs say: unchanged, unchanged again, changed.

    Args:
        runs: The blocks.
        knob: What was changed.
        sides: What the recorded runs of both sides showed, the unchanged one first.
        of: What is timed.
    """
    wanted = clocks.choose(knob, sides)
    read, clock = clocks.read(runs, wanted)
    read = clocks.aligned(read) if of == "step" else read
    blocks = tuple(Block(*(run.times for run in block)) for block in read)
    busy = conditions.busy([run.strain for block in runs for run in block], threads_of(sides))
    judged = judge(blocks, of=of, floor=floor_of(clock, busy=busy))
    judged = _waited(judged, runs, clock, of, busy=busy)
    said = {"clock": "CPU time" if clock == "cpu" else "wall"}
    return Timing(judged, of, blocks, crowding(runs) | said)


def threads_of(sides: Sequence[Recorded]) -> int:
    """Return the threads that the unchanged side said it has when it was recorded; else 1."""
    said = sides[0].about.get("threads", "") if sides else ""
    return int(said) if said.isdigit() else 1


def _waited(
    judged: Judgement, runs: Sequence[tuple[Run, ...]], clock: Clock, of: Of, *, busy: bool
) -> Judgement:
    """Return the answer, unless what uses less CPU time takes longer all the same.

    Where others were at work, that has to be sure: the wall clock is theirs as well.
    """
    if judged.answer != "faster" or clock == "wall":
        return judged
    wall = judge([Block(*(run.times for run in block)) for block in runs], of=of)
    if wall.ratio > WAITED or (busy and wall.high >= 1):
        return judged
    words = f"it uses less CPU time ({judged.ratio:.2f} times), and takes longer all the same"
    return replace(judged, answer="unclear", reason=words)
