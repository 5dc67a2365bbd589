"""What a graph break does to the compiled code, and what of a function was given up behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.logs.graph_breaks import StackFrame
from tracelens.report.stories import given_up

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite

__all__ = ["effect", "note_resumed", "rests_given_up"]

_REST = re.compile(r"torch_dynamo_resume_in_(\w{1,80}?)_at_(\d{1,6})\Z")
#: What the call of a module goes through; it is not in the stack of one that is traced into.
_MODULE = "torch/nn/modules/module.py"
#: Its frames in a call.
PER_CALL = 2
#: How a record begins of a break behind which nothing of the function is compiled.
_UNRESUMED = "then skipping the rest of the function"


def effect(site: BreakSite) -> str:
    """Return what the break does to the compiled code."""
    if not site.skipped:
        is_last = all(_UNRESUMED in seen.record.wrapper for _, seen in site.events)
        rest = "the rest of the compiled function, as Dynamo cannot resume behind it"
        what = rest if is_last else "what comes until the next one"
        return f"The graph ends here, and Python runs {what}, {_when(site)}"
    what = ", ".join(dict.fromkeys(map(given_up, site.lost))) or _left(site)
    times = "" if site.skipped == site.count else f" In {site.skipped} of {site.count} cases"
    return f"{times or ' Here'} Dynamo gave up {what}, which runs eagerly.".strip()


def _when(site: BreakSite) -> str:
    if not site.only_if:
        return "in every call."
    said = f"in calls where `{site.only_if}`."
    if not site.passes:
        return said
    return (
        f"{said} That passes with the first; later ones do not come here, but run what was "
        "compiled around it where that still fits."
    )


def _left(site: BreakSite) -> str:
    if not site.resumed:
        return "the whole function"
    return f"the rest of `{site.line.function}` behind line {site.resumed}"


def note_resumed(sites: Iterable[BreakSite]) -> None:
    """Note of each function given up behind which line of it an earlier break was resumed.

    What is compiled behind a break is a code object of its own, with a number of its own, and
    records since torch 2.11 print it by the name of the function that it is cut out of. Two
    functions of one file may share a name, so the same line has to call both.
    """
    resumed: dict[tuple[StackFrame, str, str], tuple[int, set[str]]] = {}
    for site in sites:
        by = _called_by(site)
        if by is None:
            continue
        line, numbers = site.line, _numbers(site)
        key = by, line.file, line.function
        if not site.skipped:
            resumed[key] = line.line, numbers
        elif not site.lost and key in resumed:
            last, others = resumed[key]
            site.resumed = last if last < line.line and not others & numbers else 0


def _called_by(site: BreakSite) -> StackFrame | None:
    """Return the line of the program, or of a package, that calls the function that breaks."""
    line, stack = site.line, site.stack
    if not stack or (stack[-1].file, stack[-1].line) != (line.file, line.line):
        return None
    outer = list(reversed(stack[:-1]))
    passed = sum(1 for _ in takewhile(lambda one: one.file.endswith(_MODULE), outer))
    caller = outer[passed] if passed < len(outer) else None
    # Further calls of modules leave out what runs compiled between them.
    if caller is None or passed > PER_CALL or stack[-1].function != line.function:
        return None
    return None if user_code.distance(caller.file, caller.function) > 1 else caller


def _numbers(site: BreakSite) -> set[str]:
    """Return the numbers of the code objects that the records are of."""
    return {place.frame.partition("/")[0] for place, _ in site.events}


def rests_given_up(sites: Iterable[BreakSite]) -> dict[tuple[str, str, int], BreakSite]:
    """Return the lines behind which the rest of their function is given up, and for which break."""
    found: dict[tuple[str, str, int], BreakSite] = {}
    for site in sites:
        line = site.line
        rests = [_REST.match(name) for name in site.lost if site.skipped]
        lines = [(rest[1], int(rest[2])) for rest in rests if rest]
        if site.resumed:
            lines.append((line.function, site.resumed))
        for function, at in lines:
            found.setdefault((line.file, function, at), site)
    return found
