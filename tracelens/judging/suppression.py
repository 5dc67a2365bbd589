"""What makes times or absences worthless, in the inputs that it is of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tracelens.report import Finding, Severity
from tracelens.rules import Rule

__all__ = ["suppressed"]

#: Rules whose costs are the seconds that compilations took.
COMPILING = ("RCP", "GBR", "DYN", "CMP001")


def suppressed(
    findings: list[Finding], rules: Mapping[str, Rule], foreign: Collection[str]
) -> list[Finding]:
    """Let suppressors silence the claims that they make worthless, in the inputs that they are of.

    Of several, the strongest does: the one whose code comes first. A finding whose evidence is in
    several inputs is as good as the worst of them. Rules of packs (``foreign``) silence packs only.
    """
    by: dict[str, list[Finding]] = {}
    by_packs: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: finding.code):
        claims = rules[finding.code].suppresses
        loud = finding.severity is not Severity.NONE or claims == "absence"
        if claims and loud and not finding.ignored:
            by_packs.setdefault(claims, []).append(finding)
            if finding.code not in foreign:
                by.setdefault(claims, []).append(finding)
    return [
        _silenced(finding, rules[finding.code].claim, by_packs if finding.code in foreign else by)
        for finding in findings
    ]


def _silenced(finding: Finding, claim: str, by: Mapping[str, list[Finding]]) -> Finding:
    if any(finding.code == one.code for found in by.values() for one in found):
        return finding
    others = {kind: _affecting(finding, found) for kind, found in by.items()}
    if _compiles(finding) and finding.cost is not None:  # it names what they are spent on
        others.pop("time", None)
    if (code := others.get(claim)) is not None:
        return finding.model_copy(update={"suppressed_by": code})
    if others.get("time") is not None and finding.cost is not None and not _compiles(finding):
        return finding.model_copy(update={"cost": None})
    return finding


def _compiles(finding: Finding) -> bool:
    """Whether its cost is of compilations: seconds, which a scheduler does not make of nothing."""
    return finding.code.startswith(COMPILING)


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
