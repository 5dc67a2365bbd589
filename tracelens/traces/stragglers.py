"""Which rank the others wait for, and what it does longer than they.

The moments at which ranks came to their collectives tell it. Where these cannot be compared, what
each rank did does: one is idle for as long as the others are in collectives and compute nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tracelens.evidence import Seen
from tracelens.traces.ranks import RankTime
from tracelens.words import length

__all__ = ["Late", "late"]

#: Of the time of a rank, what lateness must take to be worth a word.
MIN_SHARE = 0.1
#: Of all lateness, what one rank must cause to be the straggler.
MAIN = 0.5
#: Collectives from which on it must also come last more often than by chance: deviations above.
MANY = 8
DEVIATIONS = 2.0
#: ... and from which on it need not come last to all, where they are fewer.
FEW = 5
#: Without common moments: of what a rank is idle longer, what the others must wait longer.
MATCHES = 0.8
#: Of its lateness, what a difference must be to explain it.
EXPLAINS = 0.3
#: What a rank may do longer than the others, and how a person says it.
_WHY = {
    "compute_ms": "its GPU computes {} longer",
    "exposed_copy_ms": "its copies run alone {} longer",
    "idle_data_ms": "it waits for its next batch {} longer",
    "idle_not_launched_ms": "its host launches late: {} more idle time",
}
#: The same of a program without a device.
_WHY_ON_CPU = {
    "compute_ms": "its operators take {} longer",
    "idle_data_ms": "it waits for its next batch {} longer",
    "between_ms": "it is between operators {} longer: in Python, files or locks",
}


@dataclass(frozen=True, slots=True)
class Late:
    """How late ranks come to the collectives that they share."""

    rows: tuple[Seen[RankTime], ...]
    #: The rank that causes most of it; None where they take turns.
    rank: Seen[RankTime] | None
    ms: float
    window_ms: float
    count: int
    #: What the others are in collectives, as a rule, and this rank; None where moments tell it.
    alone_ms: tuple[float, float] | None = None

    @property
    def why(self) -> str:
        """What the rank does longer than the median of the others, as a sentence; may be empty."""
        if self.rank is None:
            return ""
        why = _WHY_ON_CPU if self.on_host else _WHY
        excess = {field: self._excess(field) for field in why}
        field, ms = max(excess.items(), key=lambda pair: pair[1])
        if ms < EXPLAINS * self.ms:
            return ""
        return f" Against the median of the others, {why[field].format(length(ms))}."

    @property
    def on_host(self) -> bool:
        """Whether the ranks have no device."""
        return all(row.record.between_ms is not None for row in self.rows)

    @property
    def spread_ms(self) -> float:
        """How well the clocks are known."""
        return max(row.record.clock_spread_ms or 0.0 for row in self.rows)

    def _excess(self, field: str) -> float:
        own = getattr(self.rank.record, field) if self.rank else None
        others = [
            value
            for row in self.rows
            if row is not self.rank and (value := getattr(row.record, field)) is not None
        ]
        return own - median(others) if own is not None and others else 0.0


def late(rows: Sequence[Seen[RankTime]]) -> Late | None:
    """Return what the ranks wait for each other; None where that is little, or not known."""
    met = [row for row in rows if row.record.late_ms is not None and row.record.collectives]
    if not met:
        return _without_moments(rows)
    total = sum(row.record.late_ms or 0.0 for row in met)
    window = median(row.record.window_ms for row in met)
    count = max(row.record.collectives for row in met)
    found = Late(tuple(met), None, total, window, count)
    sure = total > 2 * count * found.spread_ms
    if total < MIN_SHARE * window or not sure:
        return None
    last = max(met, key=lambda row: row.record.late_ms or 0.0)
    if (last.record.late_ms or 0.0) < MAIN * total or not _more_than_chance(last, count, len(met)):
        return found
    return Late(tuple(met), last, last.record.late_ms or 0.0, window, count)


def _more_than_chance(row: Seen[RankTime], count: int, ranks: int) -> bool:
    """Tell whether a rank comes last more often than if each were last by chance."""
    if ranks < 2:
        return True
    if count < MANY:  # one of two ranks is last to two of three always
        return (row.record.last or 0) >= count - (count >= FEW)
    mean = count / ranks
    return (row.record.last or 0) >= mean + DEVIATIONS * math.sqrt(mean * (1 - 1 / ranks))


def _without_moments(rows: Sequence[Seen[RankTime]]) -> Late | None:
    """Return the rank that is idle for as long as all others wait in collectives, if one is.

    Without a device it may compute meanwhile, too.
    """
    known = [row for row in rows if row.record.idle_ms is not None]
    if len(known) < 2:
        return None
    last = max(known, key=lambda row: _apart(row.record))
    others = [row.record for row in known if row is not last]
    window = median(row.record.window_ms for row in known)
    more = _apart(last.record) - max(map(_apart, others))
    alone, own = min(row.exposed_comm_ms or 0.0 for row in others), last.record.exposed_comm_ms
    waited = alone - (own or 0.0)
    if own is None or more < MIN_SHARE * window or waited < MATCHES * more:
        return None
    usual = median(row.exposed_comm_ms or 0.0 for row in others)
    return Late(tuple(known), last, min(more, waited), window, 0, (usual, own))


def _apart(row: RankTime) -> float:
    """Return how long a rank is idle, or, without a device, does anything but wait for others."""
    if row.between_ms is None:
        return row.idle_ms or 0.0
    return row.window_ms - (row.exposed_comm_ms or 0.0)
