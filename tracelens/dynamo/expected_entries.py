"""Whether all recompiles of a run are those that a start brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.dynamo.recompile_history import histories, series, settles
from tracelens.dynamo.recompile_variants import is_integer, is_size, is_special
from tracelens.logs.recompiles import GlobalState
from tracelens.report.stories import RESUMED

if TYPE_CHECKING:
    from tracelens.evidence import Table
    from tracelens.logs.recompiles import Recompile

__all__ = ["are_whole", "is_expected"]

#: Recompiles for a mode of torch, such as grad mode, that a start brings.
MAX_MODES = 2


def are_whole(recompiles: Table[Recompile], functions: int) -> bool:
    """Whether each of so many functions was compiled again, none of them a rest behind a break."""
    names = {history.definition for history in histories(recompiles)}
    return len(names) == functions and not any(name.startswith(RESUMED) for name, *_ in names)


def is_expected(recompiles: Table[Recompile]) -> bool:
    """Whether each was for a mode, a size of 0 or 1, or a size that fits further values since."""
    found = histories(recompiles)
    checks = [step.check for history in found for step in history.steps]
    values = [one for one in checks if not isinstance(one, GlobalState)]
    known = all(is_size(one) or is_integer(one) or is_special(one) for one in values)
    modes = len(checks) - len(values)
    return bool(checks) and known and modes <= MAX_MODES and all(map(settles, series(found)))
