"""TRC002 launch-bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.chrome_trace import (
    Annotation,
    BackwardNode,
    DataLoading,
    Operator,
    OptimizerCall,
    PythonFunction,
    RuntimeCall,
)
from tracelens.report import Confidence, Cost, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.trc._cells import recurrent_cells
from tracelens.rules.trc._graphs import may_record
from tracelens.rules.trc._launches import (
    REMEDIES,
    Launches,
    beside,
    changed_in_place,
    in_long_gaps,
    norms_one_by_one,
    passes_of,
    samples_one_by_one,
    sized,
)
from tracelens.rules.trc._lines import busiest, in_loading, told
from tracelens.rules.trc._parallel import replicates
from tracelens.rules.trc._printed_launches import is_launching
from tracelens.rules.trc._rounds import reads, rounds
from tracelens.rules.trc._small import (
    MANY_READS,
    MIN_READING,
    ONE_ELEMENT,
    Small,
    cells_one_by_one,
    of_one_row,
    recurrent_ms,
    selected,
    singles,
    small_operators,
    titled,
)
from tracelens.traces.measured import (
    DeviceBusy,
    KernelWork,
    SelfTime,
    Step,
    TraceHeader,
    Window,
)
from tracelens.traces.printed import AnyProfile, PrintedProfile
from tracelens.traces.rows import HeldBy, KernelTime, Timeline
from tracelens.traces.runs import Run, runs
from tracelens.traces.views import View, stories, views, where_of
from tracelens.words import length, percent

if TYPE_CHECKING:
    from tracelens.logs.recompiles import Recompile

__all__ = ["LaunchBound"]

MIN_KERNELS = 500
#: In totals alone: times that the host works as long as the device.
MIN_RATIO = 5.0
#: A launch of a CUDA graph starts many kernels: then launching is not what holds the GPU up.
MIN_LAUNCHED = 0.5


class LaunchBound(Rule):
    """The GPU runs many kernels of a few microseconds, and launching them takes longer.

    ## Why it matters
    A launch costs the CPU some 5 us, with the dispatch of an eager operator around it 20 us and more.
    A kernel of 3 us is over long before the next one arrives.

    ## What it looks like
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 100.0, "dur": 6.1, "pid": 1, "tid": 1}
        {"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)", "ts": 108.0, "dur": 2.3, "pid": 0, "tid": 7}

    ## When it is harmless
    While the GPU is at work for more than 80 % of the time the launches are hidden, and the rule keeps
    quiet; as it does for CUDA graphs, which start many kernels with one call.

    Printed tables, of ``key_averages()`` or of Nsight Systems, have sums alone: they are judged with
    less confidence, and the totals below a table with the least.

    A program on the CPU is judged by its operators: from 2,000 on, of at most 5 us each in all, or
    12.5 where three fifths of that are outside of them or entering them, where
    the optimizer does not bring them and the profiler does not add most of it.

    ## What to do
    Fuse: ``torch.compile``. Launch once: CUDA graphs. In the optimizer ``fused=True``.

    ## How a live run confirms it
    The program runs compiled. Confirmed when kernels per step and the step's time fall.

    ## See also
    TRC001 for the time that is lost, TRC010 for what can be fused, TRC012 for optimizers.
    """  # noqa: E501 -- the excerpt is events of a trace

    code = "TRC002"
    name = "launch-bound"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob("CUDA graphs", config={"torch._inductor.config.triton.cudagraphs": True})
    )

    Data = Launches
    remedies = REMEDIES

    def check(
        self,
        profiles: Table[AnyProfile],
        *,
        windows: Table[Window],
        timelines: Table[Timeline],
        steps: Table[Step],
        held: Table[HeldBy],
        kernels: Table[KernelTime],
        printed: Table[PrintedProfile],
        own: Table[SelfTime],
        operators: Table[Operator],
        frames: Table[PythonFunction],
        headers: Table[TraceHeader],
        nodes: Table[BackwardNode],
        works: Table[KernelWork],
        optimizers: Table[OptimizerCall],
        ran: Table[DeviceBusy],
        notes: Table[Annotation],
        loads: Table[DataLoading],
        recompiles: Table[Recompile],
        calls: Table[RuntimeCall],
    ) -> Iterator[Finding]:
        """Yield one finding per trace whose host launches more slowly than the device works.

        And per printed table that shows as much.
        """
        del profiles
        for row in printed:
            if is_launching(row.record):
                yield self._printed(row)
            elif row.record.is_foot and row.record.host_to_gpu >= MIN_RATIO:
                yield self._summed(row)
        for each in runs(windows, steps):
            mine = [row.record for row in works.within(each.window.first.input)]
            passes = passes_of(each, operators, nodes, optimizers)
            few = singles(mine, len(each.all_steps)), of_one_row(mine)
            trained = any(True for _ in nodes.within(each.window.first.input))
            yield from self._on_cpu(
                *(each, own, operators, frames, loads),
                one=few,
                passes=passes,
                trained=trained,
            )
        for view in views(windows, steps, timelines, held, whole=True, ran=ran):
            run = view.run
            n, launches = view.kernels, view.launches
            if not n or launches < MIN_LAUNCHED * n or n < MIN_KERNELS * view.n:
                continue
            late = view.late_ms - in_long_gaps(view)
            if view.is_much(late):
                norms = norms_one_by_one(operators, nodes, view.source, len(run.all_steps))
                graphs = may_record(headers, view.source, recompiles, calls)
                ms = run.window.record.ms
                line = busiest(frames, view.source, ms)
                called = operators, view.source, len(run.all_steps), run.window.record.launches
                known = Launches(
                    samples=samples_one_by_one(line, len(run.all_steps)),
                    kernels=round(n),
                    launches=round(launches),
                    late_ms=late,
                    window_ms=view.window_ms,
                    compiled=bool(run.total("compiled_ms")),
                    norms=norms,
                    graphs=graphs,
                    replicas=replicates(notes, frames, view.source),
                    sizing=sized(*called),
                    rounds=rounds(*called),
                    numbers=reads(called[0], calls, *called[1:]),
                    passes=passes_of(run, operators, nodes, optimizers),
                    cells=recurrent_cells(operators, view.source, run.window.record.launches),
                    in_place=changed_in_place(
                        operators,
                        view.source,
                        run.window.record.launches,
                        run.window.record.optimizer_single or 0,
                    ),
                )
                yield self._finding(view, known, list(kernels.within(view.source)), line)

    def _on_cpu(
        self,
        run: Run,
        own: Table[SelfTime],
        operators: Table[Operator],
        frames: Table[PythonFunction],
        loads: Table[DataLoading],
        *,
        one: tuple[int, int],
        passes: int,
        trained: bool,
    ) -> Iterator[Finding]:
        """Yield that a program on the CPU calls many operators that do little."""
        whole, source = run.window.record, run.window.first.input
        if run.on_device or whole.launches or whole.unread:
            return
        rows = list(operators.within(source))
        small = small_operators(
            whole,
            list(own.within(source)),
            {str(row.record): row.count for row in rows},
            passes=passes,
            recurrent_ms=recurrent_ms(rows, trained=trained),
            cells=cells_one_by_one(whole, rows, trained=trained),
        )
        if small is None:
            return
        reading = min(small.left_ms, small.reading_ms())
        reads = small.read >= MANY_READS and reading >= MIN_READING * whole.ms
        if small.much or reads:
            line = busiest(frames, source, whole.ms)
            loading = in_loading(loads, frames, source, whole.ms, small.left_ms)
            yield self._small(whole, small, rows, line, one=one, passes=passes, loading=loading)

    def _small(
        self,
        whole: Window,
        small: Small,
        rows: list[Seen[Operator]],
        line: Seen[PythonFunction] | None,
        *,
        one: tuple[int, int],
        passes: int,
        loading: bool,
    ) -> Finding:
        reading = min(small.left_ms, small.reading_ms())
        # Where reading is less than half of it, the loop around it is what costs.
        told_of = reading >= small.left_ms / 2 or not small.much
        stacked = small.read if small.read >= MANY_READS and not small.reads and told_of else 0
        ms = reading if stacked else small.left_ms
        data = Launches(
            kernels=0,
            launches=small.calls,
            late_ms=ms,
            window_ms=whole.ms,
            compiled=False,
            on_cpu=True,
            reads=small.reads,
            sizing=small.sizing,
            stacked=stacked,
            selected=selected({str(row.record): row.count for row in rows}),
            singles=0 if stacked else one[0],
            rows=0 if stacked else one[1],
            passes=passes,
            recurrent=small.recurrent,
            loading=loading,
            cells=small.cells,
        )
        reads = small.reads > 0 or stacked > 0
        where = f" {told(line, whole.ms)}." if line is not None else ""
        where += f" {one[0]:,} convolutions of each step are of one image." if data.singles else ""
        where += f" {data.selected:,} select one row or element." if data.selected else ""
        where += f" {data.rows:,} products are of one row." if data.rows else ""
        rows = sorted(rows, key=lambda row: (reads and str(row.record) != ONE_ELEMENT, -row.ms))
        return self.finding(
            "operators",
            title=titled(small, passes=passes, stacked=stacked),
            message=(
                f"The trace of {length(whole.ms)} holds {small.calls:,} operators, with those that "
                f"others call. Without what longer ones and optimizers take and the profiler can "
                f"have added, {length(small.left_ms)} are the price of calling them from Python, "
                f"however little they compute.{where}"
            ),
            where=where_of(str(line.record)) if line is not None else None,
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            count=small.reads or stacked or small.calls,
            evidence=[row.quote(f"{row.count:,} times") for row in rows[: 2 if reads else 1]],
            cost=Cost(ms=ms, share=ms / whole.ms, basis="upper_bound", of="the trace"),
            advice=self.advise(data),
            data=data,
        )

    def _summed(self, row: Seen[PrintedProfile]) -> Finding:
        told, device = row.record, row.record.device_ms or 0.0
        data = Launches(
            kernels=0,
            launches=0,
            late_ms=told.host_ms - device,
            window_ms=told.host_ms,
            compiled=True,  # which is not known
        )
        return self.finding(
            "totals",
            title=f"the host's operators take {told.host_to_gpu:.0f} times as long as the GPU",
            message=f"The totals below the profiler's table are {length(told.host_ms)} of the host "
            f"and {length(device)} of the GPU: if no compilation, no data loading and no computing "
            "on the CPU is in them, launching kernels is the limit.",
            severity=Severity.INFO,
            confidence=Confidence.LOW,
            evidence=[told.table.quote()],
            advice=self.advise(data),
            data=data,
        )

    def _printed(self, row: Seen[PrintedProfile]) -> Finding:
        told = row.record
        each = 1000 * told.launch_ms / told.launches
        host = told.host_ms - told.wait_ms
        data = Launches(
            kernels=told.launches,
            launches=told.launches,
            late_ms=max(0.0, host - told.device_ms) if told.device_ms is not None else 0.0,
            window_ms=told.host_ms,
            compiled=told.compiled,
        )
        if told.device_ms is None:
            of = "of the host's time" if told.by_torch else "of the time in CUDA's calls"
            means = f"That is {percent(told.launch_ms / told.host_ms)} {of}."
        else:
            means = (
                f"They kept the GPU busy for {length(told.device_ms)}, "
                f"{1000 * told.device_ms / told.launches:.2g} us each, while the host worked for "
                f"{length(host)} to launch them."
            )
        return self.finding(
            "printed",
            title=f"{told.launches:,} kernels were launched, {each:.2g} us each"
            + ("" if told.device_ms is None else ": launching takes longer than computing"),
            message=f"Launching took {length(told.launch_ms)}. {means} Whether the GPU waited, "
            "only a trace tells.",
            severity=Severity.INFO if told.device_ms is None else None,
            confidence=Confidence.MEDIUM,
            count=told.launches,
            evidence=[told.table.quote()],
            advice=self.advise(data),
            data=data,
        )

    def experiments(self, finding: Finding) -> tuple[Experiment, ...]:
        """Graphs are of a GPU."""
        on_cpu = Launches.model_validate(finding.data).on_cpu
        return () if on_cpu else super().experiments(finding)

    def causes(self, finding: Finding) -> Iterable[Story]:
        """A device that waits for launches is idle."""
        return stories(["late"], finding)

    def follows(self, finding: Finding) -> Iterable[Story]:
        """While graphs are captured or code is compiled, launches say nothing, or after waits."""
        return stories(["capture", "optimizer", "waits"], finding)

    def _finding(
        self,
        view: View,
        data: Launches,
        kernels: list[Seen[KernelTime]],
        line: Seen[PythonFunction] | None,
    ) -> Finding:
        run, whole, late = view.run, view.window_ms, data.late_ms
        n, called, ms = view.kernels, run.total("launches"), run.total("launch_ms")
        busy = view.total("busy_ms") - view.total("exposed_copy_ms")
        per = "per step" if view.in_steps else "in the trace"
        norms = f" {data.norms} of them per step take the norm of one tensor." if data.norms else ""
        norms += beside(data)
        place = f" {told(line, run.window.record.ms)}." if line is not None else ""
        shortest = sorted(kernels, key=lambda row: -row.record.n)[:1]
        return self.finding(
            "launches",
            title=(
                f"{n / view.n:,.0f} kernels {per} of {1000 * busy / n:.2g} us each: "
                "the host cannot launch them as fast"
            ),
            message=(
                f"{n / view.n:,.0f} kernels {per} keep the GPU busy for {length(busy / view.n)}; "
                f"the host needs {1000 * whole / n:.3g} us from one to the next, "
                f"{1000 * ms / called:.3g} us of it in the call that launches. For "
                f"{percent(late / whole)} of {view.of} the GPU waits for a launch.{norms}{place}"
            ),
            where=where_of(str(line.record)) if line is not None else None,
            confidence=Confidence.HIGH if view.known else Confidence.MEDIUM,
            count=round(n),
            evidence=[
                view.quote(f"{length(late)} without a launch"),
                *[row.quote(f"{row.record.n} times") for row in shortest],
            ],
            cost=Cost(ms=late, share=late / whole, basis="upper_bound", of=view.of),
            advice=self.advise(data),
            data=data,
        )
