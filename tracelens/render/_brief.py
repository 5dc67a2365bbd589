"""Findings in a line or two each: those beyond the ones told in full, and the harmless ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from tracelens.render import _words
from tracelens.render._strings import elide, one_line, width
from tracelens.report import Finding

__all__ = ["by_cause", "line", "notes"]

#: Rules by which findings are counted that get no line.
MAX_CAUSES = 8


def line(finding: Finding, cells: int) -> str:
    """Return what was found, then where it is or what it costs, which is never cut."""
    title = one_line(finding.title)
    end = _end(finding, title)
    if width(end) > cells // 2:
        end = ""
    return elide(title, cells - width(end)) + end


def _end(finding: Finding, title: str) -> str:
    where = finding.where
    if where is not None and where.line is not None:
        place = f"{PurePosixPath(where.file).name}:{where.line}"
        return "" if place in title else f" --> {place}"
    cost = finding.cost
    if cost is None or (cost.ms is None and cost.share is None):
        return ""
    bound = "at most " if cost.basis == "upper_bound" else ""
    said = _words.percent(cost.share or 0.0) if cost.ms is None else _words.milliseconds(cost.ms)
    return f" ({bound}{said})"


def by_cause(findings: Sequence[Finding]) -> str:
    """Return how many more there are of each rule, the most frequent first."""
    counts = Counter((finding.code, finding.name) for finding in findings).most_common()
    causes = [f"{count} {code} {name}" for (code, name), count in counts[:MAX_CAUSES]]
    said = f"{len(findings)} more, by cause: {', '.join(causes)}"
    if rest := counts[MAX_CAUSES:]:
        others = f"{sum(count for _, count in rest)} of {_words.plural(len(rest), 'other rule')}"
        return f"{said} and {others}"
    return said


def notes(
    findings: Sequence[Finding], most: int, name: Callable[[Finding], str]
) -> tuple[list[tuple[list[str], str]], int]:
    """Return titles with the reason that they share, each once, and how many are left out.

    Args:
        findings: Those with nothing to do.
        most: Titles, at most.
        name: What stands in front of a title.
    """
    groups: dict[tuple[str, str], Counter[str]] = {}
    for finding in findings:
        said = f"{name(finding)} {one_line(finding.title)}"
        groups.setdefault((finding.code, one_line(_words.silenced(finding))), Counter())[said] += 1
    out, left, told = [], most, 0
    for (_, reason), titles in groups.items():
        shown = list(titles.items())[:left]
        if shown:
            out.append((list(_counted(shown)), reason))
        left -= len(shown)
        told += sum(count for _, count in shown)
    return out, len(findings) - told


def _counted(titles: Sequence[tuple[str, int]]) -> Iterator[str]:
    for title, count in titles:
        yield f"{title} ({count} times)" if count > 1 else title
