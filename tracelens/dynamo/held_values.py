"""The values that the entries of one function are for, by their guards: several at a time.

A recompile tells the first guard of an entry that failed. What stands behind it, in the guards of
the entries, is a constant of each of them all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tracelens.evidence import Place, Table
from tracelens.late import late
from tracelens.logs.guards import Comment, Guard, GuardTree
from tracelens.logs.recompiles import MAX_DIGITS

__all__ = ["CERTAIN", "Held", "differing", "held_at"]

#: Values from which on it is certain that a source becomes no symbol.
CERTAIN = 3
_SOURCE = (
    r"[LG]\['(?P<head>\w{1,80})'\]"
    r"(?P<path>(?:\.\w{1,80}|\['[\w.]{1,80}'\]|\[\d{1,4}\]){0,20})"
)
#: What a guard asks for: a number or a string. What is computed with a value and a constant, as in
#: ``(0.1 + h) == 0.6``, is left out: once the constant is none, that is none either.
_EQUAL = late(_SOURCE + r" == (?P<value>-?\d[\d.e+-]{0,30}|'[^'\n]{0,80}')\Z")


class Held(NamedTuple):
    """A value that the entries are for, each for another one."""

    #: As a recompile calls it: ``t``, ``self.nfe``.
    source: str
    #: What the entries are for, in their order.
    values: tuple[str, ...]
    #: How many entries are for a value of it.
    entries: int
    #: Lines of torch that made a constant of it.
    origins: tuple[str, ...] = ()
    #: The program's line that a guard stands for, where it names one.
    code: str = ""
    #: How many entries of the function there are.
    of: int = 0

    @property
    def kind(self) -> str:
        """What it is: ``float``, ``integer`` or ``string``."""
        if any(one.startswith("'") for one in self.values):
            return "string"
        whole = all(one.lstrip("-").isdecimal() for one in self.values)
        return "integer" if whole else "float"


def held_at(place: Place, trees: Table[GuardTree]) -> tuple[Held, ...]:
    """Return what differs from entry to entry of the function that was recompiled at ``place``.

    A number becomes a symbol when it changes for the first time: what the newest entry is for as
    well, after three values or more, has become none. Whole numbers of 0 and 1 are always apart.
    """
    function = place.frame.partition("/")[0]
    return trees.derived(_held).get((*place.process, function), ())


def _held(trees: Table[GuardTree]) -> dict[tuple[str, str, str], tuple[Held, ...]]:
    entries: dict[tuple[str, str, str], dict[int, GuardTree]] = {}
    for place, seen in trees.events():
        function, _, entry = place.frame.partition("_")[0].partition("/")
        if entry.isdecimal() and len(entry) < MAX_DIGITS:
            key = (*place.process, function)
            entries.setdefault(key, {})[int(entry)] = seen.record  # the last one after restarts
    return {key: found for key, own in entries.items() if (found := differing(own))}


def differing(entries: dict[int, GuardTree]) -> tuple[Held, ...]:
    """Return what differs from entry to entry, of the guards of each by its number."""
    if len(entries) < CERTAIN:
        return ()
    found: dict[str, dict[int, str]] = {}
    comments: dict[str, list[Comment]] = {}
    for number in sorted(entries):
        for guard in entries[number].guards:
            for source, value in _asked(guard):
                found.setdefault(source, {}).setdefault(number, value)
                if guard.comment is not None:
                    comments.setdefault(source, []).append(guard.comment)
    newest = max(entries)
    return tuple(
        Held(
            source,
            values,
            len(own),
            tuple(dict.fromkeys(one.origin for one in comments.get(source, ()) if one.origin)),
            next((one.code for one in comments.get(source, ()) if one.code), ""),
            len(entries),
        )
        for source, own in found.items()
        if newest in own and _is_certain(values := tuple(dict.fromkeys(own.values())))
    )


def _is_certain(values: tuple[str, ...]) -> bool:
    whole = [one for one in values if one.isdecimal()]
    special = {"0", "1"} if len(whole) == len(values) else set()
    return len(values) >= CERTAIN and len(set(values) - special) > 1


def _asked(guard: Guard) -> Iterator[tuple[str, str]]:
    """Yield what a guard asks for: the source, and its value."""
    if guard.kind not in {"EQUALS_MATCH", "LAMBDA_GUARD", "CONSTANT_MATCH"}:
        return
    if asked := _EQUAL.match(guard.expression):
        yield f"{asked['head']}{asked['path']}", asked["value"]
