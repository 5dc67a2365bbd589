"""What a module makes anew, larger, where a call needs more: a table of positions, and its length.

The line that the guard stands for asks whether what is there is enough. One call with the largest
input, before anything is compiled, leaves what all later calls find.
"""

from __future__ import annotations

import re

from tracelens.rules.rcp._data import RecompileData, is_global

__all__ = ["CALL_LARGEST", "FILLED", "is_filled"]

#: Why a size is no symbol: that of a tensor of a module's is a constant.
FILLED = "filled"
#: A size with more digits is none.
MAX_DIGITS = 12
#: What is compared, behind ``<`` and before it: a number, or the size of a tensor.
_BEHIND = r"[<>]=? {{0,2}}(?:len\()?[\w.]{{0,60}}\b{0}\b"
_BEFORE = r"\b{0}\b(?:\)|\.shape\[-?\d\]|\.size\(-?\d\))? {{0,2}}[<>]"
#: How a buffer is called by its path.
_KEPT = re.compile(r"(?:\._buffers\['(\w{1,80})'\]|\.(\w{1,80}))\Z")


def is_filled(data: RecompileData) -> bool:
    """Whether the line asks if what a module has kept so far is enough, and that only grows."""
    kept = _KEPT.search(data.source)
    if kept is None or is_global(data):
        return False
    name = re.escape(kept[1] or kept[2])
    if not any(re.search(asks.format(name), data.code) for asks in (_BEHIND, _BEFORE)):
        return False
    sizes = [int(one) for one in data.values if one.isdecimal() and len(one) < MAX_DIGITS]
    return 1 < len(sizes) == len(data.values) and sizes == sorted(set(sizes))


#: What the advice of both rules says after what grows.
CALL_LARGEST = (
    " grows where a call needs more than is there: a module keeps what its calls have made so far. "
    "Call the model once before it is compiled, as it is called later, with the largest input that "
    "will come."
)
