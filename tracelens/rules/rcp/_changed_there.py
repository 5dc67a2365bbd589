"""Numbers of Python that the line which reads them changes: each call finds another."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.dynamo.recompile_history import Step
from tracelens.remedies import Remedy
from tracelens.report.programs import is_library
from tracelens.rules.rcp._relation import RelationData, is_float, value_of

__all__ = ["CHANGE_OUTSIDE", "is_changed_there", "read_at"]


def read_at(steps: Iterable[Step], name: str) -> str:
    """Return the line at which an older entry read the value, if it is the program's own."""
    for failure in (one for step in steps for one in step.seen.record.failures):
        line = failure.comment
        if line is not None and line.code and str(failure.check).startswith(f"{name} =="):
            return "" if is_library(line.file) else line.code
    return ""


def is_changed_there(data: RelationData) -> bool:
    """Whether the line gives what it reads another value: ``self.rate *= 0.9``."""
    name = re.escape(value_of(data))
    return "." in name and bool(re.match(rf"{name} ?(?:[-+*/%]|\*\*|//)?=(?!=)", data.read_at))


CHANGE_OUTSIDE = Remedy(
    "count-outside",
    lambda data: (
        f"Change `{value_of(data)}` outside of the compiled function, where that is called: "
        f"`{data.read_at}` makes it another number in every call."
    ),
    when="a condition on a number with a point, which the line that reads it changes",
    applies=lambda data: is_float(data) and not data.is_of_library and is_changed_there(data),
    basis="tested",
    proof="tests/advice/RCP023/count-outside.py",
)
