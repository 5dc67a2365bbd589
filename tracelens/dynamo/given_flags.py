"""Arguments that a package calls ``requires_grad_()`` on, by what the flag compiles again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.logs.recompiles import TensorMismatch

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.logs.recompiles import Recompile

__all__ = ["look_for_flags"]

#: What is no result of the line's own: ``x.requires_grad_()``, ``inputs[name].requires_grad_()``.
_CALLED = re.compile(r"(?:^|[ (\[,=])[A-Za-z_][\w.]{0,60}(?:\[[^\]]{1,60}\])?\.requires_grad_\(")


def look_for_flags(found: Iterable[BreakSite], recompiles: Table[Recompile]) -> None:
    """Write down at each break the argument of the compiled function that gets the flag there.

    The program passes one tensor again and again: its flag was not set when the function was first
    compiled, the line set it, and the next call with it compiled the function once more.
    """
    for site in found:
        if not _CALLED.search(site.line.code):
            continue
        outer = next((one for one in site.stack[site.outside :] if _is_near(one.file)), None)
        sources = () if outer is None else _set(recompiles, outer.file, outer.function)
        site.flagged = next(iter(sources), "")


def _is_near(file: str) -> bool:
    return user_code.distance(file) < 2


def _set(recompiles: Table[Recompile], file: str, function: str) -> tuple[str, ...]:
    """Return the arguments that one function was compiled again for, as they had got the flag."""
    sources = (
        failure.check.source
        for row in recompiles
        if (row.record.file, row.record.function) == (file, function)
        for failure in row.record.failures
        if isinstance(failure.check, TensorMismatch)
        and failure.check.what == "requires_grad"
        and failure.check.expected.endswith("0")
    )
    given = (one for one in sources if one.scope != "G" and one.name != "self")
    return tuple(dict.fromkeys(str(one) for one in given))
