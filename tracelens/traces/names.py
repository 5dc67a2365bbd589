"""Count and time the events of a trace by category and name, in bounded memory.

Durations are kept as they come and folded into :class:`Times` a few hundred thousand at a time:
that is several times faster than one by one.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from typing import TypeAlias

from tracelens.evidence import Times
from tracelens.grammars import Unreadable
from tracelens.logs import Record
from tracelens.logs._trace_events import Complete
from tracelens.logs.chrome_trace import ChromeTrace

__all__ = ["OTHER_NAMES", "Entry", "Name", "Names"]

#: Different names that are told apart; further ones lose their digits, and then everything.
MAX_NAMES = 10_000
MAX_MASKED = 1_000
OTHER_NAMES = "\t(other names)"
#: Characters of a name, and of a category, that are kept.
MAX_NAME = 16_000
MAX_CATEGORY = 64
#: Characters of all names; C++ templates are long.
MAX_CHARACTERS = 8 << 20
#: Durations that are held before they are folded.
FOLD = 1 << 19
_DIGITS = re.compile(r"\d+")
_STEP = re.compile(r"ProfilerStep#\d+$")

#: How to add the duration of an event, and where to put the event for more; None for no more.
Entry: TypeAlias = tuple[Callable[[float], None], Callable[[Complete], None] | None]


class Name:
    """One category and name: what the grammar makes of it, and its events so far."""

    __slots__ = (
        "count",
        "durations",
        "first",
        "moved",
        "parts",
        "records",
        "self_us",
        "text",
        "times",
        "waiting",
    )

    def __init__(self, text: str, first: int) -> None:
        #: What the grammar reads: category, tab, name.
        self.text = text
        #: 1-based number of the first event.
        self.first = first
        self.records = _records(text)
        #: Events, but for those whose durations are not yet folded.
        self.count = 0
        #: Microseconds, not yet folded.
        self.durations = array("d")
        self.times = Times()
        #: Events of the list in hand that are still to be followed.
        self.waiting: list[Complete] = []
        #: What a span of this name counts as where nesting is followed.
        self.parts = 0
        #: Microseconds without what runs inside; bytes that were copied or set.
        self.self_us = 0.0
        self.moved = 0

    @property
    def record(self) -> Record | None:
        """What the grammar made of it; None when it refused."""
        return self.records[0] if self.records else None

    def fold(self) -> None:
        """Turn the durations into times."""
        self.count += len(self.durations)
        self.times.add_all(self.durations, unit=1e-3)
        del self.durations[:]


class Names:
    """All names of one trace. ``follow`` says where the events of a new name go besides."""

    def __init__(self, follow: Callable[[Name], Callable[[Complete], None] | None]) -> None:
        #: Category and name as they come -> what to do with an event.
        self.known: dict[tuple[str | None, str], Entry] = {}
        #: ... and which name it is.
        self.named: dict[tuple[str | None, str], Name] = {}
        #: Whether names were put together because there are too many.
        self.full = False
        self._follow = follow
        self._by_text: dict[str, tuple[Name, Callable[[Complete], None] | None]] = {}
        self._held = 0
        #: Characters of the names as they come, and of their texts.
        self._characters = 0
        self._written = 0

    def __iter__(self) -> Iterator[Name]:
        for name, _ in self._by_text.values():
            yield name

    def meet(self, category: str | None, name: str, number: int) -> Entry:
        """Return what to do with an event of that name, which is the ``number``-th of the trace."""
        met, follow = self._find(category, name, number)
        entry = met.durations.append, follow
        self._characters += len(name)
        if len(self.known) < MAX_NAMES and self._characters < MAX_CHARACTERS:
            self.known[category, name] = entry
            self.named[category, name] = met
        return entry

    def of(self, event: Complete) -> Name:
        """Return the name of an event that has been met."""
        return self.named.get((event.cat, event.name)) or self._find(event.cat, event.name, 0)[0]

    def count(self, category: str | None, name: str, number: int) -> None:
        """Count an event that takes no time."""
        self._find(category, name, number)[0].count += 1

    def added(self, events: int) -> None:
        """Fold when the durations of so many more ``events`` are too many to hold."""
        self._held += events
        if self._held > FOLD:
            self.fold()

    def fold(self) -> None:
        """Fold all durations."""
        for name in self:
            name.fold()
        self._held = 0

    def _find(
        self, category: str | None, name: str, number: int
    ) -> tuple[Name, Callable[[Complete], None] | None]:
        text = _text(category, name)
        found = self._by_text.get(text)
        if found is not None:
            return found
        if len(self._by_text) >= MAX_NAMES or self._written > MAX_CHARACTERS:
            self.full = True
            text = _DIGITS.sub("#", text)
            if text not in self._by_text and len(self._by_text) >= MAX_NAMES + MAX_MASKED:
                text = OTHER_NAMES
            if text in self._by_text:
                return self._by_text[text]
        self._written += len(text)
        met = Name(text, number)
        found = self._by_text[text] = met, self._follow(met)
        return found


def _records(text: str) -> tuple[Record, ...] | None:
    try:
        return ChromeTrace.parse(text)
    except Unreadable:
        return None


def _text(category: str | None, name: str) -> str:
    name = "ProfilerStep*" if _STEP.match(name) else name[:MAX_NAME]
    return ChromeTrace.mask(f"{(category or '')[:MAX_CATEGORY]}\t{name}")
