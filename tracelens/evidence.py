"""Evidence: all that was read, in tables by record type. The first waist of the design.

The reading side adds texts; the judging side asks for tables. Two pieces of evidence merge, and
merging is associative: the parts of one file, or the logs of many ranks, may be read anywhere.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from tracelens.errors import PluginError
from tracelens.grammars import Unreadable
from tracelens.logs import Log, Record
from tracelens.report import EvidenceLine

__all__ = ["Evidence", "Place", "Seen", "Table", "Times", "Unread", "arguments", "needs"]

R = TypeVar("R", bound=Record)

#: Places remembered per distinct record; more are counted, and the first ones are kept.
MAX_PLACES = 512
#: Distinct texts that may be kept per log kind. A log that exceeds it is not a log we know.
MAX_DISTINCT = 200_000
#: Characters of a record's text that are kept for quoting.
MAX_QUOTE = 16_384
#: Distinct refused texts kept per kind.
MAX_UNREAD = 50


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
        jumps = tuple((offset, line + lines) for offset, line in self.jumps)
        return self._replace(line=self.line + lines, jumps=jumps)

    def moved(self, offset: int) -> Place:
        """Return the place of a record that begins ``offset`` lines into this one's text."""
        if not offset:
            return self
        jumps = tuple((start - offset, line) for start, line in self.jumps if start > offset)
        return self._replace(line=self.line_of(offset), jumps=jumps)


class Times:
    """How long something took, over many executions, in constant memory. All in milliseconds.

    The total is kept in whole femtoseconds, so that adding is exact in any order.
    """

    __slots__ = ("_total", "buckets", "first", "max", "min", "n")

    #: Buckets per factor of two: the median is exact to 3 %.
    RESOLUTION = 16

    def __init__(self) -> None:
        self.n = 0
        self._total = 0
        self.min = math.inf
        self.max = 0.0
        self.first = 0.0
        self.buckets: dict[int, int] = {}

    def add(self, ms: float, count: int = 1) -> None:
        """Add ``count`` executions of ``ms`` each."""
        if not self.n:
            self.first = ms
        self.n += count
        self._total += round(ms * 1e12) * count
        self.min = min(self.min, ms)
        self.max = max(self.max, ms)
        key = math.floor(math.log2(ms) * self.RESOLUTION) if ms > 0 else -(1 << 20)
        self.buckets[key] = self.buckets.get(key, 0) + count

    def merge(self, other: Times) -> None:
        """Add what ``other``, which came later, has seen."""
        if not self.n:
            self.first = other.first
        self.n += other.n
        self._total += other._total
        self.min = min(self.min, other.min)
        self.max = max(self.max, other.max)
        for key, count in other.buckets.items():
            self.buckets[key] = self.buckets.get(key, 0) + count

    @property
    def total(self) -> float:
        """The sum."""
        return self._total / 1e12

    @property
    def median(self) -> float:
        """The median, to within a bucket; never outside what was seen."""
        rank = (self.n + 1) // 2
        for key in sorted(self.buckets):
            rank -= self.buckets[key]
            if rank <= 0:
                middle = 2.0 ** ((key + 0.5) / self.RESOLUTION) if key > -(1 << 20) else 0.0
                return min(max(middle, self.min), self.max)
        return 0.0

    @property
    def steady(self) -> float:
        """The total without the surplus of the first execution, which may compile or transform."""
        return self.total - max(0.0, self.first - self.median) if self.n > 1 else self.total


@dataclass(slots=True)
class Seen(Generic[R]):
    """One distinct record: how often it was seen, where first, and how long it took."""

    record: R
    count: int
    places: list[Place]
    text: str
    times: Times | None = None

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


class Table(Generic[R]):
    """All records of one type: distinct ones, in order of first appearance."""

    def __init__(self, rows: Iterable[Seen[R]] = ()) -> None:
        self._rows = sorted(rows, key=lambda row: (row.first.input, row.first.line))

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
        return Table(row for row in self._rows if wanted(row.record))

    def events(self) -> list[tuple[Place, Seen[R]]]:
        """Return every remembered occurrence in the order of the input."""
        pairs = [(place, row) for row in self._rows for place in row.places]
        return sorted(pairs, key=lambda pair: (pair[0].input, pair[0].line))


@dataclass(slots=True)
class Unread:
    """A text that its grammar refused."""

    kind: str
    text: str
    count: int
    lines: int
    first_line: int
    reason: str


class Evidence:
    """Tables by record type, and the count of every line that made or did not make them."""

    def __init__(self) -> None:
        #: (kind, text) -> what the grammar made of it.
        self._texts: dict[tuple[str, str], tuple[Seen[Any], ...] | Unread] = {}
        self._derived: dict[type[Record], Table[Any]] = {}
        self.kinds: dict[str, int] = {}
        self.understood_lines = 0
        self.unread_lines = 0
        #: site -> [lines, first line]: written by torch or oneDNN, no grammar yet.
        self.known: dict[str, list[int]] = {}
        self.notes: dict[str, None] = {}
        #: (input, writer, compile id) -> (first, last) clock of its records, and the first line.
        self.spans: dict[tuple[str, str, str], tuple[float, float, int]] = {}

    def span(self, place: Place) -> None:
        """Let the compile id at ``place`` reach to its clock."""
        if not place.frame or place.when is None:
            return
        key = (place.input, place.writer, place.frame)
        first, last, line = self.spans.get(key, (place.when, place.when, place.line))
        self.spans[key] = (min(first, place.when), max(last, place.when), min(line, place.line))

    def add(
        self,
        log: type[Log],
        text: str,
        place: Place,
        *,
        lines: int,
        count: int = 1,
        times: Times | None = None,
    ) -> None:
        """Add ``count`` sightings of ``text``, which covers ``lines`` lines in all."""
        key = (log.name, text)
        held = self._texts.get(key)
        if held is None:
            held = self._read(log, text, place)
            if isinstance(held, Unread) and self._full(log.name):
                held = self._texts.setdefault((log.name, ""), held)
            else:
                self._texts[key] = held
        if isinstance(held, Unread):
            held.count += count
            held.lines += lines
            self.unread_lines += lines
            return
        self.understood_lines += lines
        self.kinds[log.name] = self.kinds.get(log.name, 0) + count * max(1, len(held))
        room = 1 if log.counted else MAX_PLACES
        for seen in held:
            seen.count += count
            if len(seen.places) < room:
                seen.places.append(place)
            if times is not None:
                seen.times = seen.times or Times()
                seen.times.merge(times)

    def add_known(self, site: str, lines: int, line: int) -> None:
        """Count ``lines`` lines that torch or oneDNN wrote and no grammar reads yet."""
        entry = self.known.setdefault(site, [0, line])
        entry[0] += lines
        entry[1] = min(entry[1], line)

    def _read(self, log: type[Log], text: str, place: Place) -> tuple[Seen[Any], ...] | Unread:
        try:
            records = log.parse(text)
        except Unreadable as error:
            return Unread(log.name, text[:2000], 0, 0, place.line, str(error))
        except RecursionError:
            return Unread(log.name, text[:2000], 0, 0, place.line, "nested too deeply")
        quote = text[:MAX_QUOTE]
        return tuple(Seen(record, 0, [], quote) for record in records)

    def _full(self, kind: str) -> bool:
        held = sum(1 for (k, _), v in self._texts.items() if k == kind and isinstance(v, Unread))
        return held >= MAX_UNREAD

    @property
    def unread(self) -> list[Unread]:
        """The refused texts, most frequent first."""
        texts = [held for held in self._texts.values() if isinstance(held, Unread)]
        return sorted(texts, key=lambda unread: (-unread.lines, unread.first_line))

    def merge(self, other: Evidence, *, shift: int = 0) -> None:
        """Add ``other``, whose lines come ``shift`` lines later."""
        for (kind, text), theirs in other._texts.items():
            ours = self._texts.get((kind, text))
            if isinstance(theirs, Unread):
                if not isinstance(ours, Unread):
                    ours = Unread(kind, theirs.text, 0, 0, theirs.first_line + shift, theirs.reason)
                    self._texts[kind, text] = ours
                ours.count += theirs.count
                ours.lines += theirs.lines
                continue
            if not isinstance(ours, tuple):
                ours = tuple(Seen(seen.record, 0, [], seen.text) for seen in theirs)
                self._texts[kind, text] = ours
            for mine, seen in zip(ours, theirs, strict=True):
                mine.count += seen.count
                room = (1 if mine.times else MAX_PLACES) - len(mine.places)
                mine.places += [place.shifted(shift) for place in seen.places[: max(0, room)]]
                if seen.times is not None:
                    mine.times = mine.times or Times()
                    mine.times.merge(seen.times)
        for name, number in other.kinds.items():
            self.kinds[name] = self.kinds.get(name, 0) + number
        for site, (lines, first) in other.known.items():
            self.add_known(site, lines, first + shift)
        for key, (begin, end, line) in other.spans.items():
            now = self.spans.get(key, (begin, end, line + shift))
            self.spans[key] = (min(begin, now[0]), max(end, now[1]), min(line + shift, now[2]))
        self.understood_lines += other.understood_lines
        self.unread_lines += other.unread_lines
        self.notes.update(other.notes)

    def table(self, kind: type[R]) -> Table[R]:
        """Return the table of ``kind``, read or joined.

        A record type with a class method ``join`` is made from other tables: the annotations of
        ``join`` say which, as those of a rule's ``check`` do.
        """
        if kind not in self._derived:
            self._derived[kind] = Table(self._rows(kind))
        return cast("Table[R]", self._derived[kind])

    def _rows(self, kind: type[R]) -> Iterable[Seen[R]]:
        join = getattr(kind, "join", None)
        if join is not None:
            return cast("Iterable[Seen[R]]", join(**arguments(join, self)))
        rows = [
            seen
            for held in self._texts.values()
            if isinstance(held, tuple)
            for seen in held
            if isinstance(seen.record, kind) and seen.count
        ]
        for seen in rows:
            seen.places.sort(key=lambda place: (place.input, place.line))
        return rows


def needs(function: Callable[..., Any]) -> dict[str, tuple[type[Record] | None, bool]]:
    """Return parameter -> (record type, required?) of a function whose annotations are tables.

    Positional parameters are required evidence; keyword-only ones are used when they are there. A
    parameter annotated ``Evidence`` receives everything, and its record type here is ``None``.

    Raises:
        PluginError: Another annotation; names the function's file and line.
    """
    code = inspect.unwrap(function).__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise PluginError(f"{where}: {function.__qualname__}: {error}") from error
    found: dict[str, tuple[type[Record] | None, bool]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in {"self", "cls"}:
            continue
        hint = hints.get(name)
        if hint is Evidence:
            found[name] = (None, False)
            continue
        inner = get_args(hint)[0] if get_origin(hint) is Table else None
        if not (isinstance(inner, type) and issubclass(inner, Record)):
            raise PluginError(
                f"{where}: {function.__qualname__}: parameter {name!r} is annotated {hint!r}",
                hint="annotate it Table[SomeRecord]",
            )
        found[name] = (inner, parameter.kind is not inspect.Parameter.KEYWORD_ONLY)
    return found


def arguments(function: Callable[..., Any], evidence: Evidence) -> dict[str, Any]:
    """Return the tables that ``function`` asks for by its annotations."""
    return {
        name: evidence if kind is None else evidence.table(kind)
        for name, (kind, _) in needs(function).items()
    }
