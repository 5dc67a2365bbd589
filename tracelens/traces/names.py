"""Count and time the events of a trace by category and name, in bounded memory.

Durations are kept as they come and folded into :class:`Times` a few hundred thousand at a time:
that is several times faster than one by one.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from tracelens.evidence import Times
from tracelens.grammars import Unreadable
from tracelens.late import late
from tracelens.logs import Record
from tracelens.logs._trace_events import Complete, Event
from tracelens.logs.chrome_trace import ChromeTrace
from tracelens.traces.categories import category_of

__all__ = ["LAUNCH", "LISTS", "LOOK", "OTHER_NAMES", "WORK", "Entry", "Follow", "Name", "Names"]

#: Different names that are told apart; further ones lose their digits, and then everything.
MAX_NAMES = 10_000
MAX_MASKED = 1_000
_OTHERS = ("", "(other names)")
OTHER_NAMES = "\t".join(_OTHERS)
#: Characters of a name, and of a category, that are kept.
MAX_NAME = 16_000
MAX_CATEGORY = 64
#: Characters of all names; C++ templates are long.
MAX_CHARACTERS = 8 << 20
#: Roles of operators: their work is known; what they take is looked at; they may launch kernels;
#: they take lists of tensors.
WORK, LOOK, LAUNCH, LISTS = 1, 2, 4, 8
#: Durations that are held before they are folded.
FOLD = 1 << 19
#: Names with a zero for each digit that are remembered.
MAX_SHAPES = 4_000
_DIGITS = late(r"[0-9]+")
_ZEROS = str.maketrans("123456789", "000000000")
_STEPS = "ProfilerStep#"
_STEP = late(rf"{_STEPS}\d+$")

#: Where to put an event with its name, and where without; None for no more of it.
Follow: TypeAlias = tuple[
    Callable[[tuple[Complete, "Name"]], None] | None, Callable[[Complete], None] | None
]
#: How to add the duration of an event, where to put the event for more, and which name it is.
Entry: TypeAlias = tuple[
    Callable[[float], None],
    Callable[[tuple[Complete, "Name"]], None] | None,
    Callable[[Complete], None] | None,
    "Name",
]
#: Category and name of an event as they come; what of them is told apart.
_Raw: TypeAlias = tuple[str | None, str]
_Key: TypeAlias = tuple[str, str]


class Name:
    """One category and name: what the grammar makes of it, and its events so far."""

    __slots__ = (
        "count",
        "durations",
        "first",
        "inner",
        "moved",
        "parts",
        "records",
        "role",
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
        #: What is looked at of such operators: a set of ``WORK``, ``LOOK``, ``LAUNCH``, ``LISTS``.
        self.role = 0
        #: Microseconds without what runs inside; bytes that were copied or set.
        self.self_us = 0.0
        self.moved = 0
        #: Spans right inside of one of the same name.
        self.inner = 0

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

    def __init__(self, follow: Callable[[Name], Follow]) -> None:
        #: Category, and name, as they come -> what to do with an event.
        self.known: defaultdict[str | None, dict[str, Entry]] = defaultdict(dict)
        self._count = 0
        #: Whether names were put together because there are too many.
        self.full = False
        self._follow = follow
        self._by_key: dict[_Key, Entry] = {}
        self._held = 0
        #: Whether ``known`` is complete, and what of it is there for the list in hand alone.
        self._closed = False
        self._passing: list[_Raw] = []
        #: Category and name, with a zero for each digit -> the entry of all that are alike.
        self._together: dict[_Key, Entry] = {}
        #: Characters of the names as they come, and of their texts.
        self._characters = 0
        self._written = 0

    def __iter__(self) -> Iterator[Name]:
        for entry in self._by_key.values():
            yield entry[3]

    def meet(self, category: str | None, name: str, number: int) -> Entry:
        """Return what to do with an event of that name, which is the ``number``-th of the trace."""
        entry = self.known[category].get(name)
        if entry is not None:  # of an event that began and ended in two
            return entry
        entry = self._find(category, name, number)
        self._know((category, name), entry)
        if not self._closed:
            self._characters += len(name)
            self._closed = self._count >= MAX_NAMES or self._characters >= MAX_CHARACTERS
        return entry

    def _know(self, raw: _Raw, entry: Entry) -> None:
        """Remember a name as it comes: for good, or until the list in hand is done."""
        self.known[raw[0]][raw[1]] = entry
        self._count += 1
        if self._closed:
            self._passing.append(raw)

    def prepare(self, events: Sequence[Event]) -> None:
        """Meet at once what is new in a list, where names are put together already."""
        if not (self.full and self._closed):
            return
        known, found = self.known, self._by_key.get
        new = {
            (event.cat, event.name): None
            for event in events
            if type(event) is Complete and event.name not in known[event.cat]
        }
        text = "\n".join([name for _, name in new])
        if not new or _STEPS in text:
            return
        if len(text) > MAX_NAME and max(map(len, text.split("\n"))) > MAX_NAME:
            return
        text = ChromeTrace.mask(text)
        names = text.split("\n")
        if len(names) != len(new):  # a name has several lines
            return
        categories = {category: _category(category) for category in {raw[0] for raw in new}}
        together, passing = self._together.get, self._passing.append
        for raw, name, shape in zip(new, names, text.translate(_ZEROS).split("\n"), strict=True):
            category = categories[raw[0]]
            entry = found((category, name)) or together((category, shape))
            entry = entry or self._put_together(category, shape)
            if entry is not None:
                known[raw[0]][raw[1]] = entry
                passing(raw)

    def _put_together(self, category: str, shape: str) -> Entry | None:
        """Return the entry, if there is one, of names beyond those that are told apart.

        Args:
            category: What stands for their category.
            shape: The names, with a zero for each digit.
        """
        entry = self._by_key.get(_masked(category, shape))
        if entry is not None:
            if len(self._together) >= MAX_SHAPES:
                self._together.clear()
            self._together[category, shape] = entry
        return entry

    def of(self, event: Complete) -> Name:
        """Return the name of an event that has been met."""
        entry = self.known[event.cat].get(event.name)
        return (entry or self._find(event.cat, event.name, 0))[3]

    def count(self, category: str | None, name: str, number: int) -> None:
        """Count an event that takes no time."""
        self._find(category, name, number)[3].count += 1

    def added(self, events: int) -> None:
        """Note that a list of ``events`` is done; fold when too many durations are held."""
        if self._passing:
            for category, name in self._passing:
                del self.known[category][name]
            self._passing.clear()
            for category in [category for category, names in self.known.items() if not names]:
                del self.known[category]
        self._held += events
        if self._held > FOLD:
            self.fold()

    def fold(self) -> None:
        """Fold all durations."""
        for name in self:
            name.fold()
        self._held = 0

    def _find(self, category: str | None, name: str, number: int) -> Entry:
        key = category_of(category, name)[:MAX_CATEGORY], _name(name)
        found = self._by_key.get(key)
        if found is not None:
            return found
        if len(self._by_key) >= MAX_NAMES or self._written > MAX_CHARACTERS:
            self.full = True
            key = _masked(*key)
            if key not in self._by_key and len(self._by_key) >= MAX_NAMES + MAX_MASKED:
                key = _OTHERS
            if key in self._by_key:
                return self._by_key[key]
        text = "\t".join(key)
        self._written += len(text)
        met = Name(text, number)
        found = self._by_key[key] = met.durations.append, *self._follow(met), met
        return found


def _records(text: str) -> tuple[Record, ...] | None:
    try:
        return ChromeTrace.parse(text)
    except Unreadable:
        return None


def _masked(category: str, name: str) -> _Key:
    """Return what is told apart of them where there are too many."""
    return _DIGITS.sub("#", category), _DIGITS.sub("#", name)


def _category(category: str | None) -> str:
    return (category or "")[:MAX_CATEGORY]


def _name(name: str) -> str:
    return ChromeTrace.mask("ProfilerStep*" if _STEP.match(name) else name[:MAX_NAME])
