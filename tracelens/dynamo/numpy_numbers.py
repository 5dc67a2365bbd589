"""Attributes that hold a NumPy number: Dynamo traces them as tensors, and reading them breaks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.late import late

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.logs.guards import GuardTree

__all__ = ["look_for_floats", "look_for_numbers"]

#: A tensor without dimensions, which is made of an attribute: ``self.hop_length = np.prod(...)``.
_NUMBER = late(
    r"check_tensor\(___from_numpy\(L\['\w{1,60}'\](?:\._modules\['\w{1,60}'\]){0,20}"
    r"\.(\w{1,60})\), [^\[]{1,200}\bsize=\[\]"
)
#: What is a tensor of torch under such a name, in another class.
_TENSOR = late(
    r"check_tensor\(L\['\w{1,60}'\](?:\._modules\['\w{1,60}'\]){0,20}"
    r"(?:\._(?:buffers|parameters)\['(\w{1,60})'\]|\.(\w{1,60})), "
)
#: With these a line reads a number of its own.
_READS = late(r"\.(?:item|tolist)\(")

#: A buffer or a parameter, by its name and dtype.
_KEPT = late(
    r"check_tensor\(L\['\w{1,60}'\](?:\._modules\['\w{1,60}'\]){0,20}"
    r"\._(?:buffers|parameters)\['(\w{1,60})'\], [^\[]{0,160}\btorch\.(\w{1,20}), device"
)
#: A line that reads nothing but a number of the module's: ``s = self.scale.item()``.
_READ = late(r"\bself\.(\w{1,60})\.item\(")

_ATTRIBUTE = late(r"\bself\.(\w{1,60})")

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


def look_for_floats(found: Iterable[BreakSite], trees: Table[GuardTree]) -> None:
    """Write down at each break whether what its line reads of the module is a float: no counter."""
    for site in found:
        names = _READ.findall(site.line.code)
        kinds = trees.derived(_kinds) if names else {}
        held = [kinds.get((place.process, name)) for place, _ in site.events for name in names]
        known = {one for one in held if one is not None}
        site.reads_float = bool(known) and all(one == {True} for one in map(set, known))


def _kinds(trees: Table[GuardTree]) -> dict[tuple[_Process, str], frozenset[bool]]:
    """Return of which kinds buffers and parameters are, by process and name: True is a float."""
    found: dict[tuple[_Process, str], frozenset[bool]] = {}
    for row in trees:
        checks = [match for g in row.record.guards if (match := _KEPT.match(g.expression))]
        for place in row.places if checks else ():
            for one in checks:
                key = (place.process, one[1])
                found[key] = found.get(key, frozenset()) | {"float" in one[2]}
    return found


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
