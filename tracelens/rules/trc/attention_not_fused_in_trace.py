"""TRC025 attention-not-fused-in-trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import ModuleCall, Operator
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.trc._lines import Line, launching
from tracelens.traces.device_rows import with_log
from tracelens.traces.measured import Window
from tracelens.traces.rows import AttentionTime, KernelTime, Timeline
from tracelens.traces.sites import LaunchedAt
from tracelens.traces.views import COMPUTING, computing, devices, stories
from tracelens.words import few, length, percent

__all__ = ["AttentionNotFusedInTrace"]

MIN_SHARE = 0.05
#: Fewer are a softmax between two layers, not attention.
MIN_TIMES = 4
_MODULE = "MultiheadAttention"
#: ... and from which on, on the CPU, it comes before what takes more.
MIN_WARNING = 0.15
#: The operator that takes the parts of attention one by one, and that of torch's own module in
#: inference, which nothing is gained by replacing.
_APART = "aten::_scaled_dot_product_attention_math"
_NATIVE = "aten::_native_multi_head_attention"
_DROPS = "aten::bernoulli_"
_SDPA = (
    "https://docs.pytorch.org/docs/stable/generated/"
    "torch.nn.functional.scaled_dot_product_attention.html"
)


class Parts(FindingData):
    """Attention in parts."""

    n: int
    ms: float
    softmax_ms: float
    of_ms: float
    #: Whether torch's own module of attention is called.
    module: bool = False
    #: Whether the fused operator was asked for, and takes its parts one by one.
    apart: bool = False
    #: ... with dropout.
    dropout: bool = False


class AttentionNotFusedInTrace(Rule):
    """Attention is computed unfused: the trace holds a product, a softmax and a product.

    ## Why it matters
    The scores of all pairs of tokens are written and read several times: for long sequences that is most
    of the traffic. One fused kernel keeps them on the chip.

    ## What it looks like
    On one stream, a product, kernels over the scores, a softmax, and a product; where the trace holds
    operators, both are products of batches (`aten::bmm`):

        {"ph": "X", "cat": "kernel", "name": "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>(float*, float const*, int, int, int)", "ts": 100.0, "dur": 310.0, "pid": 0, "tid": 7}

    ## When it is harmless
    Below 5 % of the time in which the GPU computes (of the trace, on the CPU), or fewer than four times
    in the trace, the rule keeps quiet. On the CPU it is a warning from 15 % on, and information below.

    ## What to do
    ``scaled_dot_product_attention``; for masks and biases that it does not take, ``flex_attention``.

    ## How a live run confirms it
    The program runs with it. Confirmed when one kernel takes the place of the sequence, and less time.

    ## See also
    <https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC025"
    name = "attention-not-fused-in-trace"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM
    Data = Parts
    remedies = (
        Remedy(
            id="dropout",
            text="Leave dropout out of attention: on the CPU no fused kernel has it. (In "
            "`nn.MultiheadAttention` and the layers of `nn.Transformer`: set `dropout` to 0.)",
            code="torch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.0)",
            when="the fused operator is asked for with dropout, on the CPU",
            applies=lambda data: data.apart and data.dropout,
            since="2.0",
            proof=_SDPA,
        ),
        Remedy(
            id="backend",
            text="See why no fused kernel is taken: with the others forbidden, it is told.",
            code="with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend"
            ".FLASH_ATTENTION):\n    y = model(x)",
            when="the fused operator is asked for, and takes its parts one by one",
            applies=lambda data: data.apart and not data.dropout,
            since="2.3",
            proof="https://docs.pytorch.org/docs/stable/generated/"
            "torch.nn.attention.sdpa_kernel.html",
        ),
        Remedy(
            id="need-weights",
            text="Ask `nn.MultiheadAttention` for the result alone: with the weights, which it "
            "returns unless told otherwise, it cannot use the fused operator.",
            code="y, _ = attention(x, x, x, need_weights=False)",
            when="`nn.MultiheadAttention` is called",
            applies=lambda data: data.module and not data.apart,
            since="2.0",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html",
        ),
        Remedy(
            id="sdpa",
            text="Use the fused operator.",
            code="torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
            when="the program multiplies itself",
            applies=lambda data: not data.apart,
            since="2.0",
            proof=_SDPA,
        ),
        Remedy(
            id="transformers",
            text="In transformers, choose it when the model is loaded.",
            code='AutoModel.from_pretrained(name, attn_implementation="sdpa")',
            when="the model may be of the transformers library",
            applies=lambda data: not (data.module or data.apart),
            proof="https://huggingface.co/docs/transformers/attention_interface",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """What masks and scales the scores runs in kernels of its own."""
        return stories(["scores"], finding)

    def check(
        self,
        windows: Table[Window],
        *,
        timelines: Table[Timeline],
        attention: Table[AttentionTime],
        kernels: Table[KernelTime],
        modules: Table[ModuleCall],
        operators: Table[Operator],
        lines: Table[LaunchedAt],
    ) -> Iterator[Finding]:
        """Yield one finding per trace that spends much on attention in parts."""
        told = set()
        for run in windows:
            source, whole = run.first.input, run.record.ms
            called = {str(row.record): row for row in operators.within(source)}
            apart = None if run.record.launches or run.record.kernels else called.get(_APART)
            if _NATIVE in called:
                told.add(source)
            elif apart and apart.count >= MIN_TIMES and apart.ms >= MIN_SHARE * whole > 0:
                told.add(source)
                yield self._apart(apart, whole, dropout=_DROPS in called)
        for row in attention:
            found, source = row.record, row.first.input
            if found.on_host and source in told:
                continue
            if found.on_host:
                whole = sum(run.record.ms for run in windows.within(source))
            else:
                whole = computing(timelines, source)
            if found.n >= MIN_TIMES and whole and found.ms >= MIN_SHARE * whole:
                mine = [
                    kernel
                    for kernel in kernels.within(source)
                    if kernel.record.kind == "softmax" and not with_log(kernel.record.full_name)
                ]
                of = "the trace" if found.on_host else COMPUTING
                each = 1 if found.on_host else devices(timelines, source)
                own = any(m.record.module == _MODULE for m in modules.within(source))
                line = _line(lines, source, mine)
                yield self._finding(row, mine, whole, line, of=of, own=own, each=each)

    def _apart(self, row: Seen[Operator], whole: float, *, dropout: bool) -> Finding:
        share = min(1.0, row.ms / whole)
        data = Parts(
            n=row.count, ms=row.ms, softmax_ms=0.0, of_ms=whole, apart=True, dropout=dropout
        )
        why = " It asks for dropout, which no fused kernel of the CPU has." if dropout else ""
        return self.finding(
            "attention",
            title=f"attention takes its parts one by one, {percent(share)} of the trace",
            message=f"{row.count:,} calls of `scaled_dot_product_attention` run no fused kernel, "
            f"but a product, a softmax and a product: {length(row.ms)}, without the backward pass."
            f"{why}",
            severity=Severity.WARNING if share >= MIN_WARNING else Severity.INFO,
            confidence=Confidence.HIGH,
            count=row.count,
            evidence=[row.quote(f"{row.count:,} calls, {length(row.ms)} in all")],
            cost=Cost(ms=row.ms, share=share, basis="upper_bound", of="the trace"),
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self,
        row: Seen[AttentionTime],
        kernels: list[Seen[KernelTime]],
        whole: float,
        line: Line,
        *,
        of: str,
        own: bool,
        each: int,
    ) -> Finding:
        found = row.record
        share = min(1.0, found.ms / whole)
        data = Parts(n=found.n, ms=found.ms, softmax_ms=found.softmax_ms, of_ms=whole, module=own)
        return self.finding(
            "attention",
            title=f"unfused attention takes {percent(share)} of {of}",
            message=(
                f"{found.n:,} times a product, a softmax and a product follow each other, in "
                f"{length(found.ms)}; softmax alone takes {length(found.softmax_ms)}. The scores "
                f"go through memory each time.{_over(each)}{line.told}"
            ),
            where=line.where,
            severity=Severity.INFO if found.on_host and share < MIN_WARNING else None,
            confidence=Confidence.MEDIUM,
            count=found.n,
            evidence=[
                kernel.quote(f"{kernel.record.n} times, {length(kernel.record.sum_ms)} in all")
                for kernel in few(kernels)
            ]
            or [row.quote(f"softmax takes {length(found.softmax_ms)} of {length(found.ms)}")],
            cost=Cost(ms=found.ms / each, share=share, basis="upper_bound", of=of),
            advice=self.advise(data),
            data=data,
        )


def _line(lines: Table[LaunchedAt], source: str, softmax: list[Seen[KernelTime]]) -> Line:
    """Return where the softmax of attention is launched."""
    names = {row.record.full_name for row in softmax}
    rows = (row.record for row in lines.within(source))
    ms = sum(row.record.sum_ms for row in softmax)
    return launching(rows, ms, lambda row: row.kernel in names)


def _over(devices: int) -> str:
    return f" Added up over {devices} devices; each waits for its part." if devices > 1 else ""
