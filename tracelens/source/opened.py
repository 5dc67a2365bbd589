"""The open torch records of an input, one per writer: which line goes on with which.

All lines of a record repeat its prefix. Where something stamped every line anew, only what stands
behind the clock is the same: then a line goes on with the record unless it begins as the records of
its place in torch do.
"""

from __future__ import annotations

from tracelens.evidence import Evidence
from tracelens.evidence.limits import MAX_RECORD_LINES, MAX_WRITERS
from tracelens.source.closing import hand_over
from tracelens.source.kinds import Kinds
from tracelens.source.records import Open, tail_of

__all__ = ["Inseparable", "OpenRecords", "Writer"]

#: What the launcher calls the writer, and the process id.
Writer = tuple[str, bytes]


class Inseparable(Exception):
    """Two segments cannot be joined: how the second one reads depends on the first."""


class OpenRecords:
    """The open records of one input, or of one range of its lines."""

    def __init__(self, kinds: Kinds, name: str, evidence: Evidence, *, from_start: bool) -> None:
        self.kinds = kinds
        self._name = name
        self._evidence = evidence
        self.open: dict[Writer, Open] = {}
        #: Who wrote the last line of one.
        self._latest: Writer = ("", b"")
        #: The ranks among them whose process is not known.
        self.nameless: set[str] = set()
        #: Without the start of the file: each writer's first record, which may go on from before,
        #: and those behind it that may go on with it.
        self._heads: dict[Writer, list[Open]] | None = None if from_start else {}
        #: ... and the writers of whom another record has begun since.
        self._settled: set[Writer] = set()

    def __getstate__(self) -> dict[str, object]:
        """Leave the kinds behind: another process has its own."""
        return {name: value for name, value in vars(self).items() if name != "kinds"}

    def take(self, line: bytes, prefix: bytes, key: Writer, number: int) -> Open:
        """Begin or go on with the record of one writer, and return it."""
        text = line[len(prefix) :].removeprefix(b" ")
        held = self.open.get(key)
        self._latest = key
        if (
            held is not None
            and len(held.body) <= MAX_RECORD_LINES
            and self._joins(key, held, prefix, text)
        ):
            held.go_on(text, number)
            return held
        if held is not None:
            self.close(key)
        elif len(self.open) >= MAX_WRITERS:
            self.close(next(iter(self.open)))
        record = Open(number, [text], prefix, key[0])
        self._begin(key, record)
        return record

    def bounds(self, record: Open, key: Writer, prefix: bytes) -> tuple[bytes, ...] | None:
        """Return what lines begin with that end a record, under whatever clock they stand.

        Args:
            record: The open record.
            key: Its writer.
            prefix: What its last line begins with.

        Returns:
            Nothing where a line with another clock ends it; None where that is not known yet.
        """
        begun = self._begun_by(prefix)
        if begun and self._is_unsettled(key):
            return None
        return record.bounds(begun) if begun else ()

    def goes_on(self, line: bytes, text: str, rank: str, number: int) -> bool:
        """Add a bare line to the record that it goes on with; tell whether it did.

        It is one of torch 2.0, or one whose prefix stands alone on the line above.
        """
        held = self.open.get((rank, b""))
        if held is None or not (held.may_take(number) and self.kinds.goes_on(held, text)):
            held = self.open.get(self._latest) if self._latest[0] == rank else None
            if held is None or not held.is_followed_by(number):
                return False
            if not self.kinds.goes_on_below(held, text):
                return False
        held.headed = True
        held.go_on(line, number)
        return True

    def lead_on(self, rank: str, leads: list[tuple[int, bytes, int]], shift: int) -> None:
        """Take those of the first bare lines that follow which go on with an open record."""
        while leads:
            number, line, _ = leads[0]
            text = line.decode("utf-8", "replace").rstrip("\r")
            if not self.goes_on(line, text, rank, number + shift):
                return
            del leads[0]

    def close(self, key: Writer) -> None:
        """Hand over the record of one writer, or keep it until it is known what stands before."""
        record = self.open.pop(key)
        if not key[1]:
            self.nameless.discard(key[0])
        if self._heads is not None and key not in self._settled:
            if key in self._heads or len(self._heads) < MAX_WRITERS:
                self._heads.setdefault(key, []).append(record)
                return
            self._settled.add(key)
        hand_over(record, self._name, self.kinds, self._evidence)

    def finish(self) -> None:
        """Hand over all that is open."""
        self.nameless.clear()
        for key in list(self.open):
            hand_over(self.open.pop(key), self._name, self.kinds, self._evidence)

    def extend(self, after: OpenRecords, shift: int) -> None:
        """Take over what is not closed of the lines that follow, ``shift`` lines later."""
        for key in sorted((after._heads or {}).keys() | after.open.keys()):
            self._go_on_with(after, key, shift)
        self._latest = after._latest if after._latest[1] else self._latest

    def _go_on_with(self, after: OpenRecords, key: Writer, shift: int) -> None:
        """Join the records of one writer."""
        last = after.open.get(key)
        for first in (after._heads or {}).get(key, ()):
            self._resume(key, first, shift)
        if last is not None and key not in after._settled:
            self._resume(key, last, shift)
            return
        if key in self.open:
            self.close(key)
        if key in after._settled and self._heads is not None:
            self._settled.add(key)
        if last is not None:
            last.shift(shift)
            self._keep(key, last)

    def _resume(self, key: Writer, first: Open, shift: int) -> None:
        held = self.open.get(key)
        if held is not None and self._joins(key, held, first.prefix, first.body[0]):
            if held.headed or first.headed or self._may_be_wrapped(held, first):
                raise Inseparable
            held.join(first, shift)
            return
        if held is not None:
            self.close(key)
        first.shift(shift)
        self._begin(key, first)

    def _may_be_wrapped(self, held: Open, rest: Open) -> bool:
        """Tell whether bare lines between those of ``rest`` may go on with ``held``."""
        return not any(map(bytes.strip, rest.body)) and self.kinds.continued(held) is not None

    def _begin(self, key: Writer, record: Open) -> None:
        """Keep a new record of a writer; without the start of the file, see what it settles."""
        self._keep(key, record)
        if self._heads and key in self._heads:
            before = self._heads[key][-1].prefix
            if not self._begun_by(before) or not record.is_of_place(before):
                self._settled.add(key)

    def _keep(self, key: Writer, record: Open) -> None:
        self.open[key] = record
        if not key[1]:
            self.nameless.add(key[0])

    def _joins(self, key: Writer, held: Open, prefix: bytes, text: bytes) -> bool:
        """Tell whether a line goes on with ``held``, be it under another clock."""
        same = held.prefix == prefix
        if self._heads is None and (same or not held.is_of_place(prefix)):
            return same
        begun = self._begun_by(prefix)
        if begun and self._is_unsettled(key):  # line by line, until it is clear what is before
            return False
        if same:
            return True
        return bool(begun) and held.is_restamped(prefix, text + b"\n", begun)

    def _begun_by(self, prefix: bytes) -> tuple[bytes, ...]:
        """Return what records begin with of which a line may have a clock of its own, if any."""
        artifact = prefix[prefix.rfind(b"[__") + 1 : -1]
        return self.kinds.begun_by(artifact) if tail_of(prefix) else ()

    def _is_unsettled(self, key: Writer) -> bool:
        """Tell whether what stands before decides what the lines of a writer are."""
        return self._heads is not None and key not in self._settled
