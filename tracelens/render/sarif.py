"""SARIF 2.1.0: findings, and what became of every rule, for tools that exchange such reports."""

from __future__ import annotations

import json
from typing import Any

from tracelens.render import Options, Renderer, _words
from tracelens.render._places import Place, Places
from tracelens.render._prepare import prepare
from tracelens.render._strings import elide, one_line
from tracelens.render.gitlab import fingerprint
from tracelens.report import Finding, Outcome, Report, Severity, Verdict

__all__ = ["GithubSarif", "Sarif"]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: Evidence lines of a result, and characters of each text.
MOST, LINE, TEXT = 10, 1_000, 4_000
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
#: What SARIF calls a rule without a finding.
_KINDS = {
    Outcome.FIRED: "informational",
    Outcome.QUIET: "pass",
    Outcome.ABSENT: "open",
    Outcome.CRASHED: "review",
    Outcome.IGNORED: "informational",
}


class Sarif(Renderer):
    """Every finding as a result, and a result for each rule that found nothing."""

    name = "sarif"
    suffixes = (".sarif",)
    #: Whether rules without a finding have a result, which says so by its kind.
    complete = True

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Return one SARIF run; its paths are relative, without a base."""
        _, report, _ = prepare(report, options, cls)
        places = Places(report)
        codes = _codes(report)
        index = {code: number for number, code in enumerate(codes)}
        findings = report.findings if cls.complete else report.told
        results = [_result(finding, places.of(finding), index) for finding in findings]
        if cls.complete:
            told = {finding.code for finding in findings}
            rest = [one for one in report.verdicts if one.code not in told]
            results += [_verdict(one, places.log, index) for one in rest]
        driver = {
            "name": report.tool.name,
            "semanticVersion": report.tool.version,
            "rules": [_rule(code, name, options) for code, name in codes.items()],
        }
        run = {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "invocations": [_invocation(report)],
            "results": results,
        }
        log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
        return json.dumps(log, indent=2) + "\n"


class GithubSarif(Sarif):
    """The same with nothing but findings to act on: code scanning takes a ``pass`` for an alert."""

    name = "github-sarif"
    suffixes = (".github.sarif",)
    complete = False


def _codes(report: Report) -> dict[str, str]:
    """Return the name of each rule by its code, in order."""
    names = {verdict.code: verdict.name for verdict in report.verdicts}
    names |= {finding.code: finding.name for finding in report.findings}
    return dict(sorted(names.items()))


def _rule(code: str, name: str, options: Options) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": code, "name": _camel(name)}
    page = options.page(code)
    if page:
        summary = one_line(page.partition("\n")[0].replace("``", "`"))
        rule["shortDescription"] = {"text": elide(summary, LINE)}
        rule["fullDescription"] = {"text": elide(summary, LINE)}
        rule["help"] = {"text": page, "markdown": page}
    else:
        rule["shortDescription"] = {"text": name.replace("-", " ")}
    rule["properties"] = {"tags": ["performance", code[:3]]}
    return rule


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


def _result(finding: Finding, place: Place, index: dict[str, int]) -> dict[str, Any]:
    known = finding.severity in _LEVELS
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "kind": "fail" if known else "informational",
        "level": _LEVELS.get(finding.severity, "none"),
        "message": {"text": _message(finding)},
        "locations": [_location(place, finding)],
        "partialFingerprints": {"tracelensFinding/v1": fingerprint(finding, place.path)},
        "properties": _properties(finding),
    }
    if finding.evidence:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": elide(line.text, LINE) or "(empty line)"}}
            for number, line in enumerate(finding.evidence[:MOST], 1)
        ]
    if finding.ignored or finding.suppressed_by:
        why = finding.ignored or f"not reliable while {finding.suppressed_by} stands"
        result["suppressions"] = [{"kind": "external", "justification": why}]
    return result


def _message(finding: Finding) -> str:
    parts = [finding.title, finding.message, _words.costs(finding)]
    parts += [_words.promised(item) for item in finding.promising]
    return elide("\n\n".join(part for part in parts if part.strip()), TEXT)


def _location(place: Place, finding: Finding | None = None) -> dict[str, Any]:
    physical = {
        "artifactLocation": {"uri": place.uri},
        "region": {"startLine": place.line},
    }
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding is not None and finding.where and finding.where.function:
        name = finding.where.function
        location["logicalLocations"] = [{"name": name, "kind": "function"}]
    return location


def _properties(finding: Finding) -> dict[str, Any]:
    held = {
        "id": finding.id,
        "run": finding.run,
        "count": finding.count,
        "confidence": finding.confidence.value,
        "cost": finding.cost.model_dump() if finding.cost else None,
        "explainedBy": finding.explained_by,
        "harmless": finding.harmless,
    }
    return {name: value for name, value in held.items() if value is not None}


def _verdict(verdict: Verdict, place: Place, index: dict[str, int]) -> dict[str, Any]:
    needs = f"; record with {', '.join(verdict.needs)}" if verdict.needs else ""
    said = verdict.reason or {Outcome.QUIET: "nothing found"}.get(verdict.verdict, "no evidence")
    return {
        "ruleId": verdict.code,
        "ruleIndex": index[verdict.code],
        "kind": _KINDS[verdict.verdict],
        "level": "none",
        "message": {"text": f"{verdict.verdict.value}: {said}{needs}"},
        "locations": [_location(place)],
        "partialFingerprints": {"tracelensVerdict/v1": verdict.code},
    }


def _invocation(report: Report) -> dict[str, Any]:
    notes = [
        {"level": "error", "message": {"text": f"{one.code} {one.name} crashed: {one.reason}"}}
        for one in report.verdicts
        if one.verdict is Outcome.CRASHED
    ]
    notes += [
        {"level": "error", "message": {"text": f"{pack.distribution}: {pack.what}"}}
        for pack in report.broken_packs
    ]
    out: dict[str, Any] = {"executionSuccessful": not notes}
    return out | ({"toolExecutionNotifications": notes} if notes else {})
