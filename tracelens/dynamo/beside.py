"""What is called beside the modules that lead to a graph break: it may be compiled instead."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.dynamo.breaks import BreakSite, sites
from tracelens.evidence import Table
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import Guard, GuardTree

__all__ = ["look_beside"]

_CHILD = re.compile(
    r"___check_type_id\(L\['self'\]((?:\._modules\['\w{1,60}'\]){1,20}), \d+\)"
    r", type=<class '([\w.]+)'>"
)
_PART = re.compile(r"'(\w+)'")
_RESUMED = re.compile(r"torch_dynamo_resume_in_(\w+)_at_\d+$")
#: They have no ``forward``: what they hold is called.
_HOLDERS = ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
#: Torch's modules of many operators; of any other, a graph of its own gains nothing.
_LARGE = re.compile(r"torch\.nn\.modules\.(?:container|transformer|rnn|activation\.Multihead)")
#: Functions with breaks below one module from which on it is as good as all of it.
CROWDED = 3


def look_beside(
    found: Iterable[BreakSite], breaks: Table[GraphBreak], trees: Table[GuardTree]
) -> None:
    """Write down at each break what is called beside it, where the guards name that.

    A break below which several functions break, beside which there is nothing but single layers,
    is marked as alone: to compile what is beside it would gain nothing.
    """
    led = [site for site in found if site.via]
    if not led:
        return
    called, below = trees.derived(_called), breaks.derived(_below)
    for site in led:
        name, frame = site.via[0]
        file = frame.file.replace("\\", "/")
        mates = {
            child: kind
            for (path, function), children in called.items()
            if function == _original(frame.function) and file.endswith(path)
            for child, kind in children.items()
            if child not in below
        }
        site.beside = tuple(child for child, kind in mates.items() if not _is_small(kind))
        site.alone = bool(mates) and not site.beside and len(below.get(name, ())) >= CROWDED


def _below(breaks: Table[GraphBreak]) -> dict[str, set[tuple[str, str]]]:
    """Return the functions in which the graph breaks below each module."""
    found: dict[str, set[tuple[str, str]]] = {}
    for site in sites(breaks):
        for name, _ in site.via[:1]:
            found.setdefault(name, set()).add((site.line.file, site.line.function))
    return found


def _called(trees: Table[GuardTree]) -> dict[tuple[str, str], dict[str, str]]:
    """Return the modules that each function calls, by its file and name, and their classes."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in trees:
        for guard in row.record.guards:
            if (child := _child(guard)) and guard.comment:
                at = (guard.comment.file, _original(guard.comment.function))
                found.setdefault(at, {}).setdefault(*child)
    return found


def _child(guard: Guard) -> tuple[str, str] | None:
    match = _CHILD.match(guard.expression) if guard.kind == "TYPE_MATCH" else None
    if match is None or match[2].endswith(_HOLDERS):
        return None
    return "self." + ".".join(_PART.findall(match[1])), match[2]


def _original(function: str) -> str:
    match = _RESUMED.match(function)
    return match[1] if match else function


def _is_small(kind: str) -> bool:
    return kind.startswith("torch.nn.modules.") and not _LARGE.match(kind)
