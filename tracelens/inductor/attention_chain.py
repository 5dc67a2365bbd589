"""What a program does to scores and weights between the two products of an attention.

Fused attention multiplies scores by a number, adds a mask, and normalizes them; weights may be
dropped at random. Whatever else stands in between, such as the k best scores of a row, a second
softmax, or gates on the weights, no fused kernel computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.inductor.attention import Unfused, is_nothing_else, unfused_attention
from tracelens.inductor.in_place import changes_in_place
from tracelens.inductor.nodes import SOFTMAX, name, operands, renamed, words
from tracelens.inductor.origins import Lines, is_product
from tracelens.inductor.written_softmax import written_softmax
from tracelens.late import late
from tracelens.logs._statements import Origin as Nodes
from tracelens.logs.output_code import OutputModule

if TYPE_CHECKING:  # a log without such graphs does without their models
    from tracelens.logs.graph_code import FxGraph, Node

__all__ = ["Chain", "chain", "plain_attention"]

_WORD = late(r"[A-Za-z_]\w*")
#: Operators that leave each element as it is.
_FORMS = frozenset(
    {"bfloat16", "clone", "contiguous", "expand", "flatten", "float", "half", "permute", "reshape"}
    | {"squeeze", "swapaxes", "to", "transpose", "type", "type_as", "unflatten", "unsqueeze"}
    | {"view", "view_as"}
)
#: What may be done to scores, beside ``where``; tanh caps them, which is a cause of its own.
_TO_SCORES = frozenset({"masked_fill", "sub", "tanh"})
_TO_WEIGHTS = frozenset({"dropout", "nan_to_num"})
#: Relatives of it, which no fused kernel computes: with noise, or a logarithm.
_OTHERS = frozenset({"gumbel_softmax", "log_softmax", "softmin"})
#: The sizes of what einsum reads and writes: ``'bhij,hg->bgij'``.
_EQUATION = late(r"'([^',]{1,40}),([^',]{1,40})->([^',]{1,40})'")


Types: TypeAlias = Mapping[str, object]


class Chain(msgspec.Struct, frozen=True):
    """What stands between two products."""

    #: Whether scaled_dot_product_attention computes the same.
    is_plain: bool
    #: Whether scores are multiplied by a tensor, which its ``scale`` does not take.
    has_tensor_scale: bool = False


def plain_attention(seen: Seen[OutputModule], lines: Lines) -> Iterator[Unfused]:
    """Yield the attentions of one module that a fused kernel would compute as well."""
    for one in unfused_attention(seen):
        graphs = lines.traced(seen)
        held = (chain(graph, one.first.comment, one.last.comment) for graph in graphs)
        found = next((each for each in held if each), None)
        if found is None and not one.is_by_hand and is_nothing_else(one):
            yield one
        elif found is not None and found.is_plain:
            yield msgspec.structs.replace(one, has_tensor_scale=found.has_tensor_scale)


def chain(graph: FxGraph, first: Nodes | None, last: Nodes | None) -> Chain | None:
    """Return what a traced graph computes between two products; None where it does not show them.

    Args:
        graph: The graph, as Dynamo traced it.
        first: What the comment above the product of queries and keys names.
        last: ... and the one above the product with the values.
    """
    calls = renamed([node for node in graph.nodes if not node.is_symbol])
    begin, end = _product(calls, first), _product(calls, last)
    inner = [] if begin is None or end is None else _between(calls, begin, end)
    softmax = [node for node in inner if name(node) in SOFTMAX] or written_softmax(inner)
    if any(name(node) in _OTHERS for node in inner):
        return Chain(is_plain=False)
    if begin is None or not softmax:
        return None
    if sum(name(node) in SOFTMAX for node in softmax) > 1 or _mixes_heads(begin):
        return Chain(is_plain=False)
    at = inner.index(softmax[-1])
    to_scores = [node for node in inner[:at] if node not in softmax]
    before = [begin, *to_scores]
    given = {one.input: one.type for one in graph.inputs}
    named = {node.label: given.get(node.expression, node.type) for node in calls}
    walk = _Walk(before, inner, given | named)
    others = [node for node in calls if node not in inner and node is not end]
    needed = set(_WORD.findall(graph.body.rpartition("return ")[2]))
    needed.update(word for node in others for word in words(node))
    changed = changes_in_place(graph.body, others)
    plain = (
        all(map(walk.is_of_scores, to_scores))
        and all(map(walk.is_of_weights, inner[at + 1 :]))
        and needed.isdisjoint(node.label for node in (*before, *softmax[:-1]))
        and changed.keys().isdisjoint(node.label for node in inner)
    )
    return Chain(is_plain=plain, has_tensor_scale=walk.has_tensor_scale)


class _Walk:
    """From the scores to the weights, operator by operator."""

    def __init__(self, before: Sequence[Node], inner: Sequence[Node], types: Types) -> None:
        self._own = {node.label for node in (*before, *inner)}
        self._types = types
        self._masks = set[str]()
        self.has_tensor_scale = False

    def is_of_scores(self, node: Node) -> bool:
        """Whether fused attention does the same to its scores."""
        called, given = name(node), operands(node)
        own = [at for at, one in enumerate(given) if one in self._own]
        if len(own) != 1:
            return False
        others = [one for at, one in enumerate(given[:3]) if at not in own]
        if called in {"add", "where"}:
            return called == "add" or (own != [0] and all(map(self._is_number, others[1:])))
        if called in {"mul", "div", "true_divide"}:
            is_left = own == [0] or called == "mul"
            return is_left and all(map(self._is_scale, others))
        if called == "masked_fill":
            self._masks.update(others[:1])
        return own == [0] and called in _TO_SCORES | _FORMS

    def is_of_weights(self, node: Node) -> bool:
        """Whether fused attention does the same to its weights."""
        called, given = name(node), operands(node)
        own = [at for at, one in enumerate(given) if one in self._own]
        if called == "masked_fill" and given[2:] in (["0"], ["0.0"]):
            return own == [0] and given[1] in self._masks
        return own == [0] and called in _TO_WEIGHTS | _FORMS

    def _is_number(self, operand: str) -> bool:
        return not set(self._shape(operand) or ()) - {1}

    def _is_scale(self, operand: str) -> bool:
        """Whether it is the same for all keys, as a number is, and one for each head."""
        shape = self._shape(operand)
        if shape is None:
            return True
        self.has_tensor_scale = True
        return not shape or shape[-1] == 1

    def _shape(self, operand: str) -> Sequence[int | str] | None:
        """Return the sizes of a tensor; None of what is none."""
        return getattr(self._types.get(operand), "shape", None)


def _product(calls: Sequence[Node], named: Nodes | None) -> Node | None:
    """Return the product that a comment is about: the last one, after those it is made of."""
    names = set(named.nodes) if named is not None else set()
    found = [node for node in calls if node.label in names and is_product(node)]
    return found[-1] if found else None


def _between(calls: Sequence[Node], begin: Node, end: Node) -> list[Node]:
    """Return what is computed from ``begin`` and needed for ``end``, in order."""
    after = {begin.label}
    reached: list[Node] = []
    for node in calls:
        if not after.isdisjoint(words(node)):
            after.add(node.label)
            reached.append(node)
        if node is end:
            break
    needed = words(end)
    found: list[Node] = []
    for node in reversed(reached):
        if node is not end and node.label in needed:
            needed |= words(node)
            found.append(node)
    return found[::-1]


def _mixes_heads(product: Node) -> bool:
    """Whether an operand of einsum holds both dimensions of the scores, as scores do."""
    found = _EQUATION.search(product.arguments.replace(" ", ""))
    if found is None:
        return False
    rows = set(found[3][-2:])
    return any(rows <= set(one) for one in (found[1], found[2]))
