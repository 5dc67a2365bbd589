"""Run the stages: read the inputs, ask the rules, build the report."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from tracelens import __version__
from tracelens.dynamo import phases
from tracelens.errors import PluginError, SourceError, UsageError
from tracelens.evidence import Evidence, arguments
from tracelens.logs import Log
from tracelens.logs.recording import Recording, notes, switched_on
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
    Severity,
    Tool,
    UnreadText,
    Verdict,
)
from tracelens.report.stories import told_once
from tracelens.rules import Rule
from tracelens.source import read
from tracelens.source.looks_like import look

__all__ = ["analyze", "choose", "judge", "select_rules"]

T = TypeVar("T", bound="Rule | RuleFacts")

#: Entries of ``coverage.known`` and ``coverage.unread`` in a report; the counts cover all.
MAX_LISTED = 50
#: Inputs that the error names when none of them holds anything known.
MAX_NAMED = 3


def analyze(
    *paths: str,
    select: Collection[str] = (),
    ignore: Mapping[str, str] | Collection[str] = (),
    kind: str | None = None,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Read ``paths`` and return what the rules say about them.

    Args:
        paths: Files, directories, globs, or ``-`` for standard input; ``.gz`` and ``.xz`` are
            recognised by content.
        select: Codes, code prefixes or names of the rules to ask; all when empty.
        ignore: Codes, prefixes or names whose findings are kept as ignored, with a reason each.
        kind: Read unmarked text as this log kind.
        jobs: Processes that may share the work on one large file.
        progress: Called with the number of bytes read since the last call.

    Raises:
        SourceError: An input cannot be read, or nothing in any of them is known.
        UsageError: ``select``, ``ignore`` or ``kind`` names nothing that is installed.
        PluginError: An installed rule or log kind is broken.
    """
    rules = choose(select)
    evidence, inputs = read(paths, kind=kind, jobs=jobs, progress=progress)
    if (error := nothing_known(inputs, evidence)) is not None:
        raise error
    return judge(evidence, inputs, rules=rules, ignore=ignore)


def select_rules(select: Collection[str] = ()) -> list[Rule]:
    """Return one instance of every rule whose code starts with, or whose name is, in ``select``."""
    rules = sorted((rule() for rule in discover("rules", Rule)), key=lambda rule: rule.code)
    return _selected(rules, select)


def choose(select: Collection[str] = ()) -> Sequence[Rule | RuleFacts]:
    """Return what :func:`select_rules` does: rules, or what the index knows of them."""
    index = kept()
    return select_rules(select) if index is None else _selected(index.rules, select)


def _selected(rules: Sequence[T], select: Collection[str]) -> list[T]:
    for wanted in select:
        if not any(_matches(rule, wanted) for rule in rules):
            raise UsageError(
                f"no rule matches {wanted!r}", hint="tracelens rules lists codes and names"
            )
    return [rule for rule in rules if not select or any(_matches(rule, s) for s in select)]


def _matches(rule: Rule | RuleFacts, wanted: str) -> bool:
    return rule.code.startswith(wanted.upper()) or rule.name == wanted


def judge(
    evidence: Evidence,
    inputs: Sequence[Input],
    *,
    rules: Iterable[Rule | RuleFacts] | None = None,
    ignore: Mapping[str, str] | Collection[str] = (),
) -> Report:
    """Ask the rules about evidence that has been read, and build the report."""
    verdicts: list[Verdict] = []
    findings: list[Finding] = []
    held = Held(evidence)
    asked: dict[str, Rule] = {}
    for known in rules if rules is not None else select_rules():
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
    findings = told_once(_suppress(findings, asked), asked)
    logs = _summing_up(evidence)
    return Report(
        tool=Tool(version=__version__),
        inputs=tuple(inputs),
        environment=Environment(**_merged(log.environment(evidence) for log in logs)),
        coverage=_coverage(evidence, inputs),
        verdicts=tuple(verdicts),
        findings=tuple(sorted(findings, key=lambda finding: finding.order)),
        tables=_merged(
            (
                *(log.tables(evidence) for log in logs),
                _frames(held, evidence),
                phases.tables(evidence),
            )
        ),
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
        if _matches(rule, wanted):
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
        share=round(evidence.understood_lines / ours, 5) if ours else 1.0,
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


def nothing_known(inputs: Sequence[Input], evidence: Evidence) -> SourceError | None:
    """Return the error for inputs in which nothing at all was recognised; it says what they are."""
    if any(source.kinds.keys() - {Recording.name} for source in inputs) or evidence.known:
        return None
    for unread in evidence.unread[:1]:
        message = f"{inputs[0].path}:{unread.first_line}: not {unread.kind}: {unread.reason}"
        return SourceError(message, hint="nothing else in the input comes from torch or oneDNN")
    looks = [(source.path, look(source.path)) for source in inputs]
    names = "; ".join(f"{path}: {found.what}" for path, found in looks[:MAX_NAMED])
    more = f" and {len(looks) - MAX_NAMED} more" if len(looks) > MAX_NAMED else ""
    path, found = looks[0]
    hint = found.hint.replace("FILE", path)
    return SourceError(f"{names}{more}: nothing from torch or oneDNN in it", hint=hint)
