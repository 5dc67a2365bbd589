"""Library calls that take the weights of a layer, and whether these were prepared in advance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from typing import Literal

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.logs._dataflow import Content, Dataflow
from tracelens.logs._statements import ExternCall, KernelCall
from tracelens.logs.output_code import OutputModule, Step

__all__ = [
    "SLOWER_PACKED",
    "Unpackable",
    "Unprepared",
    "slower_packed",
    "tensors",
    "transposes_signals",
    "unpackable",
    "unprepared",
    "weight_of",
]

#: Library operators -> which of their operands is the weight of a layer.
WEIGHTS = {"mm": 1, "addmm": 2, "bias_addmm": 2, "convolution": 1}
_EIGHT_BITS = frozenset({"int8", "uint8"})
#: Contents that a weight may be computed from; of more it is an activation, or nobody knows.
MAX_BEFORE = 200

#: Weights of float32 layers, each, below which a product whose rows are a symbol is slower once it
#: is oneDNN's: measured, with 144 KiB it took 1.3 to 2 times as long, with 1 MiB less.
SMALL = 256 << 10
SLOWER_PACKED = "frozen, such small products whose rows are a symbol took 1.3 to 2 times as long"

#: Why freezing does not pack the weight of a call.
Unpackable = Literal["", "1-d", "computed"]


class Unprepared(msgspec.Struct, frozen=True):
    """A library call whose weight is an input of the graph."""

    seen: Seen[OutputModule]
    step: Step
    call: ExternCall
    weight: Content
    #: Whether a kernel copies the weight to another layout before each call, or computes it.
    is_copied: bool

    @property
    def bytes(self) -> int:
        """The size of the weight; 0 where it is not known."""
        return self.weight.bytes or 0


def tensors(flow: Dataflow, step: Step) -> list[Content]:
    """Return the operands that are tensors, and not the parts that make up one of them.

    A symbolic size is an input of the graph, too.
    """
    found = flow.operands(step)
    parts = {id(part) for operand in found for part in operand.under}
    return [each for each in found if each.size is not None and id(each) not in parts]


def weight_of(flow: Dataflow, step: Step) -> Content | None:
    """Return the operand that is the weight of a layer; None for calls of other operators."""
    place = WEIGHTS.get(step.code.op) if isinstance(step.code, ExternCall) else None
    operands = tensors(flow, step)
    return operands[place] if place is not None and place < len(operands) else None


def unpackable(flow: Dataflow, step: Step, given: Set[str]) -> Unpackable:
    """Return why freezing does not pack the weight of a call; empty where nothing is known.

    Args:
        flow: Of the module.
        step: The call.
        given: Inputs of the module that are arguments of the compiled function.
    """
    weight = weight_of(flow, step)
    if weight is None:
        return ""
    if _is_of_1d(step, weight):
        return "1-d"
    return "computed" if given and _is_given(flow, weight, given) else ""


def _is_of_1d(step: Step, weight: Content) -> bool:
    """Whether it is the weight of a convolution over one dimension.

    Inductor packs those of two and three (``_is_packable_convolution`` in
    torch/_inductor/fx_passes/mkldnn_fusion.py).
    """
    is_convolution = isinstance(step.code, ExternCall) and step.code.op == "convolution"
    return is_convolution and len(weight.size or ()) == 3


def transposes_signals(modules: Iterable[Seen[OutputModule]]) -> bool:
    """Whether there are transposed convolutions, and all of them are over one dimension."""
    found = [
        weight_of(row.record.flow, step)
        for row in modules
        for step, call in row.record.extern_calls()
        if call.op == "convolution" and "True" in call.names
    ]
    return bool(found) and all(one is not None and len(one.size or ()) == 3 for one in found)


def _is_given(flow: Dataflow, weight: Content, given: Set[str]) -> bool:
    """Whether it is an argument, or one is needed for it and no tensor of the module's is it.

    One kernel often copies weights and activations: one of as many elements is what it copies.
    """
    inputs = _inputs(flow, weight)
    return any(one.name in given for one in inputs) and not any(
        one.count == weight.count for one in inputs if one.name not in given
    )


def _inputs(flow: Dataflow, content: Content) -> list[Content]:
    """Return the inputs of the graph that a content may be computed from; none where it is long."""
    found: list[Content] = []
    waiting = [content]
    seen = {id(content)}
    while waiting:
        if len(seen) > MAX_BEFORE:
            return []
        one = waiting.pop()
        if one.producer is None:
            found.append(one)
            continue
        for read in (*one.under, *flow.operands(one.producer)):
            if id(read) not in seen:
                seen.add(id(read))
                waiting.append(read)
    return found


def unprepared(row: Seen[OutputModule]) -> Iterator[Unprepared]:
    """Yield the calls of an inference graph whose weights are its inputs."""
    if row.record.graph != "inference":
        return
    frozen = {constant.result for constant in row.record.constants}
    flow = row.record.flow
    for step, call in row.record.extern_calls():
        weight = weight_of(flow, step)
        if weight is None or not call.target.startswith("extern") or _is_of_1d(step, weight):
            continue
        copied = _copied(flow, weight)
        source = copied or weight
        if source.producer is None and source.name not in frozen and _is_weight(call, source):
            yield Unprepared(row, step, call, source, copied is not None)


def slower_packed(found: Collection[Unprepared]) -> bool:
    """Whether all are small products of float32, and the rows of some are a symbol."""
    return any(map(_has_symbol, found)) and all(
        one.call.op != "convolution"
        and one.weight.dtype == "float32"
        and not one.is_copied
        and 0 < one.bytes < SMALL
        for one in found
    )


def _has_symbol(product: Unprepared) -> bool:
    """Whether a size of what is multiplied is a symbol: its rows, as those of a layer are known."""
    if len(product.call.shapes) % 2:  # a view has a size and a stride; with symbols it is no shape
        return True
    operands = tensors(product.seen.record.flow, product.step)
    return any(not isinstance(dim, int) for one in operands for dim in one.size or ())


def _copied(flow: Dataflow, content: Content) -> Content | None:
    """Return the input of the same size that a kernel copied, or computed the weight from.

    One of 8 bits is dequantized, which is another thing (IND021).
    """
    step = content.producer
    if step is None or not isinstance(step.code, KernelCall):
        return None
    given = (operand for operand in flow.operands(step) if operand.producer is None)
    found = (operand for operand in given if operand.size == content.size)
    return next((operand for operand in found if operand.dtype not in _EIGHT_BITS), None)


def _is_weight(call: ExternCall, content: Content) -> bool:
    """Whether a layer of a model calls it so: a convolution, or a transposed matrix."""
    if call.op == "convolution":
        return True
    transposed = call.shapes[-1].startswith("(1, ") if call.shapes else False
    return transposed and content.count is not None
