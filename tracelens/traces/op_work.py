"""What one call of an operator has to do, by its shapes: operations, and bytes at the least.

Each input is read once and the result written once; of a table only the rows that are looked up.
Attention counts all pairs of positions, also where a mask leaves half of them out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["FACTORS", "Job", "has_work", "job_of"]

#: Operator -> which of its inputs are the factors.
FACTORS = {"mm": (0, 1), "addmm": (1, 2), "bmm": (0, 1), "baddbmm": (1, 2)}
#: Type as the profiler names it -> bytes, and what tables call it.
TYPES = {
    "c10::BFloat16": (2, "bf16"),
    "c10::Half": (2, "f16"),
    "float": (4, "f32"),
    "double": (8, "f64"),
    "c10::Float8_e4m3fn": (1, "fp8"),
    "c10::Float8_e5m2": (1, "fp8"),
    "long int": (8, "i64"),
    "int": (4, "i32"),
    "signed char": (1, "i8"),
    "unsigned char": (1, "u8"),
    "bool": (1, "bool"),
}
#: Operators on queries, keys and values, and whether heads come before positions.
ATTENTION = {
    "_flash_attention_forward": False,
    "_efficient_attention_forward": False,
    "_scaled_dot_product_flash_attention": True,
    "_scaled_dot_product_efficient_attention": True,
    "_scaled_dot_product_cudnn_attention": True,
    "_scaled_dot_product_flash_attention_for_cpu": True,
    "_scaled_dot_product_fused_attention_overrideable": True,
    "_cudnn_attention_forward": True,
}
#: The same backward: the gradient of the result comes first.
ATTENTION_BACKWARD = {
    "_flash_attention_backward": False,
    "_efficient_attention_backward": False,
    "_scaled_dot_product_flash_attention_backward": True,
    "_scaled_dot_product_efficient_attention_backward": True,
    "_scaled_dot_product_cudnn_attention_backward": True,
    "_scaled_dot_product_flash_attention_for_cpu_backward": True,
    "_scaled_dot_product_fused_attention_overrideable_backward": True,
    "_cudnn_attention_backward": True,
}
#: Rows of a table, taken or added up -> where the rows' numbers stand among the inputs.
LOOKUPS = {
    "embedding": 1,
    "index_select": 2,
    "_embedding_bag": 1,
    "_embedding_bag_forward_only": 1,
    "embedding_dense_backward": 1,
}
CONVOLUTION_BACKWARD = frozenset({"convolution_backward", "cudnn_convolution_backward_input"})
#: Convolutions -> where padding, stride and dilation stand among the arguments.
CONVOLUTIONS = {
    "cudnn_convolution": 2,
    "cudnn_convolution_relu": -1,
    "miopen_convolution": 3,
    "mkldnn_convolution": 3,
    "convolution": -1,
    "_convolution": -1,
}
#: What reads its inputs and writes a result as large as the largest: memory limits it.
STREAMING = re.compile(
    r"(?:add|sub|mul|div|relu|clamp|clamp_min|copy|fill|masked_fill)_?|pow|rsqrt|sqrt|exp|neg|abs"
    r"|gelu|silu|sigmoid|tanh|where|sum|mean|cat|native_dropout"
    r"|log|log1p|sin|cos|reciprocal|minimum|maximum|addcmul"
    r"|(?:threshold|gelu|silu|sigmoid|tanh|elu|leaky_relu|hardswish|native_dropout)_backward"
    r"|(?:native_(?:layer|group|batch)|cudnn_batch|miopen_batch|_fused_rms)_norm(?:_backward)?"
    r"|_(?:log_)?softmax(?:_backward_data)?"
)


_KNOWN = frozenset(
    (
        *FACTORS,
        *ATTENTION,
        *ATTENTION_BACKWARD,
        *CONVOLUTIONS,
        *CONVOLUTION_BACKWARD,
        *LOOKUPS,
    )
)


class Job(NamedTuple):
    """What one call does."""

    kind: str
    shape: str
    dtype: str
    flops: float
    bytes: float


def has_work(name: str) -> bool:
    """Tell whether the work of an operator of that name can be known from its shapes."""
    if name.startswith("triton_"):
        return True
    op = name.removeprefix("aten::")
    return name.startswith("aten::") and (op in _KNOWN or STREAMING.fullmatch(op) is not None)


def job_of(name: str, shapes: Any, kinds: Any, values: Any) -> Job | None:
    """Return what one call of an operator does; None where its shapes do not tell."""
    op = name.removeprefix("aten::")
    made: Callable[[str, Any, Any, Any], Job] = _streaming
    if op in FACTORS:
        made = _product
    elif op in ATTENTION or op in ATTENTION_BACKWARD:
        made = _attention
    elif op in CONVOLUTIONS:
        made = _convolution
    elif op in CONVOLUTION_BACKWARD:
        made = _convolution_backward
    elif op in LOOKUPS:
        made = _lookup
    try:
        job = made(op, shapes, kinds, values)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    return job if 0 <= job.flops < 1e24 and 0 < job.bytes < 1e18 else None


def _product(op: str, shapes: Any, kinds: Any, _: Any) -> Job:
    left, right = (shapes[at] for at in FACTORS[op])
    size, dtype = TYPES[kinds[FACTORS[op][0]]]
    *batch, rows, inner = left
    columns = right[-1]
    each = math.prod(batch)
    flops = 2.0 * each * rows * inner * columns
    moved = float(size * each * (rows * inner + inner * columns + rows * columns))
    many = f"{each}x " if batch else ""
    return Job("product", f"{many}{rows}x{inner} by {inner}x{columns}", dtype, flops, moved)


def _attention(op: str, shapes: Any, kinds: Any, _: Any) -> Job:
    """Count two products forward and five backward, which computes the first one again."""
    backward = op in ATTENTION_BACKWARD
    query, key, value = shapes[backward : backward + 3]
    size, dtype = TYPES[kinds[backward]]
    heads, rows = (1, 2) if (ATTENTION | ATTENTION_BACKWARD)[op] else (2, 1)
    pairs = query[0] * query[heads] * query[rows] * key[rows]
    deep, wide = query[3], value[3]
    flops = 2.0 * pairs * (3 * deep + 2 * wide if backward else deep + wide)
    result = math.prod(query) // deep * wide
    once = math.prod(query) + math.prod(key) + math.prod(value)
    # Backward: the result and its gradient are read too, and three gradients are written.
    moved = size * (2 * once + 2 * result if backward else once + result)
    shape = f"{query[0]}x{query[heads]} heads, {query[rows]}x{key[rows]}, {deep} deep"
    return Job("attention", shape, dtype, flops, float(moved))


def _lookup(op: str, shapes: Any, kinds: Any, values: Any) -> Job:
    """Read or write the rows that are named, and their numbers; not the table."""
    table, rows = shapes[0], math.prod(shapes[LOOKUPS[op]])
    size, dtype = TYPES[kinds[0]]
    number = TYPES[kinds[LOOKUPS[op]]][0]
    row = table[-1]
    if op == "index_select":
        row = math.prod(table) // table[int(values[1])]
    written = rows * row
    if op.startswith("_embedding_bag"):
        written = math.prod(shapes[2]) * row
    elif op == "embedding_dense_backward":  # the gradient of the whole table
        written = int(values[2]) * row
    moved = size * (rows * row + written) + number * rows
    return Job("memory", f"{rows} of {_sides(table)}", dtype, 0.0, float(moved))


def _convolution(op: str, shapes: Any, kinds: Any, values: Any) -> Job:
    image, weight = shapes[0], shapes[1]
    size, dtype = TYPES[kinds[0]]
    at = CONVOLUTIONS[op]
    padding, stride, dilation = _numbers(values, at) if at >= 0 else _general(values)
    out = [
        (side + 2 * pad - dilate * (width - 1) - 1) // step + 1
        for side, width, pad, step, dilate in zip(
            image[2:], weight[2:], padding, stride, dilation, strict=True
        )
    ]
    result = image[0] * weight[0] * math.prod(out)
    flops = 2.0 * result * math.prod(weight[1:])
    moved = size * (math.prod(image) + math.prod(weight) + result)
    shape = f"{_sides(image)} by {_sides(weight)}"
    return Job("convolution", shape, dtype, flops, float(moved))


def _convolution_backward(op: str, shapes: Any, kinds: Any, values: Any) -> Job:
    """Count one product for each gradient that is wanted: of the image, and of the weights."""
    if op == "convolution_backward":
        result, image, weight = shapes[:3]
        if values[7] != "False":
            raise ValueError("transposed")
        wanted = values[10].strip("[]").split(",")
        gradients = [word.strip().lower() in {"true", "1"} for word in wanted[:2]]
    else:
        result, weight, image = shapes[1], shapes[2], None
        gradients = [True, False]
    size, dtype = TYPES[kinds[1]]
    flops = 2.0 * math.prod(result) * math.prod(weight[1:]) * sum(gradients)
    around = math.prod(weight) + (math.prod(image) if image else 0)
    moved = size * sum(gradients) * (math.prod(result) + around)
    shape = f"{_sides(result)} by {_sides(weight)}, backward"
    return Job("convolution", shape, dtype, flops, float(moved))


def _general(values: Any) -> list[list[int]]:
    """Return padding, stride and dilation of the general form, which is not transposed."""
    if values[6] != "False":
        raise ValueError("transposed")
    stride, padding, dilation = _numbers(values, 3)
    return [padding, stride, dilation]


def _numbers(values: Any, at: int) -> list[list[int]]:
    return [[int(n) for n in text.strip("[]").split(",")] for text in values[at : at + 3]]


def _streaming(op: str, shapes: Any, kinds: Any, _: Any) -> Job:
    """Take every tensor as read; write one as large as the largest, unless it is an argument."""
    sizes = [
        (math.prod(shape) * TYPES[kind][0], shape, TYPES[kind][1])
        for shape, kind in zip(shapes, kinds, strict=False)
        if kind in TYPES and shape and all(isinstance(side, int) for side in shape)
    ]
    most, shape, dtype = max(sizes)
    written = 0 if op.startswith("triton_") else most
    if op == "copy_":  # from the second to the first
        written = 0
    return Job("memory", _sides(shape), dtype, 0.0, float(sum(one[0] for one in sizes) + written))


def _sides(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
