"""ONE004 activation-layout-ping-pong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.onednn_verbose import PrimitiveExec
from tracelens.onednn import work
from tracelens.onednn.parts import MemoryDescriptor
from tracelens.onednn.runs import Spent, steady, times
from tracelens.onednn.summary import quote
from tracelens.report import Advice, Confidence, EvidenceLine, Finding, Severity
from tracelens.rules import Rule

__all__ = ["ActivationLayoutPingPong"]

#: Executions from which on a conversion is a habit, not a beginning.
MIN_COUNT = 3
#: Shapes: around a single one, the conversions may be those of the network's input and output.
MIN_SHAPES = 2
#: Less of all execution time than this is a note.
MIN_SHARE = 0.01
#: Primitives that stand between the conversions.
_SURROUNDED = frozenset(
    {"convolution", "deconvolution", "pooling", "batch_normalization", "lrn", "resampling"}
)

#: What identifies a tensor in memory as far as a log tells: its layout and its size.
Tensor = tuple[tuple[str, str, str, str], int]
Rows = list[Seen[PrimitiveExec]]


class ActivationLayoutPingPong(Rule):
    """Activations are converted to another layout before each layer and back after it.

    ## Why it matters
    oneDNN's kernels for torch's default layout work on blocks of 8 or 16 channels. A model in the
    default layout is therefore copied into blocks before each convolution and out of them after it,
    unless both sides agree on a layout. Each copy reads and writes the whole activation: for small
    convolutions that is a third of the time.

    ## What it looks like
    A ``reorder`` into blocks, the layer, and the ``reorder`` back, for layer after layer:

        onednn_verbose,v1,primitive,exec,cpu,reorder,jit:blk,undef,src:f32::blocked:abcd::f0 dst:f32::blocked:aBcd16b::f0,attr-scratchpad:user,,4x16x56x56,0.39502
        onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx512_core,forward_training,src:f32:a:blocked:aBcd16b::f0 wei:f32:a:blocked:ABcd16b16a::f0 bia:f32:a:blocked:a::f0 dst:f32:a:blocked:aBcd16b::f0,attr-scratchpad:user,alg:convolution_direct,mb4_ic16oc16_ih56oh56kh3sh1dh0ph1_iw56ow56kw3sw1dw0pw1,0.734131
        onednn_verbose,v1,primitive,exec,cpu,reorder,jit:blk,undef,src:f32::blocked:aBcd16b::f0 dst:f32::blocked:abcd::f0,attr-scratchpad:user,,4x16x56x56,0.326172

    ## When it is harmless
    A network needs one conversion at its input and one at its output: with a single convolution
    between them, nothing is reported. Below 1 % of the time it is a note.

    ## What to do
    Keep the model in channels-last, for which oneDNN has kernels that need no conversion.
    ``torch.compile`` does it by itself. Do not call ``.contiguous()`` between the layers: it
    converts back.

    ## How a live run confirms it
    The workload runs with a channels-last model and input. Confirmed when the conversions vanish,
    but for those at the ends, and the time falls.

    ## See also
    ONE003 for weights, ONE002 for convolutions without a direct kernel;
    <https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ONE004"
    name = "activation-layout-ping-pong"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob("modules and images in channels_last", layout="channels_last"),
        structure="fewer",
        confirms="fewer activations are reordered, and a step takes less time",
        refutes="as many are reordered, or a step takes longer",
        leaves_open="no compiled module has weights of four dimensions",
    )

    def check(self, execs: Table[PrimitiveExec]) -> Iterator[Finding]:
        """Yield one finding for all activations that go to and fro."""
        into, back = _conversions(execs)
        around = _Around()
        for row in execs:
            if row.record.primitive in _SURROUNDED and row.count >= MIN_COUNT:
                before = [into[t] for t in _tensors(row, ("src", "diff_dst")) if t in into]
                after = [back[t] for t in _tensors(row, ("dst", "diff_src")) if t in back]
                if before and after:
                    around.add(row, before, after)
        shapes = {(row.record.primitive, row.record.shape) for row in around.layers}
        if len(shapes) >= MIN_SHAPES:
            yield self._finding(around, Spent.of(execs))

    def _finding(self, around: _Around, spent: Spent) -> Finding:
        ms = steady(around.reorders.values())
        count = sum(row.count for row in around.reorders.values())
        layers = sum(row.count for row in around.layers)
        worst = max(around.layers, key=lambda row: row.ms)
        pairs = sorted({_layouts(row.record) for row in around.reorders.values()})
        return self.finding(
            "activations",
            title="activations change their layout before and after each layer",
            message=(
                f"{times(count, 'reorder')} of activations ({', '.join(pairs[:4])}) around "
                f"{layers} executions of layers took {spent.tell(ms)}, beside "
                f"{steady(around.layers):.3g} ms for the layers. The largest is "
                f"{worst.record.primitive} {worst.record.shape}. All but the conversions at the "
                "ends of the network can be avoided."
            ),
            severity=Severity.WARNING if spent.share(ms) >= MIN_SHARE else Severity.NONE,
            confidence=Confidence.HIGH if layers >= 2 * MIN_COUNT else Confidence.MEDIUM,
            count=count,
            evidence=list(around.quotes(worst)),
            cost=spent.cost(ms, "upper_bound"),
            advice=_ADVICE,
        )


@dataclass(slots=True)
class _Around:
    """Layers, and the reorders before and after them."""

    layers: Rows = field(default_factory=list)
    #: By place in the log, so that each counts once.
    reorders: dict[tuple[str, int], Seen[PrimitiveExec]] = field(default_factory=dict)
    sides: dict[int, tuple[Rows, Rows]] = field(default_factory=dict)

    def add(self, layer: Seen[PrimitiveExec], before: list[Rows], after: list[Rows]) -> None:
        """Note that ``layer`` has reorders on both sides."""
        self.layers.append(layer)
        flat = [row for rows in before for row in rows], [row for rows in after for row in rows]
        self.sides[id(layer)] = flat
        for row in (*flat[0], *flat[1]):
            self.reorders[row.first[:2]] = row

    def quotes(self, layer: Seen[PrimitiveExec]) -> Iterator[EvidenceLine]:
        """Yield a reorder before ``layer``, the layer, and a reorder after it."""
        before, after = self.sides[id(layer)]
        yield quote(before[0], f"{before[0].count} times")
        yield quote(layer, f"{layer.count} times")
        yield quote(after[0], f"{after[0].count} times")


def _conversions(execs: Table[PrimitiveExec]) -> tuple[dict[Tensor, Rows], dict[Tensor, Rows]]:
    """Return the reorders that write a tensor, and those that read it, if they change its tag."""
    into: dict[Tensor, Rows] = {}
    back: dict[Tensor, Rows] = {}
    for row in execs:
        mds = row.record.mds
        if row.record.primitive != "reorder" or len(mds) < 2 or row.count < MIN_COUNT:
            continue
        first, last = mds[0], mds[-1]
        if first.tag == last.tag or first.dtype != last.dtype:
            continue
        for md, found in ((last, into), (first, back)):
            tensor = _tensor(row, md)
            if tensor is not None:
                found.setdefault(tensor, []).append(row)
    return into, back


def _tensors(row: Seen[PrimitiveExec], names: tuple[str, ...]) -> Iterator[Tensor]:
    for md in row.record.mds:
        tensor = _tensor(row, md) if md.arg in names else None
        if tensor is not None:
            yield tensor


def _tensor(row: Seen[PrimitiveExec], md: MemoryDescriptor) -> Tensor | None:
    size = work.elements(row.record, md)
    return (md.layout, size) if size else None


def _layouts(run: PrimitiveExec) -> str:
    return f"{run.mds[0].tag} -> {run.mds[-1].tag}"


_ADVICE = (
    Advice(
        text="Convert model and input to channels-last once.",
        code="model = model.to(memory_format=torch.channels_last); "
        "x = x.to(memory_format=torch.channels_last)",
    ),
    Advice(
        text="Or compile the model: Inductor keeps convolutions in channels-last, and a frozen "
        "model has its weights packed for them as well.",
        code="model = torch.compile(model)",
        since="2.1",
    ),
)
