"""A break in what a loop calls: without it the loop is unrolled, once for each number of rounds."""

from __future__ import annotations

import re

from tracelens.dynamo import user_code
from tracelens.report.stories import as_written
from tracelens.rules.gbr._break_data import BreakData

__all__ = [
    "called_in_loop",
    "goes_over_modules",
    "named_calls",
    "round_of",
    "unrolls",
    "what_goes_round",
]

MAX_CALLS = 3
#: What an object holds: ``for e, expert in enumerate(self.experts):``.
_HELD = re.compile(r" in (?:(?:enumerate|zip|reversed|list)\()?self\.\w{1,60}(?=[:,)])")


def unrolls(data: BreakData) -> bool:
    """Whether a loop was given up whose rounds may be more or fewer in another call."""
    loop = data.loop
    return loop is not None and loop.is_open and bool(data.skipped) and not data.package


def goes_over_modules(data: BreakData) -> bool:
    """Whether it is a loop over modules that was given up, or over others that are held."""
    return data.loop is not None and (
        not data.loop.code or _HELD.search(data.loop.code) is not None
    )


def called_in_loop(data: BreakData) -> bool:
    """Whether the loop of another function, which was given up, calls that of the break."""
    is_own = not (data.package or data.leaves) and data.function.isidentifier()
    if data.loop is None or not (data.skipped and is_own):
        return False
    lost = {as_written(one) for one in data.lost}
    at = next((n for n, one in enumerate(data.stack) if one.function == data.function), 0)
    return at > 0 and data.stack[at - 1].function in lost and data.function != "forward"


def round_of(data: BreakData) -> str:
    """Return the function with the break, where a loop of varying rounds calls it; else nothing."""
    return data.function if unrolls(data) and called_in_loop(data) else ""


def what_goes_round(data: BreakData) -> str:
    """Say which loop it is, and what becomes of it without the break."""
    at = user_code.short(data.loop.file, data.loop.line) if data.loop else ""
    code = data.loop.code.rstrip(":") if data.loop else ""
    return (
        f"without the break, the loop at {at} (`{code}`) would be unrolled, and each number of "
        "rounds compiled by itself"
    )


def named_calls(data: BreakData) -> str:
    """Name what the loop calls; nothing where the record does not print its body."""
    calls = data.loop.calls if data.loop is not None else ()
    named = [name for name in calls if f"{name}(" not in data.code]
    return ", ".join(f"`{name}`" for name in named[:MAX_CALLS])
