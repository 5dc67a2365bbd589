"""The installed log kinds, arranged so that a line or a record finds its own at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal

from tracelens.compiled import compiled
from tracelens.late import late
from tracelens.logs import CountedLog, Log, openings
from tracelens.logs.torch_log import Site, read_site
from tracelens.plugins.facts import LogFacts
from tracelens.source.heads import MAY_HEAD, Head, Heads
from tracelens.source.prefixes import TORCH, TRANSPORT
from tracelens.source.records import Open

__all__ = ["BY_HAND", "TELLING", "Kinds"]

#: The width of a paste in which somebody broke lines of oneDNN where it suited, and its size.
BY_HAND, MAX_PASTE = -1, 16_000
#: A line of oneDNN that is a record of what ran, and how such a line ends: in a time.
_RAN = late(rb"(?:onednn|dnnl|mkldnn)_verbose,(?:[^,\n]{1,40},){0,3}(?:exec|create:cache_\w+),")
_PIECE = late(
    rb"[ \t]*(?:,|(?:src|dst|wei|wts|bia|idx|off|diff_\w{1,8}|ws|attr|alg|scratchpad)\b"
    rb"|(?:src|dst|wei|bia|diff)_|mb\d|\d+x\d|undef|[\w:]{0,20}:blocked:|(?:forward|backward)_)"
)
_TIME = late(rb",[ \t]*\d+(?:[.,]\d+)?(?:e[-+]?\d+)?[ \t\r]*$")

#: What begins a stack in a record of torch 2.0 and 2.1, and a line of it.
_OF_CODE, _STACK = " from user code at", re.compile(r'  ? ?File "[^"\n]+", line \d|    \S')
#: What a prefix ends in whose record says why a function was compiled anew, and its reasons.
_RECOMPILES = b"[__recompiles]"
_REASONS = late(
    r"\s+(?:triggered by the following guard failure|- (?:\d{1,9}/\d{1,9}: |User stack trace:|  ))"
)

#: Shortest beginning of a message that is believed behind any program's time and level.
TELLING = 20

#: Lines from which on many patterns are worth being put together.
MANY = 200
#: Lines that are remembered, which come again and again, and how long they may be.
MAX_KNOWN, MAX_LENGTH = 2_000, 400
#: Characters by which a line is shorter than the wrap where a path in it was replaced.
EDITED = 16
_CUT_PATH = late(rb"/[^\s\"':,]{0,80}(?<!\.py)$")


class AnyOf:
    """Some patterns of which one is to match.

    To make one pattern of them takes longer than to make each, and pays with many lines only.
    """

    def __init__(self, patterns: Iterable[tuple[str, str | None]]) -> None:
        """Take patterns, each with the characters that what it matches begins with, if known."""
        self._patterns = tuple(patterns)
        self._compiled: dict[str, re.Pattern[str]] = {}
        self._together: re.Pattern[str] | None = None
        self._asked = 0
        self._known: dict[str, bool] = {}

    def match(self, text: str) -> bool:
        """Tell whether one of them matches at the start of ``text``."""
        if (known := self._known.get(text)) is None:
            known = self._match(text)
            if len(text) < MAX_LENGTH:
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                self._known[text] = known
        return known

    def _match(self, text: str) -> bool:
        self._asked += 1
        if self._asked == MANY and self._patterns:
            self._together = compiled("|".join(f"(?:{one})" for one, _ in self._patterns))
        if self._together is not None:
            return self._together.match(text) is not None
        return any(
            self._one(pattern).match(text)
            for pattern, starts in self._patterns
            if _may_start(starts, text)
        )

    def _one(self, pattern: str) -> re.Pattern[str]:
        """Return the pattern, compiled when it is first asked: most begin with other characters."""
        if (made := self._compiled.get(pattern)) is None:
            # As a kind has it whose beginning is asked for: it is not compiled a second time.
            made = self._compiled[pattern] = compiled(pattern, re.UNICODE)
        return made


def _may_start(starts: str | None, text: str) -> bool:
    """Tell whether ``text`` may begin with one of the characters; of others nothing is known."""
    first = text[:1]
    return starts is None or not (first.isascii() and first.isprintable()) or first in starts


def _starts(log: type[Log] | LogFacts) -> str | None:
    return log.starts if isinstance(log, LogFacts) else None


class Kinds:
    """The installed log kinds, arranged for dispatch."""

    def __init__(self, installed: Iterable[type[Log] | LogFacts]) -> None:
        every = tuple(installed)
        logs = tuple(log for log in every if log.builtin)
        #: Those of packs: they get what none of ours claims.
        self.packs = tuple(log for log in every if not log.builtin)
        self._loaded: dict[str, type[Log]] = {}
        self.artifacts: dict[str, type[Log] | LogFacts] = {}
        self.readers = [*_readers(logs), *_readers(self.packs)]
        bare: list[tuple[bytes, type[Log] | LogFacts]] = []
        counted: list[tuple[bytes, type[Log] | LogFacts]] = []
        for log in logs:
            for mark in () if log.prefixed else log.marks:
                (counted if log.counted else bare).append((mark.encode(), log))
        for log in (*self.packs, *logs):
            self.artifacts.update(dict.fromkeys(log.artifacts, log))
        self.bare = bare
        self.counted = counted
        self.bare_marks = tuple(mark for mark, _ in bare)
        self.counted_marks = tuple(mark for mark, _ in counted)
        self.timed_marks = tuple(mark.encode() for log in logs for mark in _timed(log))
        self.structured = next((log for log in logs if log.structured), None)
        self._logs = logs
        self._begun: dict[bytes, tuple[bytes, ...]] = {}
        #: What reads the records of a module of torch's that begin in no way of their own.
        self._of_module: dict[str, type[Log] | LogFacts | None] = {}
        self.opening = [(opens, log) for log in logs if (opens := _opens(log))]
        heads = tuple(mark.encode() for marks, _ in self.opening for mark in marks)
        weak = (mark.encode() for log in logs if log.prefixed for mark in log.marks)
        #: Finds the records of which only the first line is prefixed.
        self.heads = Heads(heads, tuple(mark for mark in weak if len(mark) >= TELLING))

    def load(self, log: type[Log] | LogFacts) -> type[Log]:
        """Return the log kind itself."""
        if (loaded := self._loaded.get(log.name)) is None:
            loaded = self._loaded[log.name] = log.load()
        return loaded

    @cached_property
    def messages(self) -> tuple[str, ...]:
        """What messages of torch's begin with that it logs behind its prefix, the longest first."""
        found = {mark for marks, _, of_module in self.readers if not of_module for mark in marks}
        return tuple(sorted(found, key=lambda mark: (-len(mark), mark)))

    @cached_property
    def patterns(self) -> list[tuple[str, type[Log] | LogFacts]]:
        """The kinds whose bare records are known by a pattern, each with it."""
        found = ((_source(log, "begins"), log) for log in self._logs)
        return [(pattern, log) for pattern, log in found if pattern is not None]

    @cached_property
    def may_begin(self) -> AnyOf:
        """Matches the first line of a bare record of some kind that is known by a pattern."""
        return AnyOf((pattern, _starts(log)) for pattern, log in self.patterns)

    @cached_property
    def _may_interrupt(self) -> AnyOf:
        """Like :attr:`may_begin`, without the kinds whose lines may be of other records."""
        patterns = ((one, log) for one, log in self.patterns if not log.partial)
        return AnyOf((pattern, _starts(log)) for pattern, log in patterns)

    @cached_property
    def may_continue(self) -> AnyOf:
        """Matches a line that may belong to a bare record of some kind."""
        openers = {log.name: log for _, log in (*self.bare, *self.patterns)}
        openers |= {log.name: log for log in self.packs}
        goes_on = [_source(log, "continues") for log in openers.values()]
        tab = ["\t"] if self.structured is not None else []
        patterns = [*(pattern for pattern in goes_on if pattern is not None), *tab]
        return AnyOf((pattern, None) for pattern in patterns)

    def openings(self) -> list[str]:
        """Return patterns, one of which matches each line that is not the program's by its start.

        What stands in the middle of a line, and what is a pack's, is not among them.
        """
        marks = (*self.counted_marks, *self.bare_marks, *self.heads.opens, b'{"log":')
        written = [TORCH.pattern, TRANSPORT.pattern, MAY_HEAD.pattern, *map(re.escape, marks)]
        return [*(one.decode() for one in written), *(pattern for pattern, _ in self.patterns)]

    def begins(self, line: bytes) -> bool:
        """Tell whether ``line`` begins a record, or goes on with one under its own prefix."""
        return line.startswith((*self.counted_marks, *self.bare_marks)) or bool(TORCH.match(line))

    def begins_bare(self, text: str) -> bool:
        """Tell whether ``text`` is the first line of a bare record, and no part of any other."""
        return text.encode().startswith(self.bare_marks) or self._may_interrupt.match(text)

    def stops_early(self, line: bytes) -> bool:
        """Tell whether ``line``, of oneDNN's, stops before the time that it ends in."""
        return bool(_RAN.search(line)) and not _TIME.search(line)

    def joined(self, held: bytes, line: bytes, width: int) -> bytes | None:
        """Return a line that was wrapped with its next piece; None where that is none of it."""
        if self.begins(line):
            return None
        if width != BY_HAND:
            return (held + line).rstrip(b"\r")
        if not _PIECE.match(line):
            return None
        held, piece = held.rstrip(), line.strip().replace(b", ", b",")
        return held + (b"" if held.endswith(b",") or piece.startswith(b",") else b" ") + piece

    def wrapped_at(self, head: bytes) -> int:
        """Return the width at which a text beginning with ``head`` was wrapped; 0 for none.

        Telling: no line is longer, and several that begin a record are exactly that long and go on
        with something that begins none. A tab begins the payload of a structured record, of which
        many have envelopes of one length.
        """
        lines = head.split(b"\n")[:-1]
        widths = [len(line.rstrip(b"\r").decode("utf-8", "replace")) for line in lines]
        width = max(widths, default=0)
        cut = sum(
            self.begins(line) and not self.begins(after) and after[:1] != b"\t"
            for line, after, length in zip(lines, lines[1:], widths, strict=False)
            if length == width
        )
        if cut >= 3 and 40 <= width <= 400:
            return width
        by_hand = len(head) < MAX_PASTE and any(
            self.stops_early(line) and _PIECE.match(after) and not self.begins(after)
            for line, after in pairwise(lines)
        )
        return BY_HAND if by_hand else 0

    def indented_by(self, head: bytes) -> int:
        """Return how many blanks stand before each line of a text that was pasted indented.

        Only where something begins behind them that does not begin with them: what some kinds
        print is indented by itself.
        """
        lines = [line for line in head.split(b"\n") if line.strip()]
        indent = min((len(line) - len(line.lstrip(b" ")) for line in lines), default=0)
        if not indent or any(self._begins_any(line) for line in lines):
            return 0
        return indent if any(self._begins_any(line[indent:]) for line in lines) else 0

    def _begins_any(self, line: bytes) -> bool:
        return self.begins(line) or self.begins_bare(line.decode("utf-8", "replace"))

    def is_wrapped(self, line: bytes, width: int) -> bool:
        """Tell whether ``line`` goes on in the next one, in a text wrapped at ``width``.

        Also where a shorter path was put in the place of one that the wrap had cut.
        """
        if width == BY_HAND:
            return self.stops_early(line)
        length = len(line.decode("utf-8", "replace"))
        if length == width:
            return True
        return (
            width - EDITED <= length < width and bool(_CUT_PATH.search(line)) and self.begins(line)
        )

    def begun_by(self, artifact: bytes) -> tuple[bytes, ...]:
        """Return what the records of ``artifact`` begin with where they always do; else nothing."""
        if (begun := self._begun.get(artifact)) is None:
            found = self.artifacts.get(artifact.decode("ascii", "replace"))
            log = None if found is None or not _opens(found) else self.load(found)
            opens = openings(log, always=True) if log is not None else ()
            begun = tuple(mark.rstrip("\n").encode() for mark in opens)
            if len(self._begun) < len(self.artifacts):
                self._begun[artifact] = begun
        return begun

    def of_line(self, line: bytes) -> type[Log]:
        """Return the kind whose mark ``line`` begins with."""
        for mark, log in self.counted:
            if line.startswith(mark):
                return self.load(log)
        found = next((log for mark, log in self.bare if line.startswith(mark)), None)
        if found is None:
            counted = (log for log in self.packs if log.counted)
            text = line.decode("utf-8", "replace")
            found = next(log for log in counted if text.startswith(log.marks))
        return self.load(found)

    def of_text(self, text: str) -> type[Log] | None:
        """Return the kind whose bare records begin like ``text``, by its pattern."""
        if not self.may_begin.match(text):
            return None
        logs = (log for _, log in self.patterns if _may_start(_starts(log), text))
        begun = (log for log in logs if log.begins is not None and log.begins.match(text))
        return next((self.load(log) for log in begun), None)

    def of_pack(self, text: str) -> type[Log] | None:
        """Return the kind of a pack whose bare records begin like a line that is none of ours."""
        for log in self.packs:
            marks = () if log.prefixed else log.marks
            begins = log.begins
            if text.startswith(marks) or (begins is not None and begins.match(text)):
                return self.load(log)
        return None

    def of_record(self, site: Site, text: str) -> type[Log] | None:
        """Return the kind that reads a torch record; None when no grammar does."""
        if site.artifact:
            log = self.artifacts.get(site.artifact)
        elif text.startswith(self.messages):
            log = self._reader(site.module, text)
        else:
            module = site.module
            log = self._of_module[module] if module in self._of_module else self._reader(module, "")
            if len(self._of_module) < MAX_KNOWN:
                self._of_module[module] = log
        return None if log is None else self.load(log)

    def _reader(self, module: str, text: str) -> type[Log] | LogFacts | None:
        """Return what reads the records of a module, or those that begin like ``text``."""
        return next(
            (
                log
                for marks, log, of_module in self.readers
                if (module if of_module else text).startswith(marks)
            ),
            None,
        )

    def goes_on(self, record: Open, text: str) -> bool:
        """Tell whether ``text``, a line without prefix, may be of a record of Python logging.

        So may the reasons below a recompile whose first line alone was copied with its prefix.
        """
        parts = TORCH.match(record.prefix)
        if parts is None or parts["site21"] is None:
            recompiled = record.prefix.endswith(_RECOMPILES)
            return recompiled and bool(_REASONS.match(text))
        first, last = (record.body[at].decode("utf-8", "replace") for at in (0, -1))
        log = self.of_record(read_site(parts["site21"].decode()), first)
        if log is None or (log.ends is not None and log.ends.match(last)):
            return False
        goes_on = log.continues or (_STACK if _OF_CODE in first else None)
        return goes_on is not None and bool(goes_on.match(text))

    def goes_on_below(self, record: Open, text: str) -> bool:
        """Tell whether ``text`` is what stood behind the prefix of a record's last line.

        Who wraps lines by hand breaks them there, and leaves the prefix alone on its line.
        """
        if record.body[-1].strip() or not text or text[0].isspace():
            return False
        continues = self.continued(record)
        return continues is not None and bool(continues.match(text))

    def continued(self, record: Open) -> re.Pattern[str] | None:
        """Return what the further lines of a record look like that is known by its first line."""
        first = record.body[0].decode("utf-8", "replace")
        log = next((log for marks, log in self.opening if first.startswith(marks)), None)
        return None if log is None else self.load(log).continues

    def of_head(self, head: Head) -> tuple[Site, type[Log] | None]:
        """Return the site and the kind of a record of which only the first line is prefixed."""
        text = head.text.decode("utf-8", "replace")
        site = read_site(head.logger.decode()) if head.logger else Site()
        told = [
            self.load(log)
            for marks, log in self.opening
            if not head.logger and text.startswith(marks)
        ]
        return site, told[0] if told else self.of_record(site, text)


def _readers(
    logs: Sequence[type[Log] | LogFacts],
) -> Iterator[tuple[tuple[str, ...], type[Log] | LogFacts, bool]]:
    """Yield beginnings of torch's records and then of modules, with whose they are and which."""
    yield from ((log.marks, log, False) for log in logs if log.prefixed and log.marks)
    yield from ((log.modules, log, True) for log in logs if log.modules)


def _opens(log: type[Log] | LogFacts) -> tuple[str, ...]:
    """Return what tells its records where only their first line is prefixed."""
    return log.opens if isinstance(log, LogFacts) else openings(log)


def _timed(log: type[Log] | LogFacts) -> tuple[str, ...]:
    """Return what lines begin with that a time ends."""
    return log.timed if isinstance(log, LogFacts) or issubclass(log, CountedLog) else ()


def _source(log: type[Log] | LogFacts, which: Literal["begins", "continues"]) -> str | None:
    """Return the text of a pattern; it is compiled once something may match it."""
    if isinstance(log, LogFacts):
        held = log.beginning if which == "begins" else log.continuation
        return held[0] if held else None
    pattern: re.Pattern[str] | None = getattr(log, which)
    return None if pattern is None else pattern.pattern
