"""Loops of C++ kernels that go element by element, and why."""

from __future__ import annotations

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.inductor.cpp import CppKernel
from tracelens.late import late
from tracelens.logs._loops import Strip

__all__ = ["Slow", "masks_of", "slow"]

#: Functions that have no instruction. Those that Inductor has vector forms of, too: in a scalar
#: loop they are called once per element.
FUNCTIONS = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "digamma", "erf"),
    *("erfc", "erfinv", "exp", "exp2", "expm1", "fmod", "frexp", "hypot", "lgamma", "log"),
    *("log10", "log1p", "log2", "nextafter", "polygamma", "pow", "sin", "sinh", "tan", "tanh"),
    *("zeta", "calc_i0", "calc_i0e", "calc_i1", "calc_i1e", "calc_igamma", "calc_igammac"),
    *("calc_digamma", "calc_erfinv", "calc_polygamma", "calc_erfcx", "calc_log_ndtr", "calc_ndtri"),
)

#: Random numbers, which Inductor computes one by one with Philox, in vector loops too.
RANDOM = ("normalized_rand_cpu", "randn_cpu", "randint64_cpu")

#: Where a kernel writes truth values: ``bool* out_ptr1``, and no ``const bool* in_ptr0``.
_WRITES_BOOL = late(r"(?<!const )\bbool\* (?P<name>out_ptr\d{1,4})\b")

#: What a loop calls, of the standard library or by its bare name.
_CALLED = late(r"(?: |std::)(\w{1,24})\(")


class Slow(msgspec.Struct, frozen=True):
    """A loop of one kernel that goes element by element."""

    seen: Seen[CppKernel]
    strip: Strip
    #: ``random`` (numbers are drawn), ``lanes`` (a vector is taken apart), ``masks`` (one is
    #: stored), ``wraps``, ``gathers`` (by its index), ``double`` or ``scalar``.
    cause: str
    #: What is called for each element.
    functions: tuple[str, ...]

    @property
    def elements(self) -> int:
        """Elements per call of the graph, as far as they are known."""
        return self.strip.elements * max(1, self.seen.record.calls)


def masks_of(kernel: CppKernel) -> frozenset[str]:
    """Return where a kernel stores masks, which ``at::vec`` converts lane by lane.

    ``VecMask::store`` of ``ATen/cpu/vec/vec_mask.h``, the same in torch 2.4 to 2.14: no
    specialization of its conversion to bool exists for AVX2 or AVX-512.
    """
    if "VecMask" not in kernel.source or "bool* out_ptr" not in kernel.source:
        return frozenset()
    return frozenset(found["name"] for found in _WRITES_BOOL.finditer(kernel.source))


def slow(seen: Seen[CppKernel], strip: Strip, masks: frozenset[str]) -> Slow | None:
    """Return why a loop goes element by element; None where it does not, or where it must.

    ``masks`` is where its kernel stores them, which is looked up once for all its loops.
    """
    text = strip.lanes if strip.is_vector else strip.text
    drawn = tuple(name for name in RANDOM if f" {name}(" in text)
    if drawn:
        return Slow(seen, strip, "random", drawn)
    called = set(_CALLED.findall(text))
    functions = tuple(name for name in FUNCTIONS if name in called)
    if strip.is_vector:
        if functions:
            return Slow(seen, strip, "lanes", functions)
        stored = any(f".store({name} + " in strip.text for name in masks)
        return Slow(seen, strip, "masks", ()) if stored else None
    return None if "atomic_add" in text else Slow(seen, strip, _cause(text), functions)


def _cause(text: str) -> str:
    if " % " in text:
        return "wraps"
    if "_ptr" in text and "static_cast<int64_t>(tmp" in text:
        return "gathers"
    return "double" if "double" in text else "scalar"
