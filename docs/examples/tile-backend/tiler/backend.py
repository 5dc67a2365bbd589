"""``torch.compile(model, backend="tiler")``: lays out a graph in tiles for several cores.

It is small on purpose: it decides what a compiler for a device with scratchpads decides (tile
layout, division over cores, what spills, what falls back), says so in its log, and then runs the
graph as it is. With ``TILER_LOG=1`` the log goes to standard error. ``TILER_TILE`` sets the largest
tile, ``TILER_CORES`` and ``TILER_SCRATCHPAD`` (bytes of a core) describe the device.
"""

from __future__ import annotations

import math
import operator
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._guards import CompileContext

#: What multiplies matrices, and what is done beside it on the same tile.
PRODUCTS = {torch.nn.functional.linear, torch.matmul, torch.mm, operator.matmul}
BESIDE = {
    torch.nn.functional.gelu,
    torch.nn.functional.relu,
    torch.add,
    torch.mul,
    torch.relu,
    torch.tanh,
    operator.add,
    operator.getitem,
    operator.mul,
}
#: Columns of the left operand that are in the scratchpad at a time.
DEPTH = 64
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


@dataclass(frozen=True)
class Device:
    """What is compiled for."""

    cores: int
    scratchpad: int
    tile: int

    @classmethod
    def current(cls) -> Device:
        """Return what the environment describes."""
        given = os.environ.get
        return cls(
            int(given("TILER_CORES", "8")),
            int(given("TILER_SCRATCHPAD", "131072")),
            int(given("TILER_TILE", "128")),
        )


def tiler(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    """Lay out ``graph``, and return what runs it."""
    del inputs
    if os.environ.get("TILER_LOG", "0") != "0":
        compilation = CompileContext.current_compile_id()
        for line in lines(graph.graph, Device.current()):
            print(f"tiler [{compilation}] {line}", file=sys.stderr, flush=True)  # noqa: T201
    return graph.forward


def lines(graph: torch.fx.Graph, device: Device) -> Iterator[str]:
    """Yield what is decided about a graph."""
    calls = [node for node in graph.nodes if node.op.startswith("call_")]
    yield f"graph nodes={len(calls)} cores={device.cores} scratchpad={device.scratchpad}"
    laid = 0
    for node in calls:
        if node.target in PRODUCTS:
            yield from product(node, device)
            laid += 1
        elif node.target not in BESIDE:
            yield f"fallback op={name(node)} node={node.name} {place(node)}"
    yield f"done kernels={laid}"


def product(node: torch.fx.Node, device: Device) -> Iterator[str]:
    """Yield how the product of two matrices is laid out."""
    value = node.meta["example_value"]
    left = node.args[0].meta["example_value"]
    rows, columns, inner = value[..., 0].numel(), value.shape[-1], left.shape[-1]
    tile = min(device.tile, 1 << max(rows, columns).bit_length() - 1)
    down, across = math.ceil(rows / tile), math.ceil(columns / tile)
    padded = 1 - rows * columns / (down * across * tile * tile)
    yield (
        f"layout node={node.name} rows={rows} columns={columns} inner={inner} "
        f"tile={tile} padded={padded:.3f}"
    )
    tiles = down * across
    least, most = tiles // device.cores, math.ceil(tiles / device.cores)
    yield f"division node={node.name} tiles={tiles} cores={device.cores} least={least} most={most}"
    size = (2 * tile * min(DEPTH, inner) + tile * tile) * value.element_size()
    for core in range(min(tiles, device.cores)) if size > device.scratchpad else ():
        yield f"spill node={node.name} core={core} bytes={size - device.scratchpad} tile={tile}"


def name(node: torch.fx.Node) -> str:
    """Return what a node calls, as one would write it."""
    if node.op == "call_method":
        return f"Tensor.{node.target}"
    module = getattr(node.target, "__module__", "") or "torch"
    return f"{module}.{getattr(node.target, '__name__', node.target)}".replace(" ", "")


def place(node: torch.fx.Node) -> str:
    """Return the user's line that a node comes from."""
    found = _FRAME.findall(node.meta.get("stack_trace") or "")
    return f"file={found[-1][0]} line={found[-1][1]}" if found else "file=? line=0"
