"""The exit code of an analysis, with the reason for each that is not 0."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.cli._terminal import say
from tracelens.config import Config
from tracelens.engine import choose
from tracelens.judging.watching import switch_of
from tracelens.report import BrokenPack, Outcome, Report, Run, Severity

__all__ = ["exit_code", "installed_broken", "say_broken"]

#: What the rules of a family judge by: ``--require ONE`` asks for this, not for all that any rule
#: of the family may use.
BASES = {
    "CGR": "cudagraphs",
    "GBR": "graph_breaks",
    "GRD": "guards",
    "IND": "output_code",
    "ONE": "onednn_verbose",
    "RCP": "recompiles",
    "TRC": "chrome_trace",
}


def exit_code(report: Report, config: Config) -> int:
    """Judge the report by the configured bar; say on standard error what the report does not."""
    broken = say_broken(report.broken_packs)
    crashed = [verdict for verdict in report.verdicts if verdict.verdict is Outcome.CRASHED]
    for verdict in crashed:
        say(
            f"{verdict.code} {verdict.name} crashed: {verdict.reason}",
            hint="this is a bug in the rule; the other rules are not affected",
        )
    absent = _absent(report, config)
    refused = config.strict and report.coverage.unread_lines > 0
    if refused:
        first, count = report.coverage.unread[0], report.coverage.unread_lines
        say(
            f"--strict: {count} line{'s' * (count > 1)} refused by a grammar, "
            f"first {first.kind} at line {first.first_line}: {first.reason}"
        )
    if crashed or broken:
        return 3
    if refused:
        return 2
    over = _over_budget(report, config)
    return int(absent or over or _above_bar(report, config.fail_on))


def _over_budget(report: Report, config: Config) -> bool:
    """Tell whether a counter is above its budget, or unknown; say which."""
    if not config.budgets:
        return False
    from tracelens.report.policy import budgets

    over = [one for one in budgets(report, config.budgets) if not one.holds]
    for one in over:
        if one.value is None:
            hint = f"record again with {one.needs}"
            say(f"budget {one.name} = {one.most:g}: nothing in the input tells it", hint=hint)
        else:
            say(f"over budget: {one.name} is {one.value:g}, at most {one.most:g} is accepted")
    return bool(over)


def _absent(report: Report, config: Config) -> bool:
    """Tell whether evidence is missing that must be there; say which, and the switch for it.

    Evidence is required in every run: what was not watched in one run says nothing of it.
    """
    families = {word.upper() for word in config.require if word.upper() in BASES}
    codes = [word for word in config.require if word.upper() not in families]
    required = {rule.code for rule in choose(codes)} if codes else set()
    for family in sorted(families):
        if runs := [run for run in report.runs if BASES[family] not in run.watched]:
            say(
                f"no evidence for {family}: {BASES[family]} was not recorded{_in(report, runs)}",
                hint=f"record again with {switch_of(BASES[family])}, or say "
                f"--recorded-with {BASES[family]} if it was on",
            )
            required.add(family)
    absent = [
        verdict
        for verdict in report.verdicts
        if (verdict.verdict is Outcome.ABSENT or verdict.absent_in)
        and (config.fail_on_absent or verdict.code in required)
    ]
    for verdict in absent:
        switches = " ".join(verdict.needs)
        runs = [run for run in report.runs if run.name in verdict.absent_in]
        reason = verdict.reason if verdict.verdict is Outcome.ABSENT else "nothing to look at"
        say(
            f"no evidence for {verdict.code} {verdict.name}: {reason}{_in(report, runs)}",
            hint=f"record again with {switches}" if switches else "",
        )
    return bool(absent or families & required)


def _in(report: Report, runs: list[Run]) -> str:
    if not runs or len(report.runs) < 2:
        return ""
    return f" in {', '.join(f'{run.name} ({run.inputs[0]})' for run in runs)}"


def say_broken(packs: Iterable[BrokenPack]) -> int:
    """Say which installed packs cannot be used; return the exit code for that."""
    code = 0
    for pack in packs:
        say(
            f"{pack.distribution}: {pack.what}",
            hint="fix or uninstall the package, or leave packs out with --no-plugins",
        )
        code = 3
    return code


def installed_broken() -> int:
    """Say which installed packs cannot be loaded, for commands that judge nothing themselves."""
    from tracelens.plugins import packs

    return say_broken(packs.broken({}))


def _above_bar(report: Report, bar: str) -> bool:
    if bar == "never":
        return False
    return any(finding.severity.rank <= Severity(bar).rank for finding in report.shown)
