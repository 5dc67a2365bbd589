"""TRC030 device-bound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import BackwardNode, Operator, PythonFunction, RuntimeCall
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.rules.trc._cheaper import depthwise, made_dense, of_one_row
from tracelens.rules.trc._launches import norms_one_by_one
from tracelens.rules.trc._lines import MAX_SHARE, busiest, told
from tracelens.rules.trc._small import MANY_READS, ONE_ELEMENT, small_operators
from tracelens.rules.trc._unused import missing, unused
from tracelens.traces.critical import CriticalPath
from tracelens.traces.host_kinds import NO_WORK, shares_of
from tracelens.traces.measured import KernelWork, SelfTime, Step, TraceHeader, Window
from tracelens.traces.rows import KernelTime, Timeline
from tracelens.traces.runs import COMPILING, Run, runs
from tracelens.traces.span_rows import Recomputed
from tracelens.traces.views import COMPUTING, View, computing, views
from tracelens.words import length, percent, plural

__all__ = ["DeviceBound"]

#: Fewer kernels than this that take less, milliseconds, are no load.
MIN_KERNELS = 10
MIN_BUSY_MS = 0.2
#: Kinds of kernels that are named, and their least share.
MOST = 4
MIN_SHARE = 0.05
#: Share of the trace from which on a single operator of the CPU is named.
MIN_ALONE = 0.2
#: ... and share of the computing from which on a kernel of a GPU is.
MIN_ALONE_ON_GPU = 0.3
#: What is limited by arithmetic, as far as types go.
HALVES = frozenset({"product", "convolution", "attention"})
#: Shorter traces of the CPU say little, milliseconds.
MIN_MS = 0.5
#: Share of the time of the CPU that operators must have.
MIN_WORK = 0.5
#: Share of the time from which on what is computed again is told.
MIN_AGAIN = 0.1
#: Kinds that are no share of the trace: a collective waits on a thread of its own.
UNTOLD = frozenset({"other", "collectives"})
#: Kinds that other rules tell of.
TOLD = frozenset({"data loading", "compilation"})
#: Shorter traces in which operators have less than half say nothing, milliseconds.
MIN_IDLE_MS = 2.0
#: Share of the trace from which on the optimizer is named.
MIN_OPTIMIZER = 0.5
#: Share of the critical path from which on the host is what a busy device waits for.
MIN_HELD = 0.5
TO_DENSE = "aten::to_dense"
#: What limits kernels of a kind, as a rule.
REGIMES = {
    "gemm": "compute",
    "convolution": "compute",
    "attention": "compute",
    "elementwise": "memory",
    "normalization": "memory",
    "softmax": "memory",
    "reduction": "memory",
    "sorting": "memory",
    "dequantization": "memory",
    "copy": "memory",
    "embedding": "memory",
    "indexing": "memory",
    "optimizer": "memory",
    "pooling": "memory",
}


class Shares(FindingData):
    """What the device computes."""

    busy_share: float
    #: Kind of kernel -> share of the time in which the GPU computes; of the CPU, of the trace.
    kinds: dict[str, float]
    on_cpu: bool = False
    #: Share of the critical path that the host has.
    host_share: float = 0.0


class DeviceBound(Rule):
    """The device is busy nearly all the time: only faster kernels, or fewer, help.

    ## Why it matters
    Faster launches, graphs or loaders bring nothing here. What dominates, and whether arithmetic or
    memory limits it, says where to look: products and attention want lower precision or better
    tiles, elementwise kernels and copies want fusion.

    ## What it looks like
    Kernels that follow each other without gaps:

        {"ph": "X", "cat": "kernel", "name": "attn_fwd", "ts": 100.0, "dur": 1290.0, "pid": 0, "tid": 7}

    A program on the CPU is its own device: the note says what its operators compute. Compiled code
    has no events inside; with ``torch._inductor.config.cpp.enable_kernel_profile`` its kernels do.

    Where the critical path is mostly the host's though the device is busy, the note says so: faster
    kernels then bring little.

    ## When it is harmless
    Always: it is what a well-fed device looks like, and a note of severity ``none``.

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
        *,
        timelines: Table[Timeline],
        kernels: Table[KernelTime],
        steps: Table[Step],
        own: Table[SelfTime],
        headers: Table[TraceHeader],
        operators: Table[Operator],
        nodes: Table[BackwardNode],
        paths: Table[CriticalPath],
        works: Table[KernelWork],
        frames: Table[PythonFunction],
        again: Table[Recomputed],
        calls: Table[RuntimeCall],
    ) -> Iterator[Finding]:
        """Yield one note per trace whose device is busy."""
        for run in runs(windows, steps):
            source = run.window.first.input
            named = [row.record.devices for row in headers.within(source)]
            rows = list(own.within(source))
            called = {str(row.record): row.count for row in operators.within(source)}
            ms = run.window.record.ms
            host = sum(row.record.host_ms for row in again.within(source))
            more = [
                _halves(works, source, ms),
                told(busiest(frames, source, ms, most=MAX_SHARE), ms),
            ]
            more.append(_again(host, ms) if host < MIN_ALONE * ms else "")  # else it is TRC035's
            shapes = [row.record for row in works.within(source)]
            more.append(depthwise(shapes, ms, MIN_ALONE))
            more.append(of_one_row(shapes, ms, MIN_ALONE))
            dense = sum(r.ms for r in operators.within(source) if str(r.record) == TO_DENSE)
            more.append(made_dense(dense, ms))
            there = next(iter(named), ())
            ran = calls.within(source)
            more.append(unused(there, ran, rows, called, ms) if not run.on_device else "")
            yield from self._on_cpu(run, rows, there, called, more)
        for view in views(windows, steps, timelines):
            idle = view.total("idle_ms")
            few = view.run.window.record.kernels < MIN_KERNELS
            least = max(MIN_BUSY_MS, view.total("busy_ms") / 2)
            if (few and view.total("compute_ms") < least) or view.is_much(idle):
                continue
            known = paths.within(view.source) if view.run.window.record.waits else ()
            mine = [row.record for row in known]
            whole = sum(path.ms for path in mine)
            held = sum(path.host_ms + path.data_ms for path in mine) / whole if whole else 0.0
            ms = sum(row.record.device_ms or 0.0 for row in again.within(view.source))
            norms = norms_one_by_one(operators, nodes, view.source, len(view.run.all_steps))
            also = [_again(ms, computing(timelines, view.source)), _norms(norms)]
            traced = view.run.window.record.ms
            also.append(told(busiest(frames, view.source, traced, most=MAX_SHARE), traced))
            yield self._finding(view, list(kernels.within(view.source)), held, also)

    def _on_cpu(
        self,
        run: Run,
        own: list[Seen[SelfTime]],
        devices: tuple[str, ...],
        called: dict[str, int],
        also: list[str],
    ) -> Iterator[Finding]:
        """Yield what a program on the CPU computes."""
        whole = run.window.record
        compiles = (whole.compile_ms or 0.0) > COMPILING * whole.ms
        if run.on_device or whole.launches or whole.unread or whole.ms < MIN_MS or compiles:
            return
        rows = [(*_named(row.record), row.record.ms) for row in own]
        kinds = shares_of(rows, whole.ms)
        worked = min(1.0, sum(share for kind, share in kinds if kind not in NO_WORK))
        known = sum(share for kind, share in kinds if kind in TOLD)
        kinds = [
            (kind, share) for kind, share in kinds if share >= MIN_SHARE and kind not in UNTOLD
        ]
        if not worked or known >= 1 - MIN_WORK or (worked < MIN_WORK and whole.ms < MIN_IDLE_MS):
            return
        shares = ", ".join(f"{kind} {percent(share)}" for kind, share in kinds[:MOST])
        shares = shares or "no kind of operator stands out"
        least = "" if worked >= MIN_WORK else "no more than "
        small = _small(whole, own, called)
        clauses = (_alone(whole, own, called), small, _updating(whole), *also)
        more = [clause for clause in clauses if clause]
        said = "".join(f" {clause[0].upper()}{clause[1:]}." for clause in more)
        yield self.finding(
            "computing",
            title=f"the CPU computes for {least}{percent(worked)} of the trace",
            message=f"Of the trace, {length(whole.ms)}: {shares}.{said}"
            + ("" if also[-1] else missing(devices)),
            harmless="; ".join(
                (shares, *more, "it says where the time goes, not that any of it is wrong")
            ),
            confidence=Confidence.HIGH,
            count=len(own),
            evidence=[row.quote(f"{length(row.record.ms)} in itself") for row in own[:MOST]],
            data=Shares(
                busy_share=round(worked, 6),
                kinds={kind: round(share, 6) for kind, share in kinds[:MOST]},
                on_cpu=True,
            ),
        )

    def _finding(
        self, view: View, kernels: list[Seen[KernelTime]], held: float, also: list[str]
    ) -> Finding:
        shares: defaultdict[str, float] = defaultdict(float)
        for row in kernels:
            shares[row.record.kind] += row.record.share or 0.0
        named = sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))
        named = [(kind, share) for kind, share in named if share >= MIN_SHARE][:MOST]
        named_kinds = ", ".join(f"{kind} {percent(share)}" for kind, share in named)
        limited: defaultdict[str, float] = defaultdict(float)
        for kind, share in shares.items():
            limited[REGIMES.get(kind, "")] += share
        busy = view.total("busy_ms") / view.window_ms
        longest = sorted(kernels, key=lambda row: -row.record.sum_ms)[:1]
        ran = view.run.window.record.kernels
        alone = (
            f"; {plural(ran, 'kernel')} ran, `{longest[0].record.name}` for "
            f"{length(longest[0].record.sum_ms)}"
            if longest and ran < MIN_KERNELS
            else _largest(kernels)
        )
        return self.finding(
            "busy",
            title=f"the GPU is busy for {percent(busy)} of {view.of}",
            message=(
                f"Of {COMPUTING}: {named_kinds or 'no kind of kernel stands out'}. Kernels that "
                f"arithmetic limits as a rule take {percent(limited['compute'])}, those that "
                f"memory limits {percent(limited['memory'])}.{view.before}"
            ),
            harmless=_reason(held)
            + (f"; of {COMPUTING}: {named_kinds}" if named_kinds else "")
            + alone
            + "".join(f"; {clause}" for clause in also if clause)
            + _moving(view),
            confidence=Confidence.HIGH,
            count=view.run.window.record.kernels,
            evidence=[
                view.quote(f"busy for {percent(busy)}"),
                *[
                    row.quote(f"{row.record.n} times, {percent(row.record.share or 0.0)}")
                    for row in longest
                ],
            ],
            data=Shares(
                busy_share=round(busy, 6),
                kinds={k: round(v, 6) for k, v in named},
                host_share=round(held, 6),
            ),
        )


def _named(row: SelfTime) -> tuple[str, str]:
    """Return the category and the name that a time of its own is told by."""
    return ("python_function", "") if row.python else (row.category, row.name)


def _small(whole: Window, own: list[Seen[SelfTime]], called: dict[str, int]) -> str:
    """Say so where operators are many and small, but where TRC002 tells of it."""
    small = small_operators(whole, own, called)
    if small is None or small.much or small.read >= MANY_READS:
        return ""
    what = "`torch.compile` makes fewer of them"
    if small.recurrent:
        what = "a recurrent module takes its steps one by one, and torch leaves it uncompiled"
    elif small.reads:
        what = (
            f"`{ONE_ELEMENT}` reads one element {small.reads:,} times: `tolist()` reads all at once"
        )
    elif small.read:
        what = (
            f"`{ONE_ELEMENT}` reads {small.read:,} results one by one: stack what they are made of "
            "(for norms, `torch._foreach_norm`), and read once"
        )
    elif small.sizing:
        what = "results whose size depends on the data keep `torch.compile` from making fewer"
    return (
        f"{small.calls:,} operators, {length(small.each_ms)} for each in all: most of that is "
        f"Python and calling them; {what}"
    )


def _halves(works: Table[KernelWork], source: str, whole: float) -> str:
    """Say so where products in float16 take much of a trace of the CPU."""
    rows = [row.record for row in works.within(source) if row.record.on_host]
    ms = sum(row.ms for row in rows if row.dtype == "f16" and row.kind in HALVES)
    if ms < MIN_ALONE * whole:
        return ""
    return (
        "products and convolutions are in float16, in which few processors compute (AVX512-FP16, "
        "AMX-FP16, Arm's FP16); others convert: compare with bfloat16 and float32"
    )


def _alone(whole: Window, own: list[Seen[SelfTime]], called: dict[str, int]) -> str:
    """Name the operator that takes longest, where it is a large part of the trace."""
    rows = [row.record for row in own if row.record.name in called]
    longest = max(rows, key=lambda row: row.ms, default=None)
    if longest is None or longest.ms < MIN_ALONE * whole.ms:
        return ""
    times = plural(called[longest.name] - longest.inner, "call")
    return f"`{longest.name}` alone is {percent(longest.ms / whole.ms)} of the trace, in {times}"


def _updating(whole: Window) -> str:
    """Say so where most of the time is the optimizer's."""
    share = (whole.optimizer_ms or 0.0) / whole.ms
    return (
        f"the optimizer's steps take {percent(share)} of the trace"
        if share >= MIN_OPTIMIZER
        else ""
    )


def _again(ms: float, whole: float) -> str:
    """Say for how much of the time checkpointing computes what it has computed before."""
    if not whole or ms < MIN_AGAIN * whole:
        return ""
    return (
        f"checkpointing computes for {percent(min(1.0, ms / whole))} of it what was computed "
        "before: where memory allows, checkpoint fewer layers"
    )


def _norms(each: int) -> str:
    """Say so where the norms of gradients are taken one by one."""
    return (
        f"{each} norms per step are taken of one tensor each: "
        "`clip_grad_norm_(parameters, max_norm, foreach=True)` takes them in a few calls"
        if each
        else ""
    )


def _largest(kernels: list[Seen[KernelTime]]) -> str:
    """Name the kernel that takes longest, where memory limits it and it is a large part."""
    rows = [row.record for row in kernels if REGIMES.get(row.record.kind) != "compute"]
    shares: defaultdict[str, float] = defaultdict(float)
    times: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        shares[row.name] += row.share or 0.0
        times[row.name] += row.n
    name = max(shares, key=lambda name: shares[name], default="")
    if shares[name] < MIN_ALONE_ON_GPU:
        return ""
    many = plural(times[name], "run")
    return f"; `{name}` alone takes {percent(shares[name])} of {COMPUTING}, in {many}"


def _moving(view: View) -> str:
    """Say for how much of the time a busy device computes nothing."""
    parts = {"copies": "exposed_copy_ms", "collectives": "exposed_comm_ms"}
    shares = {what: view.total(field) / view.window_ms for what, field in parts.items()}
    return "".join(
        f"; {what} alone take {percent(share)} of {view.of}"
        for what, share in shares.items()
        if share >= MIN_SHARE
    )


def _reason(held: float) -> str:
    """Return why a busy device is no defect, and whether faster kernels would help."""
    if held < MIN_HELD:
        return "it has work nearly all the time"
    return (
        f"it has work, though for {percent(held)} of the time its kernels start when the host "
        "launches them: faster kernels alone gain little"
    )
