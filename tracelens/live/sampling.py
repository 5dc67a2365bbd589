"""The runs that the what-if table is made of, kept one by one.

A row's first run is timed and logged at once: what is rare (recompilations, graph breaks) costs
nothing per step. Unchanged runs stand between the others, and a row's run is compared with the one
before it and the one after it, which were made under the same conditions.
"""

from __future__ import annotations

import itertools
import math
import statistics
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracelens.experiment import UNCHANGED, Knob
from tracelens.live import clocks, conditions, load
from tracelens.live._draws import median
from tracelens.live.lab import Lab
from tracelens.live.run_cache import Sheet
from tracelens.live.runs import Recorded, Run
from tracelens.live.sides import Timing
from tracelens.live.statistics import LOOKS
from tracelens.live.timing import threads_of, timing_of
from tracelens.live.workload import Side, Workload

__all__ = ["Guess", "Sampler"]

#: What torch adds to the key of a cached graph: our first runs lower graphs anew, the next do not.
TAG = "TORCH_COMPILE_CACHE_KEY_TAG"
#: Where in the order of its steps the level of a run is: others' work only ever adds to a step.
CALM = 0.15
#: Normal quantile of a 99 % interval, and what the noise that is assumed counts for, in runs.
Z99, ASSUMED = 2.576, 2


@dataclass(frozen=True)
class Guess:
    """A ratio, unchanged divided by changed, before there are enough blocks to judge."""

    ratio: float
    low: float
    high: float
    before_ms: float
    after_ms: float


class Sampler:
    """Runs settings of one workload, and says what their runs showed.

    Args:
        lab: Where to run things.
        workload: What to run.
    """

    def __init__(self, lab: Lab, workload: Workload) -> None:
        self._lab = lab
        tag = str(lab.run_cache.table().get("tag") or uuid.uuid4().hex)
        lab.run_cache.keep_table(tag=tag)
        self._workload = replace(workload, env={**workload.env, TAG: tag})
        self._call = uuid.uuid4().hex
        self._sheets: dict[str, Sheet] = {}
        self._timings: dict[tuple[object, ...], Timing | None] = {}
        self._place = 0
        #: What a first run costs, in parts of what it would take alone: some run at once.
        self._part = 1.0

    def side(self, knob: Knob) -> Side:
        """Return the workload with a setting."""
        return Side(self._workload, knob)

    def sheet(self, knob: Knob) -> Sheet:
        """Return the runs of a setting, those of earlier calls too."""
        key = repr(sorted(knob.settings.items()))
        if key not in self._sheets:
            found = self._lab.run_cache.sheet(self.side(knob)) or Sheet()
            if found.recorded is not None:
                self._lab.believe(self.side(knob), found.recorded)
            self._place = max([self._place, *(place + 1 for place, _, _ in found.runs)])
            self._sheets[key] = found
        return self._sheets[key]

    def run(self, knob: Knob) -> None:
        """Run a setting once more.

        Raises:
            RunFailed: The program did not end well.
            OutOfTime: The budget is used up.
        """
        sheet, side = self.sheet(knob), self.side(knob)
        if sheet.recorded is None:
            sheet.recorded, run = self._lab.sample(side)
        else:
            self._lab.say(f"{knob.text}, run {len(sheet.runs) + 1}")
            run = self._lab.run_once(side, "step")
        sheet.runs.append((self._place, self._call, run))
        self._place += 1
        self._lab.run_cache.keep_sheet(side, sheet)

    def begin(self, knobs: Sequence[Knob]) -> set[str]:
        """Give settings their first runs at once, and return the names of those that have them.

        Beside them runs the unchanged program, where its CPU time is what counts.
        """
        chosen = [knob for knob in knobs if clocks.choose(knob, self._known(knob)) == "cpu"]
        if len(chosen) < 2:
            return set()
        self._lab.say(f"running {len(chosen)} settings at once")
        every = [UNCHANGED, *chosen]
        found = self._lab.samples([self.side(knob) for knob in every])
        ran = [(knob, one) for knob, one in zip(every, found, strict=True) if one is not None]
        self._part = 1 / min(2, load.processors()) if len(ran) > 2 else 1.0
        for knob, (recorded, run) in ran:
            sheet = self.sheet(knob)
            sheet.recorded = sheet.recorded or recorded
            self._lab.believe(self.side(knob), sheet.recorded)
            sheet.runs.append((self._place, self._call, run))
            self._place += 1
            self._lab.run_cache.keep_sheet(self.side(knob), sheet)
        return {knob.text for knob, _ in ran}

    def seconds(self, knob: Knob) -> float:
        """Return what the next run of a setting will take, as far as is known."""
        sheet = self.sheet(knob)
        if later := [run.seconds for _, _, run in sheet.runs[1:]]:
            return statistics.median(later)
        if sheet.recorded is not None:
            return sheet.recorded.timed_seconds
        firsts = [s.recorded.seconds for s in self._sheets.values() if s.recorded is not None]
        return self._part * statistics.median(firsts) if firsts else 0.0

    def runs(self, knob: Knob) -> list[Run]:
        """Return the runs of a setting."""
        return [run for _, _, run in self.sheet(knob).runs]

    def blocks(self, knob: Knob) -> list[tuple[Run, ...]]:
        """Return each run of a setting behind the unchanged runs that stand around it."""
        found = [(self._around(place, call), run) for place, call, run in self.sheet(knob).runs]
        return [(*around, run) for around, run in found if len(around) == 2]

    def _around(self, place: int, call: str) -> list[Run]:
        """Return the unchanged runs of the same call before and after a run; else two before it."""
        all_of_call = [row for row in self.sheet(UNCHANGED).runs if row[1] == call]
        before = [run for number, _, run in all_of_call if number < place]
        after = [run for number, _, run in all_of_call if number > place]
        return [*before[-1:], *after[:1]] if after else before[-2:]

    def timing(self, knob: Knob) -> Timing | None:
        """Return what the blocks say at the last look; None before there are enough of them."""
        blocks = self.blocks(knob)
        look = max((look for look in LOOKS if look <= len(blocks)), default=0)
        key = (repr(sorted(knob.settings.items())), *(id(run) for b in blocks[:look] for run in b))
        if key not in self._timings:
            said = timing_of(blocks[:look], knob, self._known(knob)) if look else None
            self._timings[key] = said
        return self._timings[key]

    def is_settled(self, knob: Knob) -> bool:
        """Return whether more runs would be wasted."""
        found = self.timing(knob)
        last = len(self.blocks(knob)) >= LOOKS[-1]
        return found is not None and found.judgement.settled(last=last)

    def guess(self, knob: Knob) -> Guess | None:
        """Return the ratio of the runs so far, in an interval as wide as equal runs are apart."""
        rows = [(self._around(place, call), run) for place, call, run in self.sheet(knob).runs]
        blocks = [(around[0], around[-1], run) for around, run in rows if around]
        if not blocks or not all(run.times for block in blocks for run in block):
            return None
        known = self._known(knob)
        wanted = clocks.choose(knob, known)
        read, clock = clocks.read(blocks, wanted)
        apart = [b - a for pair in self._apart() for a, b in _levels([pair], clock)]
        gains = [(a + b) / 2 - c for a, b, c in _levels(blocks, clock)]
        strains = [run.strain for block in blocks for run in block]
        floor = clocks.floor_of(clock, busy=conditions.busy(strains, threads_of(known)))
        reach = _reach(gains, apart, floor / 2)
        middle = statistics.fmean(gains)
        return Guess(
            math.exp(middle),
            math.exp(middle - reach),
            math.exp(middle + reach),
            median([time for a, b, _ in read for run in (a, b) for time in run.times]),
            median([time for *_, run in read for time in run.times]),
        )

    def _known(self, knob: Knob) -> list[Recorded]:
        sheets = (self.sheet(UNCHANGED), self.sheet(knob))
        return [sheet.recorded for sheet in sheets if sheet.recorded is not None]

    def _apart(self) -> list[tuple[Run, Run]]:
        """Return the unchanged runs that follow each other in one call."""
        rows = self.sheet(UNCHANGED).runs
        pairs = ((a, b) for a, b in itertools.pairwise(rows) if a[1] == b[1])
        return [(a[2], b[2]) for a, b in pairs if a[2].times and b[2].times]


def _levels(blocks: Sequence[Sequence[Run]], clock: clocks.Clock) -> list[list[float]]:
    """Return the logarithm of each run's level."""
    read, _ = clocks.read(blocks, clock)
    return [
        [math.log(sorted(run.times)[int(CALM * len(run.times))]) for run in block]
        for block in clocks.aligned(read)
    ]


def _reach(gains: Sequence[float], apart: Sequence[float], assumed: float) -> float:
    """Return how far the 99 % interval reaches to either side, as a logarithm.

    Args:
        gains: Per run of the setting, how much less it takes.
        apart: How far unchanged runs that follow each other are apart.
        assumed: How far a run is off, before anything is known: it counts as two runs.
    """
    count = len(apart) + ASSUMED
    variance = (sum(d * d for d in apart) / 2 + ASSUMED * assumed**2) / count
    error = math.sqrt(variance * 1.5 / len(gains))
    if len(gains) > 1:
        error = max(error, statistics.stdev(gains) / math.sqrt(len(gains)))
    return error * _student(count)


def _student(freedom: int) -> float:
    """Return the quantile of Student's t that ends a 99 % interval (Cornish and Fisher)."""
    z = Z99
    terms = (
        z,
        (z**3 + z) / 4 / freedom,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96 / freedom**2,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / freedom**3,
    )
    return sum(terms)
