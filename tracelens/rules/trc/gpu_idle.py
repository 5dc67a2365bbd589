"""TRC001 gpu-idle."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.report import Advice, Confidence, Cost, Finding, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import DeviceBusy, Step, Window
from tracelens.traces.runs import IDLE, Run, length, percent, runs

__all__ = ["GpuIdle"]

#: Fewer kernels than this are no load.
MIN_KERNELS = 50
#: Share of the idle time from which on it has one cause, with a rule of its own.
MOST = 0.5


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
    Idle up to 20 % is common. Where the GPU mostly waits for data (TRC013) or for the compiler
    (TRC003), those findings say so and this one is a note of severity ``none``. The first step does
    not count when it is warm-up, and what the profiler can have added to the host's time (TRC018) is
    taken off. Fewer than 50 kernels are no load.

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

    def check(
        self, windows: Table[Window], devices: Table[DeviceBusy], *, steps: Table[Step]
    ) -> Iterator[Finding]:
        """Yield one finding per trace whose devices are idle."""
        for run in runs(windows, steps):
            of_it = [row for row in devices if run.holds(row)]
            if not of_it or run.ms <= 0:
                continue
            whole, busy = run.ms, run.total("busy_ms")
            if run.total("kernels") < MIN_KERNELS:
                continue
            if not run.steps:
                widest = max(of_it, key=lambda row: row.record.span_ms).record
                whole, busy = widest.span_ms, widest.busy_ms
            if whole > 0 and 1 - busy / whole >= IDLE:
                yield self._finding(run, of_it, whole, busy)

    def _finding(
        self, run: Run, devices: list[Seen[DeviceBusy]], whole: float, busy: float
    ) -> Finding:
        idle = whole - busy
        parts = {
            "it compiled": run.total("idle_compile_ms"),
            "it waited for the next batch": run.total("idle_loading_ms"),
            "it ran operators or compiled code, which launch kernels": run.total("idle_host_ms"),
        }
        parts["Python ran, or what is not traced"] = idle - sum(parts.values())
        told = "; ".join(
            f"{what}: {length(min(ms, idle))}" for what, ms in parts.items() if ms >= 0.01 * idle
        )
        other = next(
            (
                code
                for code, ms in zip(("TRC003", "TRC013"), parts.values(), strict=False)
                if ms >= MOST * idle
            ),
            "",
        )
        see = f" {other} is about that." if other else ""
        where = run.of if run.steps else "the time from the first kernel to the last"
        return self.finding(
            "idle",
            title=f"the GPU is idle for {percent(idle / whole)} of {where}",
            message=(
                f"Kernels and copies run for {length(busy)} of {length(whole)}. What the program "
                f"did in the other {length(idle)}: {told}.{see}"
            ),
            severity=Severity.NONE if other else Severity.WARNING,
            confidence=Confidence.HIGH if run.n > 1 else Confidence.MEDIUM,
            count=run.n,
            evidence=[
                run.quote(f"{run.spans[0].record.busy_ms:.3g} ms busy"),
                *[
                    row.quote(
                        f"device {row.record.device}: idle for up to {length(row.record.gap_ms)}, "
                        f"from {length(row.record.gap_at_ms)} on"
                    )
                    for row in devices[:4]
                ],
            ],
            cost=Cost(ms=idle, share=idle / whole, basis="upper_bound", of=where),
            advice=_ADVICE,
        )


_ADVICE = (
    Advice(
        text="Launch the step as one CUDA graph.",
        code='torch.compile(model, mode="reduce-overhead")',
        since="2.0",
    ),
    Advice(text="Give the GPU more to do at a time: a larger batch."),
)
