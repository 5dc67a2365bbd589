"""Compare a report with one that was accepted earlier: what is known, and what is gone."""

from __future__ import annotations

from tracelens.report import Finding, Outcome, Report

__all__ = ["hide_known"]


def hide_known(report: Report, accepted: Report, name: str) -> tuple[Report, tuple[Finding, ...]]:
    """Mark the findings that ``accepted`` has as ignored, and return those that are fixed since.

    A finding counts as fixed when its rule had something to look at and did not find it again.

    Args:
        report: The new report.
        accepted: The report to compare with.
        name: What to call it in the reason.
    """
    known = {finding.id for finding in accepted.findings}
    reason = f"known in {name}"
    findings = [
        finding.model_copy(update={"ignored": finding.ignored or reason})
        if finding.id in known
        else finding
        for finding in report.findings
    ]
    here = {finding.id for finding in report.findings}
    judged = {
        verdict.code
        for verdict in report.verdicts
        if verdict.verdict not in {Outcome.ABSENT, Outcome.CRASHED}
    }
    fixed = tuple(
        finding for finding in accepted.shown if finding.id not in here and finding.code in judged
    )
    findings.sort(key=lambda finding: finding.order)
    return report.model_copy(update={"findings": tuple(findings)}), fixed
