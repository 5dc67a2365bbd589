"""What a rule says of each rank of a job, told once for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tracelens.evidence import Evidence
from tracelens.logs._trace_header import TraceHeader
from tracelens.report import Finding
from tracelens.report.base import two_digits
from tracelens.words import length

__all__ = ["once_for_all", "ranks_of"]

#: Ranks that are quoted, and listed.
MAX_QUOTED = 3
MAX_LISTED = 8


def ranks_of(evidence: Evidence) -> dict[str, int]:
    """Return the rank of each trace, where there are several ranks of one job."""
    headers = [(seen.first.input, seen.record) for seen in evidence.table(TraceHeader)]
    ranks = {
        path: header.rank
        for path, header in headers
        if header.rank is not None and (header.world_size or 0) > 1
    }
    return ranks if len(set(ranks.values())) > 1 else {}


def once_for_all(found: Sequence[Finding], ranks: Mapping[str, int]) -> list[Finding]:
    """Return findings of one rule, those of one kind on several ranks as one.

    The worst is told, and on which ranks it is. What is about several ranks already stays.
    """
    groups: dict[object, list[tuple[int, Finding]]] = {}
    seen: Counter[object] = Counter()
    for finding in found:
        sources = {line.input for line in finding.evidence}
        rank = ranks.get(next(iter(sources))) if len(sources) == 1 else None
        key: object = finding.id
        if rank is not None:  # of several alike on one rank, each meets its like on the others
            key = finding.id, seen[finding.id, rank]
            seen[finding.id, rank] += 1
        groups.setdefault(key, []).append((-1 if rank is None else rank, finding))
    out: list[Finding] = []
    for of_it in groups.values():
        if len({rank for rank, _ in of_it}) < 2 or of_it[0][0] < 0:
            out += [finding for _, finding in of_it]
        else:
            out.append(_together(sorted(of_it, key=lambda pair: pair[0]), len(set(ranks.values()))))
    return out


def _together(of_it: Sequence[tuple[int, Finding]], read: int) -> Finding:
    rank, worst = min(of_it, key=lambda pair: (pair[1].severity.rank, -_ms(pair[1]), pair[0]))
    numbers = [number for number, _ in of_it]
    where = f"all {read} ranks" if len(of_it) == read else f"{len(of_it)} of {read} ranks"
    listed = ", ".join(map(str, numbers[:MAX_LISTED])) + (", ..." if numbers[MAX_LISTED:] else "")
    costs = sorted({two_digits(_ms(f)) for _, f in of_it if f.cost and f.cost.ms})
    span = f", at a cost of {' to '.join(length(ms) for ms in _ends(costs))} each" if costs else ""
    others = [finding.evidence[0] for number, finding in of_it if number != rank]
    return worst.model_copy(
        update={
            "title": f"{worst.title} ({where})",
            "message": f"{worst.message} This is rank {rank}. The same is on {where}"
            f" ({listed}){span}.",
            "evidence": (*worst.evidence, *others[:MAX_QUOTED]),
        }
    )


def _ends(values: Sequence[float]) -> Sequence[float]:
    return values if len(values) < 2 else (values[0], values[-1])


def _ms(finding: Finding) -> float:
    return (finding.cost.ms or 0.0) if finding.cost else 0.0
