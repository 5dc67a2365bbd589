"""Bodies of classes: Python calls each as code of its own, to make the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.logs.graph_breaks import GraphBreak

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tracelens.dynamo.breaks import BreakSite

__all__ = ["in_class_body", "leave_out_bodies"]


def in_class_body(record: GraphBreak) -> bool:
    """Tell whether a graph breaks in the body of a class: only there a name is loaded as one."""
    context = record.cause.context if record.cause else None
    return context is not None and context.other.startswith("LOAD_NAME ")


def leave_out_bodies(sites: Iterable[BreakSite]) -> None:
    """Leave out the breaks in a body at the line that defines it, which breaks the graph, too.

    Nothing is lost with the body that is not with the statement. Where the log has the body alone,
    it stays.
    """
    for site in sites:
        kept = [event for event in site.events if not in_class_body(event[1].record)]
        if kept and len(kept) < len(site.events):
            site.events = kept
            site.stack = max((seen.record.stack for _, seen in kept), key=len)
