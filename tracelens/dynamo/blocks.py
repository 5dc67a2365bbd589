"""Blocks that a compiled model repeats, as far as its guards name them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.late import late

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.guards import GuardTree

__all__ = ["SIZED", "Blocks", "are_constants", "repeated"]

#: A numbered module, and the first part of it, which has a name: ``layers[3].attention``.
_PART = late(r"\._modules\['(\d{1,6})'\]\._modules\['([A-Za-z_][^']{0,80})'\]")
#: Behind it, the modules on the way to a part, and a parameter.
_WITHIN = late(r"(?:\._modules\['[^']{1,80}'\]){1,40}(?:\._parameters\['[^']{1,80}'\])?")
#: A global or an argument that holds the module, or the module whose ``forward`` is compiled.
_ROOT = late(r"[GL]\['([A-Za-z_]\w{0,80})'\]\._modules")
#: What a tensor is checked for: where it is, and its size.
SIZED = re.compile(r"check_tensor\(([^,]{1,600}), .{1,400}?size=\[([\d, ]{0,80})\]")
_PARAMETER = re.compile(r"___check_obj_id\([^,]{1,600}\._parameters\['[^']{1,80}'\],")
_NAME = late(r"\._modules\['([^']{1,80})'\]")
#: How an input of a graph is called after where it is: all but letters and digits is one ``_``.
_MANGLED = late(r"[^A-Za-z0-9]+")
_INPUT = late(r"_modules_(\d{1,6})_(?=modules_[A-Za-z])")


class Blocks(NamedTuple):
    """Modules of one list that have the same parts."""

    number: int = 0
    #: The list, behind the module that is compiled: ``.encoder.layers``.
    path: str = ""
    #: What the code calls the module; empty where it is the compiled one itself.
    root: str = ""


def are_constants(trees: Table[GuardTree]) -> bool:
    """Whether guards ask for the very objects that are the model's parameters, as freezing does."""
    return any(
        guard.kind == "ID_MATCH" and _PARAMETER.match(guard.expression)
        for row in trees
        for guard in row.record.guards
    )


def repeated(trees: Table[GuardTree], graphs: Table[FxGraph] | None = None) -> Blocks:
    """Return the longest list of modules that are alike and make up most of the model.

    Plain layers are nothing that is worth to be compiled by itself, and neither are containers,
    which are not called: only modules whose parts have names count. Alike are those that hold the
    same parts at every depth, with the same parameters in the same sizes, as far as guards check
    them or graphs list them: a wrapper of any layer has a part of one name, the nodes of an
    expression have other operands, and stages of a network differ in their widths. What is compiled
    block by block leaves the rest eager: a list that holds little of the model is none.
    """
    found: defaultdict[str, defaultdict[str, set[str]]]
    found = defaultdict(lambda: defaultdict(set))
    sizes: dict[tuple[str, str], None] = {}
    for row in trees:
        for guard in row.record.guards:  # thousands of guards: without a property between
            if guard.kind.endswith("Manager"):
                if "._modules" in guard.source:
                    sizes[guard.source, ""] = None
            elif "._modules" in guard.expression and (sized := SIZED.match(guard.expression)):
                sizes[sized[1], sized[2]] = None
    sources = {source for source, _ in sizes if "._modules" in source}
    for source, size in sizes:
        for part in _PART.finditer(source):
            own = found[source[: part.start()]][part[1]]
            if within := _WITHIN.match(source, part.end(1) + 2):
                own.add(within[0] + (size if within.end() == len(source) else ""))
    if not found:
        return Blocks()
    _add_sizes(found, graphs or ())
    most = {key: _alike(own) for key, own in found.items()}
    held = _held(sources, most)
    longest = [key for key, names in most.items() if 2 * held[key] >= len(sources) and names]
    if not longest:
        return Blocks()
    source = max(longest, key=lambda key: len(most[key]))
    names = [f"[{name}]" if name.isdecimal() else f".{name}" for name in _NAME.findall(source)]
    root = _ROOT.match(source)
    name = root[1] if root and root[1] != "self" else ""
    return Blocks(len(most[source]), "".join(names), name)


def _add_sizes(
    found: Mapping[str, Mapping[str, set[str]]], graphs: Iterable[Seen[FxGraph]]
) -> None:
    """Add the sizes of the parameters that graphs are given, which no guard checks."""
    known = {_MANGLED.sub("_", source).strip("_"): own for source, own in found.items()}
    for row in graphs:
        for one in row.record.inputs if row.record.traced else ():
            for part in _INPUT.finditer(one.input):
                own = known.get(one.input[: part.start()], {}).get(part[1])
                if own is not None:
                    own.add(f"{one.input[part.end() :]} {getattr(one.type, 'shape', '')}")


def _alike(own: Mapping[str, set[str]]) -> frozenset[str]:
    """Return the names of the most modules that hold the same."""
    alike: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for name, parts in own.items():
        alike[frozenset(parts)].append(name)
    most: list[str] = max(alike.values(), key=len, default=[])
    return frozenset(most)


def _held(sources: Iterable[str], most: Mapping[str, frozenset[str]]) -> Counter[str]:
    """Count what each list's modules that are alike hold."""
    held: Counter[str] = Counter()
    for source in sources:
        for part in _PART.finditer(source):
            key = source[: part.start()]
            held[key] += part[1] in most[key]
    return held
