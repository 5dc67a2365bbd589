"""What the library calls of a generated module compute, as oneDNN would tell it.

The sizes of a product follow from how many elements its factors and its result have, so views and
transpositions do not matter. Where a size is symbolic or not known, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isqrt, prod
from typing import NamedTuple

from tracelens.logs._dataflow import Content
from tracelens.logs._problems import Task
from tracelens.logs._statements import Dim, ExternCall
from tracelens.logs.output_code import OutputModule, Step

__all__ = ["Call", "tasks"]

#: Call -> the primitive it becomes, and which of its tensors are the factors.
_PRODUCTS = {
    "mm": ("matmul", 0, 1),
    "bmm": ("matmul", 0, 1),
    "addmm": ("matmul", 1, 2),
    "baddbmm": ("matmul", 1, 2),
    "_linear_pointwise": ("inner_product", 0, 1),
}
_WORDS = frozenset({"None", "True", "False"})
_CONVOLUTIONS = frozenset({"convolution", "_convolution_pointwise"})
#: Data types in oneDNN's words.
_TYPES = {
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "int8": "s8",
    "uint8": "u8",
    "int32": "s32",
}


class Call(NamedTuple):
    """One call and what it computes."""

    step: Step
    code: ExternCall
    task: Task
    #: Data type of the first factor in oneDNN's words; empty where the module does not say.
    dtype: str


def tasks(module: OutputModule) -> Iterator[Call]:
    """Yield the calls whose sizes are known, in order."""
    calls = [(step, code) for step, code in module.extern_calls() if _is_known(code.op)]
    flow = module.flow if calls else None
    for step, code in calls:
        assert flow is not None  # noqa: S101 -- there are calls
        given = flow.operands(step)
        names = [name for name in code.names if name not in _WORDS]
        # A name that stands twice, or a buffer with remains of another, is not in its place; a
        # flag that is set makes another operation of it.
        if len(given) != len(names) or "True" in code.names:
            continue
        results = flow.results(step)
        found = _task(code, given, results[0] if results else None)
        if found is not None:
            yield Call(step, code, *found)


def _is_known(op: str) -> bool:
    return op in _PRODUCTS or op in _CONVOLUTIONS or op == "convolution_backward"


def _task(
    code: ExternCall, given: Sequence[Content], result: Content | None
) -> tuple[Task, str] | None:
    """Return what a call computes, and the data type of its first factor."""
    shift = int(code.target.endswith(".binary"))  # the other summand is the second tensor
    if code.op in _PRODUCTS:
        primitive, one, two = _PRODUCTS[code.op]
        if len(given) <= two + shift:
            return None
        left, right = given[one], given[two + shift]
        sizes = _product(left, right, result, batched=code.op.endswith("bmm"))
        return (Task(primitive, False, sizes), _dtype(left, result)) if sizes else None
    if code.op == "convolution_backward":
        parts = [given[1], given[2], given[0]] if len(given) > 2 else []
    else:
        parts = [given[0], given[1 + shift], result] if len(given) > 1 + shift and result else []
    tensors = [size for part in parts if (size := _whole(part.size)) is not None]
    if len(tensors) != 3:
        return None
    back = code.op == "convolution_backward"
    task = Task.convolution(tensors[0], tensors[1], tensors[2], back=back)
    return (task, _dtype(parts[0], None)) if task else None


def _product(
    left: Content, right: Content, result: Content | None, *, batched: bool
) -> tuple[int, ...] | None:
    """Return rows, depth, columns and batch of a product."""
    a, b = left.count, right.count
    size = _whole(result.size) if result is not None else None
    if size is None:  # the weight of a linear layer tells as well: columns x depth
        weight = _whole(right.size)
        if batched or not a or weight is None or len(weight) != 2 or a % (weight[1] or a + 1):
            return None
        return a // weight[1], weight[1], weight[0], 1
    batch = prod(size[:-2]) if batched else 1
    c = prod(size) * batch
    if not a or not b or not c or a * b % c:
        return None
    depth = isqrt(a * b // c)
    rows, columns = a // (depth * batch), b // (depth * batch)
    exact = rows * depth * batch == a and columns * depth * batch == b
    return (rows, depth, columns, batch) if exact and rows * columns * batch == prod(size) else None


def _whole(size: tuple[Dim, ...] | None) -> tuple[int, ...] | None:
    numbers = tuple(dim for dim in size or () if isinstance(dim, int))
    return numbers if size and len(numbers) == len(size) else None


def _dtype(given: Content, result: Content | None) -> str:
    held = given.dtype or (result.dtype if result is not None else "")
    return _TYPES.get(held, held)
