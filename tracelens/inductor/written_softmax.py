"""A softmax that the program writes out: ``exp(s - max)`` over its sum along the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracelens.inductor.nodes import name, operands

if TYPE_CHECKING:  # a log without such graphs does without their models
    from tracelens.logs.graph_code import Node

__all__ = ["written_softmax"]

_MAXIMA = frozenset({"amax", "max"})
#: What hands the maximum on: the first of the pair that ``max`` returns, without its gradient.
_PASSES = frozenset({"", "detach"})
#: The last dimension, kept: ``(-1, keepdim = True)``.
_LAST = ("-1,keepdim=True", "dim=-1,keepdim=True", "-1,True")
#: Steps from a maximum to where it is subtracted.
MAX_STEPS = 3


def written_softmax(nodes: Sequence[Node]) -> list[Node]:
    """Return those nodes that are a softmax together, in order; none where there is none."""
    made = {node.label: node for node in nodes}
    for node in nodes:
        raised, total = [made.get(one) for one in (*operands(node)[:2], "", "")[:2]]
        if name(node) not in {"div", "true_divide"} or raised is None or total is None:
            continue
        if name(raised) == "exp" and name(total) == "sum" and _folds(total, raised.label):
            found = {*_shift(operands(raised)[0], made), raised.label, total.label, node.label}
            return [one for one in nodes if one.label in found]
    return []


def _shift(label: str, made: dict[str, Node]) -> set[str]:
    """Return what subtracts the maximum of a row from it; nothing where that is not what it is."""
    difference = made.get(label)
    if difference is None or name(difference) != "sub":
        return set()
    row, top = operands(difference)[:2]
    found = {label}
    for _ in range(MAX_STEPS):
        node = made.get(top)
        if node is None:
            return set()
        found.add(top)
        if name(node) in _MAXIMA:
            return found if _folds(node, row) else set()
        if name(node) not in _PASSES:
            return set()
        top = operands(node)[0] if node.target else node.expression.removesuffix("[0]")
    return set()


def _folds(node: Node, row: str) -> bool:
    """Whether it folds the last dimension of ``row``, and keeps it."""
    given = operands(node)
    return given[:1] == [row] and ",".join(given[1:]).replace(" ", "") in _LAST
