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
    """Return the names of such attributes, by the process that has them."""
    held: dict[_Process, set[str]] = {}
    for row in trees:
        matches = (_NUMBER.match(guard.expression) for guard in row.record.guards)
        if names := {match[1] for match in matches if match}:
            for place in row.places:
                held.setdefault(place.process, set()).update(names)
    return held
