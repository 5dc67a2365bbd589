"""What oneDNN's line about the instruction sets says: which arithmetic a machine has.

The texts are those of ``get_isa_info`` in ``src/cpu/x64/cpu_isa_traits.cpp`` (oneDNN 1.x to 3.13)::

    Intel AVX-512 with Intel DL Boost and bfloat16 support
    Intel AVX-512 with float16, Intel DL Boost and bfloat16 support and Intel AMX with bfloat16 ...
    Intel AVX10.1 and Intel AMX with bfloat16, float16 and 8-bit integer support

AMD processors are called Intel here, too. The AArch64 texts name the vector length only.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Level", "level", "limit", "matrix_types", "native_types", "vector_types"]

_MATRIX = "Intel AMX with"
_WORDS = {"bfloat16": "bf16", "float16": "f16", "8-bit integer": "int8", "float8": "f8"}


class Level(IntEnum):
    """The vector instructions of x86-64, in order of age."""

    UNKNOWN = 0
    SSE41 = 1
    AVX = 2
    AVX2 = 3
    AVX512 = 4
    AVX10 = 5


#: The longest beginnings come first.
_LEVELS = (
    ("Intel AVX10", Level.AVX10),
    ("Intel AVX 10", Level.AVX10),
    ("Intel AVX-512", Level.AVX512),
    ("Intel AVX2", Level.AVX2),
    ("Intel AVX", Level.AVX),
    ("Intel SSE4.1", Level.SSE41),
)


#: The line -> the value of ``ONEDNN_MAX_CPU_ISA`` that gives it, on a machine that has more.
_LIMITS = {
    "Intel SSE4.1": "SSE41",
    "Intel AVX": "AVX",
    "Intel AVX2": "AVX2",
    "Intel AVX2 with Intel DL Boost": "AVX2_VNNI",
    "Intel AVX2 with Intel DL Boost, float16 and bfloat16 support": "AVX2_VNNI_2",
    "Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions": "AVX512_CORE",
    "Intel AVX-512 with Intel DL Boost": "AVX512_CORE_VNNI",
    "Intel AVX-512 with Intel DL Boost and bfloat16 support": "AVX512_CORE_BF16",
}


def limit(isa: str) -> str:
    """Return what ``ONEDNN_MAX_CPU_ISA`` must be for the same choices on a newer x86-64 machine.

    Empty for other architectures, and for the newest ones, which nothing needs to be limited to.
    """
    return _LIMITS.get(isa, "")


def level(isa: str) -> Level:
    """Return the vector instructions that ``isa`` names; unknown for other architectures."""
    return next((found for start, found in _LEVELS if isa.startswith(start)), Level.UNKNOWN)


def vector_types(isa: str) -> frozenset[str]:
    """Return the narrow floating-point types that x86-64 vector instructions multiply.

    Empty for other architectures, whose line does not tell.
    """
    if level(isa) is Level.AVX10:
        return frozenset({"bf16", "f16"})
    return _types(isa.partition(_MATRIX)[0]) & {"bf16", "f16"}


def matrix_types(isa: str) -> frozenset[str]:
    """Return the types that AMX multiplies: some of ``bf16``, ``f16``, ``int8``, ``f8``."""
    return _types(isa.partition(_MATRIX)[2])


def native_types(isa: str) -> str:
    """Return the types shorter than float32 that have instructions: ``bf16, int8 (AMX)``."""
    vector, matrix = vector_types(isa), matrix_types(isa)
    words = [f"{name} (AMX)" if name in matrix else name for name in sorted(vector | matrix)]
    return ", ".join(words)


def _types(text: str) -> frozenset[str]:
    words = text.replace("bfloat16", "bf16")
    found = {name for word, name in _WORDS.items() if word in words}
    return frozenset(found | ({"bf16"} if "bf16" in words else set()))
