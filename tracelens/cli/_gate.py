"""The exit code of an analysis, with the reason for each that is not 0."""

from __future__ import annotations

from tracelens.cli._terminal import say
from tracelens.config import Config
from tracelens.engine import choose
from tracelens.report import Outcome, Report, Severity

__all__ = ["exit_code"]


def exit_code(report: Report, config: Config) -> int:
    """Judge the report by the configured bar; say on standard error what the report does not."""
    crashed = [verdict for verdict in report.verdicts if verdict.verdict is Outcome.CRASHED]
    for verdict in crashed:
        say(
            f"{verdict.code} {verdict.name} crashed: {verdict.reason}",
            hint="this is a bug in the rule; the other rules are not affected",
        )
    required = {rule.code for rule in choose(config.require)} if config.require else set()
    absent = [
        verdict
        for verdict in report.verdicts
        if verdict.verdict is Outcome.ABSENT and (config.fail_on_absent or verdict.code in required)
    ]
    for verdict in absent:
        switches = " ".join(verdict.needs)
        say(
            f"no evidence for {verdict.code} {verdict.name}: {verdict.reason}",
            hint=f"record again with {switches}" if switches else "",
        )
    refused = config.strict and report.coverage.unread_lines > 0
    if refused:
        first, count = report.coverage.unread[0], report.coverage.unread_lines
        say(
            f"--strict: {count} line{'s' * (count > 1)} refused by a grammar, "
            f"first {first.kind} at line {first.first_line}: {first.reason}"
        )
    if crashed:
        return 3
    if refused:
        return 2
    return int(bool(absent) or _above_bar(report, config.fail_on))


def _above_bar(report: Report, bar: str) -> bool:
    if bar == "never":
        return False
    return any(finding.severity.rank <= Severity(bar).rank for finding in report.shown)
