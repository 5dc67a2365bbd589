"""What follows a matrix product or a convolution in generated code, and whether it is inside.

An epilogue is the element-wise work on the result: bias, activation, sum, scale. Fused, it costs
nothing; as a kernel of its own it writes the result to memory and reads it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.logs._dataflow import Content
from tracelens.logs._kernels import KernelDef
from tracelens.logs._statements import ExternCall, KernelCall
from tracelens.logs.output_code import OutputModule, Step
from tracelens.report import EvidenceLine

if TYPE_CHECKING:
    from tracelens.logs.autotune import AutotuneTable, Gemm

__all__ = ["PRODUCTS", "TemplateCall", "Unfused", "Winners", "template_calls", "unfused"]

#: Library operators whose result could pass through an epilogue -> how AUTOTUNE calls them.
PRODUCTS = {
    "mm": {"mm"},
    "addmm": {"addmm"},
    "bias_addmm": {"addmm"},
    "bmm": {"bmm"},
    "baddbmm": {"baddbmm"},
    "convolution": {"convolution"},
    "_convolution_pointwise": {"convolution"},
    "_linear_pointwise": {"linear_unary", "linear_binary"},
    "_mkl_linear": {"packed_linear"},
    "_weight_int8pack_mm": {"_weight_int8pack_mm"},
}
#: A kernel that comes from one of these also moves elements: no epilogue can do that.
_MOVES = (
    "channel_shuffle",
    "pixel_shuffle",
    "pixel_unshuffle",
    "cat",
    "embedding",
    "flip",
    "gather",
    "index",
    "permute",
    "pool",
    "roll",
    "scatter",
    "slice",
    "split",
    "stack",
    "transpose",
    "unbind",
)


class Unfused(msgspec.Struct, frozen=True):
    """A library call whose only reader is a separate pointwise kernel."""

    seen: Seen[OutputModule]
    producer: Step
    call: ExternCall
    content: Content
    operands: tuple[Content, ...]
    consumer: Step
    kernel: KernelDef

    @property
    def bytes(self) -> int | None:
        """What is written and read back for nothing, per call of the graph."""
        return None if self.content.bytes is None else 2 * self.content.bytes

    def quotes(self) -> tuple[EvidenceLine, EvidenceLine]:
        """Return the producer's and the consumer's line."""
        size = self.content.bytes
        wrote = f"writes {self.content.name}" + (f": {size} bytes" if size is not None else "")
        return (
            quote(self.seen, self.producer, wrote),
            quote(self.seen, self.consumer, f"reads {self.content.name}, and nothing else does"),
        )


class TemplateCall(msgspec.Struct, frozen=True):
    """A call of a kernel that computes a matrix product itself."""

    seen: Seen[OutputModule]
    step: Step
    kernel: KernelDef
    content: Content
    operands: tuple[Content, ...]
    #: The kernel that alone reads the result: what follows was left out.
    left_out: str

    @property
    def inside(self) -> tuple[str, ...]:
        """The activations that its name mentions and its source computes.

        A name lists the operators of earlier layers too, so the source has the last word.
        """
        return tuple(
            op
            for op, signs in _ACTIVATIONS.items()
            if op in self.kernel.fused.split("_") and any(s in self.kernel.source for s in signs)
        )

    @property
    def epilogue(self) -> str:
        """Say where the element-wise work went."""
        if self.left_out:
            return f"what follows is left to `{self.left_out}`"
        return f"{' and '.join(self.inside)} inside" if self.inside else "no activation follows"


#: How C++ and Triton sources compute an activation.
_ACTIVATIONS = {
    "relu": ("clamp_min(", "maximum("),
    "gelu": ("erf(", "tanh("),
    "silu": ("exp(", "sigmoid("),
    "sigmoid": ("exp(", "sigmoid("),
    "tanh": ("tanh(",),
}


def quote(seen: Seen[OutputModule], step: Step, note: str = "") -> EvidenceLine:
    """Return the line of ``step`` as evidence, where its module was first seen."""
    place = seen.first
    return EvidenceLine(
        input=place.input, line=place.line_of(step.at), text=step.code.text, note=note
    )


def unfused(seen: Seen[OutputModule]) -> Iterator[Unfused]:
    """Yield the epilogues of one module that are kernels of their own, one per kernel call."""
    module = seen.record
    flow = module.flow
    found: dict[int, Unfused] = {}
    for step, call in module.extern_calls():
        if call.op not in PRODUCTS or any(text not in {"", "none"} for text in call.strings):
            continue
        for content in flow.results(step):
            reader = _only_reader(module, content)
            if reader is None or not _same_size(content, flow.results(reader[0])):
                continue
            consumer, kernel = reader
            operands = flow.operands(step)
            found[id(consumer)] = Unfused(seen, step, call, content, operands, consumer, kernel)
    yield from found.values()


def template_calls(seen: Seen[OutputModule]) -> Iterator[TemplateCall]:
    """Yield the generated matrix products of one module."""
    module = seen.record
    flow = module.flow
    for step, call in module.kernel_calls():
        kernel = module.kernels.get(call.kernel)
        if kernel is None or not kernel.is_template:
            continue
        for content in flow.results(step):
            readers = [] if content.returned else content.readers
            names = [r.code.kernel for r in readers if isinstance(r.code, KernelCall)]
            kernels = [module.kernels[name] for name in names if name in module.kernels]
            alone = len(readers) == len(kernels) == 1 and not kernels[0].is_template
            left_out = names[0] if alone else ""
            yield TemplateCall(seen, step, kernel, content, flow.operands(step), left_out)


class Winners:
    """The searches that a library won, by operator and size of the result."""

    def __init__(self, tables: Iterable[Seen[AutotuneTable]]) -> None:
        self._by_size: dict[tuple[str, int], list[Seen[AutotuneTable]]] = {}
        seen = set()
        #: Searches of which at least one candidate was measured.
        self.searched = 0
        for row in tables:
            self.searched += row.record.best is not None
            table, gemm = row.record, row.record.gemm
            best = table.best
            if gemm is None or best is None or best.is_template or (table.op, gemm) in seen:
                continue
            seen.add((table.op, gemm))
            key = (table.op, gemm.batch * gemm.m * gemm.n)
            self._by_size.setdefault(key, []).append(row)

    def of(self, found: Unfused) -> Seen[AutotuneTable] | None:
        """Return the table in which the library call of ``found`` was measured and won."""
        size = found.content.count or 0
        rows = (
            row
            for op in sorted(PRODUCTS[found.call.op])
            for row in self._by_size.get((op, size), ())
        )
        return next((r for r in rows if makes(r.record.gemm, found.content, found.operands)), None)


def makes(gemm: Gemm | None, result: Content, operands: Sequence[Content]) -> bool:
    """Whether a call with these operands and this result computes ``gemm``, going by sizes."""
    if gemm is None or result.count != gemm.batch * gemm.m * gemm.n:
        return False
    return any(content.count == gemm.batch * gemm.m * gemm.k for content in operands)


def _only_reader(module: OutputModule, content: Content) -> tuple[Step, KernelDef] | None:
    if content.returned or len(content.readers) != 1:
        return None
    reader = content.readers[0]
    kernel = module.kernels.get(reader.code.kernel) if isinstance(reader.code, KernelCall) else None
    if kernel is None or not kernel.is_pointwise or any(m in kernel.fused for m in _MOVES):
        return None
    return reader, kernel


def _same_size(content: Content, written: Sequence[Content]) -> bool:
    """Whether the reader's result has the same number of elements, as far as one can see."""
    count = content.count
    return any(other.count == count for other in written)
