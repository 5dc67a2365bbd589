"""Loops of C++ kernels that go element by element, and why."""

from __future__ import annotations

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.inductor.cpp import CppKernel
from tracelens.logs._loops import Strip

__all__ = ["Slow", "slow"]

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


class Slow(msgspec.Struct, frozen=True):
    """A loop of one kernel that goes element by element."""

    seen: Seen[CppKernel]
    strip: Strip
    #: ``random`` (numbers are drawn), ``lanes`` (a vector is taken apart), ``wraps``, ``gathers``
    #: (by its index), ``double`` or ``scalar``.
    cause: str
    #: What is called for each element.
    functions: tuple[str, ...]

    @property
    def elements(self) -> int:
        """Elements per call of the graph, as far as they are known."""
        return self.strip.elements * max(1, self.seen.record.calls)


def slow(seen: Seen[CppKernel], strip: Strip) -> Slow | None:
    """Return why a loop goes element by element; None where it does not, or where it must."""
    text = strip.lanes if strip.is_vector else strip.text
    drawn = tuple(name for name in RANDOM if f" {name}(" in text)
    if drawn:
        return Slow(seen, strip, "random", drawn)
    functions = tuple(name for name in FUNCTIONS if f"std::{name}(" in text or f" {name}(" in text)
    if strip.is_vector:
        return Slow(seen, strip, "lanes", functions) if functions else None
    return None if "atomic_add" in text else Slow(seen, strip, _cause(text), functions)


def _cause(text: str) -> str:
    if " % " in text:
        return "wraps"
    if "_ptr" in text and "static_cast<int64_t>(tmp" in text:
        return "gathers"
    return "double" if "double" in text else "scalar"
