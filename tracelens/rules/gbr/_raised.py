"""An exception that Dynamo met while it traced: its text, and breaks that are the same one."""

from __future__ import annotations

import ast
import re

from tracelens.dynamo.breaks import BreakSite

__all__ = ["raised", "reads_property", "same_exception"]

_RAISED = re.compile(r"raised exception (?P<type>[A-Za-z_]\w{0,80})\((?P<args>.{0,400})\)$")
#: What Dynamo raises where ``super().name`` is a property: it computes with the property itself.
_PROPERTY = re.compile(r"'property'")
_SUPER = re.compile(r"\bsuper\(\)\.\w+(?!\w|\()")
#: Lines of a stack at which two breaks of one exception meet.
MIN_STACK = 2


def raised(site: BreakSite) -> str:
    """Return what was raised, as Python prints it; empty where the record does not tell."""
    cause = site.record.cause
    told = cause.context.other if cause is not None and cause.context is not None else ""
    found = _RAISED.match(told)
    if found is None:
        return ""
    try:
        message = ast.literal_eval(found["args"])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return f"{found['type']}: {message}" if isinstance(message, str) else ""


def reads_property(site: BreakSite) -> bool:
    """Whether the line reads a property through ``super()``, which Dynamo does not call."""
    return bool(_PROPERTY.search(raised(site)) and _SUPER.search(site.line.code))


def same_exception(site: BreakSite) -> tuple[str, str, int] | None:
    """Return what breaks share that are one exception: its text and the line that leads there.

    Classes that override one property raise the same at a line each.
    """
    text = raised(site)
    if not text or len(site.stack) < MIN_STACK:
        return None
    above = site.stack[-2]
    return text, above.file, above.line
