"""What the guards of one compiled entry say of the values that it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracelens.evidence import Place, Table
from tracelens.late import late
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import MAX_DIGITS, Source

__all__ = [
    "Dimension",
    "entry_before",
    "entry_of",
    "has_symbols",
    "holds",
    "is_tensor",
    "is_token",
    "leaves_out",
    "of_compilation",
    "set_since",
    "symbolic",
    "takes_any_stride",
    "tensor_of",
]

#: An argument, or a part of one: ``L['x']``, ``L['batch']['image']``; no member of a module,
#: and nothing that waited on the stack for the graph to go on.
_TENSOR = late(
    r"check_tensor\(L\['(?!self'|___)(?P<name>\w{1,80})'\](?P<path>(?:\['\w{1,80}'\]|\[\d{1,4}\]){0,6}),"
)
_SIZES = late(r", size=\[(?P<sizes>[\d, None]{0,400})\]")
_STRIDES = late(r", stride=\[(?P<strides>[\d, None]{0,400})\]")
_TOKEN = late(r", torch\.int(?:64|32), .{0,80}, size=\[(?:\d{1,9}|None), 1\]")

#: The sizes that an entry with a symbol takes: ``2 <= L['x'].size()[0] <= 15``.
_FLAG = late(r"check_tensor\((?P<source>[^,]{1,400}), .{1,300}?requires_grad=(?P<flag>True|False)")
_PARAMETER = late(
    r"check_tensor\((?P<source>[^,]{1,400}\._parameters\[[^,]{1,90}), .{1,300}?"
    r"size=\[(?P<sizes>[^\]]*)\]"
)
_RANGE = late(
    r"(?:(?P<low>\d{1,18}) <= )?"
    r"L\['(?P<name>\w{1,80})'\](?P<path>(?:\['\w{1,80}'\]|\[\d{1,4}\]){0,6})"
    r"\.size\(\)\[(?P<index>\d{1,3})\](?: <= (?P<high>\d{1,18}))?$"
)

#: An attribute of the module, or of what it holds, by plain names.
_KEPT = r"(?P<source>L\['(?:self|args)'\](?:\[0\])?(?:\.\w{1,80}){1,8})"
_NONE = late(_KEPT + " is None$")
_EQUAL = late(_KEPT + r" == (?P<value>'[\w .-]{1,80}'|\d{1,18}|True|False)$")

#: An argument, and which of its dimensions.
Dimension = tuple[str, int]


def of_compilation(trees: Table[GuardTree], key: tuple[str, str, str]) -> list[GuardTree]:
    """Return the trees of one compilation, in the order of the input."""
    return trees.derived(_by_compilation).get(key, [])


def entry_of(place: Place, trees: Table[GuardTree]) -> list[GuardTree]:
    """Return the guards of the entry that a recompile at ``place`` made, after all restarts."""
    name = place.frame.partition("_")[0]
    found = trees.derived(_by_entry).get((*place.process, name), [])
    return found[-1:]


def entry_called(name: str, place: Place, trees: Table[GuardTree]) -> list[GuardTree]:
    """Return the guards of another entry of that process, such as one that failed: ``1/0``."""
    return trees.derived(_by_entry).get((*place.process, name), [])[-1:]


def entry_before(place: Place, trees: Table[GuardTree]) -> list[GuardTree]:
    """Return the guards of the entry that was compiled before that one."""
    name = place.frame.partition("_")[0]
    function, _, number = name.partition("/")
    if not number.isdecimal() or number == "0" or len(number) >= MAX_DIGITS:
        return []
    wanted = *place.process, f"{function}/{int(number) - 1}"
    return trees.derived(_by_entry).get(wanted, [])[-1:]


def set_since(old: list[GuardTree], new: list[GuardTree]) -> dict[str, str]:
    """Return what of the module is None in one entry and a constant in the next, with that.

    A recompile tells the first guard that fails. The entries are not the same in these either.
    """
    unset = {found["source"] for found in _matches(_NONE, old)}
    return {
        found["source"].replace("L['", "", 1).replace("']", "", 1): found["value"]
        for found in _matches(_EQUAL, new)
        if found["source"] in unset
    }


def parameter_sizes(trees: list[GuardTree]) -> dict[str, str]:
    """Return the sizes of the parameters that an entry guards, as torch prints them."""
    return {found["source"]: found["sizes"] for found in _matches(_PARAMETER, trees)}


def flags_of(trees: list[GuardTree]) -> dict[str, str]:
    """Return which tensors and parameters of an entry require a gradient: ``True``, ``False``."""
    return {found["source"]: found["flag"] for found in _matches(_FLAG, trees)}


def _matches(pattern: re.Pattern[str], trees: list[GuardTree]) -> Iterator[re.Match[str]]:
    for tree in trees:
        for guard in tree.guards:
            if found := pattern.match(guard.expression):
                yield found


def symbolic(trees: list[GuardTree]) -> tuple[Dimension, ...]:
    """Return the dimensions of arguments that are symbols in an entry."""
    return tuple(dict.fromkeys(one for tree in trees for one in _symbols(tree)))


def has_symbols(tree: GuardTree) -> bool:
    """Tell whether a size of any tensor is a symbol in an entry: it was not compiled static."""
    found = (_SIZES.search(guard.expression) for guard in tree.guards)
    return any("None" in one["sizes"] for one in found if one)


def holds(trees: list[GuardTree], source: str, index: int | None) -> bool:
    """Tell whether an entry is for one size of an argument, or for one number: without an index."""
    if index is None:
        head, dot, path = source.partition(".")
        asked = f"L['{head}']{dot}{path} == "
        return any(guard.expression.startswith(asked) for tree in trees for guard in tree.guards)
    for tree in trees:
        for guard in tree.guards:
            found = _TENSOR.match(guard.expression)
            sizes = _SIZES.search(guard.expression) if found else None
            if found and sizes and f"{found['name']}{found['path']}" == source:
                every = sizes["sizes"].split(",")
                return index < len(every) and every[index].strip().isdecimal()
    return False


def leaves_out(trees: list[GuardTree], source: str, index: int, size: int) -> str:
    """Return the range of an entry's symbol if ``size`` is outside it, as ``2 to 15``."""
    for tree in trees:
        for guard in tree.guards:
            found = _RANGE.match(guard.expression) if ".size()[" in guard.expression else None
            if not found or (f"{found['name']}{found['path']}", found["index"]) != (
                source,
                str(index),
            ):
                continue
            low, high = int(found["low"] or 0), found["high"]
            if size < low or (high and size > int(high)):
                return f"{low} to {high}" if high else f"{low} and more"
    return ""


def takes_any_stride(trees: list[GuardTree], source: str, index: int) -> bool:
    """Tell whether an entry has a symbol for the stride of an argument in a dimension."""
    for tree in trees:
        for guard in tree.guards:
            found = _TENSOR.match(guard.expression)
            strides = _STRIDES.search(guard.expression) if found else None
            if found and strides and f"{found['name']}{found['path']}" == source:
                every = strides["strides"].split(",")
                return index < len(every) and every[index].strip() == "None"
    return False


def tensor_of(trees: list[GuardTree], source: str) -> str:
    """Return the guard of an argument that is a tensor: its dtype, whether it has a gradient."""
    for tree in trees:
        for guard in tree.guards:
            found = _TENSOR.match(guard.expression)
            if found and f"{found['name']}{found['path']}" == source:
                return guard.expression
    return ""


def is_token(trees: list[GuardTree], source: str) -> bool:
    """Tell whether an entry takes one whole number per row: the next token of each sequence."""
    return any(
        f"{found['name']}{found['path']}" == source and _TOKEN.search(guard.expression)
        for tree in trees
        for guard in tree.guards
        if (found := _TENSOR.match(guard.expression))
    )


def is_tensor(trees: list[GuardTree], source: Source) -> bool:
    """Tell whether an entry guards the value as a tensor."""
    wanted = {f"{scope}['{source.name}']{source.path}" for scope in ("L", "G")}
    return any(
        above in wanted and guard.kind == "TENSOR_MATCH"
        for tree in trees
        for above, guard in tree.checks()
    )


def _symbols(tree: GuardTree) -> Iterator[Dimension]:
    for guard in tree.guards:
        found = _TENSOR.match(guard.expression)
        sizes = _SIZES.search(guard.expression) if found else None
        if found and sizes:
            for index, size in enumerate(sizes["sizes"].split(",")):
                if size.strip() == "None":
                    yield f"{found['name']}{found['path']}", index


def _by_compilation(trees: Table[GuardTree]) -> dict[tuple[str, str, str], list[GuardTree]]:
    found: dict[tuple[str, str, str], list[GuardTree]] = {}
    for place, seen in trees.events():
        found.setdefault(place.compilation, []).append(seen.record)
    return found


def _by_entry(trees: Table[GuardTree]) -> dict[tuple[str, str, str], list[GuardTree]]:
    found: dict[tuple[str, str, str], list[GuardTree]] = {}
    for (first, writer, frame), records in trees.derived(_by_compilation).items():
        found.setdefault((first, writer, frame.partition("_")[0]), []).extend(records)
    return found
