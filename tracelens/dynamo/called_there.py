"""What the methods of one module that lead to a graph break call besides."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tracelens.dynamo.breaks import BreakSite
from tracelens.dynamo.calls import (
    Called,
    Children,
    CompiledClasses,
    called_at,
    ends_of,
    original,
)
from tracelens.logs.graph_breaks import StackFrame

__all__ = ["called_there", "classes_at"]


def called_there(
    site: BreakSite, frame: StackFrame, called: Called, compiled: CompiledClasses
) -> Children:
    """Return the modules that the methods of one module call on the way to a break in ``frame``."""
    found: Children = {}
    for one in _callers(site, frame):
        found |= _called_in(one, frame, called, compiled)
    return found


def _callers(site: BreakSite, frame: StackFrame) -> Iterator[StackFrame]:
    """Yield the methods of the same module that lead to the one with a call, the inner one first.

    Where the graph breaks, each is compiled by itself, and its guards name what it calls.
    """
    way = site.stack[site.outside :]
    way = way[: way.index(frame) + 1]
    for caller, inner in reversed(list(pairwise(way))):
        if f"self.{inner.function}(" not in caller.code:  # perhaps of a base class
            break
        yield caller


def _called_in(
    line: StackFrame, inner: StackFrame, called: Called, compiled: CompiledClasses
) -> Children:
    """Return the modules that a method calls, of which a line is known that calls another one.

    What runs behind a break there names the class, or what the ``inner`` method calls does.
    """
    if near := called_at(line.file, (original(line.function), line.line), called):
        return near
    at = original(inner.function), inner.line
    within = (compiled.lines.get((path, *at), set()) for path in ends_of(inner.file))
    kinds = classes_at(line, compiled) or set().union(*within)
    found: Children = {}
    for path in ends_of(line.file) if len(kinds) == 1 else ():
        found |= compiled.calls.get((path, original(line.function), min(kinds)), {})
    return found


def classes_at(line: StackFrame, compiled: CompiledClasses) -> set[str]:
    """Return the classes of what is compiled behind a break at a line."""
    ends = [(path, original(line.function), line.line) for path in ends_of(line.file)]
    return {kind for at in ends for kind in compiled.resumed.get(at, ())}
