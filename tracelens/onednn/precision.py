"""In which precision a product was really computed: what was asked for, and what the line proves.

``attr-fpmath:bf16`` is a permission. Whether it was used shows elsewhere: the weights stand as
``bf16`` between ``f32`` arguments (AArch64, seen with oneDNN 3.7 and 3.12), or an AMX kernel took
float32 arguments, which AMX cannot multiply. With ``brg_matmul:avx512_core`` and the attribute, the
relative error stays near 4e-6: the product is a float32 one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.logs._isa import matrix_types, vector_types
from tracelens.onednn.implementations import Grade, grade, has_jit_gemm

if TYPE_CHECKING:
    from tracelens.logs.mkl_verbose import MklCall
    from tracelens.logs.onednn_verbose import Primitive, PrimitiveExec

__all__ = ["PRODUCTS", "Arithmetic", "arithmetic", "is_emulated", "tables"]

#: Primitives whose result is a sum of products.
PRODUCTS = frozenset(
    {"matmul", "inner_product", "convolution", "deconvolution", "rnn", "gemm", "gemm_api"}
)
_INTEGERS = frozenset({"s8", "u8", "s4", "u4", "s32"})
_SHORTER = frozenset({"bf16", "f16", "tf32"})
_ACTIVATIONS = ("src", "src_layer", "src_a", "diff_dst", "diff_dst_layer")
_WEIGHTS = ("wei", "wei_layer", "src_b", "diff_wei", "diff_wei_layer")
#: Rows of the report's table.
MAX_ROWS = 200


class Arithmetic(NamedTuple):
    """What one product was asked to be, what it was, and how one knows."""

    #: The type of the activations in memory.
    stored: str
    #: The type that it may be computed in, where a setting allows a shorter one.
    requested: str
    ran_in: str
    why: str

    @property
    def is_lowered(self) -> bool:
        """Whether float32 arguments were multiplied in a shorter type."""
        return self.stored == "f32" and self.ran_in in _SHORTER

    @property
    def is_declined(self) -> bool:
        """Whether a shorter type was allowed and not used."""
        return self.stored == self.ran_in == "f32" and self.requested != "f32"


def arithmetic(run: Primitive, isa: str = "") -> Arithmetic:
    """Return in which precision ``run`` multiplied.

    Args:
        run: A primitive of :data:`PRODUCTS`.
        isa: The instruction sets as oneDNN's header prints them; they say what is emulated.
    """
    source, weights = _dtype(run, _ACTIVATIONS), _dtype(run, _WEIGHTS)
    if source in _INTEGERS:
        return Arithmetic(source, source, "int8", "integer products")
    if weights in _INTEGERS:
        why = f"{weights} weights are widened to {source} first"
        return Arithmetic(source, source, source, why)
    if source == "f32":
        return _of_float32(run, weights)
    return Arithmetic(source, source, source, _how(run, source, isa))


def is_emulated(run: Primitive, isa: str) -> bool:
    """Whether ``run`` multiplies bfloat16 or float16 on an x86-64 machine that cannot."""
    source = _dtype(run, _ACTIVATIONS)
    known = vector_types(isa) | matrix_types(isa)
    on_x86 = has_jit_gemm(isa) and not run.engine.startswith("gpu")
    return on_x86 and source in {"bf16", "f16"} and source not in known


def tables(
    execs: Table[PrimitiveExec], calls: Table[MklCall], isa: str = ""
) -> dict[str, list[dict[str, Any]]]:
    """Return ``precision``: a row per product, shape and implementation, most expensive first."""
    ranked = [*_of_primitives(execs, isa), *_of_mkl(calls)]
    ranked.sort(key=lambda item: -item[0])
    return {"precision": [row for _, row in ranked[:MAX_ROWS]]} if ranked else {}


def _of_primitives(execs: Table[PrimitiveExec], isa: str) -> list[tuple[float, dict[str, Any]]]:
    """Return milliseconds and row of each product of oneDNN."""
    found: dict[tuple[str, ...], list[Seen[PrimitiveExec]]] = {}
    for seen in execs:
        run = seen.record
        if run.primitive in PRODUCTS:
            said = arithmetic(run, isa)
            key = (run.primitive, run.shape, run.precision, *said[1:3], run.impl, said.why)
            found.setdefault(key, []).append(seen)
    names = ("primitive", "shape", "dtypes", "requested", "ran_in", "impl", "why")
    return [
        (
            sum(seen.ms for seen in seens),
            {**dict(zip(names, key, strict=True)), "count": sum(seen.count for seen in seens)},
        )
        for key, seens in found.items()
    ]


def _of_mkl(calls: Table[MklCall]) -> list[tuple[float, dict[str, Any]]]:
    """Return milliseconds and row of each product of MKL.

    A routine computes in the type of its name. With torch 2.13.0 on a CPU with AVX-512 and bfloat16
    and without AMX, float32 products stay with ``SGEMM``, and their error near 2e-7, for
    ``set_float32_matmul_precision("high")`` and for ``fp32_precision = "tf32"``; for ``"medium"``
    and ``"bf16"`` torch calls oneDNN instead, except for batches and for products with a vector.
    """
    found: dict[tuple[str, str], list[Seen[MklCall]]] = {}
    for seen in calls:
        if seen.record.dtype:
            found.setdefault((seen.record.routine, seen.record.shape), []).append(seen)
    return [
        (
            sum(seen.ms for seen in seens),
            {
                "primitive": routine,
                "shape": shape,
                "dtypes": seens[0].record.dtype,
                "requested": "unknown",
                "ran_in": seens[0].record.dtype,
                "impl": "mkl",
                "why": f"MKL computes `{routine}` in the type of its name; "
                "its line does not tell what a setting allows",
                "count": sum(seen.count for seen in seens),
            },
        )
        for (routine, shape), seens in found.items()
    ]


def _of_float32(run: Primitive, weights: str) -> Arithmetic:
    mode = run.attributes.fpmath.partition(":")[0]
    allowed = {"": "f32", "strict": "f32", "any": "bf16"}.get(mode, mode)
    if weights in _SHORTER:
        # Nothing that multiplies in float32 wants its weights so.
        why = f"the weights were converted to {weights}"
        return Arithmetic("f32", weights if allowed == "f32" else allowed, weights, why)
    if allowed == "f32":
        return Arithmetic("f32", "f32", "f32", "")
    if "amx" in run.impl:
        why = f"`{run.impl}` is an AMX kernel, and AMX has no float32 product"
        return Arithmetic("f32", allowed, allowed, why)
    if run.engine.startswith("gpu"):
        return Arithmetic("f32", allowed, "unknown", "a GPU's line does not tell")
    why = f"allowed, not used: the weights and `{run.impl}` are float32"
    return Arithmetic("f32", allowed, "f32", why)


def _how(run: Primitive, dtype: str, isa: str) -> str:
    if grade(run.primitive, run.impl, isa) is Grade.REFERENCE:
        return "by plain loops of the reference implementation"
    if is_emulated(run, isa):
        return f"emulated: oneDNN may use no {dtype} instructions here"
    if "amx" in run.impl:
        return "by AMX"
    on_cpu = not run.engine.startswith("gpu")
    return "by vector instructions" if on_cpu and dtype in vector_types(isa) else ""


def _dtype(run: Primitive, names: tuple[str, ...]) -> str:
    types = run.dtypes
    return next((types[name] for name in names if name in types), "")
