"""Distances of all pairs that a graph computes from a broadcast difference.

``((x[:, None] - y[None]) ** 2).sum(-1)`` subtracts, squares and adds one element per pair and
dimension. The same distances follow from one matrix product.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import prod

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.late import late
from tracelens.logs.graph_code import FxGraph, Node, Origin, TensorType

__all__ = ["Distances", "distances"]

#: Types in which a matrix product keeps enough digits.
_DTYPES = {"f32", "f64"}
_WORD = late(r"[A-Za-z_]\w*")
_MINUS = late(r"(\w{1,200}) - (\w{1,200})\Z")
_SQUARED = late(r"(\w{1,200}) \*\* 2(?:\.0)?\Z")
_TIMES = late(r"(\w{1,200}) \* (\w{1,200})\Z")
_SCALED = late(r"\w{1,200} [*/] [\d.e-]{1,30}\Z|\([\d.e-]{1,30}\)\Z")
_ROOT = late(r"\w{1,200} \*\* 0\.5\Z")
#: Which norm: a number that stands alone or behind its name.
_ORDER = late(r"(?:^|, )(?:p = |ord = )?(-?[\d.]{1,20}|'\w{1,10}'|inf|-inf)(?=,|$)")
_NAMED = late(r"(?:dim|axis) = \[?\(?(-?\d{1,3})")
_NUMBER = late(r"(?<![\w.])-?\d{1,3}(?![\w.])")
#: Dimensions of a difference: two of pairs, and the one that is summed.
_DIMENSIONS = 3


class Distances(msgspec.Struct, frozen=True):
    """A sum over a broadcast difference."""

    seen: Seen[FxGraph]
    #: The difference, and what sums it.
    difference: Node
    total: Node
    size: tuple[int, ...]
    origin: Origin | None
    #: Whether the root is taken; else they are squares.
    is_root: bool
    #: Whether their mean is taken instead of their sum.
    is_mean: bool
    #: Whether the difference is multiplied by a number first.
    is_scaled: bool

    @property
    def elements(self) -> int:
        """How many differences are computed."""
        return prod(self.size)

    def line(self, node: Node) -> int:
        """Return the line of the record that holds a statement."""
        before = self.seen.text.find(self.seen.record.body)
        return self.seen.text.count("\n", 0, max(before, 0)) + 1 + node.at


def distances(seen: Seen[FxGraph]) -> Iterator[Distances]:
    """Yield the distances of all pairs in a traced graph, on a CPU."""
    if " - " not in seen.record.body and "sub(" not in seen.record.body:
        return
    calls = list(seen.record.calls())
    readers: defaultdict[str, list[Node]] = defaultdict(list)
    for node, _ in calls:
        owner = node.target.partition(".")[0]
        for name in set(_WORD.findall(f"{owner} {node.arguments} {node.expression}")):
            readers[name].append(node)
    returned = set(_WORD.findall(seen.record.body.rpartition("return ")[2]))
    types = {node.label: node.type for node, _ in calls}
    types |= {one.input: one.type for one in seen.record.inputs}
    types |= {n.label: types[n.expression] for n, _ in calls if n.expression in types}
    for node, origin in calls:
        size = _outer(node, types)
        chain = [] if size is None else _chain(node, readers, returned)
        if size is None or not chain:
            continue
        *between, total = chain
        after = readers[total.label]
        yield Distances(
            seen,
            node,
            total,
            size,
            origin,
            is_root=_is_norm(total) or any(_called(one, "sqrt") or _is_root(one) for one in after),
            is_mean=_called(total, "mean"),
            is_scaled=bool(between) and not _is_square(between[0]),
        )


def _outer(node: Node, types: Mapping[str, object]) -> tuple[int, ...] | None:
    """Return the size of a difference of every row of one tensor and every row of another."""
    found = _MINUS.match(node.expression)
    names = found.groups() if found else _arguments(node) if _called(node, "sub") else []
    held = node.type
    if not isinstance(held, TensorType) or held.dtype not in _DTYPES or held.device != "cpu":
        return None
    operands = [one for name in names if isinstance(one := types.get(name), TensorType)]
    shapes = [one.shape for one in operands if one.dtype == held.dtype]
    size = [dim for dim in held.shape if isinstance(dim, int)]
    if len(shapes) != 2 or len(size) != len(held.shape) or len(size) < _DIMENSIONS:
        return None
    if not all(isinstance(dim, int) for shape in shapes for dim in shape):
        return None
    ones = ((1,) * (len(size) - len(shape)) + tuple(shape) for shape in shapes)
    (rows, columns, depth), *others = sorted(shape[-3:] for shape in ones)
    pairs = (rows, columns, depth) == (1, size[-2], size[-1])
    return tuple(size) if pairs and others == [(size[-3], 1, size[-1])] else None


def _chain(node: Node, readers: dict[str, list[Node]], returned: set[str]) -> list[Node]:
    """Return what makes a sum of squares, or a norm, of a difference that nothing else reads."""
    found: list[Node] = []
    is_squared = False
    for _ in range(_DIMENSIONS):
        following = readers[node.label]
        if len(following) != 1 or node.label in returned:
            return []
        before, node = node, following[0]
        found.append(node)
        if (_is_norm(node) and not is_squared) or (is_squared and _called(node, "sum", "mean")):
            return found if _is_reduced(before, node) else []
        if _is_square(node) and not is_squared:
            is_squared = True
        elif len(found) > 1 or not (_SCALED.search(node.expression) or _is_scaling(node)):
            return []
    return []


def _is_reduced(before: Node, after: Node) -> bool:
    """Whether the last dimension is summed, and no other; one that is kept has another form."""
    if not isinstance(before.type, TensorType) or not isinstance(after.type, TensorType):
        return False
    whole = before.type.shape
    named = _NAMED.findall(after.arguments) or _NUMBER.findall(after.arguments)[-1:]
    is_last = bool(named) and int(named[0]) in {-1, len(whole) - 1}
    return is_last and after.type.shape == whole[:-1]


def _is_square(node: Node) -> bool:
    times = _TIMES.match(node.expression)
    if (
        _SQUARED.match(node.expression)
        or _called(node, "square")
        or (times and times[1] == times[2])
    ):
        return True
    given = _arguments(node)
    return _called(node, "pow") and bool(given) and given[-1] in {"2", "2.0"}


def _is_scaling(node: Node) -> bool:
    return _called(node, "div", "mul") and bool(_SCALED.match(node.arguments))


def _is_root(node: Node) -> bool:
    return bool(_ROOT.match(node.expression))


def _is_norm(node: Node) -> bool:
    """Whether it is a Euclidean norm; another order is named."""
    if not _called(node, "norm", "vector_norm"):
        return False
    text = re.sub(r"(?:dim|axis) = (?:\(?-?\d{1,3},?\)?)", "", node.arguments.strip("()"))
    first = _ORDER.search(text)
    return first is None or first[1] in {"2", "2.0"}


def _called(node: Node, *names: str) -> bool:
    return node.target.rpartition(".")[2] in names


def _arguments(node: Node) -> Sequence[str]:
    """Return the arguments of a call, with the tensor whose method it is."""
    owner = node.target.rpartition(".")[0]
    given = [part.strip() for part in node.arguments.strip("()").split(",") if part.strip()]
    return given if owner.startswith("torch") else [owner, *given]
