"""Call a model once before it is compiled, where only the first call comes to a line."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.report import Advice
from tracelens.rules.gbr._break_data import BreakData

__all__ = ["FIRST_CALL", "first_alone"]

FIRST_CALL = Remedy(
    "first-call",
    lambda data: (
        "Call `model` once, with the first batch, before it is compiled: that call changes "
        f"`{data.until.partition(' ')[0]}`, and nothing that is compiled comes to this line, "
        "unless the program sets it back. Where the call also changes running statistics or "
        "counts, let it be the first step itself."
    ),
    when="a flag of a module that changes in the first call alone decides whether the line is "
    "reached",
    applies=lambda data: isinstance(data, BreakData) and bool(data.until),
    basis="tested",
    proof="tests/advice/GBR002/first-call.py",
)


#: What mends the whole of it: nothing else is to be done, and nothing to be looked for.
ALONE = frozenset({FIRST_CALL.id, "without-input-gradients"})


def first_alone(advice: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """Return the advice; where the first call is all that comes to the line, that alone."""
    return tuple(one for one in advice if one.id in ALONE) or advice
