"""ENV009 python-3.13.0-guards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tracelens.evidence import Table
from tracelens.logs.warnings import TorchWarning
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few

__all__ = ["Python3130Guards"]


class Python3130Guards(Rule):
    """Guards are slower because this is Python 3.13.0.

    ## Why it matters
    Python keeps a version number of each dictionary, which tells torch that the attributes of a
    module are what they were. In 3.13.0 the number is wrong (python/cpython#125608), so torch looks
    at every attribute, before every call of a compiled function.

    ## What it looks like
        /home/ana/venv/lib/python3.13/site-packages/torch/_dynamo/guards.py:1343: RuntimeWarning: Guards may run slower on Python 3.13.0. Consider upgrading to Python 3.13.1+.
          warnings.warn(

    ## When it is harmless
    For a model with few modules, or long steps: guards cost microseconds to a millisecond a call.

    ## What to do
    Use Python 3.13.1 or later.

    ## How a live run confirms it
    Not by a setting: the same program under Python 3.13.1 spends less time in guards.

    ## See also
    GRD001 (what guards cost), TRC004;
    <https://github.com/python/cpython/issues/125608>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ENV009"
    name = "python-3.13.0-guards"
    severity = Severity.INFO
    moved_by: ClassVar = {"warnings.topic": {"guards-on-3.13.0"}}
    unconfirmable = "it takes another Python: run the program under 3.13.1, and compare"

    class Data(FindingData):
        """torch's warning, and how often it came."""

        warnings: int

    remedies = (
        Remedy(
            id="newer-python",
            text="Use Python 3.13.1 or later.",
            since="2.6",
            basis="untestable",
            proof="needs Python 3.13.0",
        ),
    )

    def check(self, *, warnings: Table[TorchWarning]) -> Iterator[Finding]:
        """Yield one finding; torch prints the warning without being asked."""
        rows = [row for row in warnings if row.record.topic == "guards-on-3.13.0"]
        if rows:
            data = self.Data(warnings=sum(row.count for row in rows))
            yield self.finding(
                "3.13.0",
                title="guards are slower on Python 3.13.0",
                message=(
                    "This Python cannot tell torch whether a module has changed, so guards look at "
                    "all its attributes before each call."
                ),
                count=sum(row.count for row in rows),
                evidence=[row.quote() for row in few(rows)],
                advice=self.advise(data),
                data=data,
            )
