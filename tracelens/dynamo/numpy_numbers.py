"""Attributes that hold a NumPy number: Dynamo traces them as tensors, and reading them breaks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracelens.evidence import Table

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.logs.guards import GuardTree

__all__ = ["look_for_numbers"]

#: A tensor without dimensions, which is made of an attribute: ``self.hop_length = np.prod(...)``.
_NUMBER = re.compile(
    r"check_tensor\(___from_numpy\(L\['\w{1,60}'\](?:\._modules\['\w{1,60}'\]){0,20}"
    r"\.(\w{1,60})\), [^\[]{1,200}\bsize=\[\]"
)
#: What is a tensor of torch under such a name, in another class.
_TENSOR = re.compile(
    r"check_tensor\(L\['\w{1,60}'\](?:\._modules\['\w{1,60}'\]){0,20}"
    r"(?:\._(?:buffers|parameters)\['(\w{1,60})'\]|\.(\w{1,60})), "
)
#: With these a line reads a number of its own.
_READS = re.compile(r"\.(?:item|tolist)\(")

_ATTRIBUTE = re.compile(r"\bself\.(\w{1,60})")

_Process = tuple[str, str]


def look_for_numbers(found: Iterable[BreakSite], trees: Table[GuardTree]) -> None:
    """Write down at each break the attribute of its line that is a NumPy number, by the guards."""
    for site in found:
        attributes = _ATTRIBUTE.findall(site.line.code)
        if not attributes or _READS.search(site.line.code):
            continue
        held = trees.derived(_held)
        processes = {place.process for place, _ in site.events}
        read = (name for name in attributes if any(name in held.get(one, ()) for one in processes))
        site.held_by_numpy = next((f"self.{name}" for name in read), "")


def _held(trees: Table[GuardTree]) -> dict[_Process, set[str]]:
    """Return the names of nothing but such attributes, by the process that has them."""
    held: dict[_Process, set[str]] = {}
    tensors: dict[_Process, set[str]] = {}
    for row in trees:
        checks = [guard.expression for guard in row.record.guards]
        numbers = {match[1] for match in map(_NUMBER.match, checks) if match}
        others = {match[1] or match[2] for match in map(_TENSOR.match, checks) if match}
        for place in row.places if numbers or others else ():
            held.setdefault(place.process, set()).update(numbers)
            tensors.setdefault(place.process, set()).update(others)
    return {process: names - tensors[process] for process, names in held.items()}
