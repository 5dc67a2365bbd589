"""TRC018 profiler-distortion."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import PythonFunction
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import TraceHeader, Window
from tracelens.words import length

__all__ = ["ProfilerDistortion"]

#: What makes the profiler work on every Python call or allocation.
HEAVY = ("with_stack", "profile_memory", "with_modules")
#: What adds to every operator: little, and more with many inputs.
LIGHT = ("record_shapes", "with_flops")


class Distortion(FindingData):
    """How the trace was recorded."""

    options: tuple[str, ...]
    calls: int
    added_ms: float
    launches: int = 0


class ProfilerDistortion(Rule):
    """The trace was taken with options that slow the program's host side down.

    ## Why it matters
    ``with_stack=True`` stops at every Python call, ``profile_memory=True`` at every allocation. Times
    on the CPU grow, those of Python code and of small operators the most, and a GPU seems to wait
    more than it does without the profiler. By how much is bounded: half a microsecond per Python call and
    one and a half per operator; a launch takes 8 microseconds longer while it is recorded. What is said of the host's time has that much taken off. Times of kernels and
    copies are the device's own and stand as they are.

    ## What it looks like
    Fields in the trace's header, and, with stacks, events of the category ``python_function``:

        {"ph": "X", "cat": "python_function", "name": "torch/nn/modules/linear.py(134): forward", "ts": 100.0, "dur": 80.0, "pid": 1, "tid": 1}

    ## When it is harmless
    Always: it is a note about the recording, not a defect of the program.

    ## What to do
    Take the trace again without these options before comparing host times; keep this one to find out
    where in the code something is called.

    ## How a live run confirms it
    The program is profiled with and without the options. Confirmed when steps get shorter without.

    ## See also
    <https://docs.pytorch.org/docs/stable/profiler.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC018"
    name = "profiler-distortion"
    severity = Severity.NONE
    Data = Distortion
    remedies = (
        Remedy(
            id="without",
            text="Take the trace again without these options before comparing host times.",
            code=(
                "torch.profiler.profile("
                "schedule=torch.profiler.schedule(wait=1, warmup=2, active=3))"
            ),
            when="with_stack, profile_memory or with_modules was on",
            applies=lambda data: any(option in HEAVY for option in data.options),
            proof="https://docs.pytorch.org/docs/stable/profiler.html",
        ),
    )
    unconfirmable = "it is about how the trace was recorded, not about the program"

    def check(
        self,
        headers: Table[TraceHeader],
        *,
        windows: Table[Window],
        functions: Table[PythonFunction],
    ) -> Iterator[Finding]:
        """Yield one finding per way in which traces were recorded."""
        ways: dict[tuple[str, ...], list[Seen[TraceHeader]]] = {}
        measured = {row.first.input: row.record for row in windows}
        for row in headers:
            window = measured.get(row.first.input)
            options = [option for option in (*HEAVY, *LIGHT) if getattr(row.record, option)]
            if window is not None and window.python_calls and "with_stack" not in options:
                options.insert(0, "with_stack")
            if options and window is not None:
                ways.setdefault(tuple(options), []).append(row)
        for way, rows in ways.items():
            inputs = [row.first.input for row in rows]
            data = Distortion(
                options=way,
                calls=sum(measured[source].python_calls for source in inputs),
                launches=sum(measured[source].launches for source in inputs),
                added_ms=sum(measured[source].added_ms for source in inputs),
            )
            yield self._finding(data, rows, next(iter(functions.within(inputs[0])), None))

    def _finding(
        self, data: Distortion, rows: list[Seen[TraceHeader]], called: Seen[PythonFunction] | None
    ) -> Finding:
        named = ", ".join(f"{option}=True" for option in data.options)
        stops = f" at {data.calls} Python calls and" if data.calls else ""
        launches = " and launch" if data.launches else ""
        return self.finding(
            *data.options,
            title=f"the profiler ran with {named}",
            message=(
                f"The profiler stopped the host{stops} at every operator{launches}: up to "
                f"{length(data.added_ms)} of its time in all. That much is taken off what is said "
                "of the host; the device's times are its own."
            ),
            severity=Severity.NONE,
            confidence=Confidence.HIGH,
            count=len(rows),
            evidence=[
                *[row.quote("header of the trace") for row in rows],
                *([called.quote(f"{called.count} calls")] if called else []),
            ],
            advice=self.advise(data),
            data=data,
        )
