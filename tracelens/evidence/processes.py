"""One process, told by two logs: what the text log and the structured log of a run both say.

``TORCH_LOGS`` and ``TORCH_TRACE`` write the same facts, and a run may have both. Whoever counts
must count each fact once. Two logs are of one process when its number is the same in both and they
tell of the same compilation at the same time, by their clocks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from tracelens.evidence.record import Record
from tracelens.evidence.tables import Place, Seen

__all__ = ["Processes", "Span"]

R = TypeVar("R", bound=Record)

#: Input and writer.
Process = tuple[str, str]
#: Input, writer, compile id -> (first, last) clock, and the first line.
Spans = Mapping[tuple[str, str, str], "Span"]
_Fact = tuple[type[Record], Process, str]


class Span(NamedTuple):
    """When the records of one compile id were written: (first, last) clock, and the first line."""

    first: float
    last: float
    line: int

    def overlaps(self, other: Span) -> bool:
        """Tell whether both were written at the same time."""
        return self.first <= other.last and other.first <= self.last

    def joined(self, other: Span) -> Span:
        """Return the span that covers both."""
        first, last = min(self.first, other.first), max(self.last, other.last)
        return Span(first, last, min(self.line, other.line))


class Processes:
    """Which process of a structured log is which one of a text log."""

    def __init__(
        self, spans: Spans, structured: Iterable[str], numbers: Mapping[Process, str]
    ) -> None:
        """Find the pairs.

        Args:
            spans: Of all compile ids.
            structured: The inputs that are structured logs.
            numbers: Process ids, where the writer is called otherwise.
        """
        #: Process of a structured log -> the same in a text log.
        self.homes = _homes(spans, frozenset(structured), numbers)
        #: The spans of compile ids, those of one compilation joined.
        self.spans: dict[tuple[str, str, str], Span] = {}
        for (source, writer, frame), span in spans.items():
            key = (*self.homes.get((source, writer), (source, writer)), frame)
            held = self.spans.get(key)
            joined = span if held is None else held.joined(span)
            # Lines of another input say nothing of this one.
            line = held.line if held is not None and key[0] != source else span.line
            self.spans[key] = joined if held is None else joined._replace(line=line)

    def once(self, rows: list[Seen[R]]) -> list[Seen[R]]:
        """Return ``rows`` with each fact once, and at home in the text log where there is one.

        The records of one type and compile id are taken from the log that has more of them: a text
        log leaves out what was not asked for or was said before. At a tie they are those of the
        text log, which people read. What a text log says outside of compilations, it says of one;
        an exception is printed by Python, for nobody in particular.
        """
        if not self.homes:
            return rows
        told, traced = Counter[_Fact](), Counter[_Fact]()
        outside: defaultdict[tuple[type[Record], Process], list[object]] = defaultdict(list)
        for row in rows:
            for place in row.places:
                is_traced = _process(place) in self.homes
                (traced if is_traced else told)[self._fact(row, place)] += not row.record.is_echo
                if not place.frame and not is_traced:
                    outside[type(row.record), _process(place)].append(row.record.gist)
        kept = []
        for row in rows:
            places = []
            for place in row.places:
                fact = self._fact(row, place)
                if _process(place) not in self.homes:
                    if not traced[fact] > told[fact]:
                        places.append(place)
                elif traced[fact] > told[fact] and not any(
                    row.record.gist in outside.get((fact[0], process), ())
                    for process in (fact[1], (fact[1][0], ""))
                ):
                    places.append(place._replace(home=fact[1]))
            if len(places) == len(row.places) and places == row.places:
                kept.append(row)
            elif places:
                count = row.count - len(row.places) + len(places)
                kept.append(replace(row, places=places, count=count))
        return kept

    def _fact(self, row: Seen[Any], place: Place) -> _Fact:
        process = _process(place)
        return type(row.record), self.homes.get(process, process), place.frame


def _process(place: Place) -> Process:
    return place.input, place.writer


def _homes(
    spans: Spans, structured: frozenset[str], numbers: Mapping[Process, str]
) -> dict[Process, Process]:
    told: defaultdict[tuple[str, str], list[tuple[Process, Span]]] = defaultdict(list)
    for (source, writer, frame), span in spans.items():
        if source not in structured:
            number = numbers.get((source, writer), writer)
            told[number, frame].append(((source, writer), span))
    shared: defaultdict[Process, Counter[Process]] = defaultdict(Counter)
    for (source, writer, frame), span in spans.items():
        if source in structured:
            number = numbers.get((source, writer), writer)
            for process, other in told.get((number, frame), ()):
                if span.overlaps(other):
                    shared[source, writer][process] += 1
    homes = {}
    for traced, candidates in shared.items():
        (best, most), *others = candidates.most_common(2)
        if not others or others[0][1] < most:
            homes[traced] = best
    return homes
