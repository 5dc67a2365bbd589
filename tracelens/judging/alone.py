"""A short log in which no rule finds anything is told for what it is, and not just called clean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracelens.errors import blame
from tracelens.report import Outcome, Severity

if TYPE_CHECKING:
    from tracelens.evidence import Evidence
    from tracelens.report import Finding, Input, Verdict
    from tracelens.rules import Rule

__all__ = ["PASTED", "SUMMARIES", "answered"]

#: The rule that says so.
PASTED = "LOG001"
#: Lines of a text that is a paste, and no recording of a run.
MAX_LINES = 60
#: Lines of it for one of the log's, at most.
MAX_OTHERS = 8
#: The rule that sums up graph breaks.
BREAKS = "GBR012"
#: The rule that sums up oneDNN's times, and what LOG001 calls such lines.
SUMMARY, ONEDNN = "ONE019", "lines of oneDNN"
#: Notes that sum up, or are about the form of the log, and answer nothing.
SUMMARIES = frozenset({"GBR012", "IND026", "LOG006", "ONE011", "ONE019"})


def answered(
    evidence: Evidence,
    inputs: Sequence[Input],
    asked: dict[str, Rule],
    verdicts: list[Verdict],
    findings: list[Finding],
) -> tuple[list[Verdict], list[Finding]]:
    """Return verdicts and findings of all rules, with what a paste is that they say nothing of.

    Args:
        evidence: All that was read.
        inputs: What it was read from.
        asked: The rules that were asked, by code; the one that tells is added to them.
        verdicts: Those of all rules.
        findings: What they found.
    """
    if any(one.code == PASTED and one.verdict is Outcome.CRASHED for one in verdicts):
        return verdicts, findings  # what it finds here must not hide that
    if not _is_paste(evidence, inputs) or any(map(_answers, findings)):
        return verdicts, findings
    from tracelens.rules.log.log_incomplete import LogIncomplete  # noqa: PLC0415 -- seldom needed

    rule = LogIncomplete()
    try:
        told = list(rule.alone(evidence))
    except Exception as error:  # a broken rule must not take the report down
        crashed = {"verdict": Outcome.CRASHED, "reason": blame(error)}
        return [_changed(one, crashed) for one in verdicts], findings
    asked.setdefault(PASTED, rule)
    if not told:
        return verdicts, findings
    timed = any(one.code == SUMMARY and one.data.get("steady_ms") for one in findings)
    if timed and told[0].data.get("what") == ONEDNN:
        return verdicts, [_answer(one, told[0]) for one in findings]
    fired = {"verdict": Outcome.FIRED, "reason": ""}
    return [_changed(one, fired) for one in verdicts], [*filter(_is_about_it, findings), *told]


def _answer(finding: Finding, part: Finding) -> Finding:
    """Return the summary of oneDNN's times as what such lines tell; other findings as they are."""
    if finding.code != SUMMARY:
        return finding
    told = {
        "severity": Severity.INFO,
        "harmless": None,
        "message": f"{finding.message} {part.message}",
        "advice": [*finding.advice, *part.advice],
    }
    return finding.model_copy(update=told)


def _is_paste(evidence: Evidence, inputs: Sequence[Input]) -> bool:
    """Tell whether a text is short, not recorded by us, and mostly torch's and oneDNN's."""
    lines = sum(source.lines for source in inputs)
    if not 0 < lines <= MAX_LINES or "recording" in evidence.kinds or evidence.understood_events:
        return False
    return MAX_OTHERS * _of_torch(evidence) >= lines


def _of_torch(evidence: Evidence) -> int:
    """Return how many lines torch and oneDNN wrote, read or not."""
    known = sum(lines for lines, _ in evidence.known.values())
    return evidence.understood_lines + evidence.unread_lines + known


def _changed(verdict: Verdict, update: dict[str, Any]) -> Verdict:
    return verdict.model_copy(update=update) if verdict.code == PASTED else verdict


def _is_about_it(finding: Finding) -> bool:
    """Tell whether a finding says more than that not all of a part can be read."""
    return finding.data.get("how") != "unread"


def _answers(finding: Finding) -> bool:
    """Tell whether a finding says what the log is about; that a part was not read does not."""
    if finding.code == BREAKS:
        return finding.severity is not Severity.NONE  # else the breaks have findings of their own
    return finding.code not in SUMMARIES and finding.data.get("how") not in {"cut", "unread"}
