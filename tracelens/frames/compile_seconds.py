"""What one process spent on compilations, as each kind of log tells it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, ClassVar, Literal

from tracelens.dynamo import user_code
from tracelens.dynamo.phases import BACKWARD, FRAME, FramePhases, ProcessPhases, total
from tracelens.evidence import Place, Seen, Table
from tracelens.frames import Frame, gathered
from tracelens.logs import Joined
from tracelens.logs.torch_log import CompileSpan
from tracelens.report import EvidenceLine, Where
from tracelens.words import length

if TYPE_CHECKING:
    from tracelens.logs.compile_times import Phase
    from tracelens.logs.guards import GuardTree
    from tracelens.logs.torch_trace import CompilationMetrics

__all__ = ["CompileSeconds"]

#: Functions and phases that are named.
MAX_NAMED = 3
#: Breaks that one compilation can have, of which some are printed twice.
MAX_BREAKS = 2
#: The layers of a compilation, and the phases of a table that hold one and all below it. What a
#: version calls them differs; the first that is there counts.
LAYERS = (
    ("Dynamo", FRAME),
    (
        "AOTAutograd",
        ("OutputGraph.call_user_compiler", "create_aot_dispatcher_function", "backend_compile"),
    ),
    ("Inductor", ("compile_fx_inner", "fx_codegen_and_compile", "inductor_compile")),
    ("generating and compiling code", ("GraphLowering.compile_to_module", "code_gen")),
)
#: The phase that is Dynamo's alone; a table may hold it and none of the layers below Dynamo.
TRACING = "bytecode_tracing"
#: Up to this part of a compilation, tracing is not what took long.
LITTLE = 0.1


class CompileSeconds(Joined):
    """What one process spent on compilations."""

    switch: ClassVar[str] = "TORCH_TRACE=trace_dir"
    seconds: float
    count: int
    #: As Dynamo measured it, or by the clocks of the log.
    basis: Literal["measured", "estimated"]
    #: How many were compiled once more, and the seconds of these.
    again: int = 0
    again_seconds: float = 0.0
    #: Of those, how many took a time that the log tells; not all do where it ends within one.
    again_timed: int = 0
    #: Whether the log says which layer the seconds went to.
    layered: bool = True
    #: Whether tracing took little of it, and rows are missing that tell the layers below.
    is_backends: bool = False
    #: Seconds of the layers or phases, and of the functions that took longest, in words.
    parts: tuple[str, ...] = ()
    longest: tuple[str, ...] = ()
    where: Where | None = None
    quotes: tuple[EvidenceLine, ...] = ()

    @classmethod
    def join(
        cls,
        *,
        metrics: Table[CompilationMetrics],
        phases: Table[FramePhases],
        tables: Table[ProcessPhases],
        spans: Table[CompileSpan],
        frames: Table[Frame],
    ) -> Iterator[Seen[CompileSeconds]]:
        """Yield one per process: as measured, where any log has measured it."""
        counted = {place.process[0] for place, _ in metrics.events()}
        others = [row for row in tables if row.first.process[0] not in counted]
        found = [*_by_metrics(metrics, phases), *_by_tables(others, spans)]
        found = found or list(_by_clocks(spans, frames))
        for number, sums in enumerate(found):
            yield Seen(sums, 1, [Place("", number)], "")


def _by_metrics(
    metrics: Table[CompilationMetrics], phases: Table[FramePhases]
) -> Iterator[CompileSeconds]:
    """Yield the seconds of each process, as Dynamo measured them.

    The metrics of a frame leave out its backward pass, which is compiled when it first runs.
    """
    later: defaultdict[tuple[str, str], float] = defaultdict(float)
    for place, phase in phases.events():
        later[place.process] += total(phase.record.seconds, BACKWARD) or 0.0
    writers: dict[tuple[str, str], list[tuple[Place, Seen[CompilationMetrics]]]] = {}
    for place, row in metrics.events():
        if row.record.entire_frame_compile_time_s is not None:
            writers.setdefault(place.process, []).append((place, row))
    for process, events in writers.items():
        events.sort(key=lambda event: -(event[1].record.entire_frame_compile_time_s or 0.0))
        records = [row.record for _, row in events]
        times = [record.entire_frame_compile_time_s or 0.0 for record in records]
        again = [
            seconds
            for (place, _), seconds in zip(events, times, strict=True)
            if place.frame.rpartition("/")[2] not in {"0", ""}
        ]
        yield CompileSeconds(
            seconds=sum(times) + later[process],
            count=len(times),
            basis="measured",
            again=len(again),
            again_seconds=sum(again),
            again_timed=len(again),
            parts=(*_parts(records), *_later(later[process])),
            longest=tuple(
                f"{_label(record)} {length(1000 * seconds)}"
                for record, seconds in list(zip(records, times, strict=True))[:MAX_NAMED]
            ),
            where=_first_own(
                (record.co_filename, record.co_firstlineno, record.co_name) for record in records
            ),
            quotes=tuple(
                EvidenceLine(
                    input=place.input,
                    line=place.line,
                    text=row.text.partition(', "non_compliant_ops')[0][:400],
                    note=f"{length(1000 * (row.record.entire_frame_compile_time_s or 0))}",
                )
                for place, row in events[:MAX_NAMED]
            ),
        )


def _parts(records: Iterable[CompilationMetrics]) -> tuple[str, ...]:
    whole = backend = inductor = code = 0.0
    for record in records:
        whole += record.entire_frame_compile_time_s or 0.0
        backend += record.backend_compile_time_s or 0.0
        inductor += record.inductor_compile_time_s or 0.0
        code += record.code_gen_time_s or 0.0
    return _own([whole, backend, inductor, code])


def _own(layers: list[float]) -> tuple[str, ...]:
    """Return the seconds of each layer without those of the layers below it, in words."""
    found = []
    for number, (name, _) in enumerate(LAYERS):
        below = next((seconds for seconds in layers[number + 1 :] if seconds), 0.0)
        if layers[number] > below:
            found.append(f"{name} {length(1000 * (layers[number] - below))}")
    return tuple(found)


def _traced(whole: float, tracing: Phase | None) -> tuple[str, ...]:
    """Return Dynamo's own seconds of a table that has no layer below it, and the rest."""
    if tracing is None:
        return ()
    rest = max(0.0, whole - tracing.total)
    return (
        f"tracing {length(1000 * tracing.total)}",
        f"the backend and what else is below it {length(1000 * rest)}",
    )


def _later(seconds: float) -> tuple[str, ...]:
    return (f"backward passes {length(1000 * seconds)}",) if seconds else ()


def _by_tables(
    tables: Iterable[Seen[ProcessPhases]], spans: Table[CompileSpan]
) -> Iterator[CompileSeconds]:
    """Yield the sums of each table; torch prints one at the end, programs also before.

    One number for a phase may be the sum of several compilations: the compile ids of the log tell
    how many there were, where other records have them.
    """
    begun: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for span in spans:
        begun[span.first.process].add(span.record.frame)
    for row in tables:
        phases = {phase.name: phase for phase in row.record.phases}
        backward = sum(phases[name].total for name in BACKWARD if name in phases)
        held = [next((phases[n] for n in names if n in phases), None) for _, names in LAYERS]
        whole = held[0]
        if whole is None:
            continue
        layered = any(phase is not None for phase in held[1:])
        layers = [phase.total if phase else 0.0 for phase in held]
        tracing = phases.get(TRACING)
        summed = begun[row.first.process] if len(whole.seconds) == 1 else set()
        again = sum(not frame.endswith("/0") for frame in summed)
        yield CompileSeconds(
            seconds=whole.total + backward,
            count=max(len(whole.seconds), len(summed)),
            again=again,
            basis="measured",
            layered=layered,
            is_backends=not layered
            and tracing is not None
            and tracing.total < LITTLE * whole.total,
            parts=(
                *(_own(layers) if layered else _traced(whole.total, tracing)),
                *_later(backward),
            ),
            quotes=(row.quote(at=_line_of(row.text, whole.name)),) if row.text else (),
        )


def _line_of(text: str, name: str) -> int:
    lines = text.split("\n")
    return next((at for at, line in enumerate(lines) if line.startswith(name)), 0)


def _by_clocks(spans: Table[CompileSpan], frames: Table[Frame]) -> Iterator[CompileSeconds]:
    """Yield the seconds of each process by the clocks of its log."""
    names = {(*row.first.process, row.record.id): row.record for row in frames}
    writers: dict[tuple[str, str], list[Seen[CompileSpan]]] = {}
    for row in spans:
        # Threads of one process stand in the place of its number up to torch 2.4.
        writer = "" if row.record.writer.isdecimal() else row.record.writer
        writers.setdefault((row.first.input, writer), []).append(row)
    for rows in writers.values():
        own = _own_seconds(rows)
        ranked = sorted(zip(rows, own, strict=True), key=lambda one: -one[1])
        longest = [
            (row, names.get((row.first.input, row.record.writer, row.record.frame)))
            for row, _ in ranked
        ]
        if any(frame is not None and _was_reset(frame) for _, frame in longest):
            continue
        again = [spent for row, spent in ranked if not row.record.frame.endswith("/0")]
        yield CompileSeconds(
            seconds=sum(own),
            count=len(rows),
            basis="estimated",
            again=len(again),
            again_seconds=sum(again),
            # The clocks of one record alone, of a log that ends there, tell no time.
            again_timed=sum(spent > 0 for spent in again),
            longest=tuple(
                f"{_named(row, frame)} {length(1000 * spent)}"
                for (row, frame), (_, spent) in zip(longest, ranked[:MAX_NAMED], strict=False)
                if spent > 0
            ),
            where=_first_own(
                (frame.file, frame.line, frame.function) for _, frame in longest if frame
            ),
        )


def _first_own(functions: Iterable[tuple[str | None, int | None, str | None]]) -> Where | None:
    """Return the first function that is no wrapper of a library."""
    for file, line, function in functions:
        if file and user_code.distance(file, function or "") == 0:
            return Where(file=file, line=line, function=function)
    return None


def _was_reset(frame: Frame) -> bool:
    """Whether one compile id stands for several compilations, after a reset of Dynamo."""
    trees = sum(_is_whole(seen.record) for seen in frame.named(gathered.TREE))
    again, breaks = (len(frame.named(name)) for name in (gathered.RECOMPILE, gathered.BREAK))
    return again > 1 or trees > 1 or breaks > MAX_BREAKS


def _is_whole(tree: GuardTree) -> bool:
    """Whether it is the tree of an entry, and not a part of the list that torch wrote up to 2.3."""
    return any(guard.is_manager for guard in tree.guards)


def _own_seconds(rows: list[Seen[CompileSpan]]) -> list[float]:
    """Return the seconds of each, without those of the compilations that began within it.

    A frame is busy until its backward pass is compiled. What runs in between is compiled under ids
    of its own, and counts there: at each moment the one that began last.
    """
    own = [0.0] * len(rows)
    starts = [row.first.when or 0.0 for row in rows]
    active: list[tuple[float, int]] = []
    at = float("-inf")

    def until(moment: float) -> None:
        """Give the time up to this moment to those that are busy, the latest first."""
        nonlocal at
        while active and at < moment:
            number = -active[0][1]
            end = starts[number] + rows[number].record.seconds
            if end > at:
                own[number] += min(end, moment) - at
                at = min(end, moment)
            if end <= at:
                heappop(active)
        at = max(at, moment)

    for start, number in sorted((start, number) for number, start in enumerate(starts)):
        until(start)
        heappush(active, (-start, -number))
    until(float("inf"))
    return own


def _label(record: CompilationMetrics) -> str:
    place = (
        user_code.short(record.co_filename, record.co_firstlineno or 0)
        if record.co_filename
        else ""
    )
    name = f"`{record.co_name or '?'}` {record.compile_id}".rstrip()
    return f"{name} ({place})" if place else name


def _named(row: Seen[CompileSpan], frame: Frame | None) -> str:
    if frame is None or not frame.function:
        return row.record.frame
    return f"`{frame.function}` {row.record.frame}"
