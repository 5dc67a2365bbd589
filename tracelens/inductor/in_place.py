"""Tensors of a traced graph that are written into: their names do not tell what they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracelens.inductor.nodes import name, operands
from tracelens.late import late

if TYPE_CHECKING:  # a log without such graphs does without their models
    from tracelens.logs.graph_code import Node

__all__ = ["Memory", "changes_in_place"]

#: ``z[(slice(None, None, None), 0)] = 1``, ``z *= 2``
_WRITTEN = late(r"\s{0,40}(\w{1,200})(?:\[.{1,400}\] [-+*/]{0,2}| [-+*/]{1,2})= ")
#: ``torch.mul(x, 2.0, out = h)``
_OUT = late(r"\bout = (\w{1,200})")
#: Operators whose result may be a view of their first operand.
_VIEWS = frozenset(
    {"_get_data_attr", "adjoint", "alias", "as_strided", "chunk", "contiguous", "cpu", "cuda"}
    | {"bfloat16", "double", "float", "half", "to", "type", "type_as", "imag", "real"}
    | {"detach", "diagonal", "expand", "expand_as", "broadcast_to", "flatten", "getitem", "ravel"}
    | {"dsplit", "hsplit", "split", "split_with_sizes", "tensor_split", "vsplit", "unbind"}
    | {"movedim", "moveaxis", "permute", "swapaxes", "swapdims", "t", "transpose"}
    | {"narrow", "requires_grad", "reshape", "reshape_as", "select", "slice", "squeeze"}
    | {"unflatten", "unfold", "unsqueeze", "view", "view_as", "view_as_complex", "view_as_real"}
)
_FIRST_WORD = late(r"\w{1,200}")


class Memory:
    """Which tensors of a traced graph share memory, and which of that is written into."""

    def __init__(self, nodes: Iterable[Node], changed: Iterable[str]) -> None:
        """Follow views to what they are views of."""
        self._of: dict[str, str] = {}
        for node in nodes:
            self._of[node.label] = self._owner(node)
        self._written = {self._of.get(label, label) for label in changed}

    def is_written(self, label: str) -> bool:
        """Whether what a tensor holds is written into, through it or any view."""
        return self._of.get(label, label) in self._written

    def _owner(self, node: Node) -> str:
        called = name(node)
        if called in _VIEWS or node.target.endswith("_"):
            first = next(iter(operands(node)), node.label)
        elif called:
            return node.label
        else:  # ``x[0]``, ``x.T``, or another name
            found = _FIRST_WORD.match(node.expression)
            first = found[0] if found else node.label
        return self._of.get(first, first)


def changes_in_place(body: str, nodes: Iterable[Node]) -> Counter[str]:
    """Count how often each tensor is written into: in place, as ``out``, or by ``z[0] = 1``."""
    found = Counter(line[1] for line in map(_WRITTEN.match, body.split("\n")) if line)
    for node in nodes:
        name = node.target.rpartition(".")[2]
        if name.endswith("_") or "inplace = True" in node.arguments:
            owner = node.target.partition(".")[0]
            first = node.arguments.strip("()").partition(",")[0]
            found[first if owner == "torch" else owner] += 1
        found.update(_OUT.findall(node.arguments))
    return found
