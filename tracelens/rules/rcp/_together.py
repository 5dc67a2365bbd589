"""First changes that are one matter: items of one list, and dimensions of one tensor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracelens.report import Cost, Finding, Severity
from tracelens.words import joined, listed, plural

__all__ = ["together"]

#: The place of an item: ``counts[0]``, ``feats[2].x``.
_ENTRY = re.compile(r"\[\d{1,9}\]")
#: The piece of advice that names all dimensions that changed.
_MARK = "mark-dynamic"
#: Lines that are quoted.
MAX_QUOTED = 5


def together(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings, those of one matter as the first of them.

    Notes about items of one list in one function are; and so are changes of dimensions of one
    tensor for which the same is to be done.
    """
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = _items(finding) or _dimensions(finding) or number
        groups.setdefault(key, []).append(finding)
    for first, *others in groups.values():
        if not others:
            yield first
        elif first.severity is Severity.NONE:
            yield _of_list(first, others)
        else:
            yield _of_tensor(first, others)


def _items(finding: Finding) -> tuple[object, ...]:
    """Return what notes about items of one list have in common; nothing for other findings."""
    data, source = finding.data, str(finding.data.get("source", ""))
    if finding.severity is not Severity.NONE or not _ENTRY.search(source):
        return ()
    place = data.get("function"), data.get("file"), data.get("line")
    held = data.get("is_constant"), data.get("conditions"), finding.harmless
    return (*place, *held, data.get("dimension"), _ENTRY.sub("[*]", source))


def _dimensions(finding: Finding) -> tuple[object, ...]:
    """Return what dimensions of one tensor have in common that are to be marked alike."""
    ids = tuple(one.id for one in finding.advice)
    if finding.severity is Severity.NONE or ids != (_MARK,):
        return ()
    data = finding.data
    place = data.get("function"), data.get("file"), data.get("line"), data.get("source")
    code = frozenset((finding.advice[0].code or finding.advice[0].text).splitlines())
    return (*place, finding.severity, code)


def _of_list(first: Finding, others: list[Finding]) -> Finding:
    group = [first, *others]
    sources = [str(one.data["source"]) for one in group]
    held = _ENTRY.split(sources[0])[0]
    title = first.title.replace(f"`{sources[0]}`", f"{len(group)} items of `{held}`")
    count = sum(one.count for one in group)
    message = (
        f"{first.message} That was `{sources[0]}`; the same came of {listed(sources[1:])}: "
        f"{count} recompiles in all."
    )
    return _joined(group, title, message)


def _of_tensor(first: Finding, others: list[Finding]) -> Finding:
    group = [first, *others]
    numbers = sorted(int(one.data["dimension"]) for one in group)
    count = sum(one.count for one in group)
    earlier = first.message.replace("It", f"Dimension {first.data['dimension']}", 1)
    changed = [
        f"dimension {one.data['dimension']} changed from {' to '.join(one.data['values'][:2])}"
        for one in others
    ]
    return _joined(
        group,
        f"dimensions {joined([*map(str, numbers)])} of `{first.data['source']}` changed for the "
        f"first time: {plural(count, 'recompile')}",
        f"{earlier} Later {joined(changed)}, which took "
        f"{'an entry of its own' if len(others) == 1 else 'an entry each'}.",
        recompiles=count,
        guards=[guard for one in group for guard in one.data["guards"]][:MAX_QUOTED],
    )


def _joined(group: list[Finding], title: str, message: str, **told: object) -> Finding:
    first = group[0]
    return first.model_copy(
        update={
            "title": title,
            "message": message,
            "count": sum(one.count for one in group),
            "evidence": tuple(line for one in group for line in one.evidence)[:MAX_QUOTED],
            "cost": _cost(group),
            "data": first.data | {"functions": _functions(group)} | told,
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
