"""TRC006 host-device-sync."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import BackwardNode, Operator, RuntimeCall
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.measured import Step, Window
from tracelens.traces.rows import CopyTime, SyncTime, Timeline
from tracelens.traces.runs import Run, runs
from tracelens.traces.views import stories, where_of
from tracelens.words import few, length, percent, share_of

__all__ = ["HostDeviceSync"]

MIN_SHARE = 0.05
#: Share of all idle time that comes after waits, and its least amount, milliseconds.
MIN_OF_IDLE = 0.2
MIN_MS = 0.1
#: Share of it in which the program loads data: then that is the cause.
MOST = 0.5
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
#: Results that are read per step from which on they are read one by one.
ONE_BY_ONE = 10
#: What asks of a tensor whether anything in it is so, as ``detect_anomaly`` does.
ANY = "_is_any_true"
#: Share of the time for which the host waits, and the device is idle at other times, from which on
#: many waits are told: without them the host would be ahead by as much.
MIN_LOST = 0.1


class Waiting(FindingData):
    """Waits for the device, and what comes of them."""

    waits: int
    idle_after_ms: float
    loading_ms: float
    start_ms: float
    #: The frames of the program after which most idle time comes.
    frames: tuple[str, ...]
    #: Nothing reads results, and copies from pageable memory are as many as half the waits.
    copies_wait: bool = False
    #: What most idle time comes after: ``sizes``, ``reads``, ``copies``, ``events``, ``calls``;
    #: empty where that is unknown.
    after: str = ""
    #: Results that are read per step.
    reads: float = 0.0
    #: Share of the idle time that comes after waits, where they are many and what follows is short.
    of_idle: float = 0.0
    #: Whether each node of the backward pass is looked at for NaN.
    anomaly: bool = False


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
    remedies = (
        Remedy(
            id="anomaly",
            text="`detect_anomaly` looks at what each node of the backward pass returns, and waits "
            "for the answer: switch it off, but to look for where NaN comes from.",
            code="torch.autograd.set_detect_anomaly(False)",
            when="each node of the backward pass is looked at for NaN",
            applies=lambda data: data.anomaly,
            proof="https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection",
        ),
        Remedy(
            id="find",
            text="Find the lines.",
            code='torch.cuda.set_sync_debug_mode("warn")',
            when="the trace has no stacks",
            applies=lambda data: not data.frames and not data.anomaly,
            proof="https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_sync_debug_mode.html",
        ),
        Remedy(
            id="copies",
            text="Each copy from pageable memory waits: make small tensors on the device, once; "
            "let the DataLoader pin batches (pin_memory=True), and copy these without waiting. To "
            "pin right before the copy takes as long as waiting.",
            code="batch.to(device, non_blocking=True)",
            when="copies to the device wait, and nothing reads results",
            applies=lambda data: data.copies_wait,
            proof="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
        ),
        Remedy(
            id="sizes",
            text="A result whose size depends on the data (`x[mask]`, `nonzero()`) waits for that "
            "size. Keep sizes as they are, or find all of them with one wait, as by sorting once.",
            code="x = torch.where(mask, x, 0)",
            when="sizes that depend on the data are waited for",
            applies=lambda data: data.after == "sizes",
            basis="untestable",
            proof="it depends on what is selected",
        ),
        Remedy(
            id="once",
            text="Stack the results of a step, and read them at once.",
            code="values = torch.stack(results).tolist()",
            when="many results are read in a step",
            applies=lambda data: (
                data.after == "reads" and data.reads >= ONE_BY_ONE and not data.anomaly
            ),
            proof="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.tolist.html",
        ),
        Remedy(
            id="back",
            text="Each copy to the host waits until it is there, unless it is told not to. What "
            "decides about sizes on the host (counts, lengths, split sizes) can stay on the device "
            "where the sizes have an upper limit; else put all of it in one tensor, and copy once.",
            code="counts = torch.cat([sent, received]).tolist()  # one copy instead of two",
            when="tensors are copied to the host, and nothing reads single results",
            applies=lambda data: data.after == "copies" and not data.anomaly,
            proof="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
        ),
        Remedy(
            id="events",
            text="Events that measure time need no wait in the step: wait once, after the loop, "
            "and read the times then. One that says when a copied result is there has to be "
            "waited for: a step later, the wait is short.",
            code="torch.cuda.synchronize(); ms = start.elapsed_time(end)  # after the loop",
            when="events are waited for",
            applies=lambda data: data.after == "events",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.cuda.Event.html",
        ),
        Remedy(
            id="calls",
            text="Leave `torch.cuda.synchronize()` out of the step. To measure time, record "
            "events, and wait once, after the loop.",
            code="start.record(); ...; end.record()\n"
            "torch.cuda.synchronize(); ms = start.elapsed_time(end)  # after the loop",
            when="the program waits for the whole device by itself",
            applies=lambda data: data.after == "calls",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.cuda.Event.html",
        ),
        Remedy(
            id="rarely",
            text="Read results every N steps only.",
            code="if step % 100 == 0: print(loss.item())",
            when="results are read, or the trace does not say what waits",
            applies=lambda data: (
                not data.copies_wait
                and not data.anomaly
                and data.after not in {"sizes", "events", "calls", "copies"}
            ),
            proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        ),
    )

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
    ) -> Iterator[Finding]:
        """Yield one finding per trace whose device is idle after waits, or because of them."""
        for run in runs(windows, steps):
            idle = run.total("idle_after_wait_ms")
            whole = run.idle * run.ms
            source = run.window.first.input
            found = [row.record for row in places.within(source)]
            back = [r.record for r in copies.within(source) if r.record.direction == "DtoH"]
            held = share_of(run.ms, run.window.record.ms) * sum(
                place.caught_up_ms for place in found if "emcpy" in place.call
            )
            read_back = sum(row.n for row in back)
            lost = _lost(run, operators, read_back, held)
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
                times = idle, sum(starts), lost, held
                counts = pageable, read_back
                yield self._finding(run, times, both, found, counts, anomaly=looks)

    def _finding(
        self,
        run: Run,
        idles: tuple[float, float, float, float],
        calls: tuple[list[Seen[RuntimeCall]], list[Seen[Operator]]],
        places: list[SyncTime],
        copied: tuple[int, int],
        *,
        anomaly: bool,
    ) -> Finding:
        (idle, start, lost, held), (waits, readers), (pageable, back) = idles, calls, copied
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
            anomaly=anomaly,
            of_idle=round(share_of(idle, run.idle * run.ms), 6) if _many(run, idle) else 0.0,
        )
        after_ms = run.total("idle_after_wait_ms")
        if held and lost == idle:
            what += f" While it catches up after {back:,} copies to the host, the GPU has nothing "
            what += f"to do for {length(held / run.n)}."
        loses = " Each time it has to get ahead of the GPU again." if lost == idle else ""
        what += " After each node of the backward pass it asks for NaN." if anomaly else ""
        lines = f" Most idle time follows `{frames[0]}`." if frames else ""
        if after in {"events", "calls"} and not frames:
            lines = f" Most idle time follows `{places[0].call}`."
        return self.finding(
            "waits",
            title=f"{_times(n)} waits for the GPU {per} leave it idle for {percent(idle / run.ms)}",
            message=(
                f"The program waits {_times(n)} times {per}, "
                f"{length(run.total('wait_ms') / run.n)} in all; after that the GPU has nothing "
                f"to do for {length(after_ms / run.n)}.{loses}{what}{lines}"
            ),
            severity=Severity.WARNING if several and run.steps else Severity.INFO,
            confidence=Confidence.HIGH if several and run.steps else Confidence.MEDIUM,
            count=int(run.total("waits")),
            evidence=[
                *[row.quote(f"{row.count} calls, {length(row.ms)}") for row in few(waits)],
                *[row.quote(f"{row.count} calls, {length(row.ms)}") for row in few(readers)],
            ],
            cost=Cost(ms=idle, share=idle / run.ms, basis="upper_bound", of=run.of),
            where=where_of(frames[0]) if frames else None,
            advice=self.advise(data),
            data=data,
        )


def _lost(run: Run, operators: Table[Operator], back: int, held: float) -> float:
    """Return how much of the idle time many waits bring: what the host loses in them, at most.

    Before it waits, the host is ahead of the device; afterwards it has to catch up. Waits for sizes
    or results, and copies to the host, ``back``, alone are looked at, in steps of which they are
    many. ``held`` is what is idle while the host catches up after copies.
    """
    read = (row for row in operators.within(run.window.first.input) if row.record.op in READERS)
    most = max(back, max((row.count for row in read), default=0))
    if not run.steps or most < ONE_BY_ONE * len(run.all_steps):
        return 0.0
    lost = min(run.total("wait_ms") + held, run.idle * run.ms)
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
