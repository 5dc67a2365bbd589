"""Blocks that a compiled model repeats, as far as its guards name them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from tracelens.evidence import Table

if TYPE_CHECKING:
    from tracelens.logs.guards import GuardTree

__all__ = ["Blocks", "repeated"]

#: A numbered module, and the first part of it, which has a name: ``layers[3].attention``.
_PART = re.compile(r"\._modules\['(\d{1,6})'\]\._modules\['([A-Za-z_][^']{0,80})'\]")
#: Behind it, the modules on the way to a part, and a parameter.
_WITHIN = re.compile(r"(?:\._modules\['[^']{1,80}'\]){1,40}(?:\._parameters\['[^']{1,80}'\])?")
#: A global or an argument that holds the module, or the module whose ``forward`` is compiled.
_ROOT = re.compile(r"[GL]\['([A-Za-z_]\w{0,80})'\]\._modules")
#: What a tensor is checked for: where it is, and its size.
_SIZE = re.compile(r"check_tensor\(([^,]{1,600}), .{1,400}?size=\[([\d, ]{0,80})\]")
_NAME = re.compile(r"\._modules\['([^']{1,80})'\]")


class Blocks(NamedTuple):
    """Modules of one list that have the same parts."""

    number: int = 0
    #: The list, behind the module that is compiled: ``.encoder.layers``.
    path: str = ""
    #: What the code calls the module; empty where it is the compiled one itself.
    root: str = ""


def repeated(trees: Table[GuardTree]) -> Blocks:
    """Return the longest list of modules that are alike.

    Plain layers are nothing that is worth to be compiled by itself, and neither are containers,
    which are not called: only modules whose parts have names count. Alike are those that hold the
    same parts at every depth, with the same parameters in the same sizes, as far as they are
    checked: a wrapper of any layer has a part of one name, the nodes of an expression have other
    operands, and stages of a network differ in their widths.
    """
    found: defaultdict[str, defaultdict[str, set[str]]]
    found = defaultdict(lambda: defaultdict(set))
    for row in trees:
        for guard in row.record.guards:
            if guard.is_manager:
                checked, source = None, guard.source
            elif checked := _SIZE.match(guard.expression):
                source = checked[1]
            else:
                continue
            for part in _PART.finditer(source) if "._modules" in source else ():
                own = found[source[: part.start()]][part[1]]
                if within := _WITHIN.match(source, part.end(1) + 2):
                    size = checked[2] if checked and within.end() == len(source) else ""
                    own.add(within[0] + size)
    if not found:
        return Blocks()
    most = {key: max(Counter(map(frozenset, own.values())).values()) for key, own in found.items()}
    source, number = max(most.items(), key=lambda one: one[1])
    names = [f"[{name}]" if name.isdecimal() else f".{name}" for name in _NAME.findall(source)]
    root = _ROOT.match(source)
    return Blocks(number, "".join(names), root[1] if root and root[1] != "self" else "")
