"""A module that one graph calls again and again: it is traced and compiled anew for each call."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from tracelens.evidence import Table

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph

__all__ = ["CalledOften", "called_often"]

#: Calls from which on it is worth a word, and parameters and statements that make it more than a
#: layer: of a cell whose calls take microseconds, each call would cost more than it saves.
MIN_CALLS, MIN_PARAMETERS, MIN_STATEMENTS = 4, 8, 20
#: A parameter of a graph, by where it is: ``l_self_modules_model_modules_d1_parameters_weight_``.
_PARAMETER = re.compile(r"\bl_([a-z]\w{0,300}?)_modules_(\w{1,300}?)_parameters_\w{1,80}_\b")
#: What the code, or torch's own wrapper, calls the module that is compiled.
OF_MODULE = frozenset({"self", "fn"})
#: What a nested module begins with, in such a name.
_WITHIN = "_modules_"


class CalledOften(NamedTuple):
    """The module: how often the graph calls it, of how many statements."""

    times: int = 0
    statements: int = 0
    #: What holds it in the compiled function: ``self``, ``net``; and its name there: ``model``.
    root: str = ""
    name: str = ""
    #: The entries that call it so often, where others do not.
    entries: tuple[str, ...] = ()
    #: Those others, as far as their graphs are told.
    others: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """Return it as code has it: ``self.model``, ``net``."""
        return f"{self.root}.{self.name}" if self.name else self.root


def called_often(graphs: Table[FxGraph]) -> CalledOften:
    """Return the module that most of a traced graph calls, and whose calls share all weights.

    Each of its parameters is read by as many statements of the graph, and nothing else reads most.
    """
    found = [(_of(row.record), row) for row in graphs if row.record.traced]
    most = max((one for one, _ in found), key=lambda one: one.statements, default=CalledOften())
    same = [row for one, row in found if one.times and one.module == most.module]
    entries = {place.frame for row in same for place in row.places}
    every = {place.frame for _, row in found for place in row.places}
    others = tuple(sorted(every - entries))
    return most._replace(entries=tuple(sorted(entries)) if others else (), others=others)


def _of(graph: FxGraph) -> CalledOften:
    if graph.statements < MIN_CALLS * MIN_STATEMENTS or "_parameters_" not in graph.parameters:
        return CalledOften()
    uses: Counter[tuple[str, str, str]] = Counter()
    statements = 0
    for node in graph.nodes:
        if not node.target:
            continue
        statements += 1
        told = {found[0]: found for found in _PARAMETER.finditer(node.arguments)}
        uses.update((*_part(found), name) for name, found in told.items())
    parts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for (root, name, _), times in uses.items():
        parts[root, name].append(times)
    (root, name), most = max(parts.items(), key=lambda one: sum(one[1]), default=(("", ""), []))
    times = min(most, default=0)
    is_worth = times >= MIN_CALLS and len(most) >= MIN_PARAMETERS
    is_most = 2 * sum(most) > uses.total() and max(most, default=0) < 2 * times
    if not (is_worth and is_most and statements >= times * MIN_STATEMENTS):
        return CalledOften()
    return CalledOften(times, statements, root, name)


def _part(found: re.Match[str]) -> tuple[str, str]:
    """Return what holds a parameter: a module by its own name, or a part of the compiled one."""
    root = "self" if found[1] in OF_MODULE else found[1]
    return root, found[2].partition(_WITHIN)[0] if root == "self" else ""
