"""What a log kind is: how its texts are known, cut, and read by its grammar."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tracelens import grammars
from tracelens.errors import PluginError
from tracelens.evidence.record import Record

if TYPE_CHECKING:
    from tracelens.evidence.store import Evidence

__all__ = [
    "CountedLog",
    "HeadedLog",
    "Log",
    "Skimmed",
    "StructuredLog",
    "Tick",
    "believed",
    "measured",
    "openings",
]


class Skimmed(NamedTuple):
    """What the first line of a structured record tells of one whose payload no table needs."""

    #: The compile id; empty outside a compilation.
    frame: str
    #: What torch calls the record, where nobody knows what it is; empty otherwise.
    unknown: str = ""
    #: Whether the payload is an event, which may be a :class:`Tick`.
    is_event: bool = False


class Tick(NamedTuple):
    """A phase began or ended."""

    #: As the table of ``compile_times()`` calls it.
    phase: str
    #: The compile id; empty outside a compilation.
    frame: str
    #: When, in microseconds.
    us: float
    ends: bool


class Log:
    """One kind of log: a class that is never instantiated.

    A text belongs to a kind in one of four ways, tried in this order:

    * a torch record carries one of its ``artifacts`` (``[__guards]``) in the prefix;
    * a torch record without artifact, or an unprefixed line, begins with one of ``marks``, or an
      unprefixed line matches ``begins``;
    * a torch record without artifact that no kind's ``marks`` know was written by one of
      ``modules``;
    * an unprefixed line after that one goes on with the record while ``continues`` matches it, up
      to the line that ``ends`` matches.
    """

    #: Whether it comes with tracelens, and in no pack.
    builtin: ClassVar[bool] = False
    #: The stem of the module and of the grammar; the key in the report's ``kinds``.
    name: ClassVar[str] = ""
    #: What makes torch or oneDNN print it; shown when a rule has nothing to look at.
    switch: ClassVar[str] = ""
    #: It is printed without being asked for, so that it is missing is an answer.
    always: ClassVar[bool] = False
    #: Artifact tags without brackets, such as ``__recompiles``.
    artifacts: ClassVar[frozenset[str]] = frozenset()
    #: Literal beginnings of a record's first line.
    marks: ClassVar[tuple[str, ...]] = ()
    #: Whether torch prints the marked records behind its log prefix (as opposed to bare).
    prefixed: ClassVar[bool] = False
    #: Beginnings of the paths of torch's modules, such as ``torch/fx/passes/``, all of whose other
    #: records are the kind's.
    modules: ClassVar[tuple[str, ...]] = ()
    #: Whether it is a :class:`StructuredLog`.
    structured: ClassVar[bool] = False
    #: The first line of a bare record, where literal ``marks`` are too weak; also for kinds whose
    #: ``marks`` are ``prefixed``. Anchored at the start of the line.
    begins: ClassVar[re.Pattern[str] | None] = None
    #: A line that belongs to the bare record above it, or to one whose first line alone is
    #: prefixed. Anchored at the start of the line.
    continues: ClassVar[re.Pattern[str] | None] = None
    #: The last line of a bare record, which may be its first: what comes after it is not the
    #: record's, however it looks.
    ends: ClassVar[re.Pattern[str] | None] = None
    #: Its bare records are parts of other kinds' records: they end no record that is open.
    partial: ClassVar[bool] = False
    #: One line is one record, and only distinct lines matter: they are counted, never kept. What
    #: tells times in its lines is a :class:`CountedLog`.
    counted: ClassVar[bool] = False
    #: Beginnings of lines at which one text must be cut in several records.
    cuts: ClassVar[re.Pattern[str] | None] = None
    #: Whether :meth:`pieces` gives every text back as it is.
    whole: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Note where it comes from, and whether its texts are cut."""
        if "builtin" not in vars(cls):
            cls.builtin = cls.__module__.startswith("tracelens.")
        cut = any("pieces" in vars(base) for base in cls.__mro__ if base is not Log)
        cls.whole = not (cut or cls.counted or cls.cuts)

    @classmethod
    def load(cls) -> type[Log]:
        """Return the log kind itself; what stands for one that is not imported imports it."""
        return cls

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the records in ``text``; none for a text that is understood and says nothing.

        Raises:
            grammars.Unreadable: The grammar refused it.
        """
        result = grammars.load(cls.name, cls.__module__).parse(cls.mask(text))
        return tuple(_records(result))

    @classmethod
    def told_by(cls, text: str) -> tuple[str, str]:
        """Return what alone tells the records of ``text``: a name, and a part of the text.

        The name is empty where it may be anything.
        """
        del text
        return "", ""

    @classmethod
    def check_own(cls, records: Iterable[Record]) -> None:
        """Check that what a pack has read goes into no table of ours.

        Raises:
            PluginError: A record is of a type that is built in.
        """
        for kind in map(type, records):
            if kind.__module__.startswith("tracelens."):
                raise PluginError(f"parse() of {cls.name}: {kind.__name__} is built in")

    @classmethod
    def pieces(cls, lines: Sequence[str]) -> list[tuple[int, str]]:
        """Cut lines into the texts of records: (offset of the first line, text)."""
        if cls.counted:
            return list(enumerate(lines))
        if cls.cuts is None or len(lines) == 1:
            return [(0, "\n".join(lines))]
        starts = [0, *(at for at in compress(range(len(lines)), map(cls.cuts.match, lines)) if at)]
        ends = [*starts[1:], len(lines)]
        return [
            (start, "\n".join(lines[start:end])) for start, end in zip(starts, ends, strict=True)
        ]

    @classmethod
    def owns(cls, records: Sequence[Record]) -> bool:
        """Tell whether a text with these records is torch's or oneDNN's, not the program's own."""
        del records
        return True

    @classmethod
    def mask(cls, text: str) -> str:
        """Replace what is volatile in ``text`` (addresses, ids) so that equal records are equal."""
        return text

    @classmethod
    def frame_of(cls, text: str) -> str:
        """Return the compile id that ``text`` itself names, for kinds without it in the prefix."""
        del text
        return ""

    @classmethod
    def environment(cls, evidence: Evidence) -> Mapping[str, Any]:
        """Return what this kind knows about the machine and the software.

        Like :meth:`tables`, it is asked where the input holds this kind.
        """
        del evidence
        return {}

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return the summaries of this kind that a report shows, by name."""
        del evidence
        return {}


class CountedLog(Log):
    """Lines that are counted, and that report how long something took."""

    counted = True
    #: Beginnings of lines that end in a comma and a time, and are otherwise as others are.
    timed: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def measure(cls, line: str) -> tuple[str, float | None]:
        """Split a line into what stays the same and the milliseconds that it reports."""
        return line, None


class HeadedLog(Log):
    """Records that their first line alone tells, in a log format of the user's choice.

    Such a format may leave out who wrote a record, and is only before its first line.
    """

    #: Beginnings of the message that tell what the record is.
    opens: ClassVar[tuple[str, ...]] = ()
    #: Whether a place of torch's that once began a record with one of ``opens`` always does: a line
    #: that it wrote under another clock, and that begins otherwise, goes on with the record above.
    opens_always: ClassVar[bool] = False

    @classmethod
    def believes(cls, records: Sequence[Record]) -> bool:
        """Tell whether records are this kind's that nothing but how they begin says so of."""
        del records
        return True

    @classmethod
    def encloses(cls, body: Sequence[bytes], line: str) -> bool:
        """Tell whether ``line``, which may begin others, goes on with the lines ``body``."""
        del body, line
        return False


class StructuredLog(Log):
    """Torch's own structured log: JSON behind its log prefix, with payload lines behind a tab.

    Most records are known by their envelope alone, and only those that a table needs are read.
    """

    structured = True

    @classmethod
    def skim(cls, head: str) -> Skimmed | None:
        """Return what the envelope ``head`` tells of a structured record that is not read.

        None for one whose payload is to be read.
        """
        del head
        return None

    @classmethod
    def tick(cls, payload: bytes) -> Tick | None:
        """Return when a phase began or ended; None for an event that is something else."""
        del payload
        return None


def measured(log: type[Log], line: str) -> tuple[str, float | None]:
    """Split a counted line of ``log`` into what its grammar reads and the milliseconds, if any."""
    return log.measure(line) if issubclass(log, CountedLog) else (line, None)


def openings(log: type[Log], *, always: bool = False) -> tuple[str, ...]:
    """Return what records of ``log`` begin with; none where they do not ``always``."""
    return log.opens if issubclass(log, HeadedLog) and (log.opens_always or not always) else ()


def believed(log: type[Log], records: Sequence[Record]) -> bool:
    """Tell whether records are of ``log`` that nothing but how they begin says so of."""
    return not issubclass(log, HeadedLog) or log.believes(records)


def _records(result: Any) -> Iterator[Record]:
    if isinstance(result, Record):
        yield result
    elif isinstance(result, list):
        for child in result:
            yield from _records(child)
