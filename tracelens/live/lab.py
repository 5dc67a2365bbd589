"""Sides, blocks and caches: how a workload is recorded, and how two of them are compared.

What is counted comes from a run with logging, what is timed from runs without. Every run is a
process of its own. Compiled kernels come out of the caches that the program always has, which name
them by what is in them: compiling is not what is asked. Graphs are lowered anew where they are
recorded; where whole runs are timed, every run starts with empty caches.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

from tracelens import engine
from tracelens.errors import SourceError
from tracelens.live import (
    clocks,
    conditions,
    early,
    injection,
    keeping,
    load,
    process,
    recording,
    steps,
)
from tracelens.live.clocks import Clock, floor_of
from tracelens.live.conditions import Strain
from tracelens.live.early import Plenty
from tracelens.live.ending import LastWords, trouble
from tracelens.live.keeping import Keeper
from tracelens.live.process import Finished, Limits
from tracelens.live.runs import Recorded, Run, RunFailed, crowding, refuse_few_steps, run_of
from tracelens.live.sides import (
    OutOfTime,
    Timing,
    caches_in,
    driven,
    input_of,
    key_of,
    or_raise,
    under,
)
from tracelens.live.statistics import (
    LOOKS,
    Block,
    Judgement,
    judge,
)
from tracelens.live.steps import Steps
from tracelens.live.workload import Side

__all__ = ["Lab", "OutOfTime", "Recorded", "RunFailed", "Timing", "driven"]

#: Text kept of a recorded run's head and tail: a program may print gigabytes.
KEPT = 64 << 20
#: A timed run may take this many times what the recorded one took, and these seconds more.
TIMES, MORE = 2.0, 60.0
#: A recorded run may take this share of the time that is left: the others need some too.
RECORD_SHARE = 0.5
#: Ratio of wall times below which less CPU time is no gain.
WAITED = 0.9
#: Places of the unchanged program, the same again, and the changed one, block by block: each stands
#: everywhere equally often, so that a steady drift favours none.
ORDERS = ((0, 1, 2), (2, 0, 1), (1, 2, 0))


class Lab(AbstractContextManager["Lab"]):
    """Runs sides, within a time budget, and leaves nothing behind.

    Args:
        base: The environment that programs start from.
        seconds: The budget.
        on_progress: Called with what is being done, in a few words.
        memory: Bytes that a program may use; None is no limit.
        whole: Whether a timed program runs to its end even when it has made enough steps.
        keep: Where runs are kept, so that the next laboratory need not make them; None for nowhere.
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
    ) -> None:
        self._base = dict(base)
        self._until = time.monotonic() + seconds
        self._progress = on_progress or _silent
        self._memory = memory
        self._whole = whole
        self._folder = Path(tempfile.mkdtemp(prefix="tracelens-"))
        self._keeper = Keeper(keep, self._base, self._folder)
        self._numbers = iter(range(1 << 30))
        self._recorded: dict[str, Recorded | RunFailed] = {}
        self._timed: dict[str, Timing | RunFailed] = {}
        self._strains: list[Strain] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def left(self) -> float:
        """Seconds of the budget that are left."""
        return self._until - time.monotonic()

    @property
    def keeper(self) -> Keeper:
        """What is kept from one call to the next."""
        return self._keeper

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
            self._recorded[key] = self._keeper.recorded(side) or self._record_and_keep(side)
        return or_raise(self._recorded[key])

    def blocks(self, before: Side, after: Side, of: Literal["step", "run"] = "step") -> Timing:
        """Time two sides in interleaved blocks, until the answer is clear; once per pair.

        Raises:
            RunFailed: A program did not end well.
            OutOfTime: The budget does not suffice.
        """
        key = f"{key_of(before)}|{key_of(after)}|{of}"
        if key not in self._timed:
            try:
                self._timed[key] = self._blocks(before, after, of)
            except RunFailed as failed:
                self._timed[key] = failed
        return or_raise(self._timed[key])

    def timed(self, side: Side) -> Run:
        """Run a side once without logging and return the times of its steps.

        Raises:
            RunFailed: The program did not end well.
            OutOfTime: The budget is used up.
        """
        self._progress(f"timing {under(side)}")
        run = self._timed_run(side, "step")
        self._strains.append(run.strain)
        return run

    def busy(self, threads: int) -> bool:
        """Return whether others left too little to the runs of :meth:`timed`."""
        return bool(self._strains) and conditions.busy(self._strains, threads)

    def compare(self, side: Side) -> dict[str, float]:
        """Return how far a side's results are from eager: ``max_abs`` and ``max_rel``.

        Raises:
            RunFailed: The workload is a command, whose results are not known, or it failed.
            OutOfTime: The budget is used up.
        """
        if not driven(side):
            raise RunFailed("what a command computes is not known")
        self._progress("comparing results with eager")
        result = self.folder("compare") / "result.json"
        options = ("--mode", "compare", "--result", str(result))
        workload = replace(side.workload, argv=(*side.workload.argv, *options))
        self._run(replace(side, workload=workload), None, self.left)
        try:
            found = json.loads(result.read_text(encoding="utf-8"))
            return {name: float(found[name]) for name in ("max_abs", "max_rel")}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunFailed(f"no result of the comparison: {error}") from error

    def _record_and_keep(self, side: Side) -> Recorded | RunFailed:
        found = self._record(side)
        if isinstance(found, Recorded):
            self._keeper.keep(side, found)
        return found

    def _record(self, side: Side) -> Recorded | RunFailed:
        self._progress(f"recording it {under(side)}")
        folder = recording.prepare(self.folder("recording"))
        usual = self._usual(side)
        seconds = self._allowed(usual * TIMES + MORE if usual else self.left * RECORD_SHARE)
        usual = 0.0 if seconds >= self.left - 1 else usual  # the time was up, it did not hang
        wishes = recording.Wishes(
            limits=Limits(seconds=seconds, memory=self._memory),
            knob=side.knob,
            log_head=KEPT,
            log_tail=KEPT,
        )
        words = LastWords()
        with input_of(side) as given:
            done = recording.record(
                side.workload.argv,
                folder,
                base={**self._base, **side.workload.env},
                cwd=side.workload.cwd,
                wishes=wishes,
                show=words,
                stdin=given,
            )
        try:
            if failed := trouble(done.finished, words.text, seconds):
                if done.finished.reason == "time" and not usual:
                    raise OutOfTime(failed)
                return RunFailed(failed)
            about, made, whole = conditions.told(folder)
            report = engine.analyze(str(folder))
        except SourceError:
            return RunFailed("it ran, and neither torch nor oneDNN logged anything")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        ours = str(self._folder)
        sources = keeping.hashes(path for path in done.sources if not path.startswith(ours))
        return Recorded(report, made, done.finished.seconds, about, sources, *whole)

    def _usual(self, side: Side) -> float:
        """Return the seconds that the unchanged program takes when it is recorded; 0 if unknown."""
        known = self._recorded.get(key_of(Side(side.workload)))
        return known.seconds if isinstance(known, Recorded) else 0.0

    def _blocks(self, before: Side, after: Side, of: Literal["step", "run"]) -> Timing:
        known = [(side, self._recorded.get(key_of(side))) for side in (before, after)]
        sides = [(side, found) for side, found in known if isinstance(found, Recorded)]
        name = f"{of}, whole: {self._whole}"
        runs = self._keeper.blocks(name, sides) if len(sides) == 2 else []
        best = self._known(before, after, runs, of)
        if best is not None and len(runs) >= LOOKS[-1] and best.judgement.answer == "unclear":
            runs, best = [], None  # asked again: it may be clear this time
        while best is None or not best.judgement.settled():
            longest = max((run.seconds for block in runs for run in block), default=0.0)
            coming = next(look for look in LOOKS if look > len(runs))
            if best is not None and 3 * longest * (coming - len(runs)) > self.left:
                return replace(best, unfinished=True)
            try:
                runs.append(self._block((before, before, after), of, len(runs)))
            except OutOfTime:
                if best is None:
                    raise
                return replace(best, unfinished=True)
            if of == "step" and len(runs) == 1:
                refuse_few_steps(runs[0])
            if len(sides) == 2:
                self._keeper.keep_blocks(name, sides, runs)
            if len(runs) in LOOKS:
                best = self._judged(before, after, runs, of)
        return best

    def _known(
        self, before: Side, after: Side, runs: list[tuple[Run, ...]], of: Literal["step", "run"]
    ) -> Timing | None:
        """Return what runs that an earlier call has made say; None where they are too few."""
        looks = [look for look in LOOKS if look <= len(runs)]
        return self._judged(before, after, runs[: looks[-1]], of) if looks else None

    def _block(
        self, sides: tuple[Side, Side, Side], of: Literal["step", "run"], number: int
    ) -> tuple[Run, ...]:
        found: dict[int, Run] = {}
        for place in ORDERS[number % len(ORDERS)]:
            self._progress(f"timing block {number + 1}, {under(sides[place])}")
            found[place] = self._timed_run(sides[place], of)
        return tuple(found[place] for place in range(3))

    def _judged(
        self, before: Side, after: Side, runs: list[tuple[Run, ...]], of: Literal["step", "run"]
    ) -> Timing:
        known = [self._recorded.get(key_of(side)) for side in (before, after)]
        wanted = clocks.choose(after.knob, [k for k in known if isinstance(k, Recorded)])
        read, clock = clocks.read(runs, wanted)
        read = clocks.aligned(read) if of == "step" else read
        blocks = tuple(Block(*(run.times for run in block)) for block in read)
        strains = [run.strain for block in runs for run in block]
        busy = conditions.busy(strains, self._threads(before))
        judged = judge(blocks, of=of, floor=floor_of(clock, busy=busy))
        judged = self._waited(judged, runs, clock, of)
        said = {"clock": "CPU time" if clock == "cpu" else "wall"}
        return Timing(judged, of, blocks, crowding(runs) | said)

    @staticmethod
    def _waited(
        judged: Judgement, runs: list[tuple[Run, ...]], clock: Clock, of: Literal["step", "run"]
    ) -> Judgement:
        """Return the answer, unless what uses less CPU time takes longer all the same."""
        if judged.answer != "faster" or clock == "wall":
            return judged
        wall = judge([Block(*(run.times for run in block)) for block in runs], of=of)
        if wall.ratio > WAITED:
            return judged
        words = f"it uses less CPU time ({judged.ratio:.2f} times), and takes longer all the same"
        return replace(judged, answer="unclear", reason=words)

    def _threads(self, side: Side) -> int:
        """Return the threads that a side said it has when it was recorded; else 1."""
        recorded = self._recorded.get(key_of(side))
        said = recorded.about.get("threads", "") if isinstance(recorded, Recorded) else ""
        return int(said) if said.isdigit() else 1

    def _timed_run(self, side: Side, of: Literal["step", "run"]) -> Run:
        cache = self._new_cache() if of == "run" else None
        recorded = self._recorded.get(key_of(side))
        usual = recorded.seconds if isinstance(recorded, Recorded) else None
        seconds = usual * TIMES + MORE if usual is not None else self.left
        elsewhere = load.busy_elsewhere()
        before = load.Usage.now()
        made, finished = self._run(side, cache, seconds, self._plenty(side, of))
        if cache is not None:
            shutil.rmtree(cache, ignore_errors=True)
        strain = Strain(elsewhere, load.Usage.now().since(before))
        return run_of(made, finished.seconds, of, strain)

    def _plenty(self, side: Side, of: Literal["step", "run"]) -> Plenty | None:
        """Return how much of a side's run is enough; None lets it run to its end."""
        recorded = self._recorded.get(key_of(side))
        if self._whole or of == "run" or driven(side) or not isinstance(recorded, Recorded):
            return None
        return early.wanted(recorded.steps, recorded.seconds)

    def _run(
        self, side: Side, cache: Path | None, seconds: float, plenty: Plenty | None = None
    ) -> tuple[Steps, Finished]:
        """Run a side without logging."""
        allowed = self._allowed(seconds)
        told = self.folder("told")
        caches = caches_in(cache) if cache is not None else {}
        base = {**self._base, **side.workload.env, **caches}
        words = LastWords()
        with input_of(side) as given:
            finished = process.run(
                side.workload.argv,
                env=injection.environment(
                    side.knob, told, base=base, sync=True, enough=plenty.spec if plenty else None
                ),
                cwd=side.workload.cwd,
                limits=Limits(seconds=allowed, memory=self._memory),
                enough=plenty.noticed(told) if plenty else None,
                on_output=words,
                stdin=given,
            )
        made = steps.read(told)
        shutil.rmtree(told, ignore_errors=True)
        if failed := trouble(finished, words.text, allowed):
            if finished.reason == "time" and self.left < 1:
                raise OutOfTime
            raise RunFailed(failed)
        return made, finished

    def _allowed(self, seconds: float) -> float:
        """Return the seconds that a run may take: ``seconds``, or what is left."""
        if self.left < 1:
            raise OutOfTime
        return min(seconds, self.left)

    def _new_cache(self) -> Path:
        """Return a folder for caches, empty but for torch's own headers, which all sides share.

        To compile them once per side would take longer than many a program.
        """
        folder, shared = self.folder("cache"), self._folder / "headers"
        shared.mkdir(exist_ok=True)
        (folder / "inductor").mkdir()
        with contextlib.suppress(OSError):
            (folder / "inductor" / "precompiled_headers").symlink_to(shared)
        return folder


def _silent(text: str) -> None:
    del text
