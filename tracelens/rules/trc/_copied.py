"""What can be known of the copies of a program on the CPU: whose they are, and of what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tracelens.evidence import Seen
from tracelens.logs.chrome_trace import PythonFunction
from tracelens.traces.host_chains import COPY_BEFORE
from tracelens.traces.measured import KernelWork
from tracelens.traces.sequences import KernelSequence
from tracelens.words import length

__all__ = ["COPY", "biases", "converted", "copied_deeply", "largest", "made_contiguous"]

COPY = "aten::copy_"
#: What a call of an operator copies with, and what begins a product by copying its bias.
BY_OTHERS = ("aten::clone", "aten::_to_copy")
WITH_BIAS = ("aten::addmm", "aten::_addmm_activation", "aten::baddbmm")
#: Share of the copies that those of one shape have at least where they are told.
MIN_LARGEST = 0.25
MAX_LARGEST = 3
#: Conversions of types for each convolution, at most: they are not told apart from copies.
MAX_CASTS = 0.25

#: What `copy.deepcopy` calls for a tensor: parameters are cloned, of others the memory is copied
#: and set. Where stacks are missing, how many of the copies at least come with such an operator.
_DEEP_FILES = ("torch/_tensor.py", "torch/nn/parameter.py")
_DEEP = "__deepcopy__"
MIN_SET = 0.25


def copied_deeply(
    frames: Iterable[Seen[PythonFunction]], called: Mapping[str, int], ms: float, *, stacks: bool
) -> float:
    """Return how much of ``ms``, what copies take, `copy.deepcopy` brings; 0.0 for less than half.

    Without stacks it is known of memory that is set: then all of it may be.
    """
    if not stacks:
        new, placed = called.get("aten::new_empty", 0), called.get("aten::set_", 0)
        return ms if placed >= 2 * new > 0 and new >= MIN_SET * called.get(COPY, 0) else 0.0
    rows = [row for row in frames if row.record.function == _DEEP]
    taken = sum(row.ms for row in rows if row.record.file.endswith(_DEEP_FILES))
    return min(taken, ms) if taken >= ms / 2 else 0.0


def biases(called: Mapping[str, int]) -> int:
    """Return how many copies are those with which products begin: nothing else makes them."""
    others = sum(called.get(name, 0) for name in BY_OTHERS)
    products = sum(called.get(name, 0) for name in WITH_BIAS)
    return max(0, min(products, called.get(COPY, 0) - others))


def largest(works: Iterable[KernelWork], ms: float) -> str:
    """Name the shapes of most copies, where they were recorded, as a sentence."""
    rows = [row for row in works if row.what == COPY and row.ms >= MIN_LARGEST * ms]
    rows.sort(key=lambda row: (-row.ms, row.shape))
    told = "; ".join(
        f"{row.shape}{' (from float32 to 16 bits, or back)' if _converts(row) else ''}, "
        f"{row.count:,} times, {length(row.ms)}"
        for row in rows[:MAX_LARGEST]
    )
    return f" Most of it is of {told}." if told else ""


def converted(works: Iterable[KernelWork]) -> float:
    """Return what conversions between float32 and 16 bits take, where shapes were recorded."""
    return sum(row.ms for row in works if row.what == COPY and _converts(row))


def _converts(row: KernelWork) -> bool:
    """Tell it from the bytes: four are read for each element, and two written, or the reverse."""
    elements = 1
    for side in row.shape.split("x"):
        elements *= int(side) if side.isdecimal() else 0
    return row.dtype == "f32" and row.bytes == 6.0 * elements > 0


def made_contiguous(called: Mapping[str, int], following: Iterable[Seen[KernelSequence]]) -> float:
    """Return how long tensors were made contiguous right before convolutions, milliseconds.

    Conversions of types stand there, too: they are not told apart from these where there are many.
    ATen's fallback makes its input contiguous by itself: only convolutions of oneDNN count.
    """
    rows = [row.record for row in following if row.record.kernels == COPY_BEFORE]
    made = min(called.get(f"aten::{op}", 0) for op in ("contiguous", "clone", "mkldnn_convolution"))
    if sum(row.n for row in rows) > made or called.get("aten::_to_copy", 0) > MAX_CASTS * made:
        return 0.0
    return sum(row.saves_ms for row in rows)
