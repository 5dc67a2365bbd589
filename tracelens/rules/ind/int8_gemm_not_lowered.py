"""IND021 int8-gemm-not-lowered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment
from tracelens.inductor.epilogues import quote
from tracelens.inductor.graphs import heaviest
from tracelens.inductor.origins import Lines
from tracelens.inductor.remedies import FREEZING, can_freeze, freeze
from tracelens.inductor.weights import tensors, weight_of
from tracelens.logs._dataflow import Content, Dataflow
from tracelens.logs._statements import ExternCall, KernelCall
from tracelens.logs.output_code import OutputModule, Step
from tracelens.onednn.stories import UNFROZEN
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import plural, size

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.graph_code import FxGraph

__all__ = ["Int8GemmNotLowered"]

MAX_QUOTED = 2
#: Bytes of weights per graph from which making them in every call is worth a warning: more than a
#: core's own caches hold, as for weights that are not frozen.
LARGE = 1 << 20
#: A template for a CPU packs weights as it is compiled.
_UNTUNED = ": none of these products is packed, nor tuned, not even with `max-autotune`."
_EIGHT_BITS = {"int8", "uint8"}
_MATRIX = 2
#: Operators of ATen that are a whole layer, with several weights among their operands.
_LAYERS = {"_transformer_encoder_layer_fwd", "_native_multi_head_attention"}


class _Product(msgspec.Struct, frozen=True):
    """A product in floating point of weights that were 8 bits wide."""

    seen: Seen[OutputModule]
    step: Step
    #: Where the weights are made floating-point numbers, and what they become.
    unpack: Step
    weight: Content
    #: Whether the other operand was in 8 bits, too.
    is_full: bool
    is_frozen: bool


class Int8GemmNotLowered(Rule):
    """8-bit weights are dequantized to float32 in memory, and multiplied in float32.

    ## Why it matters
    A quantized layer is meant to multiply 8-bit integers, two to four times as fast as float32, or
    at least to read weights of a quarter of the size. If Inductor does not recognise the pattern
    (dequantise, product, quantize), every call writes the weights out as float32 and multiplies
    these: slower than without quantization.

    ## What it looks like
    A kernel called ``dequantize`` writes a float32 buffer, and a plain product reads it; there is
    no ``onednn.qlinear_pointwise``, ``qconv`` or ``_int_mm``:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     cpp_fused_dequantize_per_channel_0(_frozen_param0, buf0)
        [0/0] [__output_code]     extern_kernels.mm(arg0_1, buf0, out=buf1)

    ## When it is harmless
    Where weights are dequantised within the product (``_weight_int8pack_mm``), this rule is quiet.
    With 8-bit weights and float activations, memory is what is saved, and time may not have been
    the aim: that is information, but for 1 MiB of them and more that are inputs of a graph for a
    CPU, which could be frozen: each call makes them anew, nothing is packed, and nothing tuned.

    ## What to do
    Freeze the model: the pattern needs weights that are constants. From torch 2.14 on, the patterns
    are registered by torchao's quantizer for Inductor, so import it. With 8-bit weights alone,
    freezing makes them floating-point numbers once. Then look at the pattern: a
    linear layer's input has to be 2-dimensional, or reshaped to that.

    ## How a live run confirms it
    The same step with ``TORCHINDUCTOR_FREEZING=1``: confirmed when ``qlinear`` appears in the code
    and the step is faster.

    ## See also
    IND004 (freezing); <https://docs.pytorch.org/ao/stable/>
    """

    code = "IND021"
    name = "int8-gemm-not-lowered"
    severity = Severity.WARNING
    experiment = Experiment(FREEZING)

    class Data(InRun):
        """Layers of 8-bit weights that multiply in floating point, of one graph."""

        layers: int
        #: Activations are of 8 bits, too.
        is_full: bool
        #: The weights are constants of the graph.
        are_constants: bool
        bytes: int

    remedies = (
        freeze(
            "IND021",
            text=lambda data: (
                "Freeze the model: the pattern needs weights that are constants."
                if data.is_full
                else "If the model is only used for inference, and time matters more than memory, "
                "freeze it: the weights are made floating-point numbers once, and kept so."
            ),
            applies=lambda data: not data.are_constants and can_freeze(data),
        ),
        Remedy(
            id="register-patterns",
            text="Register the patterns by importing torchao's quantizer for Inductor.",
            when="the activations are in 8 bits, too",
            applies=lambda data: data.is_full,
            code="import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer",
            since="2.14",
            proof="https://docs.pytorch.org/ao/stable/pt2e_quantization/pt2e_quant_x86_inductor.html",
        ),
        Remedy(
            id="weight-only",
            text="Quantize the activations, too, or use torchao's weight-only scheme "
            "(Int8WeightOnlyConfig), which multiplies packed weights.",
            when="the weights are constants already",
            applies=lambda data: data.are_constants,
            proof="https://github.com/pytorch/ao/tree/main/torchao/quantization",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story of weights that are no constants, where they can be made some."""
        return [UNFROZEN] if any(one.id == "freeze" for one in finding.advice) else ()

    def check(
        self,
        modules: Table[OutputModule],
        *,
        graphs: Table[FxGraph],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding for layers in 8 bits, and one for those with 8-bit weights only."""
        lines = graphs.derived(Lines)
        found = [product for row in modules for product in _products(row)]
        for is_full in (True, False):
            group = [product for product in found if product.is_full is is_full]
            if group:
                heavy = heaviest(group, lambda one: id(one.seen), lambda one: one.weight.bytes or 0)
                yield self._finding(heavy, lines, run)

    def _finding(self, found: list[_Product], lines: Lines, run: Table[RunFacts]) -> Finding:
        found.sort(key=lambda product: -(product.weight.bytes or 0))
        first = found[0]
        total = sum(product.weight.bytes or 0 for product in found)
        frames = lines.of(first.seen, first.step.comment)
        kind = "layer" if first.is_full else "layer with 8-bit weights"
        many = "layers" if first.is_full else "layers with 8-bit weights"
        data = self.Data.of(
            run,
            layers=len(found),
            is_full=first.is_full,
            are_constants=first.is_frozen,
            bytes=total,
        )
        is_cpu = first.seen.record.device == "cpu"
        told = f" They are inputs of the graph, not constants{_UNTUNED if is_cpu else '.'}"
        told = "" if first.is_frozen else told
        warns = is_cpu and total >= LARGE and not first.is_frozen and can_freeze(data)
        return self.finding(
            "full" if first.is_full else "weights",
            title=f"{plural(len(found), f'quantized {kind}', f'quantized {many}')} "
            f"multipl{'ies' if len(found) == 1 else 'y'} in {first.weight.dtype or 'float'}",
            message=(
                f"{size(total)} of weights are written as {first.weight.dtype} and read again in "
                f"every call of the graph.{told}"
            ),
            severity=Severity.WARNING if first.is_full or warns else Severity.INFO,
            count=len(found),
            where=user_code.where(user_code.best(frames)),
            evidence=[
                line
                for product in found[:MAX_QUOTED]
                for line in (
                    quote(product.seen, product.unpack, f"writes {product.weight.name}"),
                    quote(product.seen, product.step, f"multiplies {product.weight.name}"),
                )
            ],
            advice=self.advise(data),
            data=data,
        )


def _products(row: Seen[OutputModule]) -> Iterator[_Product]:
    flow = row.record.flow
    constants = {constant.result for constant in row.record.constants}
    for step, _ in row.record.extern_calls():
        weights = _weights(flow, step)
        for weight in weights:
            source = _unpacked(flow, weight)
            if source is None or weight.producer is None:
                continue
            others = [one for one in tensors(flow, step) if all(one is not w for w in weights)]
            full = any(_is_quantised(other) for other in others)
            yield _Product(row, step, weight.producer, weight, full, source.name in constants)


def _weights(flow: Dataflow, step: Step) -> list[Content]:
    """Return the matrices that a call multiplies with, of layers that it may compute."""
    weight = weight_of(flow, step)
    if weight is not None:
        return [weight]
    if isinstance(step.code, ExternCall) and step.code.op in _LAYERS:
        return [one for one in tensors(flow, step) if len(one.size or ()) == _MATRIX]
    return []


def _unpacked(flow: Dataflow, content: Content) -> Content | None:
    """Return the 8-bit input of the graph that a kernel wrote out as ``content``."""
    step = content.producer
    if step is None or not isinstance(step.code, KernelCall) or content.dtype in _EIGHT_BITS:
        return None
    given = (operand for operand in flow.operands(step) if operand.producer is None)
    return next(
        (c for c in given if c.dtype in _EIGHT_BITS and c.count and c.count == content.count), None
    )


def _is_quantised(content: Content) -> bool:
    """Whether the kernel that wrote it rounds to 8 bits and back."""
    step = content.producer
    name = step.code.kernel if step is not None and isinstance(step.code, KernelCall) else ""
    return "_quantize" in name.replace("dequantize", "")
