"""A report at a prompt and in a notebook: in a line, as a small page, as data frames."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from tracelens.errors import UsageError, closest
from tracelens.words import length, percent

if TYPE_CHECKING:
    from tracelens.report.model import Finding, Report

__all__ = ["frame", "in_a_line", "page"]

#: Libraries that have data frames, the one that more people have first.
LIBRARIES = ("pandas", "polars")
#: The rows that are there without a table of their own.
FINDINGS = "findings"
#: Findings on the page.
MAX_ROWS = 20
_COLUMNS = ("id", "code", "name", "severity", "confidence", "title", "message", "count")
_MORE = (
    "run", "file", "line", "function", "cost_ms", "cost_share", "cost_basis", "explained_by",
    "to_fix",
)  # fmt: skip


def in_a_line(report: Report) -> str:
    """Return ``<Report of run.log: 1 error, 2 warnings: ONE001 IND004 RCP002>``."""
    names = ", ".join(source.path for source in report.inputs[:2])
    more = f" and {len(report.inputs) - 2} more" if len(report.inputs) > 2 else ""
    told = [finding.code for finding in report.told]
    codes = " ".join(dict.fromkeys(told[:5])) + (" ..." if len(told) > 5 else "")
    said = f"{_counts(report)}: {codes}" if told else "nothing to fix"
    return f"<Report of {names}{more}: {said}>"


def _counts(report: Report) -> str:
    counts: dict[str, int] = {}
    for finding in report.told:
        counts[finding.severity.value] = counts.get(finding.severity.value, 0) + 1
    return ", ".join(f"{n} {word}{'s' * (n > 1 and word != 'info')}" for word, n in counts.items())


def page(report: Report) -> str:
    """Return the summary of a report as HTML without styles or scripts of its own."""
    told = report.told
    heads = "".join(f"<th>{head}</th>" for head in ("severity", "finding", "where", "cost"))
    rows = "".join(_row(finding) for finding in told[:MAX_ROWS])
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if told else ""
    more = f"<p>and {len(told) - MAX_ROWS} more</p>" if len(told) > MAX_ROWS else ""
    return f"<div><p><b>{_text(in_a_line(report)[1:-1])}</b></p>{table}{more}</div>"


def _row(finding: Finding) -> str:
    cells = (
        finding.severity.value,
        f"{finding.code}: {finding.title}",
        str(finding.where or ""),
        _cost(finding),
    )
    return f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>"


def _cost(finding: Finding) -> str:
    cost = finding.cost
    if cost is None:
        return "unknown"
    parts = [] if cost.ms is None else [length(cost.ms)]
    parts += [] if cost.share is None else [f"{percent(cost.share)} of {cost.of or 'the time'}"]
    return f"{', '.join(parts)} ({cost.basis.replace('_', ' ')})" if parts else ""


def _text(value: str) -> str:
    import html  # noqa: PLC0415 -- seldom needed

    printable = "".join(char if char.isprintable() else " " for char in value)
    return html.escape(" ".join(printable.split()))


def frame(report: Report, table: str, library: str | None) -> Any:
    """Return a table of the report, or its findings, as a data frame.

    Raises:
        UsageError: There is no such table, or no library.
    """
    columns = _columns(report, table)
    module = importlib.import_module(_library(library))
    return module.DataFrame(columns)


def _columns(report: Report, table: str) -> dict[str, list[Any]]:
    """Return the values by column: one type of number in each, and all columns without a row."""
    rows = _rows(report, table)
    names = dict.fromkeys(key for row in rows for key in row)
    if table == FINDINGS and not rows:
        names = dict.fromkeys((*_COLUMNS, *_MORE))
    columns = {name: [row.get(name) for row in rows] for name in names}
    for name, values in columns.items():
        if any(type(value) is float for value in values):
            columns[name] = [float(value) if type(value) is int else value for value in values]
    return columns


def _rows(report: Report, table: str) -> list[dict[str, Any]]:
    if table == FINDINGS:
        return [_facts(finding) for finding in report.findings]
    if table not in report.tables:
        known = [FINDINGS, *report.tables]
        hint = closest(table, known, f"one of {', '.join(known)}")
        raise UsageError(f"the report has no table {table!r}", hint=hint)
    return report.tables[table]


def _facts(finding: Finding) -> dict[str, Any]:
    facts = finding.model_dump(mode="json", include=set(_COLUMNS))
    where, cost = finding.where, finding.cost
    more = (
        finding.run,
        where.file if where else None,
        where.line if where else None,
        where.function if where else None,
        cost.ms if cost else None,
        cost.share if cost else None,
        cost.basis if cost else None,
        finding.explained_by,
        _is_shown(finding),
    )
    return {name: facts[name] for name in _COLUMNS} | dict(zip(_MORE, more, strict=True))


def _is_shown(finding: Finding) -> bool:
    return finding.severity.value != "none" and not (finding.suppressed_by or finding.ignored)


def _library(wanted: str | None) -> str:
    """Return what is asked for, else what is imported already, else what is installed."""
    if wanted is not None and wanted not in LIBRARIES:
        hint = closest(wanted, LIBRARIES, "pandas or polars")
        raise UsageError(f"no data frames of {wanted!r}", hint=hint)
    names = (wanted,) if wanted else LIBRARIES
    for name in names:
        if name in sys.modules:
            return name
    for name in names:
        if importlib.util.find_spec(name) is not None:
            return name
    raise UsageError(f"{' and '.join(names)} not installed", hint=f"pip install {names[0]}")
