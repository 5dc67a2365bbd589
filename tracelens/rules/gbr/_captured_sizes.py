"""What to know where Dynamo is to capture a size that the data tell."""

from __future__ import annotations

from tracelens.rules.gbr._break_data import BreakData

__all__ = ["captured_size"]

_CAPTURED = (
    "Let Dynamo capture the unknown size. Inductor and eager take it; a backend of another vendor "
    "often does not. Where Python branches on the size further on (`if len(x) == 0`), or a view "
    "needs it, the graph breaks there: leave that out, if what follows takes an empty tensor "
    "(`max` raises)."
)
_IN_TRAINING = " In `backward()` Inductor may raise with it."


def captured_size(data: BreakData) -> str:
    """Say what to do, and what may be in the way further on."""
    return _CAPTURED + ("" if data.inference else _IN_TRAINING)
