"""Dimensions of arguments that are to be marked dynamic."""

from __future__ import annotations

from tracelens.report import FindingData

__all__ = ["Mark", "dimensions"]


class Mark(FindingData):
    """A dimension of an argument."""

    name: str
    dimension: int


def dimensions(marks: tuple[Mark, ...]) -> str:
    """Return "dimensions 0 and 1 of what is passed as `x` and `y`, and dimension 1 of ..."."""
    by_name: dict[str, list[int]] = {}
    for one in marks:
        by_name.setdefault(one.name, []).append(one.dimension)
    names: dict[tuple[int, ...], list[str]] = {}
    for name, indices in by_name.items():
        names.setdefault(tuple(indices), []).append(f"`{name}`")
    return ", and ".join(
        f"dimension{'s' if len(indices) > 1 else ''} {' and '.join(map(str, indices))} of "
        f"what is passed as {', '.join(of)}"
        for indices, of in names.items()
    )
