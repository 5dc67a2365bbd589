"""Floats that an object keeps and that compiled code computes with, held as constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.logs.recompiles import Recompile, ValueCheck

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite

__all__ = ["float_states", "state_at"]

#: Values that are held one after the other: a setting that was changed once is no state.
LEAST = 2


def float_states(recompiles: Table[Recompile]) -> dict[str, str]:
    """Return attributes such as ``self.time``, each of one file, that torch's own pass holds.

    With a symbol for such a float, a loop that is traced adds to it in each round, and the guard
    that torch makes of the sum may not hold in the call that it is made in: torch raises.
    """
    values: dict[tuple[str, str], set[str]] = {}
    for row in recompiles:
        for failure in row.record.failures:
            check, comment = failure.check, failure.comment
            if not isinstance(check, ValueCheck) or check.number is None or comment is None:
                continue
            name = str(check.source)
            if "." in name and "[" not in name and "tensorify" in comment.origin:
                at = row.record.file, name
                values.setdefault(at, set()).add(str(check.number))
    return {file: source for (file, source), seen in values.items() if len(seen) >= LEAST}


def state_at(site: BreakSite, states: dict[str, str]) -> str:
    """Return the float that code of the file with the break keeps; empty where there is none."""
    return next((name for file, name in states.items() if _same(file, site.line.file)), "")


def _same(one: str, other: str) -> bool:
    """Whether two paths are of one file: records may have the ends of them alone."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
