"""A short log in which no rule finds anything is told for what it is, and not just called clean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracelens.report import Outcome

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
#: Notes that sum up, or are about the form of the log, and answer nothing.
SUMMARIES = frozenset({"IND026", "LOG006", "ONE011", "ONE019"})


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
    lines = sum(source.lines for source in inputs)
    if not 0 < lines <= MAX_LINES or any(map(_answers, findings)):
        return verdicts, findings
    if "recording" in evidence.kinds or evidence.understood_events:
        return verdicts, findings
    if MAX_OTHERS * evidence.understood_lines < lines:
        return verdicts, findings
    from tracelens.rules.log.log_incomplete import LogIncomplete  # noqa: PLC0415 -- seldom needed

    rule = LogIncomplete()
    told = list(rule.alone(evidence))
    asked.setdefault(PASTED, rule)
    fired = {"verdict": Outcome.FIRED, "reason": ""} if told else {}
    new = [one.model_copy(update=fired) if one.code == PASTED else one for one in verdicts]
    return new, [*findings, *told]


def _answers(finding: Finding) -> bool:
    """Tell whether a finding says what the log is about; that a part was not read does not."""
    return finding.code not in SUMMARIES and finding.data.get("how") not in {"cut", "unread"}
