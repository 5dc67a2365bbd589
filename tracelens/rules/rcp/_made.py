"""Numbers that a function makes a tensor of, which whoever calls it can make as well."""

from __future__ import annotations

import re

from tracelens.remedies import Remedy
from tracelens.rules.rcp._data import RecompileData
from tracelens.rules.rcp._operations import lines_of

__all__ = ["MAKE_BEFORE", "made_of"]

#: Lines that make a tensor of a number, as ``t = torch.full((len(x),), t)`` does.
_MADE = (
    r"\w{1,60} = (?:torch\.(?:full|tensor|as_tensor)|[\w.]{1,60}\.new_(?:full|tensor))\("
    r"(?:[^()\n]|\([^()\n]{0,80}\)){0,200}?(?<![\w.])"
)


def made_of(data: RecompileData) -> str:
    """Return the line that makes a tensor of an argument: ``t = torch.full((len(x),), t)``."""
    if data.package or not data.is_variable:
        return ""
    made = re.compile(rf"{_MADE}{re.escape(data.source)}\b")
    return next((line.strip() for line in lines_of(data) if made.match(line.strip())), "")


MAKE_BEFORE = Remedy(
    "make-before",
    lambda data: (
        f"`{made_of(data)}` makes a tensor of it: do that before the compiled function is called, "
        "and pass the tensor in place of the number."
    ),
    when="an argument of a function of your own, of which a line makes a tensor: `torch.full`, "
    "`torch.tensor`",
    applies=lambda data: data.held == "number" and bool(made_of(data)),
    since="2.6",
    basis="tested",
    proof="tests/advice/RCP005/make-before.py",
)
