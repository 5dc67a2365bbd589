"""What was compiled at all, and what the recompiles cost."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tracelens.dynamo.phases import FramePhases
from tracelens.dynamo.recompile_history import Step
from tracelens.evidence import Place, Seen, Table
from tracelens.frames import Frame, gathered
from tracelens.logs import Joined
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Recompile
from tracelens.report import Cost

if TYPE_CHECKING:  # what a log has nothing of is not imported
    from tracelens.logs.compile_errors import Failure
    from tracelens.logs.recompile_limits import RecompileLimit

__all__ = ["CompiledFrame", "beside_first", "cost_of", "measured_ms"]


#: From so many times on the first entry was not compiled: its code came out of a cache.
CACHED = 20.0
#: Seconds to the next compilation beyond which they say nothing of this one.
MAX_BOUND = 120.0


class CompiledFrame(Joined):
    """Something that Dynamo compiled, whichever log tells it: a limit could have been hit."""

    id: str

    @classmethod
    def join(
        cls,
        recompiles: Table[Recompile],
        *,
        limits: Table[RecompileLimit],
        frames: Table[Frame],
        failures: Table[Failure],
    ) -> Iterator[Seen[CompiledFrame]]:
        """Yield one per compilation that any log mentions."""
        ids: dict[str, Place] = {}
        for table in (frames, recompiles, limits):
            for place, seen in table.events():
                frame = seen.record.id if isinstance(seen.record, Frame) else place.frame
                ids.setdefault(frame, place)
        for place, _ in failures.where(lambda one: one.is_limit).events():
            ids.setdefault(place.frame, place)
        for frame, place in ids.items():
            yield Seen(cls(id=frame), 1, [place], "")


def cost_of(steps: Iterable[Step], frames: Table[Frame]) -> Cost | None:
    """Return what the compilations took that ``steps`` began; None where no clock tells.

    The structured log has what Dynamo measured. By the clocks of the lines, a compilation ends when
    its guards are printed. Without guards in the log it ends with its generated code. Where neither
    is logged, its last line says nothing of its end, and the next compilation begins after it.
    """
    known = frames.derived(_by_compilation)
    times: list[float] = []
    measured, bounds = 0, 0
    for step in steps:
        frame = known.get(step.place.compilation)
        if frame is None:
            continue
        exact = _measured(frame)
        if seconds := exact or _seconds(step, frame):
            times.append(seconds)
            measured += exact is not None
        elif 0 < (bound := _until_next(step, frame, frames)) <= MAX_BOUND:
            times.append(bound)
            bounds += 1
    if not times:
        return None
    entries = f"{len(times)} {'entry' if len(times) == 1 else 'entries'}"
    ms = sum(times) * 1000
    if measured == len(times):
        return Cost(ms=ms, basis="measured", of=f"compiling {entries}, as Dynamo measured it")
    if bounds:
        what = f"time from the log line of the recompile to the next compilation, for {entries}"
        return Cost(ms=ms, basis="upper_bound", of=what)
    what = f"time from the log line of the recompile to its guards, for {entries}"
    return Cost(ms=ms, basis="estimated", of=what)


def _until_next(step: Step, frame: Frame, frames: Table[Frame]) -> float:
    """Return the seconds from ``step`` to the next compilation that the log tells of; else 0.

    After a reset of Dynamo a compile id stands for several compilations: then it is the next
    recompile of the process, which nothing but a recompile's line tells.
    """
    if len(frame.of(Recompile)) == 1:
        return frame.until_next or 0.0
    times = frames.derived(_recompiles).get(step.place.process, ())
    at = bisect_right(times, step.place.when or 0.0)
    return times[at] - (step.place.when or 0.0) if step.place.when and at < len(times) else 0.0


def _recompiles(frames: Table[Frame]) -> Mapping[tuple[str, str], Sequence[float]]:
    """Return the times of the recompiles of each process, in order."""
    found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for row in frames:
        for place, seen in row.record.sightings:
            if isinstance(seen.record, Recompile) and place.when is not None:
                found[place.process].append(place.when)
    return {key: sorted(times) for key, times in found.items()}


def measured_ms(steps: Iterable[Step], frames: Table[Frame]) -> float:
    """Return what the compilations took that ``steps`` began, as far as Dynamo measured them.

    A cost is rounded: this is not.
    """
    known = frames.derived(_by_compilation)
    of = (known.get(step.place.compilation) for step in steps)
    return 1000 * sum(_measured(frame) or 0.0 for frame in of if frame is not None)


def beside_first(step: Step, frames: Table[Frame]) -> float:
    """Return how many times as long as the first entry of the function this one took; 0: unknown.

    Both as Dynamo measured them, or both from the generated code to the guards: the log tells when
    a recompile begins, and not when the first compilation did. It is not known, either, where the
    code of the first one came out of a cache.
    """
    known = frames.derived(_by_compilation)
    *process, name = step.place.compilation
    first = known.get((process[0], process[1], f"{name.partition('/')[0]}/0"))
    again = known.get(step.place.compilation)
    if first is None or again is None:
        return 0.0
    if len(first.metrics) == 1 and (took := _measured(again)):
        times = took / (first.metrics[0].record.entire_frame_compile_time_s or math.inf)
    else:
        both = _from_code(first), _from_code(again)
        times = both[1] / both[0] if all(both) else 0.0
    return times if times < CACHED else 0.0


def _from_code(frame: Frame) -> float:
    """Return the seconds from the first generated code to the guards, where each came once.

    0 where code comes behind them: of a first entry that is trained, the backward graph is
    compiled when it is called, and of later ones, with symbols, before the guards.
    """
    kind = gathered.imported(gathered.MODULE)
    if kind is None or len(frame.of(GuardTree)) != 1:
        return 0.0
    codes = [s.place.when for s in frame.sightings if isinstance(s.seen.record, kind)]
    (end,) = [s.place.when for s in frame.sightings if isinstance(s.seen.record, GuardTree)]
    begun = [when for when in codes if when is not None]
    return end - min(begun) if end is not None and begun and end > max(begun) else 0.0


def _by_compilation(frames: Table[Frame]) -> dict[tuple[str, str, str], Frame]:
    return {(*row.first.process, row.record.id): row.record for row in frames}


def _measured(frame: Frame) -> float | None:
    """Return the seconds that Dynamo measured, where the compile id was given once."""
    metrics = frame.metrics
    if len(metrics) != 1 or len(frame.of(Recompile)) != 1 or metrics[0].count != 1:
        return None
    return metrics[0].record.entire_frame_compile_time_s


def _seconds(step: Step, frame: Frame) -> float | None:
    """Return how long the compilation took that ``step`` began.

    After a reset of Dynamo the same compile id comes again: only what stands before the next
    recompile counts.
    """
    later = [s.place.line for s in frame.sightings if isinstance(s.seen.record, Recompile)]
    end = min((line for line in later if line > step.place.line), default=math.inf)
    for place, seen in frame.sightings:
        is_tree = isinstance(seen.record, GuardTree) and place.when is not None
        if is_tree and step.place.line < place.line < end:
            return (place.when or 0.0) - (step.place.when or 0.0)
    return frame.compile_seconds if len(later) == 1 and _ends(frame) else None


def _ends(frame: Frame) -> bool:
    """Tell whether there are records that are made when a compilation ends, or near its end."""
    return bool(frame.metrics or frame.modules or frame.of(FramePhases) or frame.of(GuardTree))
