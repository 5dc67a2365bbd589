"""What was accepted earlier: what is known of it, what is worse now, and what is gone.

A finding is known again by what it is about and not by where the checkout lies: its id, or else the
user's file and function, or else the words of its data. What another program shows is never known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from tracelens.late import late
from tracelens.report.base import Cost, Model
from tracelens.report.model import Finding, Report, Run, Severity, Tool
from tracelens.report.programs import Program, base_name, is_library

__all__ = ["Baseline", "Entry", "Place"]

#: Characters that are kept of a text in the data.
MAX_TEXT = 200
#: Numbers in data that are no amounts: more of them is not worse.
_NO_AMOUNT = frozenset(
    """
    at begin cap_bytes cpus defined_at device dimension group last limit line n number pid port rank
    ranks required threads usual value variant world_size
    """.split()  # noqa: SIM905 -- read as a list of words
)
#: Names that compilers number, addresses and other digits.
_DIGITS = late(r"0x[0-9a-fA-F]+|\d+")
_PATH = late(r"(?<![~\w.<>-])(?:[A-Za-z]:)?[~\w.<>-]*[\\/][^\s'\":,]*")


#: The run of a report that lists none.
_FIRST = Run(name="run1", inputs=())


class Place(Model):
    """The user's file, without its folders, and the function."""

    file: str
    function: str | None = None


class Entry(Model):
    """A finding that was accepted."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    id: str
    code: str
    name: str
    run: str = "run1"
    severity: Severity
    count: int = 1
    cost: Cost | None = None
    where: Place | None = None
    title: str = ""
    data: dict[str, Any] = {}

    @classmethod
    def of(cls, finding: Finding) -> Entry:
        """Return what is to be remembered of a finding."""
        where = finding.where
        known = where is not None and not is_library(where.file)
        return cls(
            id=finding.id,
            code=finding.code,
            name=finding.name,
            run=finding.run,
            severity=finding.severity,
            count=finding.count,
            cost=finding.cost,
            where=Place(file=base_name(where.file), function=where.function)
            if where is not None and known
            else None,
            title=finding.title[:MAX_TEXT],
            data=dict(_plain(finding.data)),
        )

    @property
    def words(self) -> frozenset[tuple[str, str]]:
        """What the data says in words: without folders, lines and numbers."""
        return frozenset(
            (name, _DIGITS.sub("#", _PATH.sub(lambda match: base_name(match[0]), value)))
            for name, value in self.data.items()
            if isinstance(value, str)
        )

    @property
    def amounts(self) -> Mapping[str, float]:
        """How much there is of it."""
        counted = {
            name: value
            for name, value in self.data.items()
            if isinstance(value, int) and not isinstance(value, bool) and name not in _NO_AMOUNT
        }
        return {**counted, "count": self.count}


class Baseline(Model):
    """The findings that were accepted, with the programs that they are of."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    baseline_version: Literal[2] = 2
    tool: Tool
    programs: dict[str, Program] = {}
    rules: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()

    @classmethod
    def of(cls, report: Report) -> Baseline:
        """Accept the findings of a report; what is harmless need not be accepted."""
        return cls(
            tool=report.tool,
            programs={run.name: Program.of(report, run.name) for run in report.runs or (_FIRST,)},
            rules=tuple(sorted(verdict.code for verdict in report.verdicts)),
            entries=tuple(
                Entry.of(finding)
                for finding in report.findings
                if finding.severity is not Severity.NONE
            ),
        )

    def to_json(self) -> str:
        """Return the baseline as it is kept in a repository."""
        return self.model_dump_json(indent=1) + "\n"


def _plain(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what of the data is short and flat."""
    for name, value in data.items():
        if isinstance(value, str):
            yield name, value[:MAX_TEXT]
        elif isinstance(value, bool | int | float):
            yield name, value
