"""What the names of oneDNN's implementations mean.

Read in the implementation lists (``src/cpu/cpu_*_list.cpp``, ``src/gpu/``) and in the names that
``DECLARE_COMMON_PD_T`` gives, of oneDNN 3.5 to 3.13. A name is made of parts: ``:`` joins an
algorithm and an instruction set, ``+`` joins implementations of which the last one does the work,
as in ``conv:any+ref:any``.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

__all__ = ["COMPUTE", "Grade", "grade", "has_jit_gemm"]

#: Primitives whose arithmetic grows faster than their data.
COMPUTE = frozenset(
    {"matmul", "inner_product", "convolution", "deconvolution", "rnn", "gemm", "sdpa", "gated_mlp"}
)
#: First parts of names of implementations with threads but without generated code.
_GENERIC = (
    "simple",
    "ncsp_bnorm",
    "nspc_bnorm",
    "ncsp_gnorm",
    "rnn_weights_reorder",
    "rnn_data_reorder",
    "ppc64_matrixA_reorder",
)


class Grade(StrEnum):
    """How much an implementation does about speed."""

    #: Plain loops over single elements: 10 to 1000 times slower.
    REFERENCE = "reference"
    #: Named like generated code, but its matrix product is the reference one on this architecture.
    DISGUISED = "disguised"
    #: Threads, but no generated code.
    GENERIC = "generic"
    OPTIMISED = "optimised"


@lru_cache(maxsize=10_000)
def grade(primitive: str, impl: str, isa: str = "") -> Grade:
    """Return the grade of implementation ``impl`` of ``primitive``.

    Args:
        primitive: As printed. A recurrent network's ``ref`` calls a matrix product for each cell,
            so it is generic, not reference.
        impl: As printed; empty is the BLAS-like interface, which is optimised.
        isa: The instruction sets as oneDNN's header prints them; without it nothing is disguised.
    """
    if primitive == "rnn" and impl.partition("+")[0] == "ref":
        return Grade.GENERIC
    if impl.startswith("ref_fused") or _is_reference(impl.rpartition("+")[2]):
        return Grade.REFERENCE
    if impl.startswith("gemm:jit") and isa and not has_jit_gemm(isa):
        return Grade.DISGUISED
    if impl.startswith(_GENERIC) or impl.partition(":")[2].startswith("simple"):
        return Grade.GENERIC
    return Grade.OPTIMISED


def has_jit_gemm(isa: str) -> bool:
    """Return whether ``gemm:jit`` is generated code on a machine with this ``isa`` line.

    It is on x86-64 only: elsewhere ``src/cpu/gemm/gemm.cpp`` falls through to ``ref_gemm``, unless
    oneDNN was built with a BLAS. The x86 lines begin with ``Intel`` or, below AVX2, ``x64``.
    """
    return isa.startswith(("Intel", "x64"))


def _is_reference(name: str) -> bool:
    return any(part == "ref" or part.startswith("ref_") for part in name.split(":"))
