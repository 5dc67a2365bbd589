"""Members of an ensemble in generated code: layers of one shape that read the same input."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.inductor.weights import weight_of
from tracelens.logs._dataflow import Content
from tracelens.logs._statements import ExternCall
from tracelens.logs.output_code import OutputModule, Step

__all__ = ["FEWEST", "Members", "members"]

#: Layers from which computing them as one batched product is advised. Of 24 members with two
#: hidden layers of 48 and 32 rows, stacked ones took a fifth of the time, on one core.
FEWEST = 16
#: Multiplications of a product, up to which calling it is a large part of what it takes.
SMALL_PRODUCT = 1 << 18
#: Layers that a member has at most: blocks of a model that all read one embedding have more.
MOST_LAYERS = 5
_PRODUCTS = frozenset({"addmm", "bias_addmm", "mm", "_mkl_linear", "_linear_pointwise"})


class Members(msgspec.Struct, frozen=True):
    """Calls of one operator, whose weights are different tensors of one shape."""

    seen: Seen[OutputModule]
    steps: tuple[Step, ...]
    shape: str


def members(row: Seen[OutputModule]) -> Members | None:
    """Return the most layers of a module that read the same input on a CPU; None of few."""
    if row.record.device != "cpu":
        return None
    groups: dict[tuple[int, str, tuple[str, ...]], dict[int, Step]] = {}
    for step, call, shared, weight in _layers(row):
        shape = "x".join(map(str, weight.size or ()))
        # Each column of a table is read by a layer of its own: those begin at other numbers.
        views = (*call.shapes, *call.numbers)
        groups.setdefault((id(shared), shape, views), {}).setdefault(id(weight), step)
    key, found = max(groups.items(), key=lambda one: len(one[1]), default=((0, "", ()), {}))
    calls = sum(1 for _ in row.record.extern_calls())
    enough = len(found) >= FEWEST and MOST_LAYERS * len(found) >= calls
    return Members(row, tuple(found.values()), key[1]) if enough else None


def _layers(row: Seen[OutputModule]) -> Iterator[tuple[Step, ExternCall, Content, Content]]:
    """Yield small products with what they read, and their weight, which is none of the graph's."""
    flow = row.record.flow
    for step, call in row.record.extern_calls():
        weight = weight_of(flow, step)
        if weight is None or not _is_small(row, step, call, weight):
            continue
        given = [one for one in flow.operands(step) if one is not weight and len(one.readers) > 1]
        for one in given:
            if one.producer is not None or len(one.size or ()) > 1:
                yield step, call, one, weight


def _is_small(row: Seen[OutputModule], step: Step, call: ExternCall, weight: Content) -> bool:
    results = row.record.flow.results(step)
    rows = results[0].count if results else None
    depth = (weight.size or ("",))[-1]
    known = rows is not None and isinstance(depth, int) and weight.producer is None
    return call.op in _PRODUCTS and known and (rows or 0) * int(depth) <= SMALL_PRODUCT
