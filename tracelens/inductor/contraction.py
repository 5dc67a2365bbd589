"""Which dimension a softmax normalizes, and which one the product behind it sums over.

In attention they are the same: the weights of each query sum to one over the keys, and the product
with the values sums over the keys. Slots that compete for pixels, and experts that compete for
tokens, are normalized over one dimension and summed over another.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tracelens.late import late
from tracelens.logs._dataflow import Content, Dataflow
from tracelens.logs._kernels import KernelDef
from tracelens.logs._statements import Dim, ExternCall
from tracelens.logs.output_code import Step
from tracelens.words import is_whole

__all__ = ["Axis", "Factor", "contracted", "factors", "head_sizes", "is_same", "normalized"]

#: How many elements a Triton kernel folds into one.
_FOLDED = late(r"\br(?:0_)?numel = (\d{1,15})\b")
#: Dimensions of the operands of a batched product.
BATCHED = 3


class Axis(msgspec.Struct, frozen=True):
    """One dimension of a tensor in memory."""

    size: Dim
    #: Elements from one entry to the next; None where nothing tells.
    stride: Dim | None = None


class Factor(msgspec.Struct, frozen=True):
    """An operand of a batched product; its size is empty where the call names the buffer alone."""

    name: str
    size: tuple[Dim, ...] = ()
    stride: tuple[Dim, ...] = ()


def factors(step: Step) -> tuple[Factor, ...]:
    """Return the tensors that a library's call reads; none for a template."""
    code = step.code
    if not isinstance(code, ExternCall):
        return ()
    shapes, found, at = iter(code.shapes), [], 0
    for name in code.names:
        at = code.text.find(name, at)
        if code.text.endswith("reinterpret_tensor(", 0, max(at, 0)):
            found.append(Factor(name, _dims(next(shapes, "")), _dims(next(shapes, ""))))
        else:
            found.append(Factor(name))
        at += len(name)
    return tuple(found)


def contracted(step: Step, weights: Content, read: Sequence[Content]) -> Axis | None:
    """Return the dimension of ``weights`` that a product sums over; None where it does not tell.

    Args:
        step: The product.
        weights: What it reads, as either of its two factors.
        read: All that it reads, in order.
    """
    known = factors(step)
    if len(known) < 2 or weights not in read:
        return None
    is_first = _is_first(known, weights, read)
    own, other = known[-2:] if is_first else known[:-3:-1]
    if len(own.size) == len(own.stride) == BATCHED:
        at = 2 if is_first else 1
        return Axis(own.size[at], own.stride[at])
    if len(other.size) == BATCHED:
        return Axis(other.size[1 if is_first else 2])
    size, stride = weights.view or (), weights.stride or ()
    if len(size) == len(stride) == BATCHED:
        at = 2 if is_first else 1
        return Axis(size[at], stride[at])
    return None


def head_sizes(first: Step, last: Step, weights: Content, flow: Dataflow) -> set[Dim]:
    """Return the sizes per head of queries and values, as far as two products show them.

    The first product sums over the queries'; the second one's result has the values'.
    """
    sizes = [one.size for one in factors(first)[-2:]]
    found = {size[at] for size, at in zip(sizes, (2, 1), strict=False) if len(size) == BATCHED}
    is_first = _is_first(factors(last), weights, flow.operands(last))
    for result in flow.results(last):
        size = result.view or ()
        if len(size) == BATCHED:
            found.add(size[2 if is_first else 1])
    return found


def _is_first(known: Sequence[Factor], weights: Content, read: Sequence[Content]) -> bool:
    """Whether the weights are the first factor; a sum's other operand stands before both.

    That operand may be a factor as well, and is read once: names tell which content is which.
    """
    names = list(dict.fromkeys(one.name for one in known))
    if len(names) == len(read) and len(known) > 1:
        return read[names.index(known[-2].name)] is weights
    before = len(known[:-2])
    return weights in read[before : before + 1]


def normalized(kernel: KernelDef, written: Sequence[Content], count: int | None) -> set[Axis]:
    """Return the dimensions that a kernel with a softmax may normalize, of ``count`` elements.

    On a CPU it leaves a maximum and a sum per row, of the weights' size with a 1 in it. A Triton
    kernel says how many elements it folds.
    """
    found = {Axis(int(number)) for number in _FOLDED.findall(kernel.source)}
    whole = [one for one in written if count is not None and one.count == count and one.view]
    for weights in whole:
        for row in written:
            at = _folded(weights.view or (), row.view or ())
            if at is not None:
                stride = weights.stride or ()
                found.add(Axis((weights.view or ())[at], stride[at] if stride else None))
    return found


def is_same(axis: Axis, other: Axis) -> bool:
    """Whether both may be one dimension, as far as sizes and strides are known."""
    strides = {axis.stride, other.stride} - {None}
    return axis.size == other.size and len(strides) < 2


def _folded(whole: Sequence[Dim], row: Sequence[Dim]) -> int | None:
    """Return which dimension is 1 in ``row`` alone; None where the rest differs, or nothing."""
    if len(whole) != len(row):
        return None
    differ = [at for at, (one, other) in enumerate(zip(whole, row, strict=True)) if one != other]
    return differ[0] if len(differ) == 1 and row[differ[0]] == 1 else None


def _dims(text: str) -> tuple[Dim, ...]:
    parts = [part.strip() for part in text.strip("()").split(",")]
    return tuple(int(part) if is_whole(part) else part for part in parts if part)
