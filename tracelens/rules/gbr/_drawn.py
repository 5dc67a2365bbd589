"""Numbers that Python's or NumPy's generator draws inside compiled code."""

from __future__ import annotations

from tracelens.dynamo import user_code
from tracelens.dynamo.drawn import drawn_by
from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData

__all__ = ["DRAW_OUTSIDE", "draws", "outside_of"]


def draws(data: BreakData) -> bool:
    """Whether the line, which no rule knows otherwise, draws a number with Python's generator."""
    is_own = bool(data.file) and not data.package and user_code.distance(data.file) == 0
    return is_own and data.family == "other" and drawn_by(data.code) == "Python"


def outside_of(data: BreakData) -> str:
    """Return what to do with a number that Python draws."""
    if "range(" in data.code:
        return (
            "Dynamo makes a tensor of a number that `random` draws in compiled code, and a `range` "
            "takes none. Draw it before the compiled function is called, and pass it in: each "
            "value is compiled once, so let there be few."
        )
    before = f" Or call `{data.function}` before it, and pass in what that returns."
    return (
        "Dynamo makes a tensor of a number that `random` draws in compiled code, and Python needs "
        "a number here. Draw it before the compiled function is called, and pass it in: an int "
        f"becomes a symbol when it changes.{before if data.is_helper else ''}"
    )


DRAW_OUTSIDE = Remedy(
    "draw-outside",
    outside_of,
    when="a number that Python's `random` draws in compiled code of your own",
    applies=draws,
    basis="tested",
    proof="tests/advice/GBR006/draw-outside.py",
)
