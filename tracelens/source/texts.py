"""Cut a text into records: a structured log without cutting it into lines."""

from __future__ import annotations

from io import BytesIO

from tracelens.evidence.limits import MAX_RECORD_LINES
from tracelens.logs import StructuredLog
from tracelens.source.envelopes import Envelope, envelopes
from tracelens.source.files import Reader, Stream
from tracelens.source.prefixes import clock
from tracelens.source.records import Block, Current
from tracelens.source.segment import Segmenter
from tracelens.source.skimming import hand_over_text

__all__ = ["TextSegmenter"]

_TAB = b"\t"
#: What lines of a structured log begin with.
_FIRSTS = frozenset(b"VIWECF\t")


class TextSegmenter(Segmenter):
    """Does with a text what a segmenter does with its lines."""

    def read(self, stream: Stream, reader: Reader, *, structured: bool) -> None:
        """Read all lines of ``reader``, of a log that may be ``structured``."""
        feed = self.feed_text if structured else self._feed_lines
        for text in stream.texts(reader):
            feed(text)
            stream.lines = self.lines

    def _feed_lines(self, text: bytes) -> None:
        self.feed(BytesIO(text).readlines(), text)

    def feed_text(self, text: bytes) -> None:
        """Read the next lines, each with its newline."""
        found = envelopes(text) if self._may_be_structured(text) else None
        if found is None:
            self._feed_lines(text)
            return
        self._own.pass_over()
        self.tally.pure = False
        end = found[0].start if found else len(text)
        if end:
            rest = BytesIO(text[:end]).readlines()
            self._current.body.extend(rest)
            self.lines += len(rest)
        if found:
            self._records_of(text, found)
        if len(self._current.body) > MAX_RECORD_LINES:
            self._cut()

    def _may_be_structured(self, text: bytes) -> bool:
        """Tell whether payloads and envelopes in ``text`` are what they look like."""
        if self.wrap or self._partial or self.kinds.structured is None:
            return False
        if text[:1] == _TAB and self._current.prefix != _TAB:
            return False
        return _FIRSTS.isdisjoint(mark[0] for mark in self.kinds.counted_marks)

    def _records_of(self, text: bytes, found: list[Envelope]) -> None:
        """Read the records that begin in ``text``; the last one stays open."""
        assert self.kinds.structured is not None  # noqa: S101 -- asked before
        log = self.kinds.load(self.kinds.structured)
        assert issubclass(log, StructuredLog)  # noqa: S101 -- it says so
        if "" in self._blocks:
            self._close_block("")
        self._led.add("")
        ends = [one.start for one in found[1:]]
        counts = [text.count(b"\n", one.start, end) for one, end in zip(found, ends, strict=False)]
        numbers = [self.lines + 1]
        for count in counts:
            numbers.append(numbers[-1] + count)
        self.watch.look([text[one.start : one.payload] for one in found], numbers, may_tell=False)
        cut = zip(found, ends, counts, numbers, strict=False)
        hand_over_text(log, text, cut, (self.name, self._rank), self.evidence)
        last = found[-1]
        body = [last.head, *BytesIO(text[last.payload :]).readlines()]
        block = Block(numbers[-1], body, log, last.pid.decode(), clock(last.clock))
        self._blocks[""] = block
        self._current = Current(_TAB, block.body)
        self.lines = numbers[-1] + len(body) - 1
