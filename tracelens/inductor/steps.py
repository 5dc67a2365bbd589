"""Products of an unrolled loop that have one weight, and could be one product for all steps."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import prod

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.inductor.in_place import Memory, changes_in_place
from tracelens.inductor.nodes import name, operands, words
from tracelens.late import late
from tracelens.logs.graph_code import FxGraph, Node, Origin, TensorType

__all__ = ["Steps", "steps"]

#: Products from which a loop is one.
MIN_STEPS = 8
_WHOLE = "slice(None, None, None)"
#: ``[linear, linear_1], dim = 1``
_JOINED = late(r"\(?\[([\w, ]{1,20000})\](?:, (?:dim = )?(-?\d{1,2}))?\)?\Z")
_JOINS = frozenset({"cat", "concat", "stack"})
#: What begins or ends a mode under which the same call computes, or records, something else.
_MODES = late(r"_(?:enter|exit)_\w{1,60}\Z|_set_grad_enabled\Z")


class Steps(msgspec.Struct, frozen=True):
    """Products by one weight at one line of a loop."""

    seen: Seen[FxGraph]
    products: tuple[Node, ...]
    origin: Origin | None
    #: Rows of one product, and elements of the weight; 0 where they are not known.
    rows: int
    weight: int
    #: Whether they read slices of one tensor; else their results are joined, and only that.
    is_before: bool
    #: The tensor that is sliced, or the results' joined one.
    whole: str
    #: Along which dimension.
    dim: int = 0
    #: ``stack`` or ``cat``, where results are joined.
    join: str = ""

    def line(self, node: Node) -> int:
        """Return the line of the record that holds a statement."""
        before = self.seen.text.find(self.seen.record.body)
        return self.seen.text.count("\n", 0, max(before, 0)) + 1 + node.at


def steps(seen: Seen[FxGraph]) -> Iterator[Steps]:
    """Yield the products of a traced graph that nothing ties to the steps of their loop."""
    graph = seen.record
    if graph.body.count(".linear(") < MIN_STEPS:
        return
    origins = {node.label: origin for node, origin in graph.calls()}
    nodes = {node.label: node for node in graph.nodes if not node.is_symbol}
    given = {one.input: one.type for one in graph.inputs}
    types = given | {node.label: given.get(node.expression, node.type) for node in nodes.values()}
    groups: defaultdict[tuple[str, ...], list[Node]] = defaultdict(list)
    for node in nodes.values():
        if name(node) == "linear" and len(operands(node)) > 1:
            groups[tuple(operands(node)[1:])].append(node)
    large = [group for group in groups.values() if len(group) >= MIN_STEPS]
    if not large:
        return
    changed = changes_in_place(graph.body, nodes.values())
    memory = Memory(nodes.values(), changed)
    readers: defaultdict[str, list[Node]] = defaultdict(list)
    for node in nodes.values():
        for word in words(node):
            readers[word].append(node)
    modes = [node for node in nodes.values() if _MODES.search(node.target)]
    returned = graph.body.rpartition("return ")[2]
    for group in large:
        rows = _rows(types.get(operands(group[0])[0]))
        origin = origins.get(group[0].label)
        if not rows or _varies(group, memory, modes):
            continue
        weight = prod(_shape(types.get(operands(group[0])[1])) or (0,))
        whole = _sliced(group, nodes, types)
        if whole and not memory.is_written(whole[0]):
            yield Steps(seen, tuple(group), origin, rows, weight, True, *whole)
            continue
        if any(memory.is_written(operands(node)[0]) for node in group):
            continue
        joined = _joined(group, readers)
        used = set(re.findall(r"\w+", returned))
        if joined and used.isdisjoint(one.label for one in group) and not changed[joined[0]]:
            yield Steps(seen, tuple(group), origin, rows, weight, False, *joined)


def _varies(group: Sequence[Node], memory: Memory, modes: Sequence[Node]) -> bool:
    """Whether a round may write into the weights, or begins or ends a mode."""
    written = any(map(memory.is_written, operands(group[0])[1:]))
    return written or any(group[0].at < node.at < group[-1].at for node in modes)


def _sliced(
    group: Sequence[Node], nodes: Mapping[str, Node], types: Mapping[str, object]
) -> tuple[str, int] | None:
    """Return the tensor whose slices products read, each once, and along which dimension.

    They are at least half of it: else the product of the whole tensor has more to do.
    """
    found = {_slice(operands(node)[0], nodes) for node in group}
    wholes = {each[:2] for each in found if each is not None}
    if None in found or len(wholes) != 1 or len(found) < len(group):
        return None
    whole, dim = wholes.pop()
    shape = _shape(types.get(whole))
    fits = 0 <= dim < len(shape) - 1 and shape[dim] <= 2 * len(found)
    return (whole, dim) if fits else None


def _slice(label: str, nodes: Mapping[str, Node]) -> tuple[str, int, int] | None:
    """Return of what a node is a slice, along which dimension, and which one."""
    node = nodes.get(label)
    if node is None:
        return None
    if node.target:
        given = operands(node)
        plain = name(node) == "select" and len(given) == 3 and all(map(_is_number, given[1:]))
        return (given[0], int(given[1]), int(given[2])) if plain else None
    whole, found, index = node.expression.partition("[")
    parts = index.replace(_WHOLE, ":").strip("()]").split(",")
    places = [part.strip() for part in parts if part.strip()]
    numbers = [at for at, part in enumerate(places) if _is_number(part)]
    if not found or len(numbers) != 1 or len(places) - places.count(":") != 1:
        return None
    source = nodes.get(whole)
    if source is not None and name(source) == "unbind":
        given = [one.removeprefix("dim = ") for one in operands(source)]
        dim = given[1] if len(given) > 1 else "0"
        return (given[0], int(dim), int(places[numbers[0]])) if _is_number(dim) else None
    return whole, numbers[0], int(places[numbers[0]])


def _joined(
    group: Sequence[Node], readers: Mapping[str, Sequence[Node]]
) -> tuple[str, int, str] | None:
    """Return what alone reads the results of products and joins them: along what, and how."""
    found = {id(node): node for one in group for node in readers.get(one.label, ())}
    if len(found) != 1:
        return None
    (join,) = found.values()
    text = _JOINED.match(join.arguments) if name(join) in _JOINS else None
    if text is None or text[1].split(", ") != [one.label for one in group]:
        return None
    dim = int(text[2] or 0)
    rank = len(_shape(join.type))
    return (join.label, dim, name(join)) if 0 <= dim < rank - 1 else None


def _rows(held: object) -> int:
    shape = _shape(held)
    return prod(shape[:-1]) if len(shape) > 1 else int(bool(shape))


def _shape(held: object) -> tuple[int, ...]:
    """Return the sizes of a tensor; nothing where one of them is symbolic."""
    if not isinstance(held, TensorType):
        return ()
    sizes = tuple(dim for dim in held.shape if isinstance(dim, int))
    return sizes if len(sizes) == len(held.shape) else ()


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 8
