"""Functions of the program's own that a compiled function of its own calls."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.evidence import Table
from tracelens.logs.graph_breaks import StackFrame
from tracelens.logs.guards import GuardTree

__all__ = ["look_for_helpers"]


def look_for_helpers(found: Iterable[BreakSite], trees: Table[GuardTree]) -> None:
    """Note of each break whether its function is called by a line that guards show as compiled.

    Stacks begin outside of compiled code, and do not say where that begins; a ``forward`` is taken
    for compiled where the log has no guards.
    """
    for site in found:
        line = _caller(site)
        if line is not None and len(trees):
            site.is_helper = (line.line, line.function) in trees.derived(_guarded)
        elif line is not None:
            site.is_helper = line.function == "forward"
        if line is not None and site.is_helper:
            site.helper_at = _placed(line, site.line.function, trees)


def _caller(site: BreakSite) -> StackFrame | None:
    """Return the program's own line that calls the function with the break, of its own as well."""
    own, stack = site.line, site.stack
    at = next((n for n, one in enumerate(stack) if one.function == own.function), 0)
    line = stack[at - 1] if at > 0 else None
    if line is None or line.function.startswith("<") or own.function == "forward":
        return None
    near = user_code.distance(own.file) == 0 and not user_code.package(own.file)
    return line if near and user_code.distance(line.file, line.function) == 0 else None


def _placed(line: StackFrame, name: str, trees: Table[GuardTree]) -> str:
    """Return whether the line ends its function with that call, or stands behind others."""
    called = re.match(r"return (?:\w{1,60}\.){0,4}(\w{1,80})\(", line.code)
    if called and called[1] == name:
        return "end"
    guarded = trees.derived(_guarded)
    return "later" if any(at < line.line and of == line.function for at, of in guarded) else ""


def _guarded(trees: Table[GuardTree]) -> set[tuple[int, str]]:
    """Return the lines for which guards stand: they are compiled."""
    comments = (guard.comment for row in trees for guard in row.record.guards)
    return {(one.line, one.function) for one in comments if one is not None}
