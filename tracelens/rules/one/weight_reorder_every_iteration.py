"""ONE003 weight-reorder-every-iteration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.onednn import work
from tracelens.onednn.implementations import COMPUTE
from tracelens.onednn.parts import MemoryDescriptor
from tracelens.onednn.runs import instruction_set, percent
from tracelens.onednn.summary import quote
from tracelens.report import Advice, Confidence, Cost, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["WeightReorderEveryIteration"]

#: A weight that is reordered less often was packed, not reordered each time.
MIN_COUNT = 3
#: Reorders per use. Packed once and used twice is 0.5.
MIN_PER_USE = 0.75
#: Share of all execution time from which it deserves action, and below which it is a note.
ACT_SHARE, NOTE_SHARE = 0.04, 0.01

#: What identifies a tensor in memory as far as a log tells: its layout and its size.
Tensor = tuple[tuple[str, str, str, str], int]


class WeightReorderEveryIteration(Rule):
    """The same weights are reordered before every use instead of once.

    ## Why it matters
    oneDNN's fast kernels want weights in blocks that fit their registers. A weight that arrives in
    torch's plain layout is copied into blocks before the kernel runs, at every call, although it has
    not changed. For small batches the copy costs as much as the computation.

    ## What it looks like
    A ``reorder`` whose result has the layout and size of the weights of the primitive that follows,
    each time again:

        onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:acdb::f0 dst:f32::blocked:Acdb16a::f0,attr-scratchpad:user,,16x3x7x7,0.00415
        onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,forward_training,src:f32::blocked:acdb::f0 wei:f32:a:blocked:Acdb16a::f0 bia:undef::undef::: dst:f32::blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct,mb2_ic3oc16_ih64oh32kh7sh2dh0ph3_iw64ow32kw7sw2dw0pw3,0.0979

    ## When it is harmless
    When the weights change between the calls, as in training: primitives that also run backward are
    left out. Less than 4 % of all execution time is information, less than 1 % a note of severity
    ``none``. Reorders before the first call pack the weights; they are not counted where the weights
    are used more often than they are reordered.

    ## What to do
    For inference, freeze the model: the weights become constants of the graph and are packed when it
    is compiled.

    ## How a live run confirms it
    The workload runs with ``TORCHINDUCTOR_FREEZING=1``. Confirmed when the reorders vanish and the
    time falls by about their sum.

    ## See also
    <https://github.com/ARM-software/ComputeLibrary/issues/1060>,
    <https://uxlfoundation.github.io/oneDNN/page_memory_format_propagation_cpp.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "ONE003"
    name = "weight-reorder-every-iteration"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob("freezing", config={"torch._inductor.config.freezing": True}),
        micro="onednn_primitive",
        confirms="the reorders are gone, and a step takes less time",
        refutes="a step takes as long without them",
        leaves_open=(
            "the primitive cannot be run from torch here, or another implementation is chosen"
        ),
    )

    def check(self, execs: Table[PrimitiveExec], *, isas: Table[CpuIsa]) -> Iterator[Finding]:
        """Yield one finding per primitive whose weights are reordered."""
        weights = _weights(execs)
        isa = instruction_set(isas)
        by_primitive: dict[str, list[_Weight]] = {}
        for weight in weights:
            if weight.recurs:
                by_primitive.setdefault(weight.primitive, []).append(weight)
        for primitive, found in by_primitive.items():
            yield self._finding(primitive, found, _steady(execs), isa)

    def _finding(self, primitive: str, found: list[_Weight], whole: float, isa: str) -> Finding:
        reorders = [row for weight in found for row in weight.reorders]
        uses = [row for weight in found for row in weight.uses]
        ms, count = _steady(reorders), sum(row.count for row in reorders)
        share = ms / whole if whole else 0.0
        kinds = "a weight is" if len(found) == 1 else f"{len(found)} weights are"
        pairs = sorted({_layouts(row.record) for row in reorders})
        return self.finding(
            primitive,
            title=f"{primitive}: {kinds} reordered before every use",
            message=(
                f"{count} reorders ({', '.join(pairs[:4])}) for {sum(row.count for row in uses)} "
                f"executions of {primitive}: {ms:.3g} ms, {percent(share)} of all oneDNN "
                f"execution time, beside {_steady(uses):.3g} ms for the executions themselves."
            ),
            severity=_severity(share),
            confidence=Confidence.HIGH if count >= 2 * MIN_COUNT else Confidence.MEDIUM,
            count=count,
            evidence=[
                line
                for weight in found[:3]
                for line in (
                    quote(weight.reorders[0], f"{weight.reorders[0].count} times"),
                    quote(weight.uses[0], f"{weight.uses[0].count} times"),
                )
            ],
            cost=Cost(
                ms=ms,
                share=share if whole else None,
                basis="measured",
                of="all oneDNN execution time",
            ),
            advice=_advice([row.record for row in uses], isa),
        )


def _severity(share: float) -> Severity:
    """Grade by the share of all execution time."""
    if share >= ACT_SHARE:
        return Severity.WARNING
    return Severity.INFO if share >= NOTE_SHARE else Severity.NONE


def _steady(rows: Iterable[Seen[PrimitiveExec]]) -> float:
    """Return the milliseconds of all rows, without what first executions took longer."""
    return sum(row.times.steady for row in rows if row.times is not None)


@dataclass(slots=True)
class _Weight:
    """One layout and size of weights: what writes it, and what reads it."""

    primitive: str
    reorders: list[Seen[PrimitiveExec]] = field(default_factory=list)
    uses: list[Seen[PrimitiveExec]] = field(default_factory=list)

    @property
    def recurs(self) -> bool:
        """Whether it is written about as often as it is read, and some call is repeated."""
        written, read = sum(r.count for r in self.reorders), sum(u.count for u in self.uses)
        repeated = min(max(r.count for r in rows) for rows in (self.reorders, self.uses)) > 1
        return repeated and min(written, read) >= MIN_COUNT and written >= MIN_PER_USE * read


def _weights(execs: Table[PrimitiveExec]) -> list[_Weight]:
    trained = {
        (row.record.primitive, row.record.precision) for row in execs if row.record.is_training
    }
    reorders: dict[Tensor, list[Seen[PrimitiveExec]]] = {}
    for row in execs:
        run = row.record
        if run.primitive == "reorder" and run.mds and (written := _tensor(run, -1)):
            reorders.setdefault(written, []).append(row)
    found: dict[tuple[str, Tensor], _Weight] = {}
    for row in execs:
        run = row.record
        if run.primitive not in COMPUTE or _changes(run, trained):
            continue
        for index, md in enumerate(run.mds):
            tensor = _tensor(run, index) if md in run.weights and not _packed(run, md) else None
            if tensor is not None and tensor in reorders:
                weight = found.setdefault(
                    (run.primitive, tensor), _Weight(run.primitive, reorders[tensor])
                )
                weight.uses.append(row)
    return list(found.values())


def _changes(run: PrimitiveExec, trained: set[tuple[str, str]]) -> bool:
    """Whether the weights of ``run`` may change from call to call."""
    return run.prop_kind != "forward_inference" and (run.primitive, run.precision) in trained


def _packed(run: PrimitiveExec, md: MemoryDescriptor) -> bool:
    """Whether the caller came with weights in this layout, and did not leave the choice open."""
    return run.primitive in {"matmul", "inner_product"} and "a" not in md.props


def _tensor(run: PrimitiveExec, index: int) -> Tensor | None:
    """Return what identifies argument ``index``, if nothing else of ``run`` looks like it."""
    md = run.mds[index]
    size = work.elements(run, md)
    alike = [
        other
        for other in run.mds
        if other.layout == md.layout and work.elements(run, other) == size
    ]
    return (md.layout, size) if size and len(alike) == 1 else None


def _layouts(run: PrimitiveExec) -> str:
    source, target = run.mds[0], run.mds[-1]
    return f"{source.tag or source.kind} -> {target.tag or target.kind}"


def _advice(runs: Sequence[PrimitiveExec], isa: str) -> Iterator[Advice]:
    if runs[0].primitive == "rnn":
        yield Advice(
            text="Run several steps in one call, so that the weights are reordered once for all of "
            "them: one call of the LSTM per sequence instead of one per token."
        )
        return
    arm = isa.startswith("AArch64")
    if arm:
        yield Advice(
            text="In eager mode, let torch keep the reordered weights.",
            env="IDEEP_CACHE_MATMUL_REORDERS=1 LRU_CACHE_CAPACITY=1024",
        )
    # Before, the AArch64 wheels have no kernel but the reference one for packed bfloat16 weights.
    late = arm and any(md.dtype == "bf16" for run in runs for md in run.weights)
    yield Advice(
        text="For inference, freeze the compiled model.",
        setting="torch._inductor.config.freezing = True",
        env="TORCHINDUCTOR_FREEZING=1",
        code="with torch.no_grad(): model(x)",
        since="2.15.0" if late else "2.1.0",
    )
