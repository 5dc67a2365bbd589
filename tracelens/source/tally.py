"""Count lines that are whole records: distinct ones, how often each, and where it first stood.

Some logs repeat their lines so much that most of them is read by counting whole lines, some
thousands at a time. In others every time differs: their lines are split at the last comma, and what
comes after it is gathered by what stands before it. Which of the two it is, the log itself shows.
What is counted is folded into descriptors and times now and then.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import compress, islice, repeat
from operator import itemgetter

from tracelens.evidence import Evidence, Place, Times
from tracelens.logs import Log, measured
from tracelens.source.kinds import Kinds

__all__ = ["Tally"]

#: Distinct lines, or distinct beginnings of lines, that are kept before they are folded.
FOLD = 20_000
#: Distinct lines after which it is clear whether lines repeat.
CLEAR = 4_000
#: Ends of lines that are kept before they are folded.
MAX_ENDS = 400_000
#: Sightings per distinct line below which lines are split.
REPEATED = 4
#: What the ends of lines consist of that are times and nothing else.
_DIGITS = b"0123456789."


#: (log kind, descriptor, rank) -> first line, times, how many lines.
_Folded = dict[tuple[type[Log], str, str], tuple[int, Times, list[int]]]


class Tally:
    """The counted lines of one input, or of one range of its lines."""

    def __init__(self, timed: tuple[bytes, ...] = ()) -> None:
        """Begin to count.

        Args:
            timed: Beginnings of lines that a time ends, behind the last comma.
        """
        self.timed = timed
        #: Whether lines are split at their last comma.
        self.splits = False
        #: What stands before the last comma: all that stood behind it, in order.
        self.ends: defaultdict[bytes, list[bytes]] = defaultdict(list)
        #: Lines counted since the last fold.
        self._lines = 0
        self.counts: Counter[bytes] = Counter()
        self.firsts: dict[bytes, int] = {}
        #: The same for lines behind a rank.
        self.ranked: dict[tuple[str, bytes], list[int]] = {}
        #: Whether the last lines were all counted.
        self.pure = True

    @cached_property
    def _is_timed(self) -> Callable[[bytes], re.Match[bytes] | None]:
        marks = map(_stamped, self.timed)
        return re.compile(b"|".join(marks) if self.timed else b"(?!)").match

    @property
    def is_full(self) -> bool:
        """Whether it is time to fold."""
        distinct = len(self.counts) + len(self.ranked) + len(self.ends)
        return distinct > FOLD or (self.splits and self._lines > MAX_ENDS)

    def count(
        self, lines: list[bytes], firsts: bytes, marks: tuple[bytes, ...], before: int
    ) -> list[tuple[int, int]]:
        """Count those of ``lines`` that begin with one of ``marks``.

        A log of counted lines only is told by its new lines alone: what was counted before needs no
        second look. A log without any is told by what its lines begin with.

        Args:
            lines: Lines that follow one another.
            firsts: The bytes that they begin with; empty when nobody has looked.
            marks: Beginnings of counted lines.
            before: How many lines of the input stand before them.

        Returns:
            The stretches of lines that were not counted: (first, one past the last).
        """
        if self.splits:
            return self._split(lines, firsts, marks, before)
        counts = self.counts
        known = len(counts)
        if self.pure and lines[0].startswith(marks):
            counts.update(lines)
            self._consider(len(lines))
            new = list(islice(reversed(counts), len(counts) - known))
            others = [line for line in new if not line.startswith(marks)]
            if not others:
                self._note_firsts(lines, new, before)
                return []
            for line in others:
                counts.pop(line)
            flags = list(map(bytes.startswith, lines, repeat(marks)))
        elif firsts and not any(mark[:1] in firsts for mark in marks):
            return [(0, len(lines))]
        else:
            flags = list(map(bytes.startswith, lines, repeat(marks)))
            counts.update(compress(lines, flags))
            self._consider(flags.count(True))
        self._note_firsts(lines, list(islice(reversed(counts), len(counts) - known)), before)
        self.pure = False not in flags
        return _stretches(flags)

    def _consider(self, more: int) -> None:
        """Split the lines from now on where they hardly repeat, of which ``more`` were counted."""
        self._lines += more
        self.splits = len(self.counts) > CLEAR and self._lines < REPEATED * len(self.counts)

    def _split(
        self, lines: list[bytes], firsts: bytes, marks: tuple[bytes, ...], before: int
    ) -> list[tuple[int, int]]:
        """Do the work of :meth:`count` by what stands before the last comma of each line."""
        wanted, flags = lines, []
        if not (self.pure and lines[0].startswith(marks)):
            if firsts and not any(mark[:1] in firsts for mark in marks):
                return [(0, len(lines))]
            flags = list(map(bytes.startswith, lines, repeat(marks)))
            wanted = list(compress(lines, flags))
        ends = self.ends
        known = len(ends)
        for head, _, end in map(bytes.rpartition, wanted, repeat(b",")):
            ends[head].append(end)
        new = list(islice(reversed(ends), len(ends) - known))
        if whole := {head for head in new if not self._is_timed(head)}:
            for head in whole:
                del ends[head]
            new = [head for head in new if head not in whole]
            flags = flags or list(map(bytes.startswith, lines, repeat(marks)))
            self._count_whole(lines, flags, whole, before)
        self._lines += len(wanted)
        self._note_heads(lines, new, before)
        self.pure = False not in flags
        return _stretches(flags) if flags else []

    def _count_whole(
        self, lines: list[bytes], flags: list[bool], heads: set[bytes], before: int
    ) -> None:
        """Count those of ``lines`` that are flagged and begin with one of ``heads`` and a comma."""
        for at, line in enumerate(lines):
            if flags[at] and line.rpartition(b",")[0] in heads:
                self.counts[line] += 1
                self.firsts.setdefault(line, before + at + 1)

    def _note_heads(self, lines: list[bytes], new: list[bytes], before: int) -> None:
        """Note where the first lines with the ``new`` beginnings (latest first) stand."""
        at = 0
        for head in reversed(new):
            while not lines[at].startswith(head) or lines[at].rfind(b",") != len(head):
                at += 1
            self.firsts[head] = before + at + 1

    def _note_firsts(self, lines: list[bytes], new: list[bytes], before: int) -> None:
        """Note where the ``new`` ones (latest first) of ``lines`` stand."""
        at = -1
        for line in reversed(new):
            at = lines.index(line, at + 1)
            self.firsts[line] = before + at + 1

    def add(self, rank: str, line: bytes, number: int) -> None:
        """Count one line that stands at ``number`` behind something else."""
        self.ranked.setdefault((rank, line), [0, number])[0] += 1

    def fold(self, kinds: Kinds, name: str, evidence: Evidence) -> None:
        """Turn the counted lines of the input ``name`` into descriptors with counts and times."""
        folded: _Folded = {}
        units = [*self._counted(), *((self.firsts[head], 0, "", head) for head in self.ends)]
        for first, count, rank, line in sorted(units, key=itemgetter(0)):
            log = kinds.of_line(line)
            with evidence.blaming(log):
                if count:
                    _fold_line(folded, (log, rank), line, first, count)
                else:
                    _fold_ends(folded, log, line, first, self.ends[line])
        self._lines = 0
        self.counts.clear()
        self.ends.clear()
        self.firsts.clear()
        self.ranked.clear()
        for (log, key, rank), (line_number, times, number) in folded.items():
            place, count = Place(name, line_number, rank), number[0]
            with evidence.blaming(log):
                taken = times if times.n else None
                evidence.add(log, key, place, lines=count, count=count, times=taken)

    def _counted(self) -> Iterator[tuple[int, int, str, bytes]]:
        """Yield every distinct counted line: where first, how often, its rank, and itself."""
        for line, count in self.counts.items():
            yield self.firsts[line], count, "", line
        for (rank, line), (count, first) in self.ranked.items():
            yield first, count, rank, line


def _stamped(mark: bytes) -> bytes:
    """Return a pattern of ``mark``, where a time stamp may stand behind the marker and version."""
    front, version, rest = mark.partition(b"v1,")
    if not version:
        front, comma, rest = mark.partition(b",")
        front += comma
    return re.escape(front + version) + rb"(?:\d{1,20}\.\d{1,9},)?+" + re.escape(rest)


def _fold_line(
    folded: _Folded, of: tuple[type[Log], str], line: bytes, first: int, count: int
) -> None:
    """Fold a line of a log kind and a rank that was counted as a whole."""
    log, rank = of
    key, ms = measured(log, line.decode("utf-8", "replace").rstrip("\r\n"))
    entry = folded.setdefault((log, key, rank), (first, Times(), [0]))
    entry[2][0] += count
    if ms is not None:
        entry[1].add(ms, count)


def _fold_ends(folded: _Folded, log: type[Log], head: bytes, first: int, ends: list[bytes]) -> None:
    """Fold the lines that begin with ``head`` and a comma."""
    one = (head + b"," + ends[0]).decode("utf-8", "replace").rstrip("\r\n")
    key, ms = measured(log, one)
    if ms is not None and _are_times(ends) and ms == float(ends[0]):
        entry = folded.setdefault((log, key, ""), (first, Times(), [0]))
        with suppress(ValueError):  # two points in a number
            entry[1].add_texts(ends)
            entry[2][0] += len(ends)
            return
    for end, count in Counter(ends).items():
        _fold_line(folded, (log, ""), head + b"," + end, first, count)


def _are_times(ends: list[bytes]) -> bool:
    """Tell whether each end is a number of milliseconds and nothing else."""
    together = b"".join(ends)
    if together.translate(None, _DIGITS + b"\r\n"):
        return False
    return together[:1] not in b".\r\n" and b"\n." not in together and b"\n\n" not in together


def _stretches(counted: list[bool]) -> list[tuple[int, int]]:
    """Return where the flags are False: (first, one past the last)."""
    total = len(counted)
    counted += (False, True)  # so that both are found, at the end at the latest
    found, end = [], 0
    while (start := counted.index(False, end)) < total:
        end = min(counted.index(True, start), total)
        found.append((start, end))
    return found
