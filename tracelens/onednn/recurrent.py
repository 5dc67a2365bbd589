"""What the shape of a recurrent layer tells."""

from __future__ import annotations

from tracelens.late import late

__all__ = ["steps"]

#: ``l1t32mb5sic128slc256dhc128dic128``: layers, steps, batch, channels.
_SHAPE = late(r"l\d{1,9}t(\d{1,9})mb\d")


def steps(shape: str) -> int | None:
    """Return how many steps of a sequence one execution takes; None for other shapes."""
    found = _SHAPE.match(shape)
    return int(found[1]) if found else None
