"""Lines whose number can stay a tensor, and those in which that only moves the break."""

from __future__ import annotations

import re

from tracelens.dynamo.reporting import is_statement
from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr._kept import is_counted
from tracelens.rules.gbr._number_lines import hands_on
from tracelens.rules.gbr._running import is_running
from tracelens.rules.gbr._scalar_data import becomes_size
from tracelens.rules.gbr._site_rule import own

__all__ = ["CONTROL", "KEEP_TENSOR", "is_fake"]

#: Lines in which Python goes one way or another, and what leaves torch with the number.
CONTROL = ("def ", "if ", "elif ", "while ", "for ", "assert ")
LEAVES = ("int(", "float(", "bool(", "range(", "math.", "np.", "numpy.", "print(", "return f", 'f"')
#: Tensors in a list are copied one by one by ``torch.tensor``, which breaks the graph again.
_LISTED = " Where `torch.tensor` makes one tensor of the list, call `torch.stack` in its place."
#: A list that is kept: of an object, or of a dict.
_GROWING = re.compile(r"(?:\]|\.\w{1,60})\.append\(")


def is_fake(data: BreakData) -> bool:
    """Whether a custom operator reads the number: what it has for fake tensors has no data."""
    return bool(data.stack) and data.stack[-1].file.endswith("torch/_library/custom_ops.py")


def _kept(data: BreakData) -> str | None:
    """Return the line with the tensor in place of its number; None where that is no advice.

    A number has no gradient: what is kept until the next step must not hold the graph of this one.
    """
    code = data.code
    if ".item()" not in code or code.startswith(CONTROL) or any(word in code for word in LEAVES):
        return None
    if is_statement(code) and ("append(" not in code or _GROWING.search(code)):
        return None  # whatever is called wants a number; each length of a kept list is an entry
    if is_running(code) or (is_counted(code) and not data.reads_float):
        return None  # what is computed with it further on, or a place in a queue
    return None if hands_on(code) else code.replace(".item()", ".detach()")


KEEP_TENSOR = Remedy(
    "keep-tensor",
    lambda data: (
        "Keep the number a tensor, and read it outside of the compiled function."
        f"{_LISTED if 'append(' in data.code else ''} Where Python decides by it further "
        "on (if, while, min, int, range, math), or it becomes a size (`zeros(n)`, `x[:n]`), the "
        "graph breaks there instead; `round` takes no tensor, `torch.round` does."
    ),
    when="`.item()` in a line of your own that only computes with the number, and no later "
    "line that the log shows decides by it, or makes a size of it",
    applies=lambda data: (
        own(data)
        and bool(_kept(data))
        and not (is_fake(data) or data.decides or becomes_size(data))
    ),
    code=_kept,
    basis="tested",
    proof="tests/advice/GBR001/keep-tensor.py",
)
