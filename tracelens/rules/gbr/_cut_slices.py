"""Slices that end at a number read out of a tensor, through which a gradient may flow."""

from __future__ import annotations

from collections.abc import Callable

from tracelens.experiment import Knob
from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr._ranges import ends_at_item
from tracelens.rules.gbr._scalar_data import ScalarData
from tracelens.rules.gbr._site_rule import own

__all__ = ["CAPTURE", "capture_narrow", "captured", "cuts_gradient"]

CAPTURE = Knob(
    "scalars stay in the graph", config={"torch._dynamo.config.capture_scalar_outputs": True}
)


def captured(data: BreakData) -> str:
    """Say what capturing does, and what may be in later lines that the log does not hold."""
    text = (
        "Let Dynamo capture the number as a symbol. Where Python computes with it further on "
        "(math, NumPy, range, `if`), the graph breaks there instead"
    )
    if data.inference is True:
        return f"{text}."
    return (
        f"{text}; where a gradient flows through a slice that ends at it, Inductor raises: cut "
        "with `x.narrow(0, 0, n)` there."
    )


def cuts_gradient(data: BreakData) -> bool:
    """Whether a slice ends at the number, in code that may be in training.

    With the number captured, the gradient of such a slice raises in Inductor; ``narrow`` does not.
    """
    return data.inference is not True and bool(_cut(data) or ends_at_item(data))


def _cut(data: BreakData) -> str:
    return data.cut if isinstance(data, ScalarData) else ""


def capture_narrow(may_capture: Callable[[BreakData], bool]) -> Remedy:
    """Return what to do where nothing but the slice is in the way of a symbol."""
    return Remedy(
        "capture-narrow",
        lambda data: (
            "Let Dynamo capture the number as a symbol, and cut with `narrow` in place of the "
            f"slice in `{_cut(data) or data.code}`: through one that ends at a symbol, a gradient "
            "raises in Inductor. `narrow` raises where there are fewer elements than it is to take."
        ),
        when="a slice in the line, or in a later one, of your own ends at the number, gradients "
        "are not known to be off, and nothing else is in the way of a symbol",
        applies=lambda data: own(data) and cuts_gradient(data) and may_capture(data),
        code="torch._dynamo.config.capture_scalar_outputs = True\n"
        "y = y.narrow(0, 0, n)  # y[:n]: the dimension, where it starts, and how many",
        since="2.1",
        basis="tested",
        proof="tests/advice/GBR001/capture-narrow.py",
    )
