"""TRC002 launch-bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table, Times
from tracelens.experiment import Experiment, Knob
from tracelens.logs.chrome_trace import DeviceKernel, InductorKernel, TraceEvent
from tracelens.report import Advice, Confidence, Cost, Finding, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import DeviceBusy, Step, Window
from tracelens.traces.runs import IDLE, Run, length, percent, runs

__all__ = ["LaunchBound"]

MIN_KERNELS = 500
SHORT_US = 10.0
#: Share of the step that the calls take which launch kernels.
MIN_LAUNCHING = 0.3
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

    def check(
        self,
        windows: Table[Window],
        devices: Table[DeviceBusy],
        *,
        steps: Table[Step],
        kernels: Table[DeviceKernel],
        generated: Table[InductorKernel],
    ) -> Iterator[Finding]:
        """Yield one finding per trace that runs many short kernels on an idle device."""
        for run in runs(windows, steps):
            n, launches = run.total("kernels"), run.total("launches")
            if not n or run.ms <= 0 or launches < MIN_LAUNCHED * n:
                continue
            if _held_up(run) < IDLE * run.ms:
                continue
            source = run.window.first.input
            times = _times((*kernels.within(source), *generated.within(source)))
            short = times.n > 0 and 1000 * times.median < SHORT_US and n >= MIN_KERNELS * run.n
            share = run.total("launch_ms") / run.ms
            if short or (share >= MIN_LAUNCHING and launches >= MIN_KERNELS * run.n):
                yield self._finding(run, times, devices)

    def _finding(self, run: Run, times: Times, devices: Table[DeviceBusy]) -> Finding:
        n, launches, ms = (run.total(field) for field in ("kernels", "launches", "launch_ms"))
        per = "per step" if run.steps else "in the trace"
        idle = _held_up(run)
        return self.finding(
            "launches",
            title=(
                f"{n / run.n:,.0f} kernels {per}, half of them under {1000 * times.median:.2g} us"
            ),
            message=(
                f"{n / run.n:,.0f} kernels {per} keep the GPU busy for "
                f"{length(run.total('busy_ms') / run.n)}; starting them takes "
                f"{launches / run.n:,.0f} calls, {1000 * ms / launches:.3g} us each. Without the "
                f"time for data, the GPU is idle for {percent(idle / run.ms)}."
            ),
            confidence=Confidence.HIGH if run.steps else Confidence.MEDIUM,
            count=int(n),
            evidence=[
                run.quote(f"{run.spans[0].record.kernels} kernels"),
                *[
                    row.quote(f"device {row.record.device}: {row.record.kernels} kernels in all")
                    for row in devices
                    if run.holds(row)
                ][:4],
            ],
            cost=Cost(ms=idle, share=idle / run.ms, basis="upper_bound", of=run.of),
            advice=_ADVICE,
        )


def _held_up(run: Run) -> float:
    """Return the time in which the device is idle, but not because of data or the compiler."""
    others = run.total("idle_loading_ms") + run.total("idle_compile_ms")
    return max(0.0, run.idle * run.ms - others)


def _times(rows: Iterable[Seen[TraceEvent]]) -> Times:
    """Return the times of all kernels of one trace."""
    times = Times()
    for row in rows:
        if row.record.category in {"kernel", "Kernel"} and row.times:
            times.merge(row.times)
    return times


_ADVICE = (
    Advice(text="Fuse the kernels.", code="model = torch.compile(model)", since="2.0"),
    Advice(
        text="Launch them as one CUDA graph.",
        code='torch.compile(model, mode="reduce-overhead")',
        since="2.0",
    ),
)
