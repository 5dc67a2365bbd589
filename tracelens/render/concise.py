"""The concise format: one line for each finding, as compilers and linters write them."""

from __future__ import annotations

from tracelens.render import Options, Renderer, _words
from tracelens.render._prepare import prepare
from tracelens.render._strings import one_line
from tracelens.report import Finding, Report

__all__ = ["Concise"]


class Concise(Renderer):
    """``file:line: CODE message``: for editors, ``grep`` and a first look."""

    name = "concise"
    draws_tables = False

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Return a line for each cause, worst first; nothing for a clean log."""
        _, report, _ = prepare(report, options, cls)
        return "".join(f"{_line(finding)}\n" for finding in report.told)


def _line(finding: Finding) -> str:
    cost = _words.costs(finding)
    message = f"{finding.title} ({cost})" if cost else finding.title
    return one_line(f"{_place(finding)}: {finding.code} {finding.severity.value}: {message}")


def _place(finding: Finding) -> str:
    """Return the code that can be changed, else the line of the log that says so."""
    where = finding.where
    if where is not None:
        return where.file if where.line is None else f"{where.file}:{where.line}"
    for line in finding.evidence[:1]:
        return f"{line.input}:{line.line}"
    return finding.run
