"""TRC030 device-bound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.traces.measured import Step, Window
from tracelens.traces.rows import KernelTime, Timeline
from tracelens.traces.runs import IDLE
from tracelens.traces.views import COMPUTING, View, views
from tracelens.words import percent

__all__ = ["DeviceBound"]

#: Fewer kernels than this are no load.
MIN_KERNELS = 10
#: Kinds of kernels that are named, and their least share.
MOST = 4
MIN_SHARE = 0.05
#: What limits kernels of a kind, as a rule.
REGIMES = {
    "gemm": "compute",
    "convolution": "compute",
    "attention": "compute",
    "elementwise": "memory",
    "normalization": "memory",
    "softmax": "memory",
    "reduction": "memory",
    "copy": "memory",
    "embedding": "memory",
    "optimizer": "memory",
    "pooling": "memory",
}


class Shares(FindingData):
    """What the device computes."""

    busy_share: float
    #: Kind of kernel -> share of the time in which the GPU computes.
    kinds: dict[str, float]


class DeviceBound(Rule):
    """The GPU is busy nearly all the time: only faster kernels, or fewer, help.

    ## Why it matters
    Faster launches, graphs or loaders bring nothing here. What dominates, and whether arithmetic or
    memory limits it, says where to look: products and attention want lower precision or better
    tiles, elementwise kernels and copies want fusion.

    ## What it looks like
    Kernels that follow each other without gaps:

        {"ph": "X", "cat": "kernel", "name": "attn_fwd", "ts": 100.0, "dur": 1290.0, "pid": 0, "tid": 7}

    ## When it is harmless
    Always: it is what a well-fed GPU looks like, and a note of severity ``none``.

    ## What to do
    See the table of kernels, and TRC009, TRC010, TRC014, TRC019, TRC025 and TRC028 for what can be
    faster.

    ## How a live run confirms it
    It is not tried: there is nothing to change.

    ## See also
    TRC001 for the opposite.
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC030"
    name = "device-bound"
    severity = Severity.NONE
    unconfirmable = "it is no defect: there is nothing to change"
    Data = Shares

    def check(
        self,
        windows: Table[Window],
        timelines: Table[Timeline],
        kernels: Table[KernelTime],
        *,
        steps: Table[Step],
    ) -> Iterator[Finding]:
        """Yield one note per trace whose device is busy."""
        for view in views(windows, steps, timelines):
            idle = view.total("idle_ms")
            if view.run.window.record.kernels < MIN_KERNELS or idle >= IDLE * view.window_ms:
                continue
            yield self._finding(view, list(kernels.within(view.source)))

    def _finding(self, view: View, kernels: list[Seen[KernelTime]]) -> Finding:
        shares: defaultdict[str, float] = defaultdict(float)
        for row in kernels:
            shares[row.record.kind] += row.record.share or 0.0
        named = sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))
        named = [(kind, share) for kind, share in named if share >= MIN_SHARE][:MOST]
        told = ", ".join(f"{kind} {percent(share)}" for kind, share in named)
        limited: defaultdict[str, float] = defaultdict(float)
        for kind, share in shares.items():
            limited[REGIMES.get(kind, "")] += share
        busy = view.total("busy_ms") / view.window_ms
        longest = sorted(kernels, key=lambda row: -row.record.sum_ms)[:1]
        return self.finding(
            "busy",
            title=f"the GPU is busy for {percent(busy)} of {view.of}"
            + (f": {told}" if told else ""),
            message=(
                f"Of {COMPUTING}: {told or 'no kind of kernel stands out'}. Kernels that "
                f"arithmetic limits as a rule take {percent(limited['compute'])}, those that "
                f"memory limits {percent(limited['memory'])}."
            ),
            harmless="the GPU has work nearly all the time",
            confidence=Confidence.HIGH,
            count=view.run.window.record.kernels,
            evidence=[
                view.quote(f"busy for {percent(busy)}"),
                *[
                    row.quote(f"{row.record.n} times, {percent(row.record.share or 0.0)}")
                    for row in longest
                ],
            ],
            data=Shares(busy_share=round(busy, 6), kinds={k: round(v, 6) for k, v in named}),
        )
