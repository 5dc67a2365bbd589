"""LOG006 unit-or-format-drift."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from tracelens.evidence import Seen, Table
from tracelens.experiment import ABOUT_THE_LOG
from tracelens.logs import Record
from tracelens.report import EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.logs.autotune import AutotuneTable
    from tracelens.logs.guards import GuardTree
    from tracelens.logs.onednn_verbose import LibraryVersion
    from tracelens.logs.recompiles import Recompile

__all__ = ["UnitOrFormatDrift"]

R = TypeVar("R", bound=Record)


class UnitOrFormatDrift(Rule):
    """The log is in the format of an older version, and was read in today's terms.

    ## Why it matters
    The same facts are written differently by each version of torch and oneDNN. Counts and names in
    this report are comparable across versions, the lines that it quotes are not. Whoever searches
    the log for what the report says should know which words to look for.

    ## What it looks like
    For example a recompile in one line, as torch 2.1 writes it, with names as ``L['n']``:

        [2026-11-20 11:27:53,990] torch._dynamo.convert_frame.__recompiles: [DEBUG] ('Recompiling function fn in /home/ana/proj/recompiles.py:8', "triggered by the following guard failure: L['n'] == 2")

    What is known to have changed: AUTOTUNE rows of torch 2.0 say ``s`` and mean milliseconds; names
    lost ``L['...']`` in 2.7; failures name their compiled entry since 2.4; guards were a flat list up
    to 2.3; oneDNN spelled its lines differently up to 3.5. What is written as today is not
    reported, such as the wrapper before the reason of a graph break (torch 2.11 and later).

    ## When it is harmless
    Always: it is a note about how the report came to be.

    ## What to do
    Nothing.

    ## How a live run confirms it
    Not applicable: the finding is about the file.

    ## See also
    <https://github.com/pytorch/pytorch/issues/97486>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "LOG006"
    name = "unit-or-format-drift"
    severity = Severity.NONE
    unconfirmable = ABOUT_THE_LOG

    class Data(FindingData):
        """The older formats that were read."""

        formats: tuple[str, ...]

    def check(
        self,
        *,
        tunings: Table[AutotuneTable],
        recompiles: Table[Recompile],
        trees: Table[GuardTree],
        versions: Table[LibraryVersion],
    ) -> Iterator[Finding]:
        """Yield one finding that lists the formats."""
        seen = {
            "AUTOTUNE times are labelled seconds and are milliseconds (torch 2.0)": _first(
                tunings, lambda table: any(choice.unit == "s" for choice in table.choices)
            ),
            "names are written L['x'] (up to torch 2.6)": _first(
                recompiles, lambda one: one.has_scopes
            ),
            "guard failures do not name their compiled entry (up to torch 2.3)": _first(
                recompiles, lambda one: any(not failure.entry for failure in one.failures)
            ),
            "guards are a flat list (up to torch 2.3)": _first(
                trees, lambda tree: any(not guard.kind for guard in tree.guards)
            ),
            "oneDNN's lines are spelled as before version 3.6": next(
                (row.quote() for row in versions if not row.text.startswith(_TODAY)), None
            ),
        }
        found = {what: line for what, line in seen.items() if line is not None}
        if found:
            yield self.finding(
                *found,
                title="older formats were read in today's terms",
                message=f"In this log, {'; '.join(found)}.",
                evidence=found.values(),
                harmless="the numbers are those of today's terms",
                data=self.Data(formats=tuple(found)),
            )


#: How oneDNN 3.6 and later begin their lines.
_TODAY = "onednn_verbose,v1,"


def _first(table: Table[R], wanted: Callable[[R], bool]) -> EvidenceLine | None:
    row: Seen[R] | None = next((row for row in table if wanted(row.record)), None)
    return row.quote() if row is not None else None
