"""How many layers a module holds, by the guards: what is most worth a graph of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.dynamo.calls import compiled_classes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tracelens.evidence import Table
    from tracelens.logs.guards import GuardTree

__all__ = ["Layers", "layer_counts", "most_first"]

#: Layers of a module, by its name in the module that calls it, and its class.
Layers = dict[tuple[str, str], int]


def layer_counts(trees: Table[GuardTree]) -> Layers:
    """Return how many modules are below each one; of an entry of a list, below the whole list."""
    found: Layers = {}
    for inside in trees.derived(compiled_classes).inside.values():
        below: dict[str, int] = {}
        for name in inside:
            parts = name.split(".")
            for end in range(2, len(parts)):
                above = ".".join(parts[:end])
                below[above] = below.get(above, 0) + 1
        for name, kind in inside.items():
            held, _, last = name.rpartition(".")
            count = below.get(held if last.isdecimal() else name, 0)
            found[name, kind] = max(count, found.get((name, kind), 0))
    return found


def most_first(names: Iterable[str], kinds: dict[str, str], layers: Layers) -> tuple[str, ...]:
    """Return modules, those with most layers first; else in the order given."""
    return tuple(sorted(names, key=lambda name: -layers.get((name, kinds.get(name, "")), 0)))
