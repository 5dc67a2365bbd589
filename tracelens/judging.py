"""Judge one run: ask the rules about what was read of it, and sum it up in a report."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from tracelens import __version__
from tracelens.dynamo import phases
from tracelens.errors import PluginError
from tracelens.evidence import Evidence, arguments
from tracelens.logs import Log
from tracelens.logs.recording import ended, notes, switched_on
from tracelens.plugins.manifest import Held, RuleFacts, TableFacts, kept
from tracelens.plugins.registry import discover
from tracelens.report import (
    Coverage,
    Environment,
    Finding,
    Input,
    KnownSite,
    Outcome,
    Report,
    Run,
    Severity,
    Tool,
    UnreadText,
    Verdict,
)
from tracelens.report.joining import MAX_LISTED, share
from tracelens.report.stories import told_once
from tracelens.rules import Rule

__all__ = ["judge", "matches"]


def judge(
    evidence: Evidence,
    inputs: Sequence[Input],
    *,
    rules: Iterable[Rule | RuleFacts] | None = None,
    ignore: Mapping[str, str] | Collection[str] = (),
    name: str = "run1",
) -> Report:
    """Ask the rules about the evidence of one run, and build its report.

    Args:
        evidence: All that was read of the run.
        inputs: What it was read from.
        rules: Those to ask; all when None.
        ignore: Codes, prefixes or names whose findings are kept as ignored, with a reason each.
        name: What the run is called.
    """
    verdicts: list[Verdict] = []
    findings: list[Finding] = []
    held = Held(evidence)
    asked: dict[str, Rule] = {}
    for known in _all() if rules is None else rules:
        facts = known if isinstance(known, RuleFacts) else RuleFacts.read(known)
        verdict = _without_asking(facts, held, evidence)
        found: list[Finding] = []
        if verdict is None:
            rule = asked[facts.code] = known.load() if isinstance(known, RuleFacts) else known
            verdict, found = _ask(rule, facts, partial(_tables, known, held, evidence), evidence)
        reason = _ignored(known, ignore)
        if reason is not None and found:
            found = [finding.model_copy(update={"ignored": reason}) for finding in found]
            verdict = verdict.model_copy(update={"verdict": Outcome.IGNORED, "reason": reason})
        verdicts.append(verdict)
        findings += found
    findings = [
        finding.model_copy(update={"run": name})
        for finding in told_once(_suppress(findings, asked), asked)
    ]
    logs = _summing_up(evidence)
    tables = _merged(
        (*(log.tables(evidence) for log in logs), _frames(held, evidence), phases.tables(evidence))
    )
    return Report(
        tool=Tool(version=__version__),
        inputs=tuple(inputs),
        runs=(_run(name, inputs, evidence),),
        environment=Environment(**_merged(log.environment(evidence) for log in logs)),
        coverage=_coverage(evidence, inputs),
        verdicts=tuple(verdicts),
        findings=tuple(sorted(findings, key=lambda finding: finding.order)),
        tables={title: [row | {"run": name} for row in rows] for title, rows in tables.items()},
    )


def _run(name: str, inputs: Sequence[Input], evidence: Evidence) -> Run:
    """Return what there is to know about the run as such."""
    how = ended(evidence)
    return Run(
        name=name,
        inputs=tuple(source.path for source in inputs),
        ranks=tuple(dict.fromkeys(writer for source in inputs for writer in source.writers)),
        ended=("ok" if how == "well" else "error") if how else "unknown",
    )


def _tables(known: Rule | RuleFacts, held: Held, evidence: Evidence) -> dict[str, Any]:
    """Return what the rule asks for."""
    if not isinstance(known, RuleFacts):
        return arguments(known.check, evidence)
    return held.tables(known.tables) | dict.fromkeys(known.whole, evidence)


def _frames(held: Held, evidence: Evidence) -> Mapping[str, Any]:
    """Return the summary of what was compiled."""
    index = kept()
    if index is not None and not held.may_fill(index.frames) and not evidence.ticks:
        return {}
    from tracelens.dynamo import frames  # noqa: PLC0415 -- joined from most log kinds

    return frames.tables(evidence)


def _without_asking(facts: RuleFacts, held: Held, evidence: Evidence) -> Verdict | None:
    """Return the verdict of a rule that has nothing to look at; None where it must be asked."""
    filled = [held.may_fill(table) for table in facts.tables]
    pairs = list(zip(facts.tables, filled, strict=True))
    lacking = [table for table, full in pairs if table.required and table.switches and not full]
    open_ = any(table.required and full and not table.plain for table, full in pairs)
    if lacking and not open_:
        return _absent(facts, lacking, evidence)
    if facts.everything or any(filled):
        return None
    return Verdict(code=facts.code, name=facts.name, verdict=Outcome.QUIET)


def _absent(facts: RuleFacts, lacking: Sequence[TableFacts], evidence: Evidence) -> Verdict:
    """Return the verdict of a rule some of whose tables must have rows and have none."""
    words = " or ".join(dict.fromkeys(table.name for table in lacking))
    if any(all(switched_on(s, evidence) for s in table.switches) for table in lacking):
        reason = f"the recording holds no {words}, though its switches were on"
        return Verdict(code=facts.code, name=facts.name, verdict=Outcome.QUIET, reason=reason)
    return Verdict(
        code=facts.code,
        name=facts.name,
        verdict=Outcome.ABSENT,
        needs=tuple(dict.fromkeys(switch for table in lacking for switch in table.switches)),
        reason=f"no {words} in the input",
    )


def _ask(
    rule: Rule, facts: RuleFacts, tables: Callable[[], dict[str, Any]], evidence: Evidence
) -> tuple[Verdict, list[Finding]]:
    base = Verdict(code=rule.code, name=rule.name, verdict=Outcome.QUIET)
    try:
        given = tables()
        lacking = [
            table
            for table in facts.tables
            if table.required and table.switches and not len(given[table.parameter])
        ]
        if lacking:
            return _absent(facts, lacking, evidence), []
        found = list(rule.check(**given))
    except PluginError:
        raise
    except Exception as error:  # a broken rule must not take the report down
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
        return base.model_copy(update={"verdict": Outcome.CRASHED, "reason": reason}), []
    if not found:
        return base, []
    return base.model_copy(update={"verdict": Outcome.FIRED}), _distinct(found)


def _summing_up(evidence: Evidence) -> Sequence[type[Log]]:
    """Return the log kinds that may have something to say about this evidence as a whole."""
    if (index := kept()) is None:
        return discover("logs", Log)
    homes = {kind.__module__ for kind in evidence.types()}
    return [
        log.load()
        for log in index.logs
        if log.sums_up and (log.name in evidence.kinds or log.module in homes)
    ]


def _distinct(found: list[Finding]) -> list[Finding]:
    """Number the findings of one rule that share an id, so that every id names one finding."""
    seen: dict[str, int] = {}
    out = []
    for finding in found:
        number = seen[finding.id] = seen.get(finding.id, 0) + 1
        update = {"id": f"{finding.id}-{number}"}
        out.append(finding if number == 1 else finding.model_copy(update=update))
    return out


def _ignored(rule: Rule | RuleFacts, ignore: Mapping[str, str] | Collection[str]) -> str | None:
    for wanted in ignore:
        if matches(rule, wanted):
            return ignore[wanted] if isinstance(ignore, Mapping) else "ignored on request"
    return None


def _suppress(findings: list[Finding], rules: Mapping[str, Rule]) -> list[Finding]:
    """Let suppressors silence the claims that they make worthless, in the inputs that they are of.

    Of several, the strongest does: the one whose code comes first. A finding whose evidence is in
    several inputs is as good as the worst of them.
    """
    by: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: finding.code):
        claims = rules[finding.code].suppresses
        loud = finding.severity is not Severity.NONE or claims == "absence"
        if claims and loud and not finding.ignored:
            by.setdefault(claims, []).append(finding)
    return [_silenced(finding, rules[finding.code].claim, by) for finding in findings]


def _silenced(finding: Finding, claim: str, by: Mapping[str, list[Finding]]) -> Finding:
    if any(finding.code == one.code for found in by.values() for one in found):
        return finding
    others = {kind: _affecting(finding, found) for kind, found in by.items()}
    if (code := others.get(claim)) is not None:
        return finding.model_copy(update={"suppressed_by": code})
    if others.get("time") is not None and finding.cost is not None:
        return finding.model_copy(update={"cost": None})
    return finding


def _affecting(finding: Finding, suppressors: Iterable[Finding]) -> str | None:
    """Return the code of the first suppressor that shares an input with ``finding``."""
    ours = _inputs(finding)
    for one in suppressors:
        theirs = _inputs(one)
        if not ours or not theirs or ours & theirs:
            return one.code
    return None


def _inputs(finding: Finding) -> set[str]:
    """Return the inputs that hold the evidence of ``finding``; none known: it may be any."""
    return {line.input for line in finding.evidence}


def _coverage(evidence: Evidence, inputs: Sequence[Input]) -> Coverage:
    lines = sum(source.lines for source in inputs)
    events = sum(source.events for source in inputs)
    known = sum(count for count, _ in evidence.known.values())
    ours = evidence.understood_lines + known + evidence.unread_lines
    sites = sorted(evidence.known.items(), key=lambda item: (-item[1][0], item[1][1]))
    return Coverage(
        lines=lines,
        understood_lines=evidence.understood_lines,
        known_lines=known,
        program_lines=max(0, lines - ours),
        unread_lines=evidence.unread_lines,
        share=share(evidence.understood_lines, known, evidence.unread_lines),
        events=events or None,
        understood_events=evidence.understood_events if events else None,
        known=tuple(
            KnownSite(site=site, count=count, first_line=first)
            for site, (count, first) in sites[:MAX_LISTED]
        ),
        unread=tuple(
            UnreadText(
                kind=unread.kind,
                text=unread.text[:500],
                count=unread.count,
                first_line=unread.first_line,
                reason=unread.reason,
            )
            for unread in evidence.unread[:MAX_LISTED]
        ),
        notes=(*evidence.notes, *notes(evidence)),
    )


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            if value is not None and out.get(key) is None:
                out[key] = value
    return out


def _all() -> Iterable[Rule]:
    """Return one instance of every installed rule."""
    return sorted((rule() for rule in discover("rules", Rule)), key=lambda rule: rule.code)


def matches(rule: Rule | RuleFacts, wanted: str) -> bool:
    """Tell whether ``wanted`` is the rule's name, or how its code begins."""
    return rule.code.startswith(wanted.upper()) or rule.name == wanted
