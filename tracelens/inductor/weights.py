"""Library calls that take the weights of a layer, and whether these were prepared in advance."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.logs._dataflow import Content, Dataflow
from tracelens.logs._statements import ExternCall, KernelCall
from tracelens.logs.output_code import OutputModule, Step

__all__ = ["Unprepared", "tensors", "unprepared", "weight_of"]

#: Library operators -> which of their operands is the weight of a layer.
WEIGHTS = {"mm": 1, "addmm": 2, "bias_addmm": 2, "convolution": 1}


class Unprepared(msgspec.Struct, frozen=True):
    """A library call whose weight is an input of the graph."""

    seen: Seen[OutputModule]
    step: Step
    call: ExternCall
    weight: Content
    #: Whether a kernel copies the weight to another layout before each call.
    is_copied: bool

    @property
    def bytes(self) -> int:
        """The size of the weight; 0 where it is not known."""
        return self.weight.bytes or 0


def tensors(flow: Dataflow, step: Step) -> list[Content]:
    """Return the operands that are tensors: a symbolic size is an input of the graph too."""
    return [operand for operand in flow.operands(step) if operand.size is not None]


def weight_of(flow: Dataflow, step: Step) -> Content | None:
    """Return the operand that is the weight of a layer; None for calls of other operators."""
    place = WEIGHTS.get(step.code.op) if isinstance(step.code, ExternCall) else None
    operands = tensors(flow, step)
    return operands[place] if place is not None and place < len(operands) else None


def unprepared(row: Seen[OutputModule]) -> Iterator[Unprepared]:
    """Yield the calls of an inference graph whose weights are its inputs."""
    if row.record.graph != "inference":
        return
    frozen = {constant.result for constant in row.record.constants}
    flow = row.record.flow
    for step, call in row.record.extern_calls():
        weight = weight_of(flow, step)
        if weight is None or not call.target.startswith("extern"):
            continue
        copied = _copied(flow, weight)
        source = copied or weight
        if source.producer is None and source.name not in frozen and _is_weight(call, source):
            yield Unprepared(row, step, call, source, copied is not None)


def _copied(flow: Dataflow, content: Content) -> Content | None:
    """Return the input of the same size that a kernel copied to another layout."""
    step = content.producer
    if step is None or not isinstance(step.code, KernelCall):
        return None
    given = (operand for operand in flow.operands(step) if operand.producer is None)
    return next((operand for operand in given if operand.size == content.size), None)


def _is_weight(call: ExternCall, content: Content) -> bool:
    """Whether a layer of a model calls it so: a convolution, or a transposed matrix."""
    if call.op == "convolution":
        return True
    transposed = call.shapes[-1].startswith("(1, ") if call.shapes else False
    return transposed and content.count is not None
