"""Leave the program's own calls that only report something to runs that are not compiled."""

from __future__ import annotations

from tracelens.dynamo import user_code
from tracelens.dynamo.reporting import kept_eager
from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData, Code

__all__ = ["REPORT_IN_EAGER"]


def _reporting(data: object) -> Code | None:
    return data.reporting if isinstance(data, BreakData) else None


def _reported(data: object) -> str:
    line = _reporting(data)
    at = f" at {user_code.short(line.file, line.line)}" if line else ""
    return (
        f"Leave the call{at} to runs that are not compiled: compiled code then reports nothing "
        "there."
    )


#: The line may be the user's own, or one of a package that the user's own line leads to.
REPORT_IN_EAGER = Remedy(
    "report-in-eager",
    _reported,
    when="a call of the program's own that only reports: of a logger, a writer, a progress bar",
    applies=lambda data: _reporting(data) is not None,
    code=lambda data: kept_eager(line.code) if (line := _reporting(data)) else None,
    since="2.3",
    basis="tested",
    proof="tests/advice/GBR009/report-in-eager.py",
)
