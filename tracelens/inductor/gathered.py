"""Products of a traced graph whose rows are gathered from a smaller tensor, as in message passing.

``layer(torch.cat([h[src], h[dst]], -1))`` multiplies each row of ``h`` once for each edge. The
product of a row does not change when it is copied: ``(h @ a)[src] + (h @ b)[dst]`` is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.inductor.in_place import Memory, changes_in_place
from tracelens.inductor.nodes import name, operands
from tracelens.late import late
from tracelens.logs.graph_code import FxGraph, Node, Origin, TensorType

__all__ = ["Gathered", "gathered"]

_AT = late(r"(\w{1,200}) @ (\w{1,200})\Z")
#: ``h[src]``, ``h[(src, slice(None, None, None))]``
_INDEXED = late(r"(\w{1,200})\[\(?(\w{1,200})(?:, slice\(None, None, None\))?,?\)?\]\Z")
#: ``[a, b], -1`` or ``[a, b], dim = 1``
_JOINED = late(r"\(?\[([\w, ]{1,2000})\], (?:dim = )?(-?\d{1,2})\)")
#: Rows of the product for each that is gathered from, and columns of its result for each of a part,
#: up to which copying the results costs less than the products.
COPIES, WIDER = 2, 4
_PRODUCTS = frozenset({"linear", "matmul", "mm"})
_JOINS = frozenset({"cat", "concat"})
_INDICES = frozenset({"i64", "i32"})
#: What begins or ends a mode under which the same call computes, or records, something else.
_MODES = late(r"_(?:enter|exit)_\w{1,60}\Z|_set_grad_enabled\Z")


class Part(msgspec.Struct, frozen=True):
    """Columns of a product's input: rows of ``source``, copied."""

    node: Node
    source: str
    rows: int
    columns: int


class Gathered(msgspec.Struct, frozen=True):
    """A product of which some input columns are gathered rows."""

    seen: Seen[FxGraph]
    product: Node
    origin: Origin | None
    parts: tuple[Part, ...]
    #: Rows and columns of the result, and columns of the input.
    rows: int
    columns: int
    depth: int

    @property
    def saved(self) -> int:
        """Multiplications that are not needed: those of the copies."""
        return sum((self.rows - part.rows) * part.columns for part in self.parts) * self.columns

    @property
    def share(self) -> float:
        """The part of the product's multiplications that they are."""
        return self.saved / (self.rows * self.depth * self.columns)

    def line(self, node: Node) -> int:
        """Return the line of the record that holds a statement."""
        before = self.seen.text.find(self.seen.record.body)
        return self.seen.text.count("\n", 0, max(before, 0)) + 1 + node.at


def gathered(seen: Seen[FxGraph]) -> Iterator[Gathered]:
    """Yield the products of a traced graph that read gathered rows, where all sizes are known."""
    graph = seen.record
    if not any(sign in graph.body for sign in ("linear(", "matmul(", "mm(", " @ ")):
        return
    calls = list(graph.calls())
    given = {one.input: one.type for one in graph.inputs}
    nodes = {node.label: node for node, _ in calls if not node.is_symbol}
    types = given | {node.label: given.get(node.expression, node.type) for node in nodes.values()}
    has_modes = any(_MODES.search(node.target) for node, _ in calls)
    memory: Memory | None = None
    for node, origin in () if has_modes else calls:
        factors = _factors(node)
        shape = _shape(types.get(factors[0])) if factors else ()
        made = _shape(node.type)
        if len(shape) != 2 or len(made) != 2 or len(_shape(types.get(factors[1]))) != 2:
            continue
        parts = tuple(
            part
            for part in _parts(factors[0], nodes, types)
            if COPIES * part.rows <= shape[0] and made[1] < WIDER * part.columns
        )
        if not parts:
            continue
        memory = memory or Memory(nodes.values(), changes_in_place(graph.body, nodes.values()))
        read = (*factors, *(label for one in parts for label in (one.source, one.node.label)))
        if not any(map(memory.is_written, read)):
            yield Gathered(seen, node, origin, parts, shape[0], made[1], shape[1])


def _parts(label: str, nodes: Mapping[str, Node], types: Mapping[str, object]) -> Iterator[Part]:
    """Yield what of a product's input is gathered: all of it, or some of what is joined."""
    node = nodes.get(label)
    if node is None:
        return
    found = _JOINED.match(node.arguments) if name(node) in _JOINS else None
    joined = found[1].split(", ") if found and int(found[2]) in {-1, 1} else [label]
    for each in joined:
        one = nodes.get(each)
        source = _source(one, types) if one is not None else ""
        if one is not None and source:
            rows, columns = _shape(types[source])
            yield Part(one, source, rows, columns)


def _source(node: Node, types: Mapping[str, object]) -> str:
    """Return the tensor whose rows a node copies, by indices that are a vector of numbers."""
    if node.target:
        given = [part.removeprefix("dim = ") for part in operands(node)]
        plain = name(node) == "index_select" and len(given) == 3 and given[1] in {"0", "-2"}
        source, index = (given[0], given[2]) if plain else ("", "")
    else:
        found = _INDEXED.match(node.expression)
        source, index = (found[1], found[2]) if found else ("", "")
    held, made, by = types.get(source), _shape(node.type), types.get(index)
    rows = isinstance(by, TensorType) and by.dtype in _INDICES and len(_shape(by)) == 1
    fits = rows and len(_shape(held)) == 2 and made == (*_shape(by), _shape(held)[1])
    return source if fits else ""


def _factors(node: Node) -> list[str]:
    """Return the two factors of a product, the weight as the second; nothing for another node."""
    found = _AT.match(node.expression)
    if found:
        return [found[1], found[2]]
    return operands(node)[:2] if name(node) in _PRODUCTS and len(operands(node)) > 1 else []


def _shape(held: object) -> tuple[int, ...]:
    """Return the sizes of a tensor; nothing where one of them is symbolic."""
    if not isinstance(held, TensorType):
        return ()
    sizes = tuple(dim for dim in held.shape if isinstance(dim, int))
    return sizes if len(sizes) == len(held.shape) and all(sizes) else ()
