"""Items of one list that each changed for the first time: one note for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracelens.report import Cost, Finding, Severity
from tracelens.words import listed

__all__ = ["of_one_list"]

#: The place of an item: ``counts[0]``, ``feats[2].x``.
_ENTRY = re.compile(r"\[\d{1,9}\]")
#: Lines that are quoted.
MAX_QUOTED = 5


def of_one_list(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings, notes about items of one list in one function as the first of them."""
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        groups.setdefault(_about(finding) or number, []).append(finding)
    for group in groups.values():
        yield _joined(group) if len(group) > 1 else group[0]


def _about(finding: Finding) -> tuple[object, ...]:
    """Return what such notes have in common; nothing for all other findings."""
    data, source = finding.data, str(finding.data.get("source", ""))
    if finding.severity is not Severity.NONE or not _ENTRY.search(source):
        return ()
    place = data.get("function"), data.get("file"), data.get("line")
    held = data.get("is_constant"), data.get("conditions"), finding.harmless
    return (*place, *held, data.get("dimension"), _ENTRY.sub("[*]", source))


def _joined(group: list[Finding]) -> Finding:
    first = group[0]
    sources = [str(one.data["source"]) for one in group]
    held = _ENTRY.split(sources[0])[0]
    title = first.title.replace(f"`{sources[0]}`", f"{len(group)} items of `{held}`")
    count = sum(one.count for one in group)
    others = listed(sources[1:])
    return first.model_copy(
        update={
            "title": title,
            "message": f"{first.message} That was `{sources[0]}`; the same came of {others}: "
            f"{count} recompiles in all.",
            "count": count,
            "evidence": tuple(line for one in group for line in one.evidence)[:MAX_QUOTED],
            "cost": _cost(group),
            "data": first.data | {"functions": _functions(group)},
        }
    )


def _functions(group: list[Finding]) -> list[object]:
    found: list[object] = []
    for one in group:
        found += [each for each in one.data.get("functions", ()) if each not in found]
    return found


def _cost(group: list[Finding]) -> Cost | None:
    """Return what all of them cost, where that is known of each, in the same way."""
    costs = [one.cost for one in group if one.cost is not None]
    if len(costs) < len(group) or len({one.basis for one in costs}) > 1:
        return None
    shares = [one.share for one in costs if one.share is not None]
    of = (costs[0].of or "").partition(", for ")[0]
    return Cost(
        ms=sum(one.ms or 0.0 for one in costs),
        share=sum(shares) if len(shares) == len(costs) else None,
        basis=costs[0].basis,
        of=f"{of}, for all of them" if of else None,
    )
