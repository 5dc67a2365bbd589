"""Nodes of a traced graph: the operator, its operands, and what they hold after calls in place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracelens.late import late

if TYPE_CHECKING:  # a log without such graphs does without their models
    from tracelens.logs.graph_code import Node

__all__ = ["SOFTMAX", "name", "operands", "renamed", "words"]

SOFTMAX = frozenset({"softmax", "_softmax"})
_WORD = late(r"[A-Za-z_]\w*")
#: ``scores * 0.125``
_BINARY = late(r"([\w.+-]{1,200}) ([-+*/]) ([\w.+-]{1,200})\Z")
_SIGNS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


def name(node: Node) -> str:
    """Return the operator: the end of what is called, without the ``_`` of one in place."""
    if node.target:
        called = node.target.rpartition(".")[2]
        return called if called in SOFTMAX else called.rstrip("_")
    found = _BINARY.match(node.expression)
    return _SIGNS[found[2]] if found else ""


def operands(node: Node) -> list[str]:
    """Return the operands of a call in order, with the tensor whose method it is."""
    found = _BINARY.match(node.expression)
    if found:
        return [found[1], found[3]]
    owner = node.target.rpartition(".")[0]
    given = [part.strip() for part in node.arguments.strip("()").split(",") if part.strip()]
    return given if not owner or owner.startswith("torch") else [owner, *given]


def words(node: Node) -> set[str]:
    """Return all names that a node reads."""
    owner = node.target.partition(".")[0]
    return set(_WORD.findall(f"{owner} {node.arguments} {node.expression}"))


def renamed(nodes: Sequence[Node]) -> list[Node]:
    """Return nodes of which those after a call in place read its result, not the tensor's name.

    ``s.masked_fill_(m, -inf)`` has a label of its own, and ``s`` is what is read afterwards.
    """
    now: dict[str, str] = {}
    found = []
    for node in nodes:
        read = _reading(node, now) if now else node
        found.append(read)
        called = node.target.rpartition(".")[2]
        if called.endswith("_") and not called.startswith("_") and operands(node):
            now[operands(node)[0]] = node.label
    return found


def _reading(node: Node, now: dict[str, str]) -> Node:
    if now.keys().isdisjoint(words(node)):
        return node

    def swap(found: re.Match[str]) -> str:
        return now.get(found[0], found[0])

    owner, dot, rest = node.target.partition(".")
    return node.model_copy(
        update={
            "target": f"{now.get(owner, owner)}{dot}{rest}",
            "arguments": _WORD.sub(swap, node.arguments),
            "expression": _WORD.sub(swap, node.expression),
        }
    )
