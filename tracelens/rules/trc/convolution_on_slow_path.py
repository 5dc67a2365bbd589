"""TRC021 convolution-on-slow-path."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import Operator
from tracelens.report import Advice, Confidence, Cost, Finding, Severity
from tracelens.rules import Rule
from tracelens.rules.trc._runs import length, percent
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
    }
)
MIN_SHARE = 0.05


class ConvolutionOnSlowPath(Rule):
    """Convolutions on the CPU run in ATen's fallback instead of oneDNN.

    ## Why it matters
    The fallback writes every patch of the input out as a row of a matrix and multiplies that, one
    image at a time. oneDNN's convolutions work on the image itself. No oneDNN line tells of them, so
    a log with ``ONEDNN_VERBOSE`` looks as if these convolutions were not there.

    ## What it looks like
        {"ph": "X", "cat": "cpu_op", "name": "aten::_slow_conv2d_forward", "ts": 100.0, "dur": 412.0, "pid": 1, "tid": 1}

    ## When it is harmless
    torch chooses by batch, size and number of threads: with one thread and one image the fallback can
    be the faster one. Below 5 % of the trace the rule keeps quiet.

    ## What to do
    ``channels_last`` inputs and weights, or a frozen model under ``torch.compile``: both go to oneDNN
    whatever the size. Check that ``torch.backends.mkldnn.enabled`` is true, and the data type.

    ## How a live run confirms it
    The program runs with ``memory_format=torch.channels_last``. Confirmed when the trace says
    ``aten::mkldnn_convolution`` and the convolutions take less time.

    ## See also
    ONE001 for convolutions that reach oneDNN and are slow there.
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC021"
    name = "convolution-on-slow-path"
    severity = Severity.WARNING

    def check(self, windows: Table[Window], operators: Table[Operator]) -> Iterator[Finding]:
        """Yield one finding per trace on the CPU with slow convolutions that take time."""
        for window in windows:
            if window.record.kernels:
                continue
            of_it = [row for row in operators if row.first.input == window.first.input]
            slow = [row for row in of_it if row.record.op in SLOW]
            fast = sum(row.count for row in of_it if row.record.op.startswith("mkldnn_convolution"))
            fast += sum(row.count for row in of_it if row.record.op == "_convolution_pointwise")
            whole = window.record.ms - (window.record.compile_ms or 0.0)
            ms = sum(row.ms for row in slow)
            if whole > 0 and ms >= MIN_SHARE * whole:
                yield self._finding(slow, fast, ms, whole)

    def _finding(self, slow: list[Seen[Operator]], fast: int, ms: float, whole: float) -> Finding:
        count = sum(row.count for row in slow)
        others = f" {fast} others run in oneDNN." if fast else " None runs in oneDNN."
        return self.finding(
            *sorted(str(row.record) for row in slow),
            title=f"{count} convolutions run in ATen's fallback: {percent(ms / whole)} of the time",
            message=(
                f"{count} convolutions take {length(ms)} of {length(whole)} in "
                f"{', '.join(f'`{row.record}`' for row in slow)}.{others}"
            ),
            confidence=Confidence.MEDIUM,
            count=count,
            evidence=[
                row.quote(
                    f"{row.count} times, {length(row.ms)} in all, the longest "
                    f"{length(row.times.max if row.times else 0.0)}"
                )
                for row in slow
            ],
            cost=Cost(ms=ms, share=min(1.0, ms / whole), basis="upper_bound", of="the trace"),
            advice=_ADVICE,
        )


_ADVICE = (
    Advice(
        text="Use the layout that goes to oneDNN whatever the size.",
        code="model = model.to(memory_format=torch.channels_last)",
    ),
    Advice(
        text="For inference, compile with frozen weights.",
        setting="torch._inductor.config.freezing = True",
        env="TORCHINDUCTOR_FREEZING=1",
        since="2.1",
    ),
)
