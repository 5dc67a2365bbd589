"""Count lines that are whole records: distinct ones, how often each, and where it first stood.

A log of one network's kernels repeats its lines so much that most of it is read by counting them,
some thousands at a time. What is counted is folded into descriptors and times now and then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import compress, islice, repeat
from operator import itemgetter

from tracelens.evidence import Evidence, Place, Times
from tracelens.logs import Log
from tracelens.source.kinds import Kinds

__all__ = ["Tally"]


class Tally:
    """The counted lines of one input, or of one range of its lines."""

    def __init__(self) -> None:
        self.counts: Counter[bytes] = Counter()
        self.firsts: dict[bytes, int] = {}
        #: The same for lines behind a rank.
        self.ranked: dict[tuple[str, bytes], list[int]] = {}
        #: Whether the last lines were all counted.
        self.pure = True

    def __len__(self) -> int:
        return len(self.counts) + len(self.ranked)

    def count(
        self, lines: list[bytes], firsts: bytes, marks: tuple[bytes, ...], before: int
    ) -> list[tuple[int, int]]:
        """Count those of ``lines`` that begin with one of ``marks``.

        A log of counted lines only is told by its new lines alone: what was counted before needs no
        second look. A log without any is told by what its lines begin with.

        Args:
            lines: Lines that follow one another.
            firsts: The first byte of each; empty when nobody has looked.
            marks: Beginnings of counted lines.
            before: How many lines of the input stand before them.

        Returns:
            The stretches of lines that were not counted: (first, one past the last).
        """
        counts = self.counts
        known = len(counts)
        if self.pure and lines[0].startswith(marks):
            counts.update(lines)
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
        self._note_firsts(lines, list(islice(reversed(counts), len(counts) - known)), before)
        self.pure = False not in flags
        return _stretches(flags)

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
        folded: dict[tuple[type[Log], str, str], tuple[int, Times, list[int]]] = {}
        for first, count, rank, line in sorted(self._counted(), key=itemgetter(0)):
            log = kinds.of_line(line)
            key, ms = log.measure(line.decode("utf-8", "replace").rstrip("\r\n"))
            entry = folded.get((log, key, rank))
            if entry is None:
                entry = folded[log, key, rank] = (first, Times(), [0])
            entry[2][0] += count
            if ms is not None:
                entry[1].add(ms, count)
        self.counts.clear()
        self.firsts.clear()
        self.ranked.clear()
        for (log, key, rank), (line_number, times, number) in folded.items():
            evidence.add(
                log,
                key,
                Place(name, line_number, rank),
                lines=number[0],
                count=number[0],
                times=times if times.n else None,
            )

    def _counted(self) -> Iterator[tuple[int, int, str, bytes]]:
        """Yield every distinct counted line: where first, how often, its rank, and itself."""
        for line, count in self.counts.items():
            yield self.firsts[line], count, "", line
        for (rank, line), (count, first) in self.ranked.items():
            yield first, count, rank, line


def _stretches(counted: list[bool]) -> list[tuple[int, int]]:
    """Return where the flags are False: (first, one past the last)."""
    total = len(counted)
    counted += (False, True)  # so that both are found, at the end at the latest
    found, end = [], 0
    while (start := counted.index(False, end)) < total:
        end = min(counted.index(True, start), total)
        found.append((start, end))
    return found
