"""TRC001 gpu-idle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.chrome_trace import Annotation, Operator, PythonFunction, RuntimeCall
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.trc._blocked import blocking, ends_with, kept, waits_at
from tracelens.rules.trc._graphs import may_record, mode_of
from tracelens.rules.trc._launches import sized
from tracelens.rules.trc._parallel import replicates
from tracelens.traces.measured import DeviceBusy, Step, TraceHeader, Window
from tracelens.traces.ranks import RankTime
from tracelens.traces.rows import HeldBy, KernelTime, SyncTime, Timeline
from tracelens.traces.stragglers import late
from tracelens.traces.unanswered import EndedBy
from tracelens.traces.views import CAUSES, View, stories, views, where_of
from tracelens.words import length, percent, share_of

if TYPE_CHECKING:
    from tracelens.logs.recompiles import Recompile

__all__ = ["GpuIdle"]

#: Fewer kernels than this are no load.
MIN_KERNELS = 50
#: ... but a few in a long time are a load that does not fill the device.
FEW_KERNELS = 1
FEW_MS = 10.0
#: ... as are some, one after another, in a short one.
SOME_KERNELS = 20
SOME_MS = 1.0
#: One-off work from which on TRC023 tells of it.
START_MS = 5.0
#: Share of the idle time in which the trace shows nothing of the host: then nothing is known.
UNSEEN = 0.9
#: Calls of an operator, and the least that each takes, milliseconds, to compute on the host.
MIN_COMPUTING = 5
LONG_MS = 0.5
MAX_NAMED = 3
#: What waits for the device, or copies, and computes nothing.
WAITING = frozenset(
    {"copy_", "to", "_to_copy", "item", "_local_scalar_dense", "nonzero", "is_nonzero", "clone"}
)
#: Share of the idle time from which on it has one cause, with a rule of its own.
MOST = 0.5


class Idle(FindingData):
    """Why the device is idle, milliseconds."""

    window_ms: float
    kernels: int
    #: Without what the profiler can have added, ``bound_ms``.
    idle_ms: float
    late_ms: float
    data_ms: float
    start_ms: float
    compile_ms: float
    bound_ms: float
    #: While no operator, Python function or call of the runtime is in the trace.
    unseen_ms: float = 0.0
    #: The other ranks wait for this one, for most of the idle time.
    awaited: bool = False
    #: Operators that take long on the host each time, where they fill most of the idle time.
    computing: tuple[str, ...] = ()
    #: Whether CUDA graphs may be advised.
    graphs: bool = True
    #: The mode with CUDA graphs that leaves nothing out which the program has.
    mode: str = "reduce-overhead"
    #: Results per step that are as large as the data says, where they are many.
    sizing: int = 0
    #: The call that keeps the host while the device has nothing to do, for most of that time.
    blocked: str = ""


def _unseen(data: Idle) -> bool:
    return data.unseen_ms >= UNSEEN * data.idle_ms


class GpuIdle(Rule):
    """The GPU has nothing to do for a large part of the step: the CPU does not feed it fast enough.

    ## Why it matters
    A kernel runs when the CPU has launched it. Where dispatching an operator takes longer than its
    kernel, the step is as long as the Python program, whatever the GPU could do.

    ## What it looks like
    Short kernels with long gaps between them:

        {"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)", "ts": 100.0, "dur": 2.3, "pid": 0, "tid": 7}
        {"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)", "ts": 131.0, "dur": 2.3, "pid": 0, "tid": 7}

    ## When it is harmless
    Idle up to 20 % is common. Where most of it is waiting for data (TRC013), compilation (TRC003) or
    one-off work (TRC023), this one is a note of severity ``none``; under what else explains most of
    it (TRC002, TRC024, TRC029, a rank that the others wait for) it is folded. The first step does
    not count when it is warm-up, and what the profiler can have added to the host's time (TRC018) is
    taken off. Fewer than 50 kernels are no load; of 20 and more in 1 ms, and of any in 10 ms, it is
    said as information.

    ## What to do
    Launch less: ``torch.compile``, with ``mode="reduce-overhead"`` as one CUDA graph; a larger batch;
    no waits for results in the step (TRC006).

    ## How a live run confirms it
    The program runs with ``mode="reduce-overhead"``, timed without the profiler. Confirmed when the
    GPU's share rises and the step gets faster.

    ## See also
    TRC002 where it is the number of kernels.
    <https://docs.pytorch.org/docs/stable/torch.compiler_profiling_torch_compile.html>
    """  # noqa: E501 -- the excerpt is events of a trace

    code = "TRC001"
    name = "gpu-idle"
    severity = Severity.WARNING
    claim = "time"
    experiment = Experiment(
        Knob("CUDA graphs", config={"torch._inductor.config.triton.cudagraphs": True})
    )

    Data = Idle
    remedies = (
        Remedy(
            id="sizes",
            text="A result whose size depends on the data (`x[mask]`, `nonzero()`) waits for that "
            "size: the host cannot get ahead, and no CUDA graph can hold it. Keep sizes as they "
            "are, or find all of them with one wait.",
            code="x = torch.where(mask, x, 0)",
            when="the host is late, and asks for many sizes",
            applies=lambda data: data.sizing > 0 and not data.computing,
            basis="untestable",
            proof="it depends on what is selected",
        ),
        Remedy(
            id="graph",
            text="Launch the step as one CUDA graph, if sizes stay the same from step to step: "
            "each new one is recorded anew.",
            code=lambda data: f'torch.compile(model, mode="{data.mode}")',
            when="the host is late, and nothing else explains most of the idle time",
            applies=lambda data: (
                data.graphs
                and data.late_ms >= MOST * data.idle_ms
                and not _unseen(data)
                and not (data.computing or data.sizing)
            ),
            since="2.0",
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",
        ),
        Remedy(
            id="batch",
            text="Give the GPU more to do at a time: a larger batch.",
            when="the trace shows what the host does, and it does not compute meanwhile",
            applies=lambda data: not (_unseen(data) or data.computing or data.blocked),
            basis="untestable",
            proof="it changes what is computed",
        ),
        Remedy(
            id="blocked",
            text="The host waits in that call, and launches nothing. If it is the program's, wait "
            "later: copy between the device and pinned memory with `non_blocking=True`, launch "
            "the next step, and read then. If it is a library's, see what it waits for: what runs "
            "on that stream, or another rank.",
            when="one call keeps the host for most of the idle time",
            applies=lambda data: bool(data.blocked) and not data.computing,
            basis="untestable",
            proof="it depends on what is waited for",
        ),
        Remedy(
            id="on-device",
            text="An operator that takes this long on the host each time mostly computes there, on "
            "tensors of the CPU: see where they are made, and keep them on the GPU.",
            code='torch.multinomial(probs.to("cuda"), 1)',
            when="operators that compute on the CPU fill the idle time",
            applies=lambda data: bool(data.computing),
            basis="untestable",
            proof="it needs a GPU",
        ),
        Remedy(
            id="stacks",
            text="Record what the host does.",
            code="torch.profiler.profile(with_stack=True)",
            when="the trace shows nothing of the host while the GPU is idle",
            applies=_unseen,
            proof="https://docs.pytorch.org/docs/stable/profiler.html",
        ),
    )

    def check(
        self,
        windows: Table[Window],
        timelines: Table[Timeline],
        *,
        steps: Table[Step],
        held: Table[HeldBy],
        ranks: Table[RankTime],
        operators: Table[Operator],
        calls: Table[RuntimeCall],
        headers: Table[TraceHeader],
        places: Table[SyncTime],
        ran: Table[DeviceBusy],
        notes: Table[Annotation],
        frames: Table[PythonFunction],
        recompiles: Table[Recompile],
        times: Table[KernelTime],
        ended: Table[EndedBy],
    ) -> Iterator[Finding]:
        """Yield one finding per trace whose device is idle."""
        straggler = late(list(ranks))
        last = straggler.rank if straggler else None
        waited = straggler.ms if straggler and last else 0.0
        for view in views(windows, steps, timelines, held, ran=ran):
            kernels = view.kernels
            enough = (
                kernels >= MIN_KERNELS
                or (kernels >= FEW_KERNELS and view.window_ms >= FEW_MS * view.n)
                or (kernels >= SOME_KERNELS and view.window_ms >= SOME_MS)
            )
            if enough and view.is_much(view.idle_ms):
                own = last is not None and last.first.input == view.source
                alone = own and waited >= MOST * view.idle_ms
                doing = _computing(view, operators, calls)
                graphs = may_record(headers, view.source, recompiles, calls)
                graphs = graphs and not replicates(notes, frames, view.source)
                count = len(view.run.all_steps)
                sizing = sized(operators, view.source, count, view.run.window.record.launches)
                behind = view.late_ms >= MOST * view.idle_ms
                asks = (sizing if behind else 0), _asking(places, view.source)
                wait = blocking(view, places)
                how = mode_of(times, view.source) if graphs else None
                before = ends_with(list(ended.within(view.source)), view)
                before += waits_at(places, view)
                yield self._finding(view, doing, asks, (wait, before), awaited=alone, mode=how)

    def follows(self, finding: Finding) -> Iterable[Story]:
        """It follows from whatever explains most of the idle time."""
        data = Idle.model_validate(finding.data)
        held = ["late"] if data.late_ms >= MOST * data.idle_ms else []
        awaited = ["late rank"] if data.awaited else []
        return stories(["capture", "memory", "waits", *held, *awaited], finding)

    def _finding(
        self,
        view: View,
        computing: list[Seen[Operator]],
        asks: tuple[int, str],
        gaps: tuple[SyncTime | None, str],
        *,
        awaited: bool,
        mode: str | None,
    ) -> Finding:
        (wait, before), whole, idle = gaps, view.window_ms, view.idle_ms
        told = "; ".join(
            f"{what}: {length(view.total(field))}"
            for field, what in CAUSES.items()
            if view.total(field) >= 0.01 * idle
        )
        bound = (
            f" Up to {length(view.bound_ms)} of that may be the profiler's own, and is not counted."
            if view.bound_ms >= 0.01 * idle
            else ""
        )
        data = Idle(
            unseen_ms=_unseen_ms(view),
            window_ms=whole,
            kernels=round(view.kernels),
            idle_ms=idle,
            late_ms=view.late_ms,
            data_ms=view.total("idle_data_ms") or view.run.total("idle_loading_ms"),
            start_ms=view.total("idle_start_ms"),
            compile_ms=view.run.total("idle_compile_ms"),
            bound_ms=view.bound_ms,
            awaited=awaited,
            computing=tuple(str(row.record) for row in computing),
            graphs=mode is not None,
            mode=mode or "",
            sizing=asks[0],
            blocked=wait.call if wait is not None else "",
        )
        least = "at least " if bound else ""
        where = where_of(asks[1]) if data.sizing and asks[1] else None
        doing = _seen(data) or _sizes(data, view) or kept(wait, view) or _longest(view)
        doing = doing or _named(computing, view)
        return self.finding(
            "idle",
            title=f"the GPU is idle for {least}{percent(idle / whole)} of {view.of}",
            message=(
                f"Kernels and copies run for {length(view.total('busy_ms'))} of {length(whole)}. "
                f"Why nothing runs: {told}.{bound}{doing}{before}{view.before}"
            ),
            severity=Severity.WARNING if data.kernels >= MIN_KERNELS else Severity.INFO,
            harmless=_told_elsewhere(data),
            where=where,
            confidence=Confidence.HIGH if view.known or view.n > 1 else Confidence.MEDIUM,
            count=view.n,
            evidence=[
                view.quote(f"device {view.rows[0].record.device}: {length(idle)} idle"),
            ],
            cost=Cost(ms=idle, share=idle / whole, basis="upper_bound", of=view.of),
            advice=self.advise(data),
            data=data,
        )


def _asking(places: Table[SyncTime], source: str) -> str:
    """Return the line of the program that waits most often."""
    rows = [row.record for row in places.within(source) if row.record.user_frame]
    most = max(rows, key=lambda row: row.count, default=None)
    return most.user_frame if most is not None else ""


def _sizes(data: Idle, view: View) -> str:
    """Say that the host asks for sizes, where that is often."""
    if not data.sizing:
        return ""
    per = "in each step" if view.in_steps else "in the trace"
    return (
        f" The host asks {data.sizing:,} times {per} how large a result is (`x[mask]`, "
        "`nonzero()`), and cannot get ahead of the GPU."
    )


def _computing(
    view: View, operators: Table[Operator], calls: Table[RuntimeCall]
) -> list[Seen[Operator]]:
    """Return operators that compute on the host, where these fill most of the idle time.

    What a launch waits for, or loads, it does not take as long for each time. While it computes the
    device has a gap of its length, in which it waits for nothing.
    """
    inside = view.run.total("idle_host_ms") * min(1.0, share_of(view.window_ms, view.run.ms))
    long = sum(row.ms for row in view.held)
    if min(inside, long) < MOST * view.idle_ms or _longest(view):
        return []
    waited = sum(row.ms for row in calls.within(view.source) if row.record.synchronizes)
    rows = [
        row
        for row in operators.within(view.source)
        if row.count >= MIN_COMPUTING
        and row.times is not None
        and row.times.min >= LONG_MS
        and row.record.op not in WAITING
    ]
    rows = sorted(rows, key=lambda row: -row.ms)[:MAX_NAMED]
    return rows if sum(row.ms for row in rows) - waited >= MOST * view.idle_ms else []


def _named(rows: list[Seen[Operator]], view: View) -> str:
    told = ", ".join(f"`{row.record}` {length(row.ms)}" for row in rows)
    return f" Meanwhile the host is in operators{view.beyond}: {told}." if told else ""


def _unseen_ms(view: View) -> float:
    """Return for how long neither device nor host does anything that is in the trace."""
    run = view.run
    if run.window.record.python_calls or not view.idle_ms:
        return 0.0
    seen = sum(run.total(f"idle_{what}_ms") for what in ("host", "loading", "compile")) + sum(
        view.total(f"idle_{what}_ms") for what in ("blocked", "start")
    )
    return max(0.0, view.idle_ms - seen)


def _seen(data: Idle) -> str:
    """Say so where the trace shows nothing of the host."""
    if not _unseen(data):
        return ""
    return f" For {length(data.unseen_ms)} the trace shows nothing that the host did."


def _told_elsewhere(data: Idle) -> str | None:
    """Return which finding tells the cause of most of the idle time; None for none."""
    causes = {
        "waiting for data, which TRC013 is about": data.data_ms,
        "compilation, which TRC003 is about": data.compile_ms,
        "one-off work, which TRC023 is about": data.start_ms if data.start_ms >= START_MS else 0.0,
    }
    found = [cause for cause, ms in causes.items() if ms >= MOST * data.idle_ms]
    return f"most of it is {found[0]}" if found else None


def _longest(view: View) -> str:
    """Name what the host was in for longest, in gaps that are worth naming."""
    named: defaultdict[str, float] = defaultdict(float)
    for row in view.held:
        named[row.frame or row.operator] += row.inside_ms
    named.pop("", None)
    longest = sorted(named.items(), key=lambda pair: -pair[1])[:1]
    return "".join(
        f" Of the gaps above 0.2 ms, most in `{name}`: {length(ms)}." for name, ms in longest
    )
