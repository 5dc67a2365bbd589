"""Which findings of a report a baseline has, what is worse now, and what is gone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from tracelens.report.baseline import Baseline, Entry
from tracelens.report.model import Finding, Outcome, Report
from tracelens.report.programs import Program

__all__ = ["TOLERANCE", "Compared", "compare", "pruned"]

#: The share by which counts may grow before a known finding is told again.
TOLERANCE = 0.1


class Compared(NamedTuple):
    """A report beside a baseline."""

    #: The report with what is known as ignored.
    report: Report
    #: What is known, but worse: the finding, and what has grown, in words.
    worse: tuple[tuple[Finding, str], ...]
    #: What is gone although its rule had something to look at.
    fixed: tuple[Entry, ...]
    #: New findings of rules that the baseline was made without.
    unheard: tuple[Finding, ...]
    #: Runs of other programs than those of the baseline.
    strangers: tuple[str, ...]


def compare(
    report: Report, accepted: Baseline, name: str, tolerance: float = TOLERANCE
) -> Compared:
    """Mark the findings that ``accepted`` has as ignored, unless they are worse now.

    Args:
        report: The new report.
        accepted: What to compare with.
        name: What to call it in the reason.
        tolerance: The share by which counts may have grown.
    """
    matching = Matching(report, accepted)
    findings: list[Finding] = []
    worse: list[tuple[Finding, str]] = []
    shown = {id(finding) for finding in report.shown}
    for finding in report.findings:
        entry = matching.entry(finding)
        grown = _grown(entry, Entry.of(finding), tolerance) if entry is not None else ""
        if entry is not None and not grown:
            reason = finding.ignored or f"known in {name}"
            findings.append(finding.model_copy(update={"ignored": reason}))
            continue
        findings.append(finding)
        if grown and id(finding) in shown:
            worse.append((finding, grown))
    unheard = [f for f in report.shown if accepted.rules and f.code not in accepted.rules]
    findings.sort(key=lambda finding: finding.order)
    return Compared(
        report.model_copy(update={"findings": tuple(findings)}),
        tuple(worse),
        tuple(matching.fixed()),
        tuple(unheard),
        matching.strangers,
    )


def pruned(accepted: Baseline, report: Report) -> Baseline:
    """Return the baseline without what is fixed, and with lower counts where they have fallen."""
    matching = Matching(report, accepted)
    gone = {id(entry) for entry in matching.fixed()}
    entries = []
    for entry in accepted.entries:
        finding = matching.finding(entry)
        if id(entry) in gone:
            continue
        if finding is not None and not _grown(entry, Entry.of(finding), 0.0):
            entry = Entry.of(finding)  # noqa: PLW2901 -- less of it, or as much
        entries.append(entry)
    return accepted.model_copy(update={"entries": tuple(entries)})


class Matching:
    """Which finding is which entry. The surest pairs are made first: a second one stays new."""

    def __init__(self, report: Report, accepted: Baseline) -> None:
        self._report, self._accepted = report, accepted
        names = [run.name for run in report.runs] or ["run1"]
        self._same = {
            (name, other): Program.of(report, name).may_be(program)
            for name in names
            for other, program in accepted.programs.items()
        }
        met = {name for (name, _), same in self._same.items() if same}
        #: Runs of other programs than the baseline's.
        self.strangers = tuple(n for n in names if accepted.programs and n not in met)
        self._entries: dict[int, Entry] = {}
        self._findings: dict[int, Finding] = {}
        asked = [(finding, Entry.of(finding)) for finding in report.findings]
        for key in (_by_id, _by_place_and_words, _by_place, _by_words):
            self._pair(asked, key)

    def entry(self, finding: Finding) -> Entry | None:
        """Return the entry of a finding."""
        return self._entries.get(id(finding))

    def finding(self, entry: Entry) -> Finding | None:
        """Return the finding of an entry."""
        return self._findings.get(id(entry))

    def fixed(self) -> Iterator[Entry]:
        """Yield the entries whose rule had something to look at in their program, and was quiet."""
        judged = {
            verdict.code
            for verdict in self._report.verdicts
            if verdict.verdict not in {Outcome.ABSENT, Outcome.CRASHED}
        }
        met = {other for (_, other), same in self._same.items() if same}
        for entry in self._accepted.entries:
            here = not self._same or entry.run in met
            if here and id(entry) not in self._findings and entry.code in judged:
                yield entry

    def _pair(
        self, asked: Sequence[tuple[Finding, Entry]], key: Callable[[Entry], Hashable | None]
    ) -> None:
        free: dict[Hashable, list[Entry]] = {}
        for entry in reversed(self._accepted.entries):
            if id(entry) not in self._findings and (held := key(entry)) is not None:
                for run in self._runs(entry):
                    free.setdefault((run, entry.code, held), []).append(entry)
        for finding, now in asked:
            left = free.get((now.run, now.code, key(now)), []) if key(now) is not None else []
            while id(finding) not in self._entries and left:
                entry = left.pop()
                if id(entry) not in self._findings:
                    self._entries[id(finding)] = entry
                    self._findings[id(entry)] = finding

    def _runs(self, entry: Entry) -> list[str]:
        """Return the runs of the report that an entry may be of."""
        names = [run.name for run in self._report.runs] or ["run1"]
        return [name for name in names if self._same.get((name, entry.run), True)]


def _by_id(entry: Entry) -> Hashable:
    return entry.id


def _by_place_and_words(entry: Entry) -> Hashable | None:
    return (entry.where, entry.words) if entry.where else None


def _by_place(entry: Entry) -> Hashable | None:
    return entry.where


def _by_words(entry: Entry) -> Hashable | None:
    return entry.words if entry.where is None and entry.words else None


def _grown(before: Entry, now: Entry, tolerance: float) -> str:
    """Return in words what is worse; empty where nothing is."""
    if now.severity.rank < before.severity.rank:
        return f"{before.severity} -> {now.severity}"
    for name, amount in now.amounts.items():
        held = before.amounts.get(name)
        if held is not None and amount > held * (1 + tolerance):
            return f"{name.replace('_', ' ')} {held:,} -> {amount:,}"
    return ""
