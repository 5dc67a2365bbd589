"""Embedding tables of which a compiled function looks up a few rows, and trains all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import prod

import msgspec

from tracelens.evidence.tables import Seen, Table
from tracelens.late import late
from tracelens.logs._statements import ExternCall
from tracelens.logs.graph_code import FxGraph, Node, Origin, TensorType
from tracelens.logs.output_code import OutputModule

__all__ = ["Trained", "trained_densely"]

_LOOKUPS = frozenset({"embedding", "embedding_bag"})
#: Where ``sparse`` stands among what Dynamo prints of the arguments.
_SPARSE_AT = {"embedding": 6, "embedding_bag": 7}
#: ... and where ``scale_grad_by_freq`` and the mode: not all can have sparse gradients.
_SCALED_AT, _MODE_AT = 5, 6
#: Bytes of all tables of a graph from which their gradients take longer than a call, and of each.
LARGE, LEAST = 4 << 20, 1 << 20
#: Rows per index.
FEW = 8
_WORD = late(r"[A-Za-z_]\w*")
_BACKWARD = late(r"embedding_dense_backward|embedding_bag\w{0,20}_backward")
#: A size, or an argument, in generated code: a table that is not trained has none there.
_SIZE = late(r"[(\[ ]([0-9]{1,18})[,)\]]")
_SIZES = {"f32": 4, "f64": 8, "bf16": 2, "f16": 2}


class Trained(msgspec.Struct):
    """One table of a traced graph."""

    seen: Seen[FxGraph]
    rows: int
    bytes: int
    lookups: list[Node]
    #: Indices per call, of all lookups.
    indices: int
    origin: Origin | None

    @property
    def line(self) -> int:
        """The line of the record that holds the first lookup."""
        before = self.seen.text.find(self.seen.record.body)
        return self.seen.text.count("\n", 0, max(before, 0)) + 1 + self.lookups[0].at


def trained_densely(graphs: Table[FxGraph], modules: Table[OutputModule]) -> Iterator[Trained]:
    """Yield the tables whose gradient a backward graph writes whole, of few rows that are used."""
    sizes: defaultdict[object, set[int]] = defaultdict(set)
    for place, module in modules.events():
        if _is_dense_backward(module.record):
            sizes[place.compilation].update(map(int, _SIZE.findall(module.text)))
    for place, seen in graphs.events() if sizes else ():
        if place.compilation in sizes and seen.record.traced:
            tables = _tables(seen)
            yield from (one for one in tables if one.rows in sizes[place.compilation])


def _tables(seen: Seen[FxGraph]) -> Iterator[Trained]:
    types = {one.input: one.type for one in seen.record.inputs}
    labels = {name: name for name in types}
    known: dict[str, object] = dict(types)
    found: dict[str, Trained] = {}
    others: set[str] = set()
    for node, origin in seen.record.calls():
        if node.expression in types:
            labels[node.label] = node.expression
            continue
        known[node.label] = node.type
        name, given = _looked_up(node)
        table = labels.get(given[1], "") if name else ""
        held = types.get(table)
        if not _is_table(held):
            others.update(_names(node))
            continue
        assert isinstance(held, TensorType)  # noqa: S101 -- _is_table says so
        rows, width = (int(dim) for dim in held.shape)
        one = found.setdefault(
            table, Trained(seen, rows, rows * width * _SIZES[held.dtype], [], 0, origin)
        )
        index = known.get(labels.get(given[0], given[0]))
        one.indices += _count(index) or rows  # not known: no small number
        one.lookups.append(node)
        if not _can_be_sparse(name, given):
            others.add(table)
    used = {labels.get(name, name) for name in others}
    tables = [
        one
        for table, one in found.items()
        if table not in used and one.bytes >= LEAST and one.indices * FEW <= one.rows
    ]
    if sum(one.bytes for one in tables) >= LARGE:
        yield from tables


def _looked_up(node: Node) -> tuple[str, list[str]]:
    """Return which lookup a node is, with its arguments; nothing for another node."""
    name = node.target.rpartition(".")[2]
    given = [part.strip() for part in node.arguments.strip("()").split(",")]
    return (name, given) if name in _LOOKUPS and len(given) > 1 else ("", [])


def _can_be_sparse(name: str, given: list[str]) -> bool:
    """Whether the lookup's gradient is dense, and ``sparse=True`` would not raise."""
    at = _SPARSE_AT[name]
    is_max = name == "embedding_bag" and given[_MODE_AT : _MODE_AT + 1] == ["'max'"]
    return given[at : at + 1] == given[_SCALED_AT : _SCALED_AT + 1] == ["False"] and not is_max


def _is_table(held: object) -> bool:
    return (
        isinstance(held, TensorType)
        and held.device == "cpu"
        and held.dtype in _SIZES
        and len(held.shape) == 2
        and all(isinstance(dim, int) for dim in held.shape)
    )


def _count(held: object) -> int:
    shape = held.shape if isinstance(held, TensorType) else ("",)
    numbers = [dim for dim in shape if isinstance(dim, int)]
    return prod(numbers) if len(numbers) == len(shape) else 0


def _names(node: Node) -> Iterable[str]:
    owner = node.target.partition(".")[0]
    return _WORD.findall(f"{owner} {node.arguments} {node.expression}")


def _is_dense_backward(module: OutputModule) -> bool:
    if module.graph != "backward":
        return False
    called = (
        step.code.op for step, _ in module.extern_calls() if isinstance(step.code, ExternCall)
    )
    kernels = (kernel.fused for kernel in module.kernels.values())
    return any(_BACKWARD.search(op) for op in (*called, *kernels))
