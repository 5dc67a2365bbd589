"""Join the reports of several runs: every finding, table row and verdict stays its run's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tracelens.report.model import (
    Coverage,
    Environment,
    KnownSite,
    Outcome,
    Report,
    Tool,
    UnreadText,
    Verdict,
)
from tracelens.version import __version__

__all__ = ["MAX_LISTED", "called", "joined", "share"]

#: Entries of ``coverage.known`` and ``coverage.unread`` in a report; the counts cover all.
MAX_LISTED = 50
#: What a rule says of several runs is what it says of the first of these that any run has.
_PRECEDENCE = (Outcome.CRASHED, Outcome.FIRED, Outcome.IGNORED, Outcome.QUIET, Outcome.ABSENT)


def joined(reports: Sequence[Report], paths: Sequence[str] = ()) -> Report:
    """Return one report of several runs.

    What the runs say alike about the machine is the report's environment; where they differ, each
    run has its own.

    Args:
        reports: One for each run; one without a run is of inputs that hold nothing known.
        paths: The inputs in the order in which they are to be listed.
    """
    if len(reports) == 1:
        return reports[0]
    order = {path: number for number, path in enumerate(paths)}
    every = [source for report in reports for source in report.inputs]
    inputs = tuple(sorted(every, key=lambda source: order.get(source.path, len(order))))
    coverage = _coverage([report.coverage for report in reports])
    own = [report for report in reports if report.runs]
    if len(own) == 1:
        return own[0].model_copy(update={"inputs": inputs, "coverage": coverage})
    return Report(
        tool=Tool(version=__version__),
        inputs=inputs,
        runs=tuple(
            run.model_copy(update={"environment": report.environment})
            for report in own
            for run in report.runs
        ),
        environment=_environment(reports),
        coverage=coverage,
        verdicts=tuple(_verdicts(own)),
        findings=tuple(
            sorted(
                (finding for report in reports for finding in report.findings),
                key=lambda finding: finding.order,
            )
        ),
        tables=_tables(reports),
        broken_packs=tuple(dict.fromkeys(pack for one in reports for pack in one.broken_packs)),
    )


def called(report: Report, name: str) -> Report:
    """Return the report of one run as it is where the run has that name."""
    return report.model_copy(
        update={
            "runs": tuple(run.model_copy(update={"name": name}) for run in report.runs),
            "findings": tuple(one.model_copy(update={"run": name}) for one in report.findings),
            "tables": {
                title: [row | {"run": name} for row in rows]
                for title, rows in report.tables.items()
            },
        }
    )


def share(understood: int, known: int, unread: int) -> float:
    """Return the share of torch's and oneDNN's lines that was understood; 1 when there are none."""
    ours = understood + known + unread
    return round(understood / ours, 5) if ours else 1.0


def _environment(reports: Sequence[Report]) -> Environment:
    said: dict[str, list[Any]] = {}
    for report in reports:
        for name, value in report.environment.model_dump().items():
            if value is not None:
                said.setdefault(name, []).append(value)
    alike = {name: values[0] for name, values in said.items() if _same(values)}
    return Environment(**alike)


def _same(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values[1:])


def _coverage(parts: Sequence[Coverage]) -> Coverage:
    def total(values: Iterable[int | None]) -> int:
        return sum(value or 0 for value in values)

    understood = total(part.understood_lines for part in parts)
    known = total(part.known_lines for part in parts)
    unread = total(part.unread_lines for part in parts)
    traced = any(part.events is not None for part in parts)
    return Coverage(
        lines=total(part.lines for part in parts),
        understood_lines=understood,
        known_lines=known,
        program_lines=total(part.program_lines for part in parts),
        unread_lines=unread,
        share=share(understood, known, unread),
        events=total(part.events for part in parts) if traced else None,
        understood_events=total(part.understood_events for part in parts) if traced else None,
        known=tuple(_known(parts)),
        unread=tuple(_unread(parts)),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _known(parts: Iterable[Coverage]) -> list[KnownSite]:
    sites: dict[str, KnownSite] = {}
    for site in (site for part in parts for site in part.known):
        held = sites.get(site.site)
        if held is not None:
            count, first = held.count + site.count, min(held.first_line, site.first_line)
            told = {"count": count, "first_line": first, "text": held.text or site.text}
            site = site.model_copy(update=told)  # noqa: PLW2901
        sites[site.site] = site
    return sorted(sites.values(), key=lambda site: (-site.count, site.first_line))[:MAX_LISTED]


def _unread(parts: Iterable[Coverage]) -> list[UnreadText]:
    texts: dict[tuple[str, str, str], UnreadText] = {}
    for text in (text for part in parts for text in part.unread):
        key = (text.kind, text.text, text.reason)
        held = texts.get(key)
        texts[key] = (
            text if held is None else held.model_copy(update={"count": held.count + text.count})
        )
    return sorted(texts.values(), key=lambda text: -text.count)[:MAX_LISTED]


def _verdicts(reports: Sequence[Report]) -> Iterable[Verdict]:
    """Yield what each rule says of all runs, and in which of them it had nothing to look at."""
    by_code: dict[str, list[tuple[str, Verdict]]] = {}
    for report in reports:
        for verdict in report.verdicts:
            by_code.setdefault(verdict.code, []).append((report.runs[0].name, verdict))
    for said in by_code.values():
        absent = tuple(name for name, one in said if one.verdict is Outcome.ABSENT)
        _, loudest = min(said, key=lambda one: _PRECEDENCE.index(one[1].verdict))
        needs = dict.fromkeys(switch for _, one in said for switch in one.needs)
        yield loudest.model_copy(update={"absent_in": absent, "needs": tuple(needs)})


def _tables(reports: Iterable[Report]) -> dict[str, list[dict[str, Any]]]:
    out: dict[str, list[dict[str, Any]]] = {}
    for report in reports:
        for name, rows in report.tables.items():
            out.setdefault(name, []).extend(rows)
    return out
