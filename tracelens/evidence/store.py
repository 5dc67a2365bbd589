"""Evidence: all that was read, in tables by record type. The first waist of the design.

The reading side adds texts; the judging side asks for tables. Two pieces of evidence merge, and
merging is associative: the parts of one file, or the logs of many ranks, may be read anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar, cast

from tracelens.evidence import limits
from tracelens.evidence.blaming import Faults
from tracelens.evidence.keys import Key, Written, key_of, lines_of, size_of
from tracelens.evidence.limits import Limits, Unread
from tracelens.evidence.log import Log, Tick
from tracelens.evidence.parsing import NESTED, parsed
from tracelens.evidence.processes import Processes, Span
from tracelens.evidence.quoted import anew, unseen
from tracelens.evidence.record import Joined, Record
from tracelens.evidence.said import Said
from tracelens.evidence.subscription import arguments
from tracelens.evidence.tables import Place, Seen, Table, Ticks, Times

__all__ = ["Evidence"]

R = TypeVar("R", bound=Record)
#: What was made of a text.
_Held = tuple[Seen[Any], ...] | Unread

#: Distinct texts that say nothing, remembered so that they need not be read again.
MAX_SILENT = 20_000
#: Stands for the refused texts of a kind beyond those that are kept.
_OTHERS = "\0"
_NOBODY = nullcontext()


class Evidence:
    """Tables by record type, and the count of every line that made or did not make them."""

    def __init__(self, *, of_part: bool = False) -> None:
        #: (kind, what tells the text apart) -> what the grammar made of it.
        self._texts: dict[tuple[str, Key], _Held] = {}
        self._derived: dict[type[Record], Table[Any]] = {}
        self._limits = Limits(limits.MAX_UNREAD_OF_PART if of_part else limits.MAX_UNREAD)
        self._said = Said()
        self._silent = 0
        self._foreign: set[tuple[str, Key]] = set()  # texts that look like a kind's and are none
        self._refusals: set[tuple[str, Key]] = set()  # refused texts that are counted only
        self._counted: set[str] = set()  # kinds of which only a record's first place is kept
        self.kinds: dict[str, int] = {}
        self.understood_lines = 0
        self.unread_lines = 0
        #: site -> [lines, first line]: written by torch or oneDNN, no grammar yet.
        self.known: dict[str, list[int]] = {}
        self.examples: dict[str, str] = {}  # site -> the beginning of the first of these lines
        self.notes: dict[str, None] = {}
        self.is_full = False  # whether something was left out
        #: (input, writer, compile id) -> when its records were written.
        self.spans: dict[tuple[str, str, str], Span] = {}
        #: The inputs that hold a structured log.
        self.structured: set[str] = set()
        #: Artifacts of ``TORCH_LOGS``, and components at debug level (``+dynamo``), that were on.
        self.switched: set[str] = set()
        #: (input, writer) -> process id, for writers that are called otherwise.
        self.numbers: dict[tuple[str, str], str] = {}
        self.events = 0  # of traces: all, and those that were decoded and whose name is read
        #: Whether a trace ends before it is complete.
        self.cut = False
        self.understood_events = 0
        #: What a reader measured itself; the ``join`` of its record types finds it here.
        self.measured: list[Seen[Any]] = []
        #: (input, writer, compile id, phase) -> when it began and ended.
        self.ticks: dict[tuple[str, str, str, str], Ticks] = {}
        #: What the code of packs raised.
        self.faults = Faults()
        self._logs: dict[str, type[Log]] = {}  # those that texts are of, by name
        self.gaps: dict[Place, tuple[str, str]] = {}  # where -> what is missing there, the line
        #: Returns the tables of a function that what is installed is known of, else None.
        self.subscribed: Callable[[Callable[..., Any]], dict[str, Any] | None] | None = None

    def blaming(self, log: type[Log]) -> AbstractContextManager[None]:
        """Return a context that notes what the code of a pack's ``log`` raises, and ends with it.

        Of what is built in, nobody else is to blame: it goes on its way.
        """
        return _NOBODY if log.builtin else self.faults.of(log.name)

    def span(self, place: Place) -> None:
        """Let the compile id at ``place`` reach to its clock."""
        when = place.when
        if not place.frame or when is None:
            return
        held = self.spans.get(key := (place.input, place.writer, place.frame))
        if held is None or when < held.first or place.line < held.line:
            self._span(key, Span(when, when, place.line))
        elif when > held.last:  # as most are: written later than all that were read
            self.spans[key] = Span(held.first, when, held.line)

    def _span(self, key: tuple[str, str, str], span: Span) -> None:
        held = self.spans.get(key)
        if held is None and len(self.spans) >= limits.MAX_SPANS:
            self.leave_out(f"only the first {limits.MAX_SPANS:,} compile ids were timed")
            return
        self.spans[key] = held.joined(span) if held is not None else span

    def add(
        self,
        log: type[Log],
        text: str | Written,
        place: Place,
        *,
        lines: int,
        count: int = 1,
        times: Times | None = None,
        records: tuple[Record, ...] | None = None,
    ) -> None:
        """Add ``count`` sightings of ``text``, which covers ``lines`` lines in all.

        ``records`` is what the grammar made of it, where that has been asked before.
        """
        key = (log.name, key_of(text))
        if key in self._foreign:
            return
        held = self._texts.get((log.name, _OTHERS) if key in self._refusals else key)
        if held is None:
            if excess := self._limits.excess(log.name):
                self._pass_over(log.name, excess, lines, place.line)
                return
            if records is not None and isinstance(text, str):
                held = unseen(records, text)
            else:
                held = self._read(log, text, place)
            if (held := self._kept(log, key, held)) is None:
                return
        if isinstance(held, Unread):
            held.count += count
            held.lines += lines
            self.unread_lines += lines
            return
        self.understood_lines += lines
        self.kinds[log.name] = self.kinds.get(log.name, 0) + count * max(1, len(held))
        if log.counted:
            self._counted.add(log.name)
        if log.structured:
            self.structured.add(place.input)
        for seen in held:
            seen.add(place, count, times, counted=log.counted)

    def _kept(self, log: type[Log], key: tuple[str, Key], held: _Held) -> _Held | None:
        """Keep what a new text says; None for one that is the program's own."""
        self._logs[log.name] = log
        if isinstance(held, Unread):
            return self._refused(key, held)
        if not log.owns([seen.record for seen in held]):
            if len(self._foreign) < MAX_SILENT:
                self._foreign.add(key)
            return None
        if held:
            self._limits.keep(key[0], size_of(key[1]))
        elif self._silent >= MAX_SILENT:
            return held
        else:
            self._silent += 1
        self._texts[key] = held
        self.__dict__.pop("_by_type", None)
        return held

    def _refused(self, key: tuple[str, Key], unread: Unread) -> Unread:
        """Keep a refused text, or count it with others of its kind when there are many."""
        if self._limits.refuse(key[0]):
            self._texts[key] = unread
            return unread
        self.is_full = True
        if (held := self._texts.get((key[0], _OTHERS))) is None:
            held = self._texts[key[0], _OTHERS] = replace(unread, others=True, whole="")
        if len(self._refusals) < limits.MAX_SITES:
            self._refusals.add(key)
        assert isinstance(held, Unread)  # noqa: S101 -- no text is read under that key
        return held

    def knows(self, log: type[Log], text: str) -> bool:
        """Tell whether this very text of ``log`` has been read."""
        return (log.name, key_of(text)) in self._texts

    def spare_line(self, end: int) -> bool:
        """Leave line ``end``, which was cut, to itself: read what refused it without it."""
        for key, held in self._texts.items():
            if isinstance(held, Unread) and held.place is not None and held.ends_at(end):
                log, rest = self._logs[key[0]], held.whole.rpartition("\n")[0]
                if rest and isinstance(self._read(log, rest, held.place), Unread):
                    return False
                del self._texts[key]
                self.unread_lines -= held.lines
                if rest:
                    self.add(log, rest, held.place, lines=held.lines - 1)
                return True
        return False

    def drop(self, unread: Unread) -> None:
        """Forget a refused text, which is read otherwise."""
        del self._texts[next(key for key, held in self._texts.items() if held is unread)]
        self.unread_lines -= unread.lines

    def has_room(self, kind: str) -> bool:
        """Tell whether another distinct text of ``kind`` would be read."""
        return not self._limits.excess(kind)

    def _pass_over(self, kind: str, excess: str, lines: int, line: int) -> None:
        """Count lines of ``kind`` that are not read, since there are too many different ones."""
        self.add_known(f"{kind}, {excess}", lines, line)
        self.leave_out(f"{kind}: lines {excess} were counted and not read")

    def leave_out(self, note: str) -> None:
        """Note that something was left out."""
        self.notes[note] = None
        self.is_full = True

    def forget(self, kind: str, others: Collection[str]) -> None:
        """Drop what texts of ``kind`` say in the records of ``others``, which were read already."""
        for (name, _), held in self._texts.items():
            for seen in held if name == kind and isinstance(held, tuple) else ():
                if type(seen.record).__module__.rpartition(".")[2] in others:
                    seen.count = 0
                    seen.places.clear()

    def skim(self, log: type[Log], place: Place, lines: int, records: int = 1) -> None:
        """Count records, of ``lines`` lines in all, that are understood and say nothing."""
        self.understood_lines += lines
        self.kinds[log.name] = self.kinds.get(log.name, 0) + records
        self.structured.add(place.input)

    def tick(self, log: type[Log], place: Place, tick: Tick, lines: int) -> None:
        """Note when a phase of the compilation at ``place`` began or ended."""
        self.skim(log, place, lines)
        held = self.ticks.get(key := (place.input, place.writer, place.frame, tick.phase))
        if held is None:
            if len(self.ticks) >= limits.MAX_SPANS:
                self.leave_out(f"only the first {limits.MAX_SPANS:,} phases were timed")
                return
            held = self.ticks[key] = Ticks(place.line)
        held.times.append(tick.us if tick.ends else -tick.us)

    def refuse(self, log: type[Log], text: str, place: Place, reason: str) -> None:
        """Count what is in no line and no ``log``; the first text of each reason is kept."""
        key = (log.name, f"\0{reason}")
        held = self._texts.get(key)
        if held is None:
            held = self._refused(key, Unread(log.name, text[:2000], 0, 0, place.line, reason))
        if isinstance(held, Unread):
            held.count += 1

    def add_known(self, site: str, lines: int, line: int, text: str = "") -> None:
        """Count lines that no grammar reads yet; the first one's ``text`` is kept, to be shown."""
        if site not in self.known and len(self.known) >= limits.MAX_SITES:
            self.leave_out(f"only the first {limits.MAX_SITES:,} sites were told apart")
            site = "other sites"
        entry = self.known.setdefault(site, [0, line])
        if line < entry[1] or site not in self.examples:  # records end in another order
            self.examples[site] = text[: limits.MAX_EXAMPLE]
        entry[0] += lines
        entry[1] = min(entry[1], line)

    def _read(self, log: type[Log], text: str | Written, place: Place) -> _Held:
        if isinstance(text, Written):
            return self._said.read(log, text, lambda plain: self._parsed(log, plain, place))
        found = self._parsed(log, text, place)
        return found if isinstance(found, Unread) else unseen(found, text)

    def _parsed(self, log: type[Log], text: str, place: Place) -> tuple[Record, ...] | Unread:
        found = parsed(log, text, place, told=self._tells(log.name))
        if isinstance(found, Unread) and found.reason == NESTED:
            self.notes[f"{log.name}: a text is nested too deeply to be read"] = None
        return found

    def _tells(self, kind: str) -> bool:
        """Tell whether somebody may read why the next text of ``kind`` is refused."""
        return (kind, _OTHERS) not in self._texts or self._limits.tells(kind)

    @property
    def unread(self) -> list[Unread]:
        """The refused texts, most frequent first."""
        texts = (held for held in self._texts.values() if isinstance(held, Unread))
        return sorted(texts, key=lambda unread: (-unread.lines, unread.first_line))

    def merge(self, other: Evidence, *, shift: int = 0) -> None:
        """Add ``other``, whose lines come ``shift`` lines later."""
        for made in ("_by_type", "processes"):  # of what was complete until now
            self.__dict__.pop(made, None)
        self._derived.clear()
        self._counted |= other._counted
        for known, theirs in other._texts.items():
            kind, text = known
            ours = self._texts.get(known)
            if isinstance(theirs, Unread):
                if not isinstance(ours, Unread):
                    ours = self._refused(known, self._told(other, theirs).shifted(shift))
                ours.count += theirs.count
                ours.lines += theirs.lines
                continue
            if not isinstance(ours, tuple):
                if theirs and (excess := self._limits.excess(kind)):
                    self._take_back(kind, text, theirs, excess, shift)
                    continue
                ours = self._texts[known] = tuple(map(anew, theirs))
                self._limits.keep(kind, size_of(text))
            for mine, seen in zip(ours, theirs, strict=True):
                mine.absorb(seen, shift, counted=kind in self._counted)
        for name, number in other.kinds.items():
            self.kinds[name] = self.kinds.get(name, 0) + number
        for site, (lines, first) in other.known.items():
            self.add_known(site, lines, first + shift, other.examples[site])
        for key, span in other.spans.items():
            self._span(key, span._replace(line=span.line + shift))
        for phase, ticks in other.ticks.items():
            self.ticks.setdefault(phase, Ticks(ticks.line + shift)).times.extend(ticks.times)
        self.structured |= other.structured
        self.switched |= other.switched
        self.numbers = {**self.numbers, **other.numbers, **self.numbers}  # who is first stays
        self.faults.merge(other.faults)
        self._logs |= other._logs
        self.gaps.update({place.shifted(shift): gap for place, gap in other.gaps.items()})
        self.measured += [
            replace(seen, places=[place.shifted(shift) for place in seen.places])
            for seen in other.measured
        ]
        self.events += other.events
        self.cut = self.cut or other.cut
        self.understood_events += other.understood_events
        self.understood_lines += other.understood_lines
        self.unread_lines += other.unread_lines
        self.notes.update(other.notes)

    def _told(self, other: Evidence, one: Unread) -> Unread:
        """Return what ``other`` was refused, with the reason where somebody may read it."""
        if one.reason or one.place is None or not self._tells(one.kind):
            return one
        found = self._parsed(other._logs[one.kind], one.whole, one.place)
        return replace(one, reason=found.reason) if isinstance(found, Unread) else one

    def _take_back(
        self, kind: str, text: Key, rows: tuple[Seen[Any], ...], excess: str, shift: int
    ) -> None:
        """Count as not read what another piece of evidence has read and there is no room for."""
        count = rows[0].count
        lines = count * lines_of(text)
        self.understood_lines -= lines
        self.kinds[kind] = self.kinds.get(kind, 0) - count * len(rows)
        self._pass_over(kind, excess, lines, rows[0].first.line + shift)

    def table(self, kind: type[R]) -> Table[R]:
        """Return the table of ``kind``, read or joined.

        A record type with a class method ``join`` is made from other tables: the annotations of
        ``join`` say which, as those of a rule's ``check`` do.
        """
        if kind not in self._derived:
            self._derived[kind] = Table(self._rows(kind))
        return cast("Table[R]", self._derived[kind])

    def types(self) -> set[type[Record]]:
        """Return the types of all records that were read, and the types that those derive from."""
        read = {kind for kind, rows in self._by_type.items() if any(seen.count for _, seen in rows)}
        read |= {type(seen.record) for seen in self.measured}
        return {base for kind in read for base in kind.__mro__ if issubclass(base, Record)}

    def rows(self) -> Table[Record]:
        """Return every record that was read, of whatever type."""
        return Table(self._rows(Record))

    def _rows(self, kind: type[R]) -> Iterable[Seen[R]]:
        if issubclass(kind, Joined):
            known = self.subscribed(kind.join) if self.subscribed else None
            return kind.join(**(arguments(kind.join, self) if known is None else known))
        of_kind = [found for type_, found in self._by_type.items() if issubclass(type_, kind)]
        found = of_kind[0] if len(of_kind) == 1 else sorted(chain.from_iterable(of_kind))
        rows = [seen.completed(self) for _, seen in found if seen.count]
        for seen in rows:
            if len(seen.places) > 1:
                seen.places.sort(key=itemgetter(0, 1))  # input and line
        return kind.distinct(self.processes.once(rows))

    @cached_property
    def _by_type(self) -> dict[type[Record], list[tuple[int, Seen[Any]]]]:
        """What was read, numbered, by type of record. Only for evidence that is complete."""
        found: dict[type[Record], list[tuple[int, Seen[Any]]]] = {}
        texts = (held for held in self._texts.values() if isinstance(held, tuple))
        for number, seen in enumerate(chain.from_iterable(texts)):
            found.setdefault(type(seen.record), []).append((number, seen))
        return found

    @cached_property
    def processes(self) -> Processes:
        """Which logs are of the same process. Only for evidence that is complete."""
        return Processes(self.spans, self.structured, self.numbers)
