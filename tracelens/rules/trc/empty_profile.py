"""TRC032 empty-profile."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import TraceEvent
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import TraceHeader, Window

__all__ = ["EmptyProfile"]


class Empty(FindingData):
    """What there is instead."""

    events: int


class EmptyProfile(Rule):
    """The profile holds no operator and no kernel.

    ## Why it matters
    The run was recorded in vain. As a rule the schedule never came to its active steps, or the trace
    was exported when they were over: the profiler clears its events at the end of each cycle.

    ## What it looks like
    Nothing but the profiler's own marks:

        {"ph": "X", "cat": "Trace", "ts": 100.0, "dur": 300.0, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)"}

    ## When it is harmless
    Never, but nothing is broken in the program. Files of other tools in the same format, which have neither
    Kineto's header nor its marks, are not judged. That the "Profiler clears events at the end of each
    cycle" is no sign of it: every profile of more than one cycle says so.

    ## What to do
    Call ``prof.step()`` as often as the schedule is long, and write the trace in ``on_trace_ready``.

    ## How a live run confirms it
    The program is profiled with another schedule. Confirmed when the trace has operators.

    ## See also
    TRC022 for a trace that lacks the device.
    <https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC032"
    name = "empty-profile"
    severity = Severity.WARNING
    unconfirmable = "it is about how the trace was recorded, not about the program"
    Data = Empty
    remedies = (
        Remedy(
            id="on-trace-ready",
            text="Write the trace when a cycle ends, and step through the whole schedule.",
            code=(
                "torch.profiler.profile("
                "schedule=torch.profiler.schedule(wait=1, warmup=1, active=3), "
                'on_trace_ready=lambda p: p.export_chrome_trace("trace.json"))'
            ),
            basis="tested",
            proof="tests/advice/TRC032/on-trace-ready.py",
        ),
    )

    def check(
        self,
        headers: Table[TraceHeader],
        *,
        windows: Table[Window],
        events: Table[TraceEvent],
    ) -> Iterator[Finding]:
        """Yield one finding per trace without operators."""
        filled = {
            row.first.input
            for row in windows
            if row.record.kernels or row.record.launches or row.record.operators_ms
        }
        for header in headers:
            source = header.first.input
            mine = list(events.within(source))
            work = [row for row in mine if row.times and row.record.category not in _OWN]
            of_torch = header.record.schema_version is not None or any(
                row.record.category in _MARKS for row in mine
            )
            if of_torch and source not in filled and not work:
                yield self._finding(header, sum(row.count for row in mine))

    def _finding(self, header: Seen[TraceHeader], events: int) -> Finding:
        data = Empty(events=events)
        return self.finding(
            "empty",
            title="the profile holds no operator",
            message=(
                "The profiler was on, and recorded neither an operator nor a kernel: its schedule "
                "did not come to the active steps, or the trace was written when they were cleared."
            ),
            confidence=Confidence.HIGH,
            evidence=[header.quote("header of the trace")],
            advice=self.advise(data),
            data=data,
        )


#: What torch's profiler writes even when it recorded nothing; other tools write such files, too.
_MARKS = frozenset({"Trace", "overhead", "python_function", "user_annotation"})
#: Categories of the profiler's own events, of Python around them, and of calls that ask a device
#: about itself: what they launch counts elsewhere.
_OWN = frozenset(
    {"", "Trace", "overhead", "python_function", "user_annotation"}
    | {"cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "xpu_driver", "Runtime"}
)
