"""What kernels had to do: matrix products by the shapes of their operators, others as annotated.

An operator that was recorded with ``record_shapes=True`` names its shapes, and the kernels that it
started carry its ``External id``. Kernels of Inductor may carry their work themselves, where torch
was told to write it (``kernel_num_gb``, ``kernel_flop``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from tracelens.traces.events import Complete
from tracelens.traces.names import Name

__all__ = ["Products", "Work", "is_product"]

#: Operators whose kernels are waited for, and distinct shapes that are told apart.
MAX_OPERATORS = 200_000
MAX_SHAPES = 5_000
#: Operator -> which of its inputs are the factors.
FACTORS = {"mm": (0, 1), "addmm": (1, 2), "bmm": (0, 1), "baddbmm": (1, 2)}
SIZES = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4}
DTYPES = {"c10::BFloat16": "bf16", "c10::Half": "f16", "float": "f32"}


@dataclass(slots=True)
class Work:
    """One product, or one annotated kernel: what each call does, and what all kernels took."""

    what: str
    shape: str
    dtype: str
    flops: float
    bytes: float
    first: int
    text: str
    count: int = 0
    us: float = 0.0


def is_product(name: str) -> bool:
    """Tell whether an operator of that name multiplies matrices."""
    return name.removeprefix("aten::") in FACTORS and name.startswith("aten::")


class Products:
    """The products of one trace."""

    def __init__(self) -> None:
        #: Of the list in hand.
        self.operators: list[tuple[Complete, Name]] = []
        self.kernels: list[tuple[Complete, Name]] = []
        self._by_shape: dict[tuple[str, bytes, bytes], Work | None] = {}
        self._by_id: dict[Any, Work] = {}
        self._annotated: dict[str, Work] = {}

    def follow(self) -> None:
        """Take in what is waiting: operators first, since they start the kernels."""
        for event, name in self.operators:
            args = event.args
            if args is None or not isinstance(args.external, int | str) or not args.dims:
                continue
            key = (event.name, bytes(args.dims), bytes(args.types))
            if key not in self._by_shape and len(self._by_shape) < MAX_SHAPES:
                self._by_shape[key] = _work(*key, name)
            work = self._by_shape.get(key)
            if work is not None and len(self._by_id) < MAX_OPERATORS:
                self._by_id[args.external] = work
                work.count += 1
        for event, name in self.kernels:
            if event.args is not None:
                self._kernel(event, name)
        self.operators.clear()
        self.kernels.clear()

    def found(self) -> Iterator[Work]:
        """Yield everything whose kernels were seen."""
        for work in (*self._by_shape.values(), *self._annotated.values()):
            if work is not None and work.us > 0:
                yield work

    def _kernel(self, event: Complete, name: Name) -> None:
        args = event.args
        assert args is not None  # noqa: S101 -- the caller asked
        known = isinstance(args.external, int | str)
        work = self._by_id.get(args.external) if known else None
        flops, moved = _number(args.flop), _number(args.gb) * 1e9
        if work is None and (flops or moved):
            work = self._annotated.get(event.name)
            if work is None and len(self._annotated) < MAX_SHAPES:
                work = Work(event.name, "", "", flops, moved, name.first, name.text)
                self._annotated[event.name] = work
            if work is not None:
                work.count += 1
        if work is not None:
            work.us += event.dur


def _number(value: Any) -> float:
    """Return a positive number, or 0."""
    found = float(value) if isinstance(value, int | float) else 0.0
    return found if 0 < found < 1e18 else 0.0


def _work(operator: str, dims: bytes, types: bytes, name: Name) -> Work | None:
    """Return what one call of an operator does; None where its shapes do not tell."""
    try:
        shapes, kinds = msgspec.json.decode(dims), msgspec.json.decode(types or b"[]")
        left, right = (shapes[at] for at in FACTORS[operator.removeprefix("aten::")])
        kind = kinds[FACTORS[operator.removeprefix("aten::")][0]]
        *batch, rows, inner = left
        columns = right[-1]
        size, dtype = SIZES[kind], DTYPES[kind]
        each = math.prod(batch)
        flops = 2.0 * each * rows * inner * columns
        moved = float(size * each * (rows * inner + inner * columns + rows * columns))
    except (msgspec.DecodeError, KeyError, IndexError, TypeError, ValueError):
        return None
    many = f"{each}x " if batch else ""
    shape = f"{many}{rows}x{inner} by {inner}x{columns}"
    if not 0 < flops < 1e24:
        return None
    return Work(operator, shape, dtype, flops, moved, name.first, name.text)
