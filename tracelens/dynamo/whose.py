"""Whose a statement of a graph is: of which modules, by the parameters that it is computed from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph, Node, Origin

__all__ = ["Whose", "whose"]

#: Statements of one graph that are read.
MAX_STATEMENTS = 20_000
#: A name in a statement that is no function, no attribute and no keyword.
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*\b(?!\s*=[^=])")
#: A part of a tensor, or one of several results: which part is a matter of who asks for it.
_PART = re.compile(r"_\[.{1,300}\]|_\.(?:select|narrow|split|chunk|unbind)\(.{0,300}\)")


class Whose(NamedTuple):
    """A statement that computes something."""

    node: Node
    origin: Origin | None
    #: What it says without names of tensors, with what those say that no parameter is in: a
    #: constant is told by how it is made, and a part of an input by nothing.
    text: str
    #: The modules that it is computed from, however indirectly, and those whose parameters it
    #: is given itself; a bit each.
    mask: int
    given: int
    #: The names that it is given of what is of no module.
    outer: frozenset[str]

    @property
    def line(self) -> tuple[str, int] | None:
        """Return the user's line that it comes from."""
        return (self.origin.file, self.origin.line) if self.origin else None

    @property
    def code(self) -> str:
        """Return what stands there."""
        return self.origin.code if self.origin else ""


def whose(graph: FxGraph, owners: Mapping[str, int]) -> Iterator[Whose]:
    """Yield the statements. ``owners`` has the module of each parameter among the inputs."""
    inputs = {one.input for one in graph.inputs}
    masks = {name: owners.get(name, 0) for name in inputs}
    direct = dict(masks)
    texts = dict.fromkeys(inputs, "_")
    for node, origin in islice(graph.calls(), MAX_STATEMENTS):
        if node.expression in inputs:  # a name for an input
            for known in (masks, direct):
                known[node.label] = known[node.expression]
            texts[node.label] = "_"
            continue
        text = f"{node.target}{node.arguments}" if node.target else node.expression
        named = [name for name in _NAME.findall(text) if name in masks]
        mask = given = 0
        for name in named:
            mask |= masks[name]
            given |= direct.get(name, 0)
        plain = _NAME.sub(lambda found: texts.get(found[0], found[0]), text)
        masks[node.label] = mask
        texts[node.label] = "_" if mask or _PART.fullmatch(plain) else f"<{hash(plain)}>"
        if not node.is_symbol:
            outer = frozenset(name for name in named if not masks[name])
            yield Whose(node, origin, plain, mask, given, outer)
