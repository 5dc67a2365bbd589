"""ONE004 activation-layout-ping-pong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo.run_facts import inputs_of
from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.remedies import (
    LAYOUTS,
    can_compile,
    channels_last,
    channels_last_3d,
    channels_last_model,
    channels_last_within,
    is_given,
)
from tracelens.logs import _onednn_work as work
from tracelens.logs._onednn_parts import MemoryDescriptor
from tracelens.logs.onednn_verbose import PrimitiveExec
from tracelens.onednn.chains import is_chain
from tracelens.onednn.data import PrimitiveData, descriptors, rank_of
from tracelens.onednn.excerpts import LEAST_MS, SHARE_OF_EXCERPT, adjacent, is_excerpt, too_little
from tracelens.onednn.runs import MUCH, Spent, left_out, steady, times
from tracelens.onednn.stories import CHANNELS_LAST
from tracelens.onednn.summary import quote
from tracelens.onednn.user_lines import SIGNALS, SIGNALS_OF_A_PACKAGE, signals_of_a_package
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import length, plural

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.frames.compile_seconds import CompileSeconds
    from tracelens.inductor.library_calls import LibraryCall, LibraryRun
    from tracelens.logs.graph_code import FxGraph

__all__ = ["ActivationLayoutPingPong"]

#: Executions from which on a conversion is a habit, not a beginning.
MIN_COUNT = 3
#: Shapes: around a single one, the conversions may be those of the network's input and output.
MIN_SHAPES = 2
#: Less of all execution time than this is a note; from where on it deserves action.
MIN_SHARE, ACT_SHARE = 0.01, 0.04
#: Part of the sum of a few lines, which a reader adds up, that is told where it is not counted.
NOTABLE = 0.05
#: Dimensions of a signal, which has no channels-last layout.
_SIGNAL = 3
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
    between them, nothing is reported. Below 1 % of the time it is a note, and so it is below 0.5 ms in
    a log of more than 60 executions. Below 4 % it is information, and so it is below 4 % of what the
    run spent on compiling and in oneDNN together. In an excerpt of a few
    lines, two layers between their conversions are enough, or one tensor that is converted and
    straight back, where these take a fifth of the time. Signals are a note: their layers would have
    to be written anew for images of height 1, and none of six programs that were became faster.

    ## What to do
    Keep the model in channels-last, for which oneDNN has kernels that need no conversion:
    ``channels_last`` for images, ``channels_last_3d`` for volumes; signals of three dimensions have
    no such layout. ``torch.compile`` converts images by itself. Do not call ``.contiguous()`` between the layers: it
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
    claim = "time"
    experiment = Experiment(
        Knob("modules and images in channels_last", layout="channels_last"),
        structure="fewer",
        confirms="fewer activations are reordered, and a step takes less time",
        refutes="as many are reordered, or a step takes longer",
        leaves_open="no compiled module has weights of four dimensions",
    )

    class Data(PrimitiveData):
        """The reorders around layers; the primitive is the layer whose reorders cost most."""

        reorders: int
        #: Executions of layers between reorders.
        layers: int
        #: Dimensions of the activations, of all shapes.
        ranks: tuple[int, ...] = ()
        #: Dimensions of the tensors that compiled code is given; None where it is not known.
        inputs: tuple[int, ...] | None = None
        is_excerpt: bool

    remedies = (
        channels_last("ONE004"),
        channels_last_model("ONE004"),
        channels_last_within("ONE004"),
        channels_last_3d(),
        Remedy(
            id="compile",
            text="Or compile the model, and measure: Inductor keeps convolutions of images in "
            "channels-last.",
            when="images, nothing known to be compiled, inference",
            applies=lambda data: 4 in data.ranks and can_compile(data),
            code="model = torch.compile(model)",
            since="2.1",
            proof="tests/advice/ONE004/compile.py",
            basis="tested",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story of all that follows from the layout."""
        return [CHANNELS_LAST] if any(a.id in LAYOUTS for a in finding.advice) else ()

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        run: Table[RunFacts],
        calls: Table[LibraryCall],
        ran: Table[LibraryRun],
        graphs: Table[FxGraph],
        compiling: Table[CompileSeconds],
    ) -> Iterator[Finding]:
        """Yield one finding for all activations that go to and fro."""
        spent = Spent.of(execs, calls, ran, run)
        around = _around(execs, MIN_COUNT)
        once = not around.shows and is_excerpt(execs)
        if once:
            around = _around(execs, 1)
            around = around if around.shows else _returning(execs)
        enough = not once or spent.share(steady(around.reorders.values())) >= SHARE_OF_EXCERPT
        if around.shows and enough:
            ms = steady(around.reorders.values())
            light = too_little(ms, spent.share(ms), MIN_SHARE, execs, is_run=spent.is_run)
            reason = light
            if around.is_of_signals and not light:
                fixed = signals_of_a_package(graphs)
                reason = SIGNALS_OF_A_PACKAGE if fixed else SIGNALS
            compiled = 1000 * sum(row.record.seconds for row in compiling)
            words = _avoidable(around, is_chain=around.returns or is_chain(graphs))
            few = ms < ACT_SHARE * (spent.whole + compiled) and spent.share(ms) >= ACT_SHARE
            if few and not reason:
                words += (
                    f" That is little beside the {length(compiled)} of compiling in this run; each "
                    "step of a longer one pays it."
                )
            finding = self._finding(around, spent, run, once=once, light=reason, words=words)
            few = few and finding.severity is Severity.WARNING
            yield finding.model_copy(update={"severity": Severity.INFO}) if few else finding

    def _finding(
        self,
        around: _Around,
        spent: Spent,
        run: Table[RunFacts],
        *,
        once: bool,
        light: str,
        words: str,
    ) -> Finding:
        ms = steady(around.reorders.values())
        count = sum(row.count for row in around.reorders.values())
        layers = sum(row.count for row in around.layers)
        worst = max(around.layers, key=lambda row: row.ms)
        pairs = sorted({_layouts(row.record) for row in around.reorders.values()})
        data = self.Data.of(
            run,
            primitive=worst.record.primitive,
            impl=worst.record.impl,
            dtypes=worst.record.precision,
            shape=worst.record.shape,
            descriptors=descriptors((*around.sides[id(worst)][0][:1], worst)),
            ms=ms,
            share=spent.share(ms),
            reorders=count,
            layers=layers,
            ranks=tuple(sorted({r for row in around.layers if (r := rank_of(row.record))})),
            inputs=inputs_of(run),
            is_excerpt=once,
        )
        # Within a model it was faster once, slower once, and twice it changed nothing.
        more = left_out(around.reorders.values(), least=NOTABLE if once else MUCH)
        tried = any(is_given(data, rank) for rank in data.ranks if rank != _SIGNAL)
        enough = tried and ms >= LEAST_MS and spent.share(ms) >= ACT_SHARE
        return self.finding(
            "activations",
            title="activations leave their layout and go straight back to it"
            if around.returns
            else "activations change their layout before and after each layer",
            message=(
                f"{times(count, 'reorder')} of activations ({', '.join(pairs[:4])}) around "
                f"{layers} executions of layers took {spent.tell(ms)}{more}, beside "
                f"{length(steady(around.layers))} for the layers. The largest is "
                f"{worst.record.primitive} {worst.record.shape}.{words}"
            ),
            severity=Severity.WARNING if enough else Severity.INFO,
            harmless=light or None,
            confidence=Confidence.HIGH
            if layers >= 2 * MIN_COUNT and not once
            else Confidence.MEDIUM,
            count=count,
            evidence=list(around.quotes(worst)),
            cost=spent.cost(ms, "upper_bound"),
            advice=self.advise(data),
            data=data,
        )


def _avoidable(around: _Around, *, is_chain: bool) -> str:
    """Say which of the conversions can be avoided: of signals none, in the layout they have."""
    if around.is_of_signals:
        return ""
    if is_chain:
        return " All but the conversions at the ends of the network can be avoided."
    return (
        " Those between one layer and the next can be avoided, where nothing between them needs "
        "the default layout."
    )


class _Around(msgspec.Struct):
    """Layers, and the reorders before and after them."""

    layers: Rows = msgspec.field(default_factory=list)
    #: By place in the log, so that each counts once.
    reorders: dict[tuple[str, int], Seen[PrimitiveExec]] = msgspec.field(default_factory=dict)
    sides: dict[int, tuple[Rows, Rows]] = msgspec.field(default_factory=dict)
    #: Whether one tensor left a layout and went straight back to it.
    returns: bool = False

    def add(self, layer: Seen[PrimitiveExec], before: list[Rows], after: list[Rows]) -> None:
        """Note that ``layer`` has reorders on both sides."""
        self.layers.append(layer)
        flat = [row for rows in before for row in rows], [row for rows in after for row in rows]
        self.sides[id(layer)] = flat
        for row in (*flat[0], *flat[1]):
            self.reorders[row.first[:2]] = row

    @property
    def is_of_signals(self) -> bool:
        """Whether all activations have three dimensions, for which there is no channels-last."""
        return {rank_of(row.record) for row in self.layers} == {3}

    @property
    def shows(self) -> bool:
        """Whether it is more than the conversions at the ends of a network."""
        shapes = {(row.record.primitive, row.record.shape) for row in self.layers}
        return self.returns or len(shapes) >= MIN_SHAPES

    def quotes(self, layer: Seen[PrimitiveExec]) -> Iterator[EvidenceLine]:
        """Yield the layer, and a reorder on each side of it; a way there and back behind it."""
        before, after = self.sides[id(layer)]
        if self.returns:
            rows = (layer, *after) if after else (*before, layer)
            yield from (quote(row, plural(row.count, "time")) for row in rows)
            return
        yield quote(before[0], f"{before[0].count} times")
        yield quote(layer, f"{layer.count} times")
        yield quote(after[0], f"{after[0].count} times")


def _around(execs: Table[PrimitiveExec], least: int) -> _Around:
    """Return the layers between conversions, all of which ran ``least`` times.

    What ran once stands beside its conversions, else it may be any other tensor of this size.
    """
    into, back = _conversions(execs, least)
    around = _Around()
    for row in execs:
        if row.record.primitive in _SURROUNDED and row.count >= least:
            before = [into[t] for t in _tensors(row, ("src", "diff_dst")) if t in into]
            after = [back[t] for t in _tensors(row, ("dst", "diff_src")) if t in back]
            if least == 1:
                before = [
                    near for rows in before if (near := [r for r in rows if adjacent(r, row)])
                ]
                after = [near for rows in after if (near := [r for r in rows if adjacent(row, r)])]
            if _goes_back(before, after):
                around.add(row, before, after)
    return around


def _goes_back(before: list[Rows], after: list[Rows]) -> bool:
    """Whether what the layer writes is put into the layout that its input had.

    A layer that takes torch's layout and writes another one has reorders behind it alone: that the
    one before it wrote its input, too, is no way there and back.
    """
    left = {row.record.mds[0].tag for rows in before for row in rows}
    return any(row.record.mds[-1].tag in left for rows in after for row in rows)


def _returning(execs: Table[PrimitiveExec]) -> _Around:
    """Return the layers beside a tensor that leaves its layout and goes straight back to it.

    That is no conversion at an end of the network, how few lines ever are shown.
    """
    into, back = _conversions(execs, 1)
    around = _Around()
    layers = [row for row in execs if row.record.primitive in _SURROUNDED]
    for blocked, leaving in back.items():
        for there in leaving:
            again = [row for row in into.get(blocked, ()) if adjacent(there, row)]
            if not again:
                continue
            way = [there, again[0]]
            for layer in layers:
                if adjacent(layer, there) and blocked in _tensors(layer, ("dst", "diff_src")):
                    around.add(layer, [], [way])
                elif adjacent(again[0], layer) and blocked in _tensors(layer, ("src", "diff_dst")):
                    around.add(layer, [way], [])
    around.returns = bool(around.layers)
    return around


def _conversions(
    execs: Table[PrimitiveExec], least: int
) -> tuple[dict[Tensor, Rows], dict[Tensor, Rows]]:
    """Return the reorders that write a tensor, and those that read it, if they change its tag."""
    into: dict[Tensor, Rows] = {}
    back: dict[Tensor, Rows] = {}
    for row in execs:
        mds = row.record.mds
        if row.record.primitive != "reorder" or len(mds) < 2 or row.count < least:
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
