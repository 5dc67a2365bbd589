"""Tensors of a traced graph that are written into: their names do not tell what they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a log without such graphs does without their models
    from tracelens.logs.graph_code import Node

__all__ = ["changes_in_place"]

#: ``z[(slice(None, None, None), 0)] = 1``, ``z *= 2``
_WRITTEN = re.compile(r"\s{0,40}(\w{1,200})(?:\[.{1,400}\] [-+*/]{0,2}| [-+*/]{1,2})= ")


def changes_in_place(body: str, nodes: Iterable[Node]) -> Counter[str]:
    """Count how often each tensor is written into: by calls in place, by ``z[0] = 1``."""
    found = Counter(line[1] for line in map(_WRITTEN.match, body.split("\n")) if line)
    for node in nodes:
        name = node.target.rpartition(".")[2]
        if name.endswith("_") or "inplace = True" in node.arguments:
            owner = node.target.partition(".")[0]
            first = node.arguments.strip("()").partition(",")[0]
            found[first if owner == "torch" else owner] += 1
    return found
