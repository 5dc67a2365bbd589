"""What a project has decided about findings: ignores, severities and budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from fnmatch import fnmatch
from typing import NamedTuple

from tracelens.config import Ignore
from tracelens.policies import BUDGETS
from tracelens.report.model import Finding, Report, Severity

__all__ = ["Applied", "Budget", "applied", "budgets"]


class Applied(NamedTuple):
    """A report after the project's decisions, and what there is to say about these."""

    report: Report
    remarks: tuple[str, ...]


class Budget(NamedTuple):
    """A counter beside its budget."""

    name: str
    most: float
    #: None where nothing was recorded that tells it.
    value: float | None
    needs: str

    @property
    def holds(self) -> bool:
        """Whether the counter is known, and within its budget."""
        return self.value is not None and self.value <= self.most


def applied(
    report: Report, ignores: Sequence[Ignore], severity: Mapping[str, str], today: date
) -> Applied:
    """Return the report with the project's ignores and severities.

    Args:
        report: What the rules said.
        ignores: What is accepted. What has expired, has no reason or fits nothing is remarked on.
        severity: Severities by code, prefix or name of a rule; the most precise wins.
        today: The day, which ends ignores.
    """
    if not ignores and not severity:
        return Applied(report, ())
    used: set[int] = set()
    findings = []
    for finding in report.findings:
        changed = _graded(finding, severity)
        fitting = [number for number, one in enumerate(ignores) if _fits(finding, one)]
        used.update(fitting)
        holding = [n for n in fitting if not _expired(ignores[n], today)]
        if holding and not changed.ignored:
            reason = ignores[holding[0]].reason or "ignored by the project's settings"
            changed = changed.model_copy(update={"ignored": reason})
        findings.append(changed)
    findings.sort(key=lambda finding: finding.order)
    remarks = tuple(_remarks(ignores, used, today))
    return Applied(report.model_copy(update={"findings": tuple(findings)}), remarks)


def budgets(report: Report, most: Mapping[str, float]) -> list[Budget]:
    """Return each budget with what the report counts."""
    if not most:
        return []
    from tracelens.report.compare.counters import counters  # noqa: PLC0415 -- budgets are rare

    counted = {one.name: one.after for one in counters([report]) if one.of is None}
    told = [row["compile_s"] for row in report.tables.get("frames", ()) if row.get("compile_s")]
    if told:  # also where nobody watched: what is there is too much, or it is not
        counted.setdefault("compile_s", round(sum(told), 3))
    return [
        Budget(name, limit, counted.get(BUDGETS[name][0]), BUDGETS[name][1])
        for name, limit in most.items()
    ]


def _graded(finding: Finding, severity: Mapping[str, str]) -> Finding:
    names = [name for name in severity if _is_of(finding, name)]
    if not names or finding.severity is Severity.NONE:
        return finding
    wanted = severity[max(names, key=lambda name: (name == finding.name, len(name)))]
    return finding.model_copy(update={"severity": Severity(wanted)})


def _is_of(finding: Finding, rule: str) -> bool:
    return finding.code.startswith(rule.upper()) or finding.name == rule


def _fits(finding: Finding, ignore: Ignore) -> bool:
    if not (ignore.rule or ignore.id or ignore.path or ignore.run):
        return False
    path = finding.where.file.replace("\\", "/") if finding.where else ""
    return (
        (not ignore.rule or _is_of(finding, ignore.rule))
        and ignore.id in {"", finding.id}
        and (not ignore.run or fnmatch(finding.run, ignore.run))
        and (not ignore.path or any(fnmatch(path, p) for p in (ignore.path, f"*/{ignore.path}")))
    )


def _expired(ignore: Ignore, today: date) -> bool:
    return ignore.until is not None and ignore.until <= today


def _remarks(ignores: Sequence[Ignore], used: set[int], today: date) -> Iterator[str]:
    for number, one in enumerate(ignores):
        what = " ".join(part for part in (one.rule, one.id, one.path, one.run) if part)
        if not what:
            yield f"ignore {number + 1} names no rule, id, path or run, and ignores nothing"
        elif _expired(one, today):
            yield f"the ignore of {what} has expired on {one.until}"
        elif number not in used:
            yield f"the ignore of {what} fits no finding; remove it"
        if what and not one.reason.strip():
            yield f"the ignore of {what} has no reason"
