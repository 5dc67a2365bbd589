"""What the guards of a log say about the program as a whole."""

from __future__ import annotations

import re

from tracelens.evidence import Table
from tracelens.logs.guards import GuardTree

__all__ = ["one_module", "varies_or_broadcasts", "without_gradients"]

#: What a module holds itself; what stands before it is the module.
_MEMBERS = re.compile(r"\._parameters|\._buffers|\.(?:weight|bias)$")
#: A tensor that an entry takes, with its sizes; a parameter is of the same size in each call.
_TAKEN = re.compile(r"check_tensor\((?P<source>[^,]{1,400}), Tensor, ")
_ONE_OR_SYMBOL = re.compile(r", size=\[(?:[^\]]{0,400}, )?(?:1|None)[,\]]")


def one_module(trees: Table[GuardTree]) -> bool:
    """Tell whether all that the guards say of modules is about a single one, in one frame.

    Then there is no other module that could be compiled in its place, if it is not itself a child.
    """
    return trees.derived(_one_module)


def _one_module(trees: Table[GuardTree]) -> bool:
    held: dict[int, set[str]] = {}
    modules: set[tuple[str, str]] = set()
    for place, row in trees.events():
        named = held.get(id(row.record))
        if named is None:
            named = held[id(row.record)] = _modules(row.record)
        modules.update((place.frame.partition("/")[0], name) for name in named)
        if len(modules) > 1:
            return False
    return len(modules) == 1 and "_modules[" not in next(iter(modules))[1]


def _modules(tree: GuardTree) -> set[str]:
    """Return the modules whose members a tree guards."""
    return {
        _MEMBERS.split(guard.source)[0]
        for guard in tree.guards
        if guard.is_manager and _MEMBERS.search(guard.source)
    }


def varies_or_broadcasts(trees: Table[GuardTree]) -> bool:
    """Tell whether an input of any entry has a size of 1, or one that is a symbol.

    Strides are normalised there in some operators and not in others, so that results of the same
    size differ in layout.
    """
    return trees.derived(_varies_or_broadcasts)


def _varies_or_broadcasts(trees: Table[GuardTree]) -> bool:
    return any(
        (found := _TAKEN.match(guard.expression))
        and "_buffers" not in found["source"]
        and _ONE_OR_SYMBOL.search(guard.expression)
        for row in trees
        for guard in row.record.guards
    )


def without_gradients(trees: Table[GuardTree]) -> bool | None:
    """Tell whether every compiled frame demands that gradients are off; None where none says."""
    states = {
        guard.state.get("grad_mode")
        for row in trees
        for guard in row.record.guards
        if guard.is_global
    }
    return None if not states or None in states else not any(states)
