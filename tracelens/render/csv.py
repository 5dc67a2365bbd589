"""The CSV format: one row for each finding, for a spreadsheet; in a folder, all tables too."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence

from tracelens.render import Options, Renderer
from tracelens.render._prepare import prepare
from tracelens.report import Finding, Report

__all__ = ["Csv"]

HEADS = (
    "run",
    "id",
    "code",
    "name",
    "severity",
    "confidence",
    "state",
    "file",
    "line",
    "function",
    "count",
    "cost_ms",
    "cost_share",
    "cost_basis",
    "cost_of",
    "title",
    "advice",
    "explained_by",
    "reason",
)


class Csv(Renderer):
    """All findings, those to act on first; the column ``state`` tells which they are."""

    name = "csv"
    suffixes = (".csv",)

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Return a head and a row for each finding."""
        return _findings(prepare(report, options, cls)[1])

    @classmethod
    def files(cls, report: Report, options: Options) -> dict[str, str]:
        """Return the findings, and each table of the report with all its rows and digits."""
        _, report, _ = prepare(report, options, cls)
        found = {"findings.csv": _findings(report)}
        for name, rows in report.tables.items():
            heads = list(dict.fromkeys(key for row in rows for key in row))
            file = f"{re.sub(r'[^A-Za-z0-9_-]', '_', name)}.csv"
            file = f"table-{file}" if file in found else file
            found[file] = _text(heads, ([row.get(head) for head in heads] for row in rows))
        return found


def _findings(report: Report) -> str:
    shown = {id(finding) for finding in report.shown}
    return _text(HEADS, (_row(finding, id(finding) in shown) for finding in report.findings))


def _text(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_cell(head) for head in heads])
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return text.getvalue()


def _row(finding: Finding, shown: bool) -> tuple[object, ...]:
    where, cost = finding.where, finding.cost
    reason = finding.ignored or finding.suppressed_by or finding.harmless
    return (
        finding.run,
        finding.id,
        finding.code,
        finding.name,
        finding.severity.value,
        finding.confidence.value,
        "shown" if shown else _state(finding),
        where and where.file,
        where and where.line,
        where and where.function,
        finding.count,
        cost and cost.ms,
        cost and cost.share,
        cost and cost.basis,
        cost and cost.of,
        finding.title,
        finding.promising[0].text if finding.promising else None,
        finding.explained_by,
        None if shown else reason,
    )


def _state(finding: Finding) -> str:
    return "ignored" if finding.ignored else "suppressed" if finding.suppressed_by else "harmless"


def _cell(value: object) -> object:
    """Return a value as a spreadsheet reads it: none of them may be taken for a formula."""
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        return value
    text = " ".join(value.split())
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
