"""TRC006 host-device-sync."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import BackwardNode, Operator, RuntimeCall
from tracelens.report import Confidence, Cost, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.trc._waiting import ONE_BY_ONE, REMEDIES, Waiting
from tracelens.traces.measured import Step, Window
from tracelens.traces.rows import CopyTime, HeldBy, SyncTime, Timeline
from tracelens.traces.runs import Run, runs
from tracelens.traces.views import stories, views, where_of
from tracelens.words import few, length, percent, share_of

__all__ = ["HostDeviceSync"]

MIN_SHARE = 0.05
#: Share of all idle time that comes after waits, and its least amount, milliseconds.
MIN_OF_IDLE = 0.2
MIN_MS = 0.1
#: Share of it in which the program loads data: then that is the cause.
MOST = 0.5
#: Share of it in which the host calls no operator: then it is Python that the device waits for.
MAIN = 0.75
#: Waits per step from which on they are more than the one at its end.
SEVERAL = 1.5
#: The same in a trace without steps; and milliseconds of idle time after each, on average, from
#: which on the host does something else there.
MANY = 50
LONG_MS = 1.0
#: Operators that read a result, or need one to know the size of theirs.
READERS = frozenset(
    {"_local_scalar_dense", "nonzero", "masked_select", "unique", "_unique2", "is_nonzero"}
)
#: ... of these, those whose size depends on the data; and what reads one element.
SIZED = READERS - {"_local_scalar_dense", "is_nonzero"}
#: What asks of a tensor whether anything in it is so, as ``detect_anomaly`` does.
ANY = "_is_any_true"
#: Share of the time for which the host waits, and the device is idle at other times, from which on
#: many waits are told: without them the host would be ahead by as much.
MIN_LOST = 0.1


class HostDeviceSync(Rule):
    """The program waits for the GPU within the step, and the GPU for the program afterwards.

    ## Why it matters
    The CPU normally runs ahead of the GPU and hides the cost of launching. ``.item()``, ``print`` of a
    tensor, ``if tensor:``, ``nonzero`` and copies to the host make it wait until the GPU has
    finished; then nothing is queued, and the GPU waits for the next kernel.

    ## What it looks like
        {"ph": "X", "cat": "cpu_op", "name": "aten::_local_scalar_dense", "ts": 100.0, "dur": 900.0, "pid": 1, "tid": 1}
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "ts": 110.0, "dur": 880.0, "pid": 1, "tid": 1}

    ## When it is harmless
    Waiting itself costs nothing while the GPU works: what counts is the time for which it is idle
    afterwards, and below 5 % the rule keeps quiet. A single wait per step, at the end of a measured
    step or for the loss, is a note. Scalars that are read on the CPU wait for nobody.

    ## What to do
    Keep losses and counts as tensors and read them every N steps; ``torch.where`` instead of masks;
    ``non_blocking=True`` with pinned memory for copies.

    ## How a live run confirms it
    ``torch.cuda.set_sync_debug_mode("warn")`` names the lines. Confirmed when the waits per step and
    the step's time fall.

    ## See also
    <https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html>
    """  # noqa: E501 -- the excerpt is events of a trace

    code = "TRC006"
    name = "host-device-sync"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM
    Data = Waiting
    remedies = REMEDIES

    def causes(self, finding: Finding) -> Iterable[Story]:
        """A device that is idle after waits: what is launched then comes late because of them."""
        return stories(["waits"], finding) if finding.data.get("of_idle", 0.0) >= MOST else ()

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Capture waits by design; data, one-off work or Python may be what keeps the device."""
        data = Waiting.model_validate(finding.data)
        loading = data.loading_ms >= MOST * data.idle_after_ms
        starting = data.start_ms >= MOST * data.idle_after_ms
        words = [*(["data"] if loading else []), *(["start"] if starting else [])]
        return stories(["capture", *words, "held"], finding)

    def check(
        self,
        windows: Table[Window],
        calls: Table[RuntimeCall],
        *,
        steps: Table[Step],
        operators: Table[Operator],
        places: Table[SyncTime],
        timelines: Table[Timeline],
        copies: Table[CopyTime],
        nodes: Table[BackwardNode],
        held: Table[HeldBy],
    ) -> Iterator[Finding]:
        """Yield one finding per trace whose device is idle after waits, or because of them."""
        gaps = {view.source: view.held for view in views(windows, steps, timelines, held)}
        for run in runs(windows, steps):
            idle = run.total("idle_after_wait_ms")
            whole = run.idle * run.ms
            source = run.window.first.input
            found = [row.record for row in places.within(source)]
            back = [r.record for r in copies.within(source) if r.record.direction == "DtoH"]
            behind = share_of(run.ms, run.window.record.ms) * sum(
                place.caught_up_ms for place in found if "emcpy" in place.call
            )
            read_back = sum(row.n for row in back)
            lost = _lost(run, operators, read_back, behind)
            idle = max(idle, lost)
            if run.on_device and idle >= max(MIN_SHARE * run.ms, MIN_OF_IDLE * whole, MIN_MS):
                waits = [row for row in calls.within(source) if row.record.synchronizes]
                readers = [row for row in operators.within(source) if row.record.op in READERS]
                starts = [
                    row.record.idle_start_ms or 0.0
                    for row in timelines.within(source)
                    if row.record.phase == "window"
                ]
                pageable = sum(
                    row.record.n
                    for row in copies.within(source)
                    if row.record.direction == "HtoD" and row.record.pinned is False
                )
                both = waits, readers
                checks = sum(r.count for r in operators.within(source) if r.record.op == ANY)
                run_back = sum(r.count for r in nodes.within(source) if r.record.evaluated)
                looks = 2 * checks >= run_back > 0
                python = _python(run, gaps.get(source, ()), idle)
                times = idle, sum(starts), lost, behind, python
                counts = pageable, read_back
                yield self._finding(run, times, both, found, counts, anomaly=looks)

    def _finding(
        self,
        run: Run,
        idles: tuple[float, float, float, float, float],
        calls: tuple[list[Seen[RuntimeCall]], list[Seen[Operator]]],
        places: list[SyncTime],
        copied: tuple[int, int],
        *,
        anomaly: bool,
    ) -> Finding:
        (idle, start, lost, behind, python), (waits, readers) = idles, calls
        pageable, back = copied
        n = run.total("waits") / run.n
        per = "per step" if run.steps else "in the trace"
        several = n >= SEVERAL
        causes = ", ".join(f"`{row.record}` {row.count} times" for row in readers)
        what = f" In the whole trace, operators that need a result: {causes}." if causes else ""
        places.sort(key=lambda place: -place.idle_after_ms)
        frames = [place.user_frame for place in few([p for p in places if p.user_frame])]
        after = _after(places, readers, run.total("waits"), back)
        read = sum(row.count for row in readers if row.record.op == "_local_scalar_dense")
        data = Waiting(
            waits=int(run.total("waits")),
            idle_after_ms=idle,
            loading_ms=run.total("idle_loading_ms"),
            start_ms=start,
            copies_wait=not readers and pageable >= MOST * sum(row.count for row in waits),
            frames=tuple(frames),
            after=after,
            reads=read / max(1, run.n),
            python_ms=python,
            anomaly=anomaly,
            of_idle=(
                round(share_of(idle, run.idle * run.ms), 6)
                if _many(run, idle) and not python
                else 0.0
            ),
        )
        after_ms = run.total("idle_after_wait_ms")
        if behind and lost == idle:
            what += f" While it catches up after {back:,} copies to the host, the GPU has nothing "
            what += f"to do for {length(behind / run.n)}."
        loses = " Each time it has to get ahead of the GPU again." if lost == idle else ""
        what += " After each node of the backward pass it asks for NaN." if anomaly else ""
        lines = f" Most idle time follows `{frames[0]}`." if frames else ""
        if after in {"events", "calls"} and not frames:
            lines = f" Most idle time follows `{places[0].call}`."
        return self.finding(
            "waits",
            title=f"{_times(n)} waits for the GPU {per} leave it idle for {percent(idle / run.ms)}"
            if not python
            else f"Python between operators leaves the GPU idle for {percent(python / run.ms)}",
            message=(
                f"The program waits {_times(n)} times {per}, "
                f"{length(run.total('wait_ms') / run.n)} in all; after that the GPU has nothing "
                f"to do for {length(after_ms / run.n)}.{_between(python)}{loses}{what}{lines}"
            ),
            severity=Severity.WARNING if several and run.steps else Severity.INFO,
            confidence=Confidence.HIGH if several and run.steps else Confidence.MEDIUM,
            count=int(run.total("waits")),
            evidence=[
                *[row.quote(f"{row.count} calls, {length(row.ms)}") for row in few(waits)],
                *[row.quote(f"{row.count} calls, {length(row.ms)}") for row in few(readers)],
            ],
            cost=Cost(
                ms=python or idle, share=(python or idle) / run.ms, basis="upper_bound", of=run.of
            ),
            where=where_of(frames[0]) if frames else None,
            advice=self.advise(data),
            data=data,
        )


def _python(run: Run, gaps: Sequence[HeldBy], idle: float) -> float:
    """Return in how much of the idle time the host is late and calls nothing, if that is most.

    That is known where operators were recorded, and no Python functions were. Gaps of less than a
    millisecond are what a program needs that goes on as soon as it has waited.
    """
    whole = run.window.record
    if whole.python_calls or not whole.operators_ms:
        return 0.0
    bare = (
        row.waited_ms * share_of(row.long_ms, row.ms)
        for row in gaps
        if row.cause == "not_launched" and not (row.operator or row.frame or row.called)
    )
    ms = min(idle, sum(bare))
    return ms if ms >= MAIN * idle else 0.0


def _between(python: float) -> str:
    """Say what the host does then, where it is Python alone."""
    return (
        f" In {length(python)} of it the host calls no operator, and nothing of the runtime: it "
        "runs Python, or waits there. The waits are not what takes that time."
        if python
        else ""
    )


def _lost(run: Run, operators: Table[Operator], back: int, behind: float) -> float:
    """Return how much of the idle time many waits bring: what the host loses in them, at most.

    Before it waits, the host is ahead of the device; afterwards it has to catch up. Waits for sizes
    or results, and copies to the host, ``back``, alone are looked at, in steps of which they are
    many. ``behind`` is what is idle while the host catches up after copies.
    """
    read = (row for row in operators.within(run.window.first.input) if row.record.op in READERS)
    most = max(back, max((row.count for row in read), default=0))
    if not run.steps or most < ONE_BY_ONE * len(run.all_steps):
        return 0.0
    lost = min(run.total("wait_ms") + behind, run.idle * run.ms)
    return lost if lost >= MIN_LOST * run.ms else 0.0


def _times(n: float) -> str:
    return f"{n:,.0f}" if n >= MANY else f"{n:.3g}"


def _many(run: Run, idle: float) -> bool:
    """Tell whether waits are many, and the host soon goes on after each: it does nothing else."""
    waits = run.total("waits")
    least = SEVERAL * run.n if run.steps else MANY
    return waits >= least and idle < LONG_MS * waits


def _after(places: list[SyncTime], readers: list[Seen[Operator]], waits: float, back: int) -> str:
    """Return what most of the idle time comes after: by its place, or else by how often it is."""
    whole = sum(place.idle_after_ms for place in places)
    for word, kind in (("EventSynchronize", "events"), ("DeviceSynchronize", "calls")):
        timed = [p for p in places if word in p.call and not p.operator]
        if whole > 0 and sum(place.idle_after_ms for place in timed) >= MOST * whole:
            return kind
    # Of an operator that needs a result, that is copied; ``is_nonzero`` has it read.
    those = sum(row.count for row in readers if row.record.op != "is_nonzero")
    counts = {"sizes": 0, "reads": 0, "copies": max(0, back - those)}
    for row in readers:
        counts["sizes" if row.record.op in SIZED else "reads"] += row.count
    longest = max(counts, key=lambda kind: counts[kind])
    return longest if counts[longest] >= max(1.0, MOST * waits) else ""
