"""TRC021 convolution-on-slow-path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.untold import MAX_ELEMENTS, UntoldConvolution, multiplications
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few, length, percent, plural

if TYPE_CHECKING:
    from tracelens.logs.chrome_trace import Operator
    from tracelens.traces.measured import Window

__all__ = ["ConvolutionOnSlowPath"]

#: Convolutions of ATen's own: they write out every patch of the input, then multiply.
SLOW = frozenset(
    {
        "_slow_conv2d_backward",
        "_slow_conv2d_forward",
        "slow_conv3d_forward",
        "slow_conv_dilated2d",
        "slow_conv_dilated3d",
        "slow_conv_transpose2d",
        "slow_conv_transpose3d",
        "thnn_conv2d_backward",
        "thnn_conv2d_forward",
    }
)
#: Operators around them: they are counted where a trace holds nothing from within.
AROUND = frozenset({"slow_conv3d", "thnn_conv2d"})
#: Convolutions of oneDNN.
ONEDNN = frozenset({"mkldnn_convolution", "_convolution_pointwise", "_convolution_pointwise_"})
_NONE = (
    "None runs in oneDNN: each is of one small input, or 1 x 1 in one thread, or this torch was "
    "built without oneDNN, or it is switched off."
)
MIN_SHARE = 0.05
#: Milliseconds from which on a convolution of the fallback would be faster in oneDNN: measured.
LONG_MS = 0.3
#: How many short ones there are, and their share of the trace, to be images one at a time.
MANY = 500
MIN_MANY = 0.3
#: Part of the time that oneDNN saves at most.
GAIN = 0.5
#: Share of the trace that may be saved from which on it is a warning.
MIN_WARNING = 0.15


class SlowPath(FindingData):
    """Convolutions in the fallback."""

    slow: int
    fast: int
    #: None where no trace has the times: then the sizes decide.
    ms: float | None = None
    of_ms: float | None = None
    #: What is convolved, as far as it is known: images, signals of one dimension, or inputs.
    inputs: str = "inputs"


def _is_long(data: SlowPath) -> bool:
    return data.ms is None or data.ms >= LONG_MS * data.slow


class ConvolutionOnSlowPath(Rule):
    """Convolutions on the CPU run in ATen's fallback instead of oneDNN.

    ## Why it matters
    The fallback writes every patch of the input out as a row of a matrix and multiplies that. torch
    takes it for a single image with up to 20,480 elements, unless the kernel is larger than 3 x 3 or
    the convolution has groups; and with one thread for every kernel of 1 x 1. With 64 channels or more it takes up to twice as long as oneDNN. No
    oneDNN line tells of it: a log with ``ONEDNN_VERBOSE`` looks as if these convolutions were not
    there. Without a trace, generated code shows them: a call of `extern_kernels.convolution` that no
    execution matches.

    ## What it looks like
        {"ph": "X", "cat": "cpu_op", "name": "aten::_slow_conv2d_forward", "ts": 100.0, "dur": 660.0, "pid": 1, "tid": 1}

    ## When it is harmless
    For few channels the fallback is the faster one: convolutions that take less than 0.3 ms each are a
    note of severity ``none`` (3 x 3 on 16 x 16 elements, one thread, torch 2.13: 14 us against 75 us
    with 8 channels, as long with 32, 660 us against 347 us with 64). Below 5 % of the trace the rule
    keeps quiet. Without a trace only convolutions of 4 million multiplications and more are told.

    ## What to do
    Two images at a time go to oneDNN, in eager code too. So does a frozen model under
    ``torch.compile``, whatever the batch. ``channels_last`` does not help: the same fallback runs. Where no
    convolution runs in oneDNN, see first whether this torch has it: ``torch.backends.mkldnn.is_available()``.

    ## How a live run confirms it
    The program runs frozen, or with a batch of two. Confirmed when the trace says
    ``aten::mkldnn_convolution`` and the time per image falls.

    ## See also
    ONE001 for convolutions that reach oneDNN and are slow there.
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC021"
    name = "convolution-on-slow-path"
    severity = Severity.WARNING
    experiment = Experiment(Knob("freezing", config={"torch._inductor.config.freezing": True}))

    Data = SlowPath
    remedies = (
        Remedy(
            id="available",
            text="See whether this torch has oneDNN: without it, no other advice helps.",
            when="no convolution of the trace runs in oneDNN",
            applies=lambda data: data.ms is not None and not data.fast and _is_long(data),
            code="print(torch.backends.mkldnn.is_available())",
            proof="https://docs.pytorch.org/docs/stable/backends.html",
        ),
        Remedy(
            id="batch",
            text=lambda data: (
                f"Where several {data.inputs} are at hand, compute them at a time: a batch of two "
                "is enough, but for 1 x 1 kernels, which need two threads."
            ),
            when="convolutions long enough, or many enough, to matter",
            applies=lambda data: _is_long(data) or _is_many(data),
            basis="untestable",
            proof="it changes what is computed",
        ),
        Remedy(
            id="freeze",
            text="For inference, compile with frozen weights.",
            when="convolutions long enough to matter",
            applies=_is_long,
            setting="torch._inductor.config.freezing = True",
            env="TORCHINDUCTOR_FREEZING=1",
            since="2.1",
            basis="tested",
            proof="tests/advice/TRC021/freeze.py",
        ),
    )

    def check(
        self,
        *,
        windows: Table[Window],
        operators: Table[Operator],
        untold: Table[UntoldConvolution],
    ) -> Iterator[Finding]:
        """Yield one finding per trace on the CPU with slow convolutions that take time.

        Without a trace, one for the calls of generated code that oneDNN does not tell of.
        """
        if not len(windows):
            yield from self._untold(untold)
        for window in windows:
            if window.record.kernels:
                continue
            of_it = operators.within(window.first.input)
            slow = [row for row in of_it if row.record.op in SLOW]
            slow = slow or [row for row in of_it if row.record.op in AROUND]
            fast = sum(row.count for row in of_it if row.record.op in ONEDNN)
            whole = window.record.ms - (window.record.compile_ms or 0.0)
            ms = sum(row.ms for row in slow)
            if whole > 0 and ms >= MIN_SHARE * whole:
                yield self._finding(slow, fast, (ms, whole), _inputs(of_it))

    def _untold(self, untold: Table[UntoldConvolution]) -> Iterator[Finding]:
        """Yield a finding where convolutions of generated code leave no line of oneDNN's."""
        missing = sorted(untold, key=lambda row: -multiplications(row.record.call.task))
        if not missing:
            return
        worst = missing[0].record
        line, among = worst.call.lines[:1], worst.among
        data = SlowPath(slow=len(missing), fast=among - len(missing))
        yield self.finding(
            "untold",
            title=f"{plural(len(missing), 'convolution')} of generated code never reached oneDNN: "
            "ATen's fallback",
            message=(
                f"The log has oneDNN's executions, and none for these: {len(missing)} of "
                f"{plural(among, 'convolution')}. For a single image of up to "
                f"{MAX_ELEMENTS:,} elements torch takes its own im2col and a matrix product. With "
                f"{worst.call.task.sizes[1]} channels oneDNN may be up to twice as fast."
            ),
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            count=len(missing),
            where=user_code.where(next(iter(line), None)),
            evidence=[
                row.quote("no execution in oneDNN", at=row.record.call.at) for row in few(missing)
            ],
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self, slow: list[Seen[Operator]], fast: int, times: tuple[float, float], inputs: str
    ) -> Finding:
        ms, whole = times
        count = sum(row.count for row in slow)
        others = f"{fast} others run in oneDNN." if fast else _NONE
        small = ms < LONG_MS * count
        data = SlowPath(slow=count, fast=fast, ms=ms, of_ms=whole, inputs=inputs)
        many = small and _is_many(data)
        judged = " For such short ones the fallback is the faster way." if small else ""
        if many:
            judged += f" So many, of one of the {inputs} each, take less time as batches."
        return self.finding(
            *sorted(str(row.record) for row in slow),
            title=f"{count} convolutions run in ATen's fallback: {percent(ms / whole)} of the time",
            message=(
                f"{count} convolutions take {length(ms)} of {length(whole)}, {length(ms / count)} "
                f"each, in {', '.join(f'`{row.record}`' for row in slow)}. {others}{judged}"
            ),
            severity=Severity.INFO if many else _severity(small=small, saved=GAIN * ms / whole),
            confidence=Confidence.MEDIUM,
            count=count,
            evidence=[
                row.quote(
                    f"{row.count} times, {length(row.ms)} in all, the longest "
                    f"{length(row.times.max if row.times else 0.0)}"
                )
                for row in slow
            ],
            cost=None
            if small
            else Cost(
                ms=GAIN * ms,
                share=min(1.0, GAIN * ms / whole),
                basis="upper_bound",
                of="the trace",
            ),
            advice=self.advise(data),
            data=data,
        )


def _is_many(data: SlowPath) -> bool:
    return (data.ms or 0.0) >= MIN_MANY * (data.of_ms or 0.0) > 0 and data.slow >= MANY


#: Operators that programs call -> what they convolve.
_CALLED = (
    (frozenset({"conv1d", "conv_transpose1d"}), "signals"),
    (frozenset({"conv2d", "conv_transpose2d"}), "images"),
    (frozenset({"conv3d", "conv_transpose3d"}), "volumes"),
)


def _inputs(operators: Iterable[Seen[Operator]]) -> str:
    """Return what is convolved, where all convolutions that are called are of one kind."""
    called = {row.record.op for row in operators}
    kinds = [what for names, what in _CALLED if names & called]
    return kinds[0] if len(kinds) == 1 else "inputs"


def _severity(*, small: bool, saved: float) -> Severity:
    """Return how much it matters: a small part of the trace comes after what takes more."""
    if small:
        return Severity.NONE
    return Severity.WARNING if saved >= MIN_WARNING else Severity.INFO
