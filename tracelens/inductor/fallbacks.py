"""Calls into ATen from generated code: which of them are as they should be, and which are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

import msgspec

from tracelens.evidence import Seen, Table
from tracelens.inductor.epilogues import quote
from tracelens.logs import Joined
from tracelens.logs._dataflow import Content
from tracelens.logs._statements import ExternCall
from tracelens.logs.output_code import OutputModule, Step
from tracelens.report import EvidenceLine

if TYPE_CHECKING:
    from tracelens.logs.perf_hints import FallbackKernel, PaddingSkipped

__all__ = [
    "ARITHMETIC",
    "COMPLEX",
    "COMPUTABLE",
    "MAX_QUOTED",
    "SCATTERS",
    "Call",
    "Fallback",
    "Lowered",
    "fallbacks",
]

MAX_QUOTED = 3
#: Operators that add into, or write to, places that a tensor names.
SCATTERS = frozenset(
    {
        "_index_put_impl_",
        "index_add",
        "index_add_",
        "index_put",
        "index_put_",
        "index_reduce",
        "index_reduce_",
        "scatter",
        "scatter_",
        "scatter_add",
        "scatter_add_",
        "scatter_reduce",
        "scatter_reduce_",
    }
)
#: Operators that show complex numbers.
COMPLEX = frozenset(
    {"_conj", "_neg_view", "angle", "complex", "imag", "polar", "real", "view_as_complex"}
    | {"view_as_real", "resolve_conj", "resolve_neg"}
)
#: Operators whose result is complex.
_MAKES_COMPLEX = frozenset({"_conj", "_fft_c2c", "_fft_r2c", "complex", "polar", "view_as_complex"})
#: Element-wise operators, which fall back only for types that no code is generated for.
ARITHMETIC = frozenset(
    {"abs", "add", "clamp", "copy", "cos", "div", "exp", "log", "mul", "neg", "pow", "reciprocal"}
    | {"rsqrt", "sin", "sqrt", "sub", "sum", "tanh", "where", "_to_copy", "floor_divide", "fmod"}
    | {"remainder", "mean", "prod", "cat", "clone", "fill", "sigmoid"}
)
#: Operators that are no more than loops over elements: what stands around them could have been
#: fused with them, had Inductor code for them on this device.
COMPUTABLE = ARITHMETIC | frozenset(
    {"bucketize", "col2im", "cummax", "cummin", "cumprod", "cumsum", "embedding_dense_backward"}
    | {"grid_sampler_2d", "grid_sampler_2d_backward", "im2col", "logcumsumexp", "searchsorted"}
    | {"reflection_pad2d_backward", "replication_pad2d_backward", "gather", "index_select"}
    | {"adaptive_avg_pool2d", "_adaptive_avg_pool2d", "upsample_bicubic2d", "upsample_bilinear2d"}
    | {"upsample_nearest2d_backward", "avg_pool2d_backward", "max_pool2d_with_indices_backward"}
)


class Lowered(Joined):
    """A graph of which the log says what became of its operators: by its code, or by hints."""

    switch: ClassVar[str] = 'TORCH_LOGS="output_code"'

    @classmethod
    def join(
        cls,
        modules: Table[OutputModule],
        hints: Table[FallbackKernel],
        skipped: Table[PaddingSkipped],
    ) -> Iterator[Seen[Lowered]]:
        """Take any of the records; Inductor says once per graph that it does not pad."""
        for seen in (*modules, *hints, *skipped):
            yield seen.about(cls(), seen.places, seen.count)


class Call(msgspec.Struct, frozen=True):
    """One call of an operator in a generated module."""

    seen: Seen[OutputModule]
    step: Step
    code: ExternCall
    operands: tuple[Content, ...]
    results: tuple[Content, ...]

    @property
    def bytes(self) -> int:
        """What it reads and writes, as far as sizes are known."""
        return sum(content.bytes or 0 for content in (*self.operands, *self.results))

    @property
    def is_symbolic(self) -> bool:
        """Whether some size is not a number."""
        return any(content.bytes is None for content in self.operands)


class Fallback(msgspec.Struct):
    """One operator that is called in ATen, wherever that shows."""

    #: ``aten``, ``quantized``, or the namespace of the program's own operators.
    library: str
    #: ``cumsum``
    op: str
    calls: list[Call] = msgspec.field(default_factory=list)
    hints: list[Seen[FallbackKernel]] = msgspec.field(default_factory=list)

    @property
    def name(self) -> str:
        """Library and operator, such as ``aten.cumsum``."""
        return f"{self.library}.{self.op}"

    @property
    def is_complex(self) -> bool:
        """Whether an operand of some call is complex, as far as types are known."""
        operands = (content for call in self.calls for content in call.operands)
        return self.op in COMPLEX or any(
            c.dtype.startswith("complex") or _is_made_complex(c) for c in operands
        )

    def quotes(self) -> list[EvidenceLine]:
        """Return the first calls, or the hints where the log holds no code."""
        calls = sorted(self.calls, key=lambda call: -call.bytes)[:MAX_QUOTED]
        lines = [quote(call.seen, call.step) for call in calls]
        return lines or [hint.quote(at=hint.record.at) for hint in self.hints[:MAX_QUOTED]]


def fallbacks(
    modules: Table[OutputModule], hints: Iterable[Seen[FallbackKernel]] = ()
) -> list[Fallback]:
    """Return the operators that are called in ATen, in order of appearance."""
    found: dict[tuple[str, str], Fallback] = {}
    for seen in modules:
        flow = seen.record.flow
        for step, code in seen.record.extern_calls():
            key = _split(code.target)
            if key is not None:
                call = Call(seen, step, code, flow.operands(step), flow.results(step))
                found.setdefault(key, Fallback(*key)).calls.append(call)
    for hint in hints:
        key = _split(hint.record.op)
        if key is not None:
            found.setdefault(key, Fallback(*key)).hints.append(hint)
    return list(found.values())


def _is_made_complex(content: Content) -> bool:
    """Whether the call that made it makes complex numbers of what it reads."""
    code = content.producer.code if content.producer is not None else None
    return isinstance(code, ExternCall) and code.op in _MAKES_COMPLEX


def _split(target: str) -> tuple[str, str] | None:
    """Return library and operator of ``torch.ops.aten.cumsum.default`` or ``aten.cumsum``."""
    parts = target.removeprefix("torch.ops.").split(".")
    if (
        len(parts) < 2
        or parts[0] in {"extern_kernels", "inductor_ops"}
        or parts[0].startswith("buf")
    ):
        return None
    return parts[0], parts[1]
