"""Which candidates a search lost, and why: joined from the three ways in which torch says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Place, Seen, Table
from tracelens.grammars import Unreadable
from tracelens.logs import Joined, Record
from tracelens.logs.autotune import AutotuneTable
from tracelens.logs.autotune_drops import AutotuneDrops, DroppedChoice, Why
from tracelens.logs.warnings import TorchWarning
from tracelens.report import EvidenceLine

if TYPE_CHECKING:  # what a log has nothing of is not imported
    from tracelens.logs.compile_errors import Failure, LogError

__all__ = ["NOTHING_RAN", "Drop", "Search", "dropped", "measured", "no_choice", "quote"]

#: Errors that the search goes on after.
_ERRORS = ("Runtime error during autotuning", "CUDA compilation error during autotuning")
#: What torch writes when not even the library could be measured.
NOTHING_RAN = "All autotuning benchmarks failed"
#: Python warnings of the parent of a child process that measures.
_WARNINGS: dict[str, Why] = {
    "Timed out benchmarking choice": "timeout",
    "Failed to benchmark choice": "failed",
}


class Drop(Record):
    """One candidate that is out of the search."""

    why: Why
    #: Bytes of shared memory that it needs, and that a multiprocessor has.
    required: int | None = None
    limit: int | None = None
    #: What went wrong, where it is neither memory nor time.
    message: str = ""
    #: The line of the record's text that says so.
    line: int = 0


class Search(Joined):
    """What a log holds about tuning: a table, a lost candidate, or (neither) that all were lost."""

    table: AutotuneTable | None = None
    drop: Drop | None = None

    @classmethod
    def join(
        cls,
        tables: Table[AutotuneTable],
        *,
        choices: Table[DroppedChoice],
        errors: Table[LogError],
        warnings: Table[TorchWarning],
        failures: Table[Failure],
    ) -> Iterator[Seen[Search]]:
        """Make one record per table, per lost candidate and per search without a result."""
        for row in tables:
            yield row.about(cls(table=row.record), row.places, row.count)
        told = [*_of_choices(choices), *_of_errors(errors), *_of_warnings(warnings)]
        for drop, count, places, text in told:
            yield Seen(cls(drop=drop), count, places, text)
        for failure in failures.where(no_choice):
            yield failure.about(cls(), failure.places, failure.count)
        for error in errors.where(lambda error: error.title == NOTHING_RAN):
            yield error.about(cls(), error.places, error.count)


_Told = tuple[Drop, int, list[Place], str]


def _of_choices(rows: Table[DroppedChoice]) -> Iterator[_Told]:
    for row in rows:
        yield _drop(row.record), row.count, row.places, row.text


def _drop(choice: DroppedChoice, line: int = 0) -> Drop:
    return Drop(
        why=choice.why,
        required=choice.required,
        limit=choice.limit,
        message=choice.message,
        line=line,
    )


def _of_errors(rows: Table[LogError]) -> Iterator[_Told]:
    for row in rows:
        error = row.record
        if error.title == "Precompilation timeout":
            yield Drop(why="timeout"), row.count, row.places, row.text
        elif error.title in _ERRORS:
            yield _error(error, row.text), row.count, row.places, row.text


def _error(error: LogError, text: str) -> Drop:
    """Return what the lines below the title say: the first is about the cause."""
    first = next((detail for detail in error.details if detail), error.text)
    line = next((at for at, told in enumerate(text.split("\n")) if first and first in told), 0)
    if "out of resource" in first:
        try:
            (found,) = AutotuneDrops.parse(first)
        except (Unreadable, ValueError):
            return Drop(why="memory", line=line)
        if isinstance(found, DroppedChoice):
            return _drop(found, line)
    return Drop(why="failed", message=first, line=line)


def _of_warnings(rows: Table[TorchWarning]) -> Iterator[_Told]:
    for row in rows:
        for phrase, why in _WARNINGS.items():
            if phrase in row.text:
                yield Drop(why=why), row.count, row.places, row.text


def no_choice(failure: Failure) -> bool:
    """Whether the compilation ended because no candidate was left."""
    return "NoValidChoicesError" in f"{failure.error} {failure.cause} {failure.message}"


def dropped(searches: Table[Search], *whys: Why) -> list[tuple[Seen[Search], Drop]]:
    """Return the candidates that were lost for one of these reasons."""
    rows = [(row, row.record.drop) for row in searches]
    return [(row, drop) for row, drop in rows if drop is not None and drop.why in whys]


def measured(searches: Table[Search]) -> int:
    """Return how many templates were measured, as far as the tables list them."""
    tables = [row.record.table for row in searches if row.record.table is not None]
    return sum(1 for table in tables for c in table.choices if c.is_template and c.ran)


def quote(row: Seen[Search], drop: Drop, note: str = "") -> EvidenceLine:
    """Return the line that says why the candidate is out."""
    return row.quote(note, at=drop.line)
