"""Ranks of one run, and what each of them compiled of the same function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from tracelens.evidence import Seen, Table
from tracelens.frames import Frame, gathered

__all__ = ["SharedFunction", "shared_functions"]

#: Part of the guarded lines that two frames must have in common to be the same function.
ALIKE = 0.5

#: Name, file and line.
Definition = tuple[str, str, int]
#: The frames of one number on one rank, by entry.
Entries = dict[int, Seen[Frame]]


class SharedFunction(msgspec.Struct):
    """A function that several ranks compiled."""

    definition: Definition
    #: Rank -> entry -> the frame; entry 0 is the first compilation, which may not be in the log.
    ranks: dict[str, dict[int, Seen[Frame]]] = msgspec.field(default_factory=dict)

    def again(self, rank: str) -> set[int]:
        """Return the entries that the rank compiled after the first one."""
        return {entry for entry in self.ranks[rank] if entry > 0}

    @property
    def entries(self) -> list[int]:
        """All entries after the first that any rank compiled."""
        return sorted({entry for rank in self.ranks for entry in self.again(rank)})

    def with_entry(self, entry: int) -> list[str]:
        """Return the ranks that compiled an entry."""
        return [rank for rank in self.ranks if entry in self.ranks[rank]]


def shared_functions(frames: Table[Frame]) -> list[SharedFunction]:
    """Return the functions that at least two ranks compiled, and one of them more than once.

    A rank that compiled a function once does not name it in the text logs. It is known by the
    lines that its guards are about, under the number that the other ranks give to it.
    """
    groups: dict[tuple[str, str], dict[int, Seen[Frame]]] = {}
    for row in frames:
        rank = _rank(row)
        if rank:
            number = row.record.id.partition("/")[0]
            groups.setdefault((rank, number), {})[row.record.entry] = row
    found: dict[Definition, SharedFunction] = {}
    for (rank, _), entries in groups.items():
        definition = _definition(entries.values())
        if definition is not None:
            shared = found.setdefault(definition, SharedFunction(definition))
            shared.ranks.setdefault(rank, {}).update(entries)
    alike = _Alike(groups, found.values())
    for (rank, number), entries in groups.items():
        if _definition(entries.values()) is None:
            alike.give(rank, number, entries)
    return [shared for shared in found.values() if len(shared.ranks) > 1 and shared.entries]


def _rank(row: Seen[Frame]) -> str:
    """Return the rank, from the prefix of its lines or from the name of its file.

    A bare number is a process, and whether that is a rank nobody says.
    """
    writer = row.record.writer
    if writer and not writer.isdecimal():
        return writer
    name = row.first.input.replace("\\", "/").rpartition("/")[2]
    return name if "rank" in name.lower() else ""


def _definition(entries: Iterable[Seen[Frame]]) -> Definition | None:
    for row in entries:
        frame = row.record
        if frame.function and frame.file:
            return frame.function, frame.file, frame.line or 0
    return None


class _Alike:
    """The named functions by the numbers that ranks give them, to find those without a name."""

    def __init__(
        self, groups: dict[tuple[str, str], Entries], named: Iterable[SharedFunction]
    ) -> None:
        self._groups = groups
        #: Rank and first compilation -> the numbers under which that is.
        self._numbers: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        #: The functions that a number may stand for, by where they are in memory.
        self._named: defaultdict[str, dict[int, SharedFunction]] = defaultdict(dict)
        self._read: dict[int, frozenset[tuple[str, int]]] = {}
        for (rank, number), entries in groups.items():
            self._numbers[rank, id(entries.get(0))].append(number)
        for shared in named:
            for rank in shared.ranks:
                self._index(shared, rank)

    def _index(self, shared: SharedFunction, rank: str) -> None:
        for number in self._numbers.get((rank, id(shared.ranks[rank].get(0))), ()):
            self._named[number][id(shared)] = shared

    def give(self, rank: str, number: str, entries: Entries) -> None:
        """Give frames without a name to the functions that they are of on other ranks."""
        for shared in list(self._named.get(number, {}).values()):
            if rank not in shared.ranks and self._is_same(shared, number, entries):
                shared.ranks[rank] = entries
                self._index(shared, rank)

    def _is_same(self, shared: SharedFunction, number: str, entries: Entries) -> bool:
        """Whether frames without a name are those of ``shared`` on another rank."""
        lines = self._lines(entries)
        for rank, known in shared.ranks.items() if lines else ():
            there = self._groups.get((rank, number))
            if there is None or known.get(0) is not there.get(0):
                continue
            theirs = self._lines(known)
            if len(lines & theirs) >= ALIKE * len(lines | theirs):
                return True
        return False

    def _lines(self, entries: Entries) -> frozenset[tuple[str, int]]:
        if id(entries) not in self._read:  # they are kept by others for as long as this is
            self._read[id(entries)] = frozenset(_lines(entries.values()))
        return self._read[id(entries)]


def _lines(rows: Iterable[Seen[Frame]]) -> Iterator[tuple[str, int]]:
    """Yield the lines of the program that the first entries' guards are about."""
    for row in rows:
        for tree in row.record.named(gathered.TREE):
            for guard in tree.record.guards:
                if guard.comment and guard.comment.file:
                    yield guard.comment.file, guard.comment.line
