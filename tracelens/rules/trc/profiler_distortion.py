"""TRC018 profiler-distortion."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import PythonFunction
from tracelens.report import Advice, Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import TraceHeader, Window

__all__ = ["ProfilerDistortion"]

#: What makes the profiler work on every Python call or allocation.
HEAVY = ("with_stack", "profile_memory", "with_modules")
#: What adds to every operator: little, and more with many inputs.
LIGHT = ("record_shapes", "with_flops")


class ProfilerDistortion(Rule):
    """The trace was taken with options that slow the program down.

    ## Why it matters
    ``with_stack=True`` stops at every Python call, ``profile_memory=True`` at every allocation. Times
    on the CPU grow, those of Python code and of small operators the most, and a GPU seems to wait
    more than it does without the profiler. Claims about time made on such a trace are silenced by
    this finding; what runs, how often and in which order stays true.

    ## What it looks like
    Fields in the trace's header, and, with stacks, events of the category ``python_function``:

        {"ph": "X", "cat": "python_function", "name": "torch/nn/modules/linear.py(134): forward", "ts": 100.0, "dur": 80.0, "pid": 1, "tid": 1}

    ## When it is harmless
    ``record_shapes`` and ``with_flops`` alone cost a microsecond or two per operator: that is a note
    of severity ``none``, which silences nothing. So is everything where nobody looks at times.

    ## What to do
    Take the trace again without these options before comparing times; keep this one to find out
    where in the code something is called.

    ## How a live run confirms it
    The program is profiled with and without the options. Confirmed when steps get shorter without.

    ## See also
    <https://docs.pytorch.org/docs/stable/profiler.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC018"
    name = "profiler-distortion"
    severity = Severity.NONE
    suppresses = "time"
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
        stacks = {part.place.input for row in functions for part in row.split()}
        timed = {row.first.input for row in windows}
        for row in headers:
            options = [option for option in (*HEAVY, *LIGHT) if getattr(row.record, option)]
            if row.first.input in stacks and "with_stack" not in options:
                options.insert(0, "with_stack")
            if options and row.first.input in timed:
                ways.setdefault(tuple(options), []).append(row)
        for way, rows in ways.items():
            yield self._finding(way, rows, functions)

    def _finding(
        self,
        options: tuple[str, ...],
        rows: list[Seen[TraceHeader]],
        functions: Table[PythonFunction],
    ) -> Finding:
        heavy = [option for option in options if option in HEAVY]
        named = ", ".join(f"{option}=True" for option in options)
        inputs = {row.first.input for row in rows}
        python = [row for source in sorted(inputs) for row in functions.within(source)]
        calls = sum(row.count for row in python)
        stops = f" It stopped at {calls} Python calls." if calls else ""
        effect = (
            f"Times on the CPU in this trace are longer than without.{stops} What runs, and how "
            "often, is as it is."
            if heavy
            else "That costs a few microseconds per operator, which only matters for small ones."
        )
        return self.finding(
            *options,
            title=f"the profiler ran with {named}",
            message=f"The profiler ran with {named}. {effect}",
            severity=Severity.INFO if heavy else Severity.NONE,
            confidence=Confidence.HIGH,
            count=len(rows),
            evidence=[
                *[row.quote("header of the trace") for row in rows],
                *[row.quote(f"{row.count} calls") for row in python[:1]],
            ],
            advice=_ADVICE if heavy else (),
        )


_ADVICE = (
    Advice(
        text="Take the trace again without these options before looking at times.",
        code="torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=2, active=3))",
    ),
)
