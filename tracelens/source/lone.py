"""Read what torch calls a graph break, or a warning of its own, where nothing else was pasted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracelens.failures.messages import is_break, is_warned
from tracelens.grammars import Unreadable
from tracelens.logs import Record, kind

__all__ = ["Lone", "lone"]

#: Lines that are not empty of such a paste: a name in a longer text may be any program's.
MAX_LINES = 4
#: What lists and quotations put around a line, and what torch prints before a name.
_DRESS = " \t\r\n-*>`#'\"|"
_BEFORE = re.compile(r"(?:Graph Break )?Reason: (?:Unsupported: )?")
#: The form in which torch prints each, and which of its lines is the paste's.
_FORMS = {
    "graph_breaks": ("Graph break in user code at ?:0\nGraph Break Reason: ", is_break),
    "warnings": ("UserWarning: ", is_warned),
}


class Lone(NamedTuple):
    """A line, and what it says."""

    kind: str
    text: str
    number: int
    records: tuple[Record, ...]


def lone(lines: Sequence[tuple[int, bytes]]) -> Iterator[Lone]:
    """Yield what the few ``lines`` of a paste, (number, line), say."""
    told = [(number, line.decode("utf-8", "replace").strip(_DRESS)) for number, line in lines]
    told = [(number, text) for number, text in told if text]
    if len(told) > MAX_LINES:
        return
    for number, text in told:
        before = _BEFORE.match(text)
        bare = text[before.end() :] if before else text
        for name, (head, known) in _FORMS.items():
            if known(bare) and (records := _parsed(name, f"{head}{bare}")):
                yield Lone(name, text, number, records)


def _parsed(name: str, text: str) -> tuple[Record, ...]:
    try:
        records = kind(name).parse(text)
    except Unreadable:
        return ()
    made_up = {"at": 0} | ({"file": ""} if name == "graph_breaks" else {})
    return tuple(record.model_copy(update=made_up) for record in records)
