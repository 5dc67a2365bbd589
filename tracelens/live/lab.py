"""Sides, blocks and caches: how a workload is recorded, and how two of them are compared.

What is counted comes from a run with logging, what is timed from runs without. Every run is a
process of its own. Compiled kernels come out of the caches that the program always has, which name
them by what is in them: compiling is not what is asked. Graphs are lowered anew where they are
recorded; where whole runs are timed, every run starts with empty caches.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

from tracelens.live import ahead, early, load, turns
from tracelens.live.adopting import adopted
from tracelens.live.child import Child, TooLong
from tracelens.live.conditions import Strain
from tracelens.live.early import Plenty
from tracelens.live.numerics import Output, difference
from tracelens.live.process import Finished
from tracelens.live.rows import EAGER
from tracelens.live.run_cache import RunCache
from tracelens.live.runs import Recorded, Run, RunFailed, run_of
from tracelens.live.sides import OutOfTime, Timing, driven, key_of, or_raise, under
from tracelens.live.steps import Steps
from tracelens.live.timing import SoFar, Timer
from tracelens.live.workload import Side

__all__ = ["Lab", "OutOfTime", "Recorded", "RunFailed", "Timing", "driven"]

#: A timed run may take this many times what the recorded one took, and these seconds more.
TIMES, MORE = 2.0, 60.0
#: A recorded run may take this share of the time that is left: the others need some too.
RECORD_SHARE = 0.5


class Lab(AbstractContextManager["Lab"]):
    """Runs sides, within a time budget, and leaves nothing behind.

    Args:
        base: The environment that programs start from.
        seconds: The budget.
        on_progress: Called with what is being done, in a few words.
        memory: Bytes that a program may use; None is no limit.
        whole: Whether a timed program runs to its end even when it has made enough steps.
        keep: Where runs are kept, so that the next laboratory need not make them; None for nowhere.
        at_once: Recorded runs that may be made side by side, where processors are idle.
        expected: Seconds that the program took when it was recorded before; 0 if unknown.
        bundle: A recording that may stand for the unchanged program's run, where there is one.
    """

    def __init__(
        self,
        *,
        base: Mapping[str, str],
        seconds: float,
        on_progress: Callable[[str], None] | None = None,
        memory: int | None = None,
        whole: bool = False,
        keep: Path | None = None,
        at_once: int = 1,
        expected: float = 0.0,
        bundle: Path | None = None,
    ) -> None:
        self._until = time.monotonic() + seconds
        self._progress = on_progress or (lambda _: None)
        self._whole = whole
        self._at_once = at_once
        self._expected = expected
        self._bundle = bundle
        self._adopted: set[str] = set()
        self._folder = Path(tempfile.mkdtemp(prefix="tracelens-"))
        self._child = Child(dict(base), self._folder, memory)
        self._run_cache = RunCache(keep, base, self._folder)
        self._numbers = iter(range(1 << 30))
        self._recorded: dict[str, Recorded | RunFailed] = {}
        self._compared: dict[str, tuple[Output, ...]] = {}
        self._timer = Timer(self)
        self._one_by_one = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def left(self) -> float:
        """Seconds of the budget that are left."""
        return self._until - time.monotonic()

    @property
    def run_cache(self) -> RunCache:
        """What is kept from one call to the next."""
        return self._run_cache

    def folder(self, name: str) -> Path:
        """Return a new temporary folder; it is removed with the laboratory."""
        folder = self._folder / f"{name}-{next(self._numbers)}"
        folder.mkdir()
        return folder

    def record(self, side: Side, *, again: bool = False) -> Recorded:
        """Run a side with everything logged and return the analysis; once per side.

        Args:
            side: What to run.
            again: Whether it is run once more, and the second answer remembered beside the first.

        Raises:
            RunFailed: The program did not end well, or wrote nothing that is known.
            OutOfTime: The budget is used up.
        """
        key = key_of(side)
        if again:
            key = f"again {key}"
            if key not in self._recorded:
                self._recorded[key] = self._record(side)
        if key not in self._recorded:
            self._recorded[key] = self._known_before(side) or self._record_and_keep(side)
        return or_raise(self._recorded[key])

    def _known_before(self, side: Side) -> Recorded | None:
        """Return what is known of a side without running it; the recording may be its first run."""
        if (kept := self._run_cache.recorded(side)) is not None or self._bundle is None:
            return kept
        if (
            side.knob.settings
            or (found := adopted(self._bundle, side.workload, self._run_cache)) is None
        ):
            return None
        self._recorded[key_of(side)] = found
        self._adopted.add(key_of(side))
        return found

    def is_adopted(self, side: Side) -> bool:
        """Return whether the recording that was there stands for a run of this side so far."""
        return key_of(side) in self._adopted

    def renew(self, side: Side) -> Recorded:
        """Record a side for which the recording stood so far, and return what it shows now.

        Raises:
            RunFailed: The program did not end well.
            OutOfTime: The budget is used up.
        """
        found = self._record_and_keep(side)
        self._adopted.discard(key_of(side))
        self._recorded[key_of(side)] = found
        return or_raise(found)

    def ahead(self, sides: Sequence[Side]) -> None:
        """Record the next sides at once, as many as there is room for.

        What fails here is made again alone by :meth:`record`, which gives the answers.
        """
        missing = {key_of(side): side for side in sides if not self.is_known(side)}
        taken = max((getattr(run, "memory", 0) for run in self._recorded.values()), default=0)
        if min(len(missing), self._at_once) < 2 or (room := ahead.room(taken)) < 2:
            return
        chosen = list(missing.values())[: min(room, self._at_once)]
        try:
            seconds = self._allowed(self._first())
        except OutOfTime:
            return
        self._progress(f"recording {len(chosen)} runs at once")
        found = ahead.at_once(
            chosen,
            lambda side, stopped: self._child.recorded(
                side, self.folder("recording"), seconds, stopped
            ),
        )
        for side, recorded in zip(chosen, found, strict=True):
            if recorded is not None:
                self._recorded[key_of(side)] = recorded
                self._run_cache.keep(side, recorded)

    def is_known(self, side: Side) -> bool:
        """Return whether what a side's recorded run shows is known without running it."""
        key = key_of(side)
        if key not in self._recorded and (known := self._known_before(side)) is not None:
            self._recorded[key] = known
        return key in self._recorded

    def blocks(self, before: Side, after: Side, of: Literal["step", "run"] = "step") -> Timing:
        """Time two sides in interleaved blocks, until the answer is clear; once per pair.

        Raises:
            RunFailed: A program did not end well.
            OutOfTime: The budget does not suffice.
        """
        return self._timer.blocks(before, after, of)

    def together(
        self,
        before: Side,
        afters: Sequence[Side],
        of: Literal["step", "run"] = "step",
        on_round: Callable[[], None] | None = None,
    ) -> Iterator[Side]:
        """Time several changes of one program in shared rounds; yield each whose answer is clear.

        :meth:`blocks` then returns it, and goes on alone with those that were not yielded.
        """
        return self._timer.together(before, afters, of, on_round)

    def so_far(self, before: Side, after: Side, of: Literal["step", "run"] = "step") -> SoFar:
        """Return what the runs of two sides have shown so far; nothing is run."""
        return self._timer.so_far(before, after, of)

    def compare(self, side: Side) -> dict[str, float]:
        """Return how far a side's results are from eager: ``max_abs`` and ``max_rel``.

        Raises:
            RunFailed: It failed, or it is a command whose calls had other arguments in each run.
            OutOfTime: The budget is used up.
        """
        self._progress("comparing results with eager")
        if not driven(side):
            return self._compare_command(side)
        result = self.folder("compare") / "result.json"
        options = ("--mode", "compare", "--result", str(result))
        workload = replace(side.workload, argv=(*side.workload.argv, *options))
        self._run(replace(side, workload=workload), None, self.left)
        try:
            found = json.loads(result.read_text(encoding="utf-8"))
            return {name: float(found[name]) for name in ("max_abs", "max_rel")}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunFailed(f"no result of the comparison: {error}") from error

    def _compare_command(self, side: Side) -> dict[str, float]:
        """Compare what the first calls of a command's compiled callables return."""
        found = difference(*(self._outputs(one) for one in (side, Side(side.workload, EAGER))))
        if found is None:
            raise RunFailed("its calls had other arguments or weights in each run: set a seed")
        return found

    def _outputs(self, side: Side) -> tuple[Output, ...]:
        key = key_of(side)
        if key not in self._compared:
            plenty = self._plenty(side, "step")
            made, _ = self._run(side, None, self.left, plenty, outputs=True)
            self._compared[key] = made.outputs
        return self._compared[key]

    def _record_and_keep(self, side: Side) -> Recorded | RunFailed:
        found = self._record(side)
        if isinstance(found, Recorded):
            self._run_cache.keep(side, found)
        return found

    def _record(self, side: Side) -> Recorded | RunFailed:
        self._progress(f"recording it {under(side)}")
        usual = self._usual(side)
        seconds = self._allowed(usual * TIMES + MORE if usual else self._first())
        is_short = not usual or seconds >= self.left - 1  # the time was up, it did not hang
        try:
            return self._child.recorded(side, self.folder("recording"), seconds)
        except TooLong as failed:
            if is_short:
                raise OutOfTime(str(failed)) from failed
            return failed
        except RunFailed as failed:
            return failed

    def _first(self) -> float:
        """Return the seconds that the first run may take.

        One that took long before may take all that is left: the next call goes on with it.
        """
        share = self.left * RECORD_SHARE
        return max(share, self._expected * TIMES + MORE) if self._expected else share

    def _usual(self, side: Side) -> float:
        """Return the seconds that the unchanged program takes when it is recorded; 0 if unknown."""
        known = self.known(Side(side.workload))
        return known.seconds if known is not None else 0.0

    def known(self, side: Side) -> Recorded | None:
        """Return what a side's recorded run showed, if it was recorded."""
        found = self._recorded.get(key_of(side))
        return found if isinstance(found, Recorded) else None

    def say(self, text: str) -> None:
        """Tell what is being done, in a few words."""
        self._progress(text)

    @property
    def is_whole(self) -> bool:
        """Whether timed programs run to their ends even when they have made enough steps."""
        return self._whole

    def run_once(self, side: Side, of: Literal["step", "run"]) -> Run:
        """Run a side once without logging, and return its times.

        Raises:
            RunFailed: The program did not end well.
            OutOfTime: The budget is used up.
        """
        cache = self._child.new_cache(self.folder("cache")) if of == "run" else None
        recorded = self.known(side)
        usual = recorded.seconds if recorded is not None else None
        seconds = usual * TIMES + MORE if usual is not None else self.left
        elsewhere = load.busy_elsewhere()
        before = load.Usage.now()
        made, finished = self._run(side, cache, seconds, self._plenty(side, of))
        if cache is not None:
            shutil.rmtree(cache, ignore_errors=True)
        strain = Strain(elsewhere, load.Usage.now().since(before))
        return run_of(made, finished.seconds, of, strain)

    def in_turns(self, sides: Sequence[Side]) -> list[Run] | None:
        """Run sides without logging, at once and in turn; None where they are to run alone.

        Raises:
            OutOfTime: The budget is used up.
        """
        of = [(self.known(side), self._plenty(side, "step")) for side in sides]
        if self._one_by_one or not turns.fits(sides, [known for known, _ in of]):
            return None
        longest = max((one.seconds for one, _ in of if one), default=MORE) * TIMES + MORE
        allowed = self._allowed(len(sides) * longest)
        found = turns.in_turns(self._child, sides, of, self.folder("turns"), allowed)
        self._one_by_one = found is None
        return found

    def samples(self, sides: Sequence[Side]) -> list[tuple[Recorded, Run] | None]:
        """Do for sides at once and in turn what :meth:`sample` does; None for each left to it."""
        usual = self.known(Side(sides[0].workload))
        if usual is None or self.left < 1 or not turns.fits(sides, [usual] * len(sides)):
            return [None] * len(sides)
        seconds = min(self.left, len(sides) * (usual.seconds * TIMES + MORE))
        return turns.samples_in_turns(self._child, sides, usual, self.folder("turns"), seconds)

    def sample(self, side: Side) -> tuple[Recorded, Run]:
        """Run a side once, timed, with what is rare logged; what it showed counts as recorded.

        Raises:
            RunFailed: The program did not end well.
            OutOfTime: The budget is used up.
        """
        self._progress(f"running it {under(side)}")
        usual = self._usual(side)
        seconds = self._allowed(usual * TIMES + MORE if usual else self.left)
        elsewhere, before = load.busy_elsewhere(), load.Usage.now()
        try:
            recorded = self._child.recorded(side, self.folder("recording"), seconds, timed=True)
        except TooLong as failed:
            if self.left < 1:
                raise OutOfTime from failed
            raise
        strain = Strain(elsewhere, load.Usage.now().since(before))
        self.believe(side, recorded)
        return recorded, run_of(recorded.steps, recorded.seconds, "step", strain)

    def believe(self, side: Side, recorded: Recorded) -> None:
        """Take what another call has seen of a side for its recorded run."""
        self._recorded[key_of(side)] = recorded

    def _plenty(self, side: Side, of: Literal["step", "run"]) -> Plenty | None:
        """Return how much of a side's run is enough; None lets it run to its end."""
        recorded = self.known(side)
        if self._whole or of == "run" or driven(side) or recorded is None:
            return None
        return early.wanted(recorded.steps, recorded.seconds)

    def _run(
        self,
        side: Side,
        cache: Path | None,
        seconds: float,
        plenty: Plenty | None = None,
        *,
        outputs: bool = False,
    ) -> tuple[Steps, Finished]:
        """Run a side without logging."""
        allowed, folder = self._allowed(seconds), self.folder("told")
        try:
            return self._child.plain(
                side, folder, allowed, cache=cache, plenty=plenty, outputs=outputs
            )
        except TooLong as failed:
            if self.left < 1:
                raise OutOfTime from failed
            raise

    def _allowed(self, seconds: float) -> float:
        """Return the seconds that a run may take: ``seconds``, or what is left."""
        if self.left < 1:
            raise OutOfTime
        return min(seconds, self.left)
