"""Tables: records with how often, where and how long they were seen.

Everything here is in constant memory per distinct record, whatever the size of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import is_
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from tracelens.evidence.record import Record
from tracelens.evidence.times import Ticks, Times
from tracelens.report import EvidenceLine

if TYPE_CHECKING:
    from tracelens.evidence.store import Evidence

__all__ = ["Part", "Place", "Seen", "Table", "Ticks", "Times"]

R = TypeVar("R", bound=Record)
S = TypeVar("S", bound=Record)
T = TypeVar("T")

#: Writers that a record is told apart by; what further ones add is in the sums only.
MAX_PARTS = 64
#: Places remembered per distinct record; more are counted, and the first ones are kept.
MAX_PLACES = 512
#: Places remembered where many inputs tell of it, one of each beyond those: ranks are not lost.
MAX_INPUTS = 8192


class Place(NamedTuple):
    """Where one record was seen."""

    input: str
    line: int
    #: Rank, container or process that wrote it; empty when there is only one.
    writer: str = ""
    #: Compile id as torch prints it: ``0/1``, ``0/0_1``, ``!0/1/0``; empty outside a compilation.
    frame: str = ""
    #: Seconds since the start of the year, from the log prefix.
    when: float | None = None
    #: (offset, line): from that line of the record's text on, it stands at that line of the input.
    jumps: tuple[tuple[int, int], ...] = ()
    #: Input and writer under which other logs tell of the same process, where one does.
    home: tuple[str, str] | None = None

    @property
    def process(self) -> tuple[str, str]:
        """The input and the writer, the same for all logs of one process."""
        return self.home or (self.input, self.writer)

    @property
    def compilation(self) -> tuple[str, str, str]:
        """The process and the compile id: where the logs of one compilation meet."""
        return (*self.process, self.frame)

    def line_of(self, offset: int) -> int:
        """Return the input's line number of line ``offset`` of the record's text."""
        line = self.line + offset
        for start, number in self.jumps:
            if start > offset:
                break
            line = number + offset - start
        return line

    def shifted(self, lines: int) -> Place:
        """Return the place as it is when ``lines`` lines stand before this part of the input."""
        if not lines:
            return self
        jumps = tuple((offset, line + lines) for offset, line in self.jumps)
        return self._replace(line=self.line + lines, jumps=jumps)

    def moved(self, offset: int) -> Place:
        """Return the place of a record that begins ``offset`` lines into this one's text."""
        if not offset:
            return self
        jumps = tuple((start - offset, line) for start, line in self.jumps if start > offset)
        return self._replace(line=self.line_of(offset), jumps=jumps)


@dataclass(slots=True)
class Part:
    """What one writer of one input adds to a record: where first, how often, and how long."""

    place: Place
    count: int
    times: Times | None

    def add(self, count: int, times: Times | None) -> None:
        """Count ``count`` more sightings."""
        self.count += count
        self.times = _sum(self.times, times)

    def shifted(self, lines: int) -> Part:
        """Return a copy as it is when ``lines`` lines stand before this part of the input."""
        return Part(self.place.shifted(lines), self.count, _sum(None, self.times))


@dataclass(slots=True)
class Seen(Generic[R]):
    """One distinct record: how often it was seen, where first, and how long it took."""

    record: R
    count: int
    places: list[Place]
    text: str
    times: Times | None = None
    #: (input, writer) -> its part, for records that are only counted; None while one wrote all.
    parts: dict[tuple[str, str], Part] | None = None

    def about(
        self, record: S, places: list[Place], count: int = 1, times: Times | None = None
    ) -> Seen[S]:
        """Return a row of another record that the same text tells of."""
        return Seen(record, count, places, self.text, times)

    def add(self, place: Place, count: int, times: Times | None, *, counted: bool) -> None:
        """Add ``count`` sightings, the first of which is at ``place``.

        A ``counted`` record keeps the first place of each writer, another the first
        :data:`MAX_PLACES`.
        """
        if counted:
            self._add_part(place, count, times)
        self.count += count
        if len(self.places) < (1 if counted else MAX_PLACES):
            self.places.append(place)
        self.times = _sum(self.times, times)

    def absorb(self, other: Seen[R], shift: int, *, counted: bool) -> None:
        """Add the sightings of ``other``, which came later by ``shift`` lines."""
        if counted and self.places:
            if other.parts is not None:
                self._tell_apart()
            for part in other.split():
                self._add_part(part.place.shifted(shift), part.count, part.times)
        elif other.parts is not None:
            self.parts = {key: part.shifted(shift) for key, part in other.parts.items()}
        room = max(0, (1 if counted else MAX_PLACES) - len(self.places))
        if not (room or counted) and self._is_new(other):
            room = 1
        self.places += [place.shifted(shift) for place in other.places[:room]]
        self.count += other.count
        self.times = _sum(self.times, other.times)

    def _is_new(self, other: Seen[R]) -> bool:
        """Tell whether another input is the first to tell of it there, and may be remembered."""
        inputs = {self.places[-1].input, other.places[0].input} if other.places else ()
        return len(inputs) > 1 and len(self.places) < MAX_INPUTS

    def split(self) -> list[Part]:
        """Return what each writer of each input adds; sums only, where places are all kept."""
        if self.parts is not None:
            return list(self.parts.values())
        return [Part(self.first, self.count, self.times)] if self.places else []

    def within(self, source: str) -> Seen[R] | None:
        """Return the row as it is in one input alone; None where it is not in it."""
        places = [place for place in self.places if place.input == source]
        if self.parts is None:
            if len(places) in {0, len(self.places)}:
                return self if places else None
            return Seen(self.record, len(places), places, self.text)
        parts = [part for part in self.split() if part.place.input == source]
        if not parts:
            return None
        row = Seen(self.record, 0, [], self.text)
        for part in parts:
            row.add(part.place, part.count, part.times, counted=True)
        return row

    def _add_part(self, place: Place, count: int, times: Times | None) -> None:
        key = (place.input, place.writer)
        if self.parts is None:
            if not self.places or key == (self.first.input, self.first.writer):
                return
            self._tell_apart()
        assert self.parts is not None  # noqa: S101 -- they have just been told apart
        if (part := self.parts.get(key)) is not None:
            part.add(count, times)
        elif len(self.parts) < MAX_PARTS:
            self.parts[key] = Part(place, count, _sum(None, times))

    def _tell_apart(self) -> None:
        if self.parts is None:
            first = Part(self.first, self.count, _sum(None, self.times))
            self.parts = {(self.first.input, self.first.writer): first}

    def completed(self, evidence: Evidence) -> Seen[R]:
        """Return the row with what only other records in ``evidence`` know about its record."""
        record = self.record.resolved(self, evidence)
        if record is self.record:
            return self
        row = self.about(cast("R", record), self.places, self.count, self.times)
        row.parts = self.parts
        return row

    @property
    def first(self) -> Place:
        """The first place."""
        return self.places[0]

    @property
    def ms(self) -> float:
        """Total milliseconds; 0 where the log kind reports none."""
        return self.times.total if self.times else 0.0

    @property
    def frames(self) -> tuple[str, ...]:
        """The compile ids under which it was seen, in order, each once."""
        return tuple(dict.fromkeys(place.frame for place in self.places))

    def quote(self, note: str = "", *, at: int = 0, place: Place | None = None) -> EvidenceLine:
        """Return line ``at`` of the record's text as evidence, at its first or the given place."""
        place = place or self.first
        lines = self.text.split("\n")
        text = lines[at] if 0 <= at < len(lines) else ""
        return EvidenceLine(input=place.input, line=place.line_of(at), text=text, note=note)


def _sum(times: Times | None, more: Times | None) -> Times | None:
    """Return ``times`` with ``more`` added to it."""
    if more is None:
        return times
    times = times or Times()
    times.merge(more)
    return times


class Table(Generic[R]):
    """All records of one type: distinct ones, in order of first appearance."""

    def __init__(self, rows: Iterable[Seen[R]] = ()) -> None:
        self._rows = sorted(rows, key=lambda row: (row.first.input, row.first.line))
        #: What :meth:`events` returns, once somebody has asked.
        self._events: list[tuple[Place, Seen[R]]] | None = None
        #: What :meth:`by` returns, by the function that was asked for.
        self._indexes: dict[Callable[[R], Hashable], dict[Hashable, list[Seen[R]]]] = {}
        #: What :meth:`derived` returns, by the function that was asked for.
        self._derived: dict[Callable[[Table[R]], Any], Any] = {}
        #: The input that all rows are of alone, once somebody has asked about it.
        self._source: str | None = None

    def __iter__(self) -> Iterator[Seen[R]]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def count(self) -> int:
        """How many records there were, distinct or not."""
        return sum(row.count for row in self._rows)

    @property
    def ms(self) -> float:
        """Total milliseconds of all records."""
        return sum(row.ms for row in self._rows)

    def where(self, wanted: Callable[[R], bool]) -> Table[R]:
        """Return the rows whose record is wanted."""
        table: Table[R] = Table()
        table._rows = [row for row in self._rows if wanted(row.record)]  # in order as they are
        return table

    def by(self, key: Callable[[R], Hashable]) -> Mapping[Hashable, list[Seen[R]]]:
        """Return the rows by what ``key``, a function of a module, says of their records.

        It is asked once, however many rules look something up.
        """
        if (index := self._indexes.get(key)) is None:
            index = self._indexes[key] = {}
            for row in self._rows:
                index.setdefault(key(row.record), []).append(row)
        return index

    def derived(self, make: Callable[[Table[R]], T]) -> T:
        """Return what ``make``, a function of a module, makes of the table; it is asked once."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast("T", self._derived[make])

    def within(self, source: str) -> Table[R]:
        """Return the rows of one input, with what that input alone shows of each."""
        if source != self._source:
            rows = [row for seen in self._rows if (row := seen.within(source)) is not None]
            if len(rows) < len(self._rows) or not all(map(is_, rows, self._rows)):
                return Table(rows)
            self._source = source
        return self

    def events(self) -> list[tuple[Place, Seen[R]]]:
        """Return every remembered occurrence in the order of the input."""
        if self._events is None:
            pairs = [(place, row) for row in self._rows for place in row.places]
            self._events = sorted(pairs, key=lambda pair: (pair[0].input, pair[0].line))
        return list(self._events)
