"""What the cache of Inductor was asked for, start by start of the program."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tracelens.evidence import Place, Seen, Table
from tracelens.logs import Joined
from tracelens.report import EvidenceLine

if TYPE_CHECKING:
    from tracelens.logs.inductor_debug import (
        CacheBypass,
        CacheEvent,
        CompileStep,
        CompileThreads,
        HashDetails,
    )

__all__ = ["CacheUse", "Lookup", "successive"]


class CacheUse(Joined):
    """Something that Inductor logged where it also logs what its cache said."""

    @classmethod
    def join(
        cls, steps: Table[CompileStep], events: Table[CacheEvent], bypasses: Table[CacheBypass]
    ) -> Iterator[Seen[CacheUse]]:
        """Yield one per step, answer or refusal."""
        for table in (steps, events, bypasses):
            for place, row in table.events():
                yield row.about(cls(), [place], row.count)


@dataclass(frozen=True)
class Lookup:
    """One question to the cache."""

    place: Place
    seen: Seen[CacheEvent]
    #: Compile id, and the how-manieth question of it: forward and backward have one id.
    graph: tuple[str, int]
    details: Seen[HashDetails] | None

    @property
    def key(self) -> str:
        """The key, which is a hash of all that the code depends on."""
        return self.seen.record.key

    @property
    def is_hit(self) -> bool:
        """Whether the cache had it."""
        return self.seen.record.outcome == "hit"

    @cached_property
    def parts(self) -> dict[str, str]:
        """The hash of each part of the key, where the log tells."""
        if self.details is None:
            return {}
        return {part.part: part.hash for part in self.details.record.components}

    def quote(self, note: str) -> EvidenceLine:
        """Return the line of the log."""
        return self.seen.quote(note, place=self.place)


def successive(
    events: Table[CacheEvent], threads: Table[CompileThreads], details: Table[HashDetails]
) -> Iterator[tuple[list[Lookup], list[Lookup]]]:
    """Yield what two starts of one rank asked for, one right after the other.

    Another process is another start; so is another input, and the line in which Inductor says, when
    it is imported, how many processes compile. Starts that overlap in time did not wait for each
    other; where a rank has such, nothing is compared.
    """
    made = {row.record.key: row for row in details if _is_wanted(row.record.cache)}
    begins = [(place.input, place.line) for place, _ in threads.events()]  # in order
    asked: Counter[tuple[str, str, str, int, str]] = Counter()
    ranks: dict[str, dict[tuple[str, str, int], list[Lookup]]] = {}
    for place, seen in events.events():
        if not _is_wanted(seen.record.cache):
            continue
        number = bisect_left(begins, (place.input, place.line))
        rank, process = ("", place.writer) if place.writer.isdecimal() else (place.writer, "")
        start = ranks.setdefault(rank, {}).setdefault((place.input, process, number), [])
        question = (rank, place.input, process, number, place.frame)
        order, asked[question] = asked[question], asked[question] + 1
        start.append(Lookup(place, seen, (place.frame, order), made.get(seen.record.key)))
    for groups in ranks.values():
        pairs = list(pairwise(sorted(groups.values(), key=_first)))
        if all(_last(earlier) <= _first(later) for earlier, later in pairs):
            yield from pairs


def _is_wanted(cache: str) -> bool:
    """Whether it is the cache of graphs, which that of AOTAutograd stands in front of."""
    return cache.lower().startswith("fx graph")


def _first(lookups: list[Lookup]) -> float:
    return min(lookup.place.when or 0.0 for lookup in lookups)


def _last(lookups: list[Lookup]) -> float:
    return max(lookup.place.when or 0.0 for lookup in lookups)
