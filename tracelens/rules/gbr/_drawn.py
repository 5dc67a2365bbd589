"""Numbers that Python's or NumPy's generator draws inside compiled code."""

from __future__ import annotations

import re

from tracelens.dynamo import user_code
from tracelens.dynamo.drawn import drawn_by
from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData

__all__ = ["DRAW_OUTSIDE", "draws", "draws_width", "masked", "outside_of"]

#: A place that is drawn where a width is left: ``random.randint(0, n - w)``.
_PLACE = re.compile(
    r"\brandom\.(?:randint|randrange)\((?:[^()]|\([^()]{0,80}\)){0,120}?\s-\s*[A-Za-z_]\w{0,60}\s*\)"
)
_MASKED = """\
width = torch.randint(0, most + 1, ())
first = (torch.rand(()) * (n - width + 1)).long()
i = torch.arange(n)
x = x.masked_fill((i >= first) & (i < first + width), 0)"""


def draws(data: BreakData) -> bool:
    """Whether the line, which no rule knows otherwise, draws a number with Python's generator."""
    is_own = bool(data.file) and not data.package and user_code.distance(data.file) == 0
    return is_own and data.family == "other" and drawn_by(data.code) == "Python"


def draws_width(data: BreakData) -> bool:
    """Whether a number that is drawn is as wide as what another one is drawn for the place of.

    ``w = random.randint(0, 6); f = random.randint(0, n - w)``: a slice ``[f : f + w]``.
    """
    return bool(_PLACE.search(data.code))


def outside_of(data: BreakData) -> str:
    """Return what to do with a number that Python draws."""
    if "range(" in data.code.replace("randrange(", ""):
        return (
            "Dynamo makes a tensor of a number that `random` draws in compiled code, and a `range` "
            "takes none. Draw it before the compiled function is called, and pass it in: each "
            "value is compiled once, so let there be few."
        )
    text = (
        "Dynamo makes a tensor of a number that `random` draws in compiled code, and Python needs "
        "a number here. "
    )
    if draws_width(data):
        return (
            f"{text}Draw the width and the place with torch, and mask by comparing with "
            "`torch.arange` in place of a slice. Passed in as numbers, a width of 0 and one of 1 "
            f"are an entry each, and so is each combination of several.{_apart(data)}"
        )
    return (
        f"{text}Draw it before the compiled function is called, and pass it in: an int "
        "becomes a symbol when it changes, but 0 and 1, which are an entry each."
        f"{_apart(data)}"
    )


def _apart(data: BreakData) -> str:
    """Return where else the function may be called that draws."""
    if not data.is_helper:
        return ""
    return (
        f" Or call `{data.function}` uncompiled: before it, and pass in what that returns; or, "
        "where lines of the compiled function make its argument, between these and the rest, each "
        "compiled by itself."
    )


def masked(data: BreakData) -> str | None:
    """Return code that draws a width and a place as tensors."""
    return _MASKED if draws_width(data) else None


DRAW_OUTSIDE = Remedy(
    "draw-outside",
    outside_of,
    when="a number that Python's `random` draws in compiled code of your own",
    applies=draws,
    code=masked,
    basis="tested",
    proof="tests/advice/GBR006/draw-outside.py",
)
