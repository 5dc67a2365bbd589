"""Products most of whose rows nothing reads, as those of a head of which one token is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import NamedTuple

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.inductor.weights import weight_of
from tracelens.logs._dataflow import Content
from tracelens.logs._kernels import KernelDef
from tracelens.logs._loops import Block, nest_of
from tracelens.logs._statements import ExternCall, KernelCall
from tracelens.logs.output_code import OutputModule, Step

__all__ = ["Unread", "unread"]

#: Products of a layer that compute row by row.
LAYERS = frozenset({"mm", "addmm", "bias_addmm"})
#: A product is told where at most one row in so many is read.
PART = 4


class Unread(msgspec.Struct, frozen=True):
    """A product of which few rows are read."""

    seen: Seen[OutputModule]
    step: Step
    call: ExternCall
    content: Content
    rows: int
    columns: int
    #: The most rows that kernels may read.
    read: int
    #: Multiplications of rows that nothing reads, and their part of all of the graph's products.
    work: int
    share: float


def unread(row: Seen[OutputModule]) -> Iterator[Unread]:
    """Yield the products of a graph most of whose rows no kernel reads."""
    module, flow = row.record, row.record.flow
    found, total = [], 0
    for step, call in module.extern_calls():
        weight = weight_of(flow, step)
        results = flow.results(step)
        if weight is None or len(results) != 1 or not weight.count or not results[0].size:
            continue
        work = _work(call, weight, results[0])
        total += work
        read = _read(module, results[0]) if call.op in LAYERS else None
        if read is not None:
            found.append((step, call, results[0], read, work))
    for step, call, content, read, work in found:
        rows, columns = _shape(content)
        lost = work * (rows - read) // rows
        yield Unread(row, step, call, content, rows, columns, read, lost, lost / total)


def _work(call: ExternCall, weight: Content, result: Content) -> int:
    """Return the multiplications of a product or a convolution; 0 where sizes are symbolic."""
    if not result.count or not weight.count or not weight.size or not result.size:
        return 0
    channels = weight.size[0] if call.op == "convolution" else result.size[-1]
    return weight.count * result.count // channels if isinstance(channels, int) and channels else 0


def _shape(content: Content) -> tuple[int, int]:
    sizes = [dim for dim in content.size or () if isinstance(dim, int)]
    return prod(sizes[:-1]), sizes[-1]


def _read(module: OutputModule, content: Content) -> int | None:
    """Return the most rows that are read; None where that is not few, or not known."""
    if content.returned or content.count is None or not content.readers or content.under:
        return None
    rows, columns = _shape(content)
    if not columns:
        return None
    elements = 0
    for step in content.readers:
        kernel = module.kernels.get(step.code.kernel) if isinstance(step.code, KernelCall) else None
        most = None if kernel is None else _elements(kernel, step, content.name, columns)
        if most is None:
            return None
        elements += most
    read = -(-elements // columns)
    return read if elements and read * PART <= rows else None


def _elements(kernel: KernelDef, step: Step, name: str, columns: int) -> int | None:
    """Return the most elements of a buffer that a kernel reads, if it reads rows as a whole."""
    code = step.code
    if kernel.device != "cpu" or kernel.is_template or not isinstance(code, KernelCall):
        return None
    if code.names.count(name) != 1:
        return None
    at = code.names.index(name)
    known = kernel.parameters
    if at >= len(known) or known[at].writes:
        return None
    return _counted(kernel.source, known[at].name, columns)


@lru_cache(maxsize=1024)
def _counted(source: str, parameter: str, columns: int) -> int | None:
    nest = nest_of(source)
    if nest is None:
        return None
    word = re.compile(rf"\b{re.escape(parameter)}\b")
    try:
        found = [one for block in nest.blocks for one in _uses(block, word, ())]
    except _Unknown:
        return None
    # Columns that are left out ask for a smaller weight, not for fewer rows: a loop as long as a
    # row that goes from row to row has a factor in the index.
    if not found or not all(_goes_along(one, columns) for one in found):
        return None
    return sum(prod(span for _, span in one.loops) for one in found)


class _Use(NamedTuple):
    """What stands behind a parameter, and the counters and spans of the loops around it."""

    text: str
    loops: tuple[tuple[str, int], ...]


def _goes_along(use: _Use, columns: int) -> bool:
    """Tell whether a loop goes over all elements of a row, one after the other."""
    counters = [counter for counter, span in use.loops if span == columns and counter]
    return any(re.search(rf"(?<![*\w]){counter}\b(?! ?\*)", use.text) for counter in counters)


class _Unknown(Exception):
    """What a kernel reads cannot be told."""


def _uses(
    block: Block, word: re.Pattern[str], loops: tuple[tuple[str, int], ...]
) -> Iterator[_Use]:
    """Yield the uses of a parameter, with the loops around them.

    Raises:
        _Unknown: A bound is symbolic, or the parameter has another name inside of the loops.
    """
    for text in block.texts:
        for use in word.finditer(text):
            if not loops:
                raise _Unknown
            yield _Use(text[use.end() :].partition(";")[0], loops)
    for inside in block.blocks:
        yield from _uses(inside, word, loops)
    for loop in block.loops:
        around = (*loops, (loop.header.counter, loop.header.span or 0))
        held = list(_uses(loop.body, word, around))
        if any(not span for one in held for _, span in one.loops):
            raise _Unknown
        yield from held
