"""One-hot matrices that a traced graph multiplies with a weight: lookups, written as products."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.inductor.in_place import changes_in_place
from tracelens.late import late
from tracelens.logs.graph_code import FxGraph, Node, Origin, TensorType

__all__ = ["OneHot", "one_hots"]

_WORD = late(r"[A-Za-z_]\w*")
_AT = late(r"(\w{1,200}) @ (\w{1,200})\Z")
#: ``[a, b], -1`` or ``[a, b], dim = 1``
_JOINED = late(r"\(?\[([\w, ]{1,2000})\], (?:dim = )?(-?\d{1,2})\)")
#: What leaves the ones where they are, and their dimension the last one.
_FORMS = frozenset(
    {"bfloat16", "contiguous", "detach", "double", "flatten", "float", "half", "reshape", "to"}
    | {"type", "type_as", "view"}
)
_ZEROS = frozenset({"new_zeros", "zeros", "zeros_like"})
_PRODUCTS = frozenset({"linear", "matmul", "mm"})
#: Steps from the matrix to the product.
MAX_STEPS = 5


class OneHot(msgspec.Struct, frozen=True):
    """A one-hot matrix and the product that reads it."""

    seen: Seen[FxGraph]
    made: Node
    product: Node
    #: Of the product.
    origin: Origin | None
    rows: int
    classes: int
    #: Whether other columns stand beside it in the product.
    is_joined: bool
    #: Whether it is ``linear``, which transposes its weight.
    is_linear: bool

    @property
    def elements(self) -> int:
        """How many there are, one in ``classes`` of which is not zero."""
        return self.rows * self.classes

    def line(self, node: Node) -> int:
        """Return the line of the record that holds a statement."""
        before = self.seen.text.find(self.seen.record.body)
        return self.seen.text.count("\n", 0, max(before, 0)) + 1 + node.at


def one_hots(seen: Seen[FxGraph]) -> Iterator[OneHot]:
    """Yield the one-hot matrices of a traced graph that a product reads, of known sizes."""
    graph = seen.record
    if "one_hot(" not in graph.body and ".scatter" not in graph.body:
        return
    calls = list(graph.calls())
    origins = {id(node): origin for node, origin in calls}
    given = {one.input: one.type for one in graph.inputs}
    types = given | {node.label: given.get(node.expression, node.type) for node, _ in calls}
    nodes = {node.label: node for node, _ in calls}
    readers: defaultdict[str, list[Node]] = defaultdict(list)
    for node, _ in calls:
        owner = node.target.partition(".")[0]
        for name in set(_WORD.findall(f"{owner} {node.arguments} {node.expression}")):
            readers[name].append(node)
    changes = changes_in_place(graph.body, [node for node, _ in calls])
    for node, _ in calls:
        shape = _shape(node.type)
        if len(shape) < 2 or not (_is_one_hot(node) or _is_scattered(node, nodes, types)):
            continue
        in_place = _name(node) == "scatter_"
        if changes[node.label] or (not _is_one_hot(node) and changes[_owner(node)] > in_place):
            continue
        product, joined = _product(node, readers, types, changes)
        if product is None and in_place:
            product, joined = _product(nodes[_owner(node)], readers, types, changes)
        if product is not None:
            rows = 1
            for dim in shape[:-1]:
                rows *= dim
            linear = product.target.endswith("linear")
            origin = origins[id(product)]
            yield OneHot(seen, node, product, origin, rows, shape[-1], joined, linear)


def _product(
    node: Node,
    readers: Mapping[str, list[Node]],
    types: Mapping[str, object],
    changes: Mapping[str, int],
    steps: int = MAX_STEPS,
) -> tuple[Node | None, bool]:
    """Return the product whose first factor a matrix is, and whether others stand beside it."""
    for reader in readers.get(node.label, ()):
        factors = _factors(reader)
        if factors[:1] == [node.label] and len(_shape(types.get(factors[1]))) == 2:
            return reader, False
    last = _shape(node.type)[-1:]
    for reader in readers.get(node.label, ()) if steps else ():
        joined = _is_joined(reader, node)
        same = _name(reader) in _FORMS and _owner(reader) == node.label
        if changes[reader.label]:
            continue
        if joined or (same and _shape(reader.type)[-1:] == last):
            found, others = _product(reader, readers, types, changes, steps - 1)
            if found is not None:
                return found, joined or others
    return None, False


def _factors(node: Node) -> list[str]:
    """Return the two factors of a product, the weight as the second; nothing for another node."""
    found = _AT.match(node.expression)
    if found:
        return [found[1], found[2]]
    if _name(node) not in _PRODUCTS:
        return []
    given = [part.strip() for part in node.arguments.strip("()").split(",")]
    owner = [] if node.target.startswith("torch") else [_owner(node)]
    factors = [*owner, *given][:2]
    return factors if len(factors) == 2 else []


def _is_one_hot(node: Node) -> bool:
    return _name(node) == "one_hot"


def _is_scattered(node: Node, nodes: Mapping[str, Node], types: Mapping[str, object]) -> bool:
    """Whether a single one is written into each row of zeros: ``zeros.scatter_(1, index, 1)``.

    With several indices a row has several ones, and the product is a sum of rows.
    """
    zeros = nodes.get(_owner(node))
    if _name(node) not in {"scatter", "scatter_"} or zeros is None or _name(zeros) not in _ZEROS:
        return False
    given = [part.strip().removeprefix("value = ") for part in node.arguments[1:-1].split(",")]
    if len(given) != 3 or given[0] not in {"1", "-1"} or given[2] not in {"1", "1.0"}:
        return False
    shape, index = _shape(node.type), _shape(types.get(given[1]))
    return len(shape) == 2 and index == (shape[0], 1)


def _is_joined(node: Node, part: Node) -> bool:
    """Whether it joins columns with ``part`` among them."""
    found = _JOINED.match(node.arguments) if _name(node) in {"cat", "concat"} else None
    if found is None or part.label not in found[1].split(", "):
        return False
    return int(found[2]) in {-1, len(_shape(node.type)) - 1}


def _shape(held: object) -> tuple[int, ...]:
    """Return the sizes of a tensor; nothing where one of them is symbolic."""
    if not isinstance(held, TensorType):
        return ()
    sizes = tuple(dim for dim in held.shape if isinstance(dim, int))
    return sizes if len(sizes) == len(held.shape) else ()


def _name(node: Node) -> str:
    return node.target.rpartition(".")[2]


def _owner(node: Node) -> str:
    return node.target.partition(".")[0]
