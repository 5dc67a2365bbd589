"""Cut lines into record texts: one pass, one open record per writer, nothing lost.

The hot path is two ``startswith`` over many lines at once: lines that repeat the prefix of the open
record belong to it, and lines that begin like a counted kind are counted whole. Everything else
takes the slow path, which peels transports, finds prefixes and keeps the table of open records by
writer.

A segment of a file may be read without what stands before it. The first record of each writer is
then kept aside, since it may continue one that began earlier; :meth:`Segmenter.extend` joins two
neighbours exactly, so that any split of a file gives what one pass gives.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from operator import itemgetter

from tracelens.evidence import Evidence
from tracelens.evidence.limits import MAX_RECORD_LINES, MAX_WRITERS
from tracelens.logs import Log
from tracelens.source.closing import hand_over_block
from tracelens.source.heads import Head
from tracelens.source.kinds import BY_HAND, Kinds
from tracelens.source.opened import OpenRecords
from tracelens.source.own import OwnLines
from tracelens.source.prefixes import TORCH, clock, rank_of, undressed, unglued
from tracelens.source.prefixless import hand_over_left
from tracelens.source.records import (
    IDLE,
    Block,
    Current,
    Headed,
    reach,
    reach_restamped,
    tail_of,
)
from tracelens.source.tally import Tally
from tracelens.source.watch import MAX_BRIEF, Watch

__all__ = ["Segmenter"]

_TAB = b"\t"
#: What a line begins with that has torch's prefix and no transport before it.
_LETTERS = (b"V", b"I", b"W", b"E", b"C", b"F")


class Segmenter:
    """The state of reading one input, or one range of its lines."""

    def __init__(self, kinds: Kinds, name: str, *, from_start: bool = True) -> None:
        self.kinds = kinds
        self.name = name
        #: The rank that the name of a structured log's file says.
        self._rank = rank_of(name)
        self.lines = 0
        self.evidence = Evidence(of_part=not from_start)
        #: What may tell why the program failed.
        self.watch = Watch(from_start=from_start)
        self.writers: dict[str, None] = {}
        self.tally = Tally(kinds.timed_marks)
        #: The open records of torch's.
        self._records = OpenRecords(kinds, name, self.evidence, from_start=from_start)
        self._blocks: dict[str, Block] = {}
        #: Lines cut short by a container runtime or a terminal, and where they begin, by rank.
        self._partial: dict[str, tuple[bytes, int]] = {}
        self._own = OwnLines(kinds)
        #: Whether the line in hand is the program's own, whatever its numbers.
        self._is_program = False
        self._end = 0  # where the line in hand ends, which may be several lines joined
        #: The width at which the whole text was wrapped; 0 when it was not.
        self.wrap = 0
        self._current = IDLE  # the record in hand
        self._from_start = from_start
        #: Without the start of the file: each rank's bare lines before any block's end, with edges.
        self._leads: dict[str, list[tuple[int, bytes, int]]] = {}
        self._led: set[str] = set()

    def __getstate__(self) -> dict[str, object]:
        """Leave the kinds behind: another process has its own."""
        return {k: v for k, v in vars(self).items() if k not in {"kinds", "_own"}}

    def adopt(self, kinds: Kinds) -> None:
        """Go on in another process, with its ``kinds``."""
        self.kinds = self._records.kinds = kinds

    def feed(self, lines: list[bytes], text: bytes | None = None) -> None:
        """Read the next ``lines``, each with its newline.

        Args:
            lines: They follow one another.
            text: All of them, where somebody has it.
        """
        if self.wrap or not lines:
            self._look_at(lines, [(0, len(lines))], text)
            for line in lines:
                self.lines += 1
                self._other(line[:-1], self.lines)
            return
        firsts = b"" if self.tally.pure else self._own.firsts(lines)
        end = 0
        stretches = self.tally.count(lines, firsts, self.kinds.counted_marks, self.lines)
        self._look_at(lines, stretches, text)
        for start, stop in stretches:
            if start != end:
                self._current = IDLE  # the record in hand was interrupted
            self._stretch(lines, start, stop)
            end = stop
        if end != len(lines):
            self._current = IDLE
        self.lines += len(lines)
        if len(self._current.body) > MAX_RECORD_LINES:
            self._cut()
        if self.tally.is_full:
            self.fold()

    def _look_at(
        self, lines: list[bytes], stretches: list[tuple[int, int]], text: bytes | None
    ) -> None:
        """Find what tells something wherever it stands in those of ``lines`` in hand."""
        may_tell = self._own.begin(lines, text, counted=not stretches)
        if stretches == [(0, len(lines))] and not self._own.has_payloads:
            first = self.lines + 1
            numbers = range(first, first + len(lines))
            hot = self.watch.look(lines, numbers, may_tell=may_tell)
            self._own.hot = [at - first for at in hot]
            return
        self._own.hot = self.watch.look_at(lines, stretches, self.lines + 1, may_tell=may_tell)

    def _stretch(self, lines: list[bytes], at: int, stop: int) -> None:
        """Read ``lines`` from ``at`` to ``stop``; what goes on with the record in hand, at once."""
        firsts = b""
        while at < stop:
            prefix, body, tail, *_ = self._current
            if lines[at].startswith(prefix):
                if prefix == _TAB and not firsts:
                    firsts = bytes(map(itemgetter(0), lines))
                end = reach(lines, firsts, at + 1, stop, prefix)
                skip = len(prefix)
                run = lines[at:end]
                body += run if prefix == _TAB else [line[skip:-1] for line in run]
                at = end
                continue
            if tail and (end := reach_restamped(lines, at, stop, self._current)) != at:
                skip = len(prefix)
                body += [line[skip:-1] for line in lines[at:end]]
                at = end
                continue
            line = lines[at]
            is_torchs = line.startswith(_LETTERS) and line[1:5].isdigit()
            if not is_torchs and self._is_idle() and (end := self._own.reach(at, stop)) != at:
                self._current = IDLE
                self._orphan(at, end)
                at = end
                continue
            at += 1
            self._is_program, whole = False, not self._partial
            self._other(line[:-1], self.lines + at)
            if self._is_program and whole:  # what ends another line says nothing by itself
                self._own.learn(line)

    def _orphan(self, at: int, end: int) -> None:
        """Note which of the lines in hand from ``at`` to ``end``, all the program's, are hot."""
        hot = self._own.hot
        some = hot[bisect_left(hot, at) : bisect_left(hot, end)] if hot else ()
        for one in (*some, *range(at, min(end, MAX_BRIEF - self.lines))):
            self.watch.leave(self.lines + one + 1)

    def _is_idle(self) -> bool:
        """Tell whether nothing is open that a line of the program would end or go on with."""
        return (
            not (self._blocks or self._partial)
            and (self._from_start or "" in self._led)
            and not self._records.nameless
        )

    def _cut(self) -> None:
        """Close what is open and too long to be a record; what comes after it begins anew."""
        self.evidence.leave_out(f"records of more than {MAX_RECORD_LINES:,} lines were cut")
        torchs = self._records
        for key in [key for key, held in torchs.open.items() if len(held.body) > MAX_RECORD_LINES]:
            torchs.close(key)
        for rank in [r for r, held in self._blocks.items() if len(held.body) > MAX_RECORD_LINES]:
            self._close_block(rank)
        self._current = IDLE

    def finish(self) -> Evidence:
        """Close all that is open and return the evidence. Only for a segment from the start."""
        for rank, (line, number) in self._partial.items():
            self._text(line, rank, number, b"")
        self._partial.clear()
        self._records.finish()
        for rank in list(self._blocks):
            self._close_block(rank)
        self.fold()
        hand_over_left(self.watch, self.kinds, self.name, self.lines, self.evidence)
        return self.evidence

    # The slow path: one line that neither goes on with the current record nor is counted.

    def _other(self, raw: bytes, number: int) -> None:
        self._current = IDLE
        self._end = number
        if raw.startswith(_LETTERS) and self._is_plain(raw) and (match := TORCH.match(raw)):
            self._torch(raw, match, "", number, raw)
            return
        line, rank, partial = undressed(raw)
        if rank and rank not in self.writers:
            rank = self._meet(rank)
        if raw[:1] != b"\t" or self.wrap:  # what goes on with a payload is kept as it stands
            line = line.rstrip(b"\r")
        if self.wrap:
            partial = self.kinds.is_wrapped(line, self.wrap)
        if rank in self._partial:
            held, start = self._partial.pop(rank)
            whole = self.kinds.joined(held, line, self.wrap) if self.wrap else held + line
            if whole is None:
                self._text(held, rank, start, b"")
            else:
                line, number = whole.rstrip(b"\r"), start
                partial = partial or (self.wrap == BY_HAND and self.kinds.stops_early(line))
        if partial:
            self._partial[rank] = (line, number)
            return
        if b"\r" in line and line[:1] != b"\t" and not self.kinds.begins(line):
            line = line.rpartition(b"\r")[2]
        self._text(line, rank, number, raw)

    def _is_plain(self, raw: bytes) -> bool:
        """Tell whether there is nothing to take off a line that begins like torch's."""
        return not (self._partial or self.wrap or b"\r" in raw or b"\x1b" in raw)

    def _meet(self, rank: str) -> str:
        """Note a new rank and return it; nobody in particular when there are too many."""
        if len(self.writers) >= MAX_WRITERS:
            self.evidence.notes[f"only the first {MAX_WRITERS:,} writers were told apart"] = None
            return ""
        self.writers[rank] = None
        return rank

    def _text(self, line: bytes, rank: str, number: int, raw: bytes) -> None:
        if line.startswith(self.kinds.counted_marks):
            self.tally.add(rank, line, number)
            return
        match = TORCH.match(line)
        if match is None and len(rest := unglued(line)) < len(line):
            self._text(rest, rank, number, raw)
            return
        if match is not None:
            self._torch(line, match, rank, number, raw)
        else:
            self._bare(line, rank, number)

    def _torch(
        self, line: bytes, match: re.Match[bytes], rank: str, number: int, raw: bytes
    ) -> None:
        """Handle a line that begins with a torch prefix."""
        prefix = match.group()
        if line.startswith(b' {"', len(prefix)) and self.kinds.structured and match["clock"]:
            self._envelope(line[len(prefix) + 1 :], match, rank, number)
            return
        key = (rank, match["writer"] or b"")
        held = self._records.take(line, prefix, key, number)
        # A prefix that ends in an artifact begins no longer prefix; others may.
        whole = raw.rstrip(b"\r") if number == self._end else b""  # two lines are two places
        if b" [__" in prefix and line.startswith(b" ", len(prefix)) and whole.endswith(line):
            bounds = self._records.bounds(held, key, prefix)
            if bounds is None:
                return
            before = whole[: len(whole) - len(line)]
            tail = tail_of(prefix) + b" " if bounds else b""
            self._current = Current(before + held.prefix + b" ", held.body, tail, bounds, before)

    def _envelope(self, line: bytes, match: re.Match[bytes], rank: str, number: int) -> None:
        """Begin a structured record: its payload follows on lines that begin with a tab."""
        assert self.kinds.structured is not None  # noqa: S101 -- the caller asked
        self._led.add(rank)
        if rank in self._blocks:
            self._close_block(rank)
        pid, when = (match["writer"] or b"").decode(), clock(match["clock"])
        log = self.kinds.load(self.kinds.structured)
        block = Block(number, [line + b"\n"], log, pid, when)
        self._blocks[rank] = block
        if not rank:
            self._current = Current(_TAB, block.body)

    def _bare(self, line: bytes, rank: str, number: int) -> None:
        """Handle a line without torch prefix: a block's next, a block's first, the program's."""
        text = line.decode("utf-8", "replace").rstrip("\r")
        heads = self.kinds.heads
        may = line[:1] in heads.firsts or (b"torch." in line and line[:1] != b"\t")
        head = heads.find(line) if may else None
        begins = head is not None and head.prefix != b""
        if not begins and self._records.goes_on(line, text, rank, number):
            return
        if not self._from_start and rank not in self._led:
            if not begins and self._may_lead(text, rank, number):
                self._leads.setdefault(rank, []).append((number, line, self._end))
                return
            self._led.add(rank)
        block = self._blocks.get(rank)
        if block is not None:
            begins = begins or (head is not None and isinstance(block, Headed) and not block.prefix)
            # What goes on with a pack's record is none of ours.
            begins = begins or (not block.log.builtin and self.kinds.begins_bare(text))
            admitted = not begins and block.admits(text, number, rank, self.kinds.begins_bare)
            if admitted and len(block.body) < MAX_RECORD_LINES:
                block.go_on(line + b"\n" if block.log.structured else line, number)
                block.next = self._end + 1
                if block.ends_with(text):
                    self._close_block(rank)
                return
            self._close_block(rank)
        if head is not None:
            self._headed(head, rank, number)
        elif line.startswith(self.kinds.bare_marks):
            self._blocks[rank] = Block(number, [line], self.kinds.of_line(line))
        elif (log := self.kinds.of_text(text) or self.kinds.of_pack(text)) is not None:
            self._begin(log, line, text, rank, number)
        else:
            self._is_program = not rank
            self.watch.leave(number)

    def _begin(self, log: type[Log], line: bytes, text: str, rank: str, number: int) -> None:
        """Begin a bare record of a kind that is known by a pattern, or that is a pack's."""
        if log.counted and text.startswith(log.marks):  # a pack's: ours are counted by now
            self.tally.add(rank, line, number)
            return
        block = self._blocks[rank] = Block(number, [line], log)
        if block.ends_with(text):
            self._close_block(rank)

    def _headed(self, head: Head, rank: str, number: int) -> None:
        """Begin a torch record of which only the first line is prefixed."""
        site, log = self.kinds.of_head(head)
        if log is not None:
            block = self._blocks[rank] = Headed.begun(head, log, number, self._end)
            if block.ends_with(head.text.decode("utf-8", "replace")):
                self._close_block(rank)
        elif head.logger:
            said = head.text.decode("utf-8", "replace")
            self.evidence.add_known(site.label, 1, number, said)

    def _may_lead(self, text: str, rank: str, number: int) -> bool:
        """Tell whether a bare line may go on with a block that began before this segment."""
        if self.kinds.may_continue.match(text):
            return True
        leads = self._leads.get(rank, ())
        if rank:  # the ranks may be mixed
            return len(leads) < MAX_RECORD_LINES
        return number == (leads[-1][2] + 1 if leads else 1)

    def _close_block(self, rank: str) -> None:
        block = self._blocks.pop(rank)
        if not hand_over_block(block, self.name, rank, self._rank, self.evidence):
            self.watch.left.update(range(block.line, min(block.next, MAX_BRIEF + 1)))

    def fold(self) -> None:
        """Turn what was counted so far into evidence."""
        self.tally.fold(self.kinds, self.name, self.evidence)

    # Joining two neighbouring segments.

    def extend(self, after: Segmenter) -> None:
        """Take over ``after``, which read the lines that follow this segment's.

        Raises:
            Inseparable: Only one pass can tell what ``after`` begins with.
        """
        shift = self.lines
        self.fold()
        after.fold()
        for rank, lines in after._leads.items():
            self._records.lead_on(rank, lines, shift)
        self._records.extend(after._records, shift)
        self.watch.extend(after.watch, shift)
        self._replay(after, shift)
        for rank, (line, number) in after._partial.items():
            self._partial[rank] = line, number + shift
        self.evidence.merge(after.evidence, shift=shift)
        self.writers.update(after.writers)
        self.lines += after.lines
        self._current = IDLE

    def _replay(self, after: Segmenter, shift: int) -> None:
        """Read the bare lines that ``after`` could not place, then take over its open blocks."""
        leads = [(*one, rank) for rank, lines in after._leads.items() for one in lines]
        for number, line, end, rank in sorted(leads, key=itemgetter(0)):
            self._end = end + shift
            self._bare(line, rank, number + shift)
        for rank in after._led:
            if not self._from_start:
                self._led.add(rank)
            if rank in self._blocks:
                self._close_block(rank)
        for rank, block in after._blocks.items():
            block.shift(shift)
            self._blocks[rank] = block
