"""Dimensions of arguments that are to be marked dynamic."""

from __future__ import annotations

import re

from tracelens.logs.recompiles import Source
from tracelens.report import FindingData
from tracelens.words import joined

__all__ = ["Mark", "dimensions", "is_gathered", "is_passed"]

#: One entry of an argument: ``batch['labels']``, ``kwargs['input_ids']``, ``args[0]``.
_ENTRY = re.compile(r"\['\w{1,80}'\]|\[\d{1,4}\]")
#: What a wrapper gathers: the names and places that its caller uses.
_BY_NAME = re.compile(r"kwargs\['(?P<name>[^\W\d]\w*)'\]")
_BY_PLACE = re.compile(r"args\[(?P<place>\d)\]")
_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


class Mark(FindingData):
    """A dimension of an argument."""

    name: str
    dimension: int


def is_passed(source: Source) -> bool:
    """Whether it is an argument or an entry of one, which the caller has before the call."""
    if source.scope == "G" or not source.name.isidentifier() or source.name == "self":
        return False
    return not source.path or _ENTRY.fullmatch(source.path) is not None


def is_gathered(name: str) -> bool:
    """Whether a wrapper's ``*args`` or ``**kwargs`` holds it."""
    return bool(_BY_NAME.fullmatch(name) or _BY_PLACE.fullmatch(name))


def _passed(name: str) -> str:
    """Return what the caller passes it as."""
    if found := _BY_NAME.fullmatch(name):
        return f"`{found['name']}`"
    found = _BY_PLACE.fullmatch(name)
    if found and int(found["place"]) < len(_PLACES):
        return f"the {_PLACES[int(found['place'])]} argument"
    return f"`{name}`"


def dimensions(marks: tuple[Mark, ...]) -> str:
    """Return "dimensions 0 and 1 of what is passed as `x` and `y`, and dimension 1 of ..."."""
    by_name: dict[str, list[int]] = {}
    for one in marks:
        by_name.setdefault(one.name, []).append(one.dimension)
    names: dict[tuple[int, ...], list[str]] = {}
    for name, indices in by_name.items():
        names.setdefault(tuple(sorted(indices)), []).append(_passed(name))
    return ", and ".join(
        f"dimension{'s' if len(indices) > 1 else ''} {joined([*map(str, indices)])} of "
        f"what is passed as {joined(of)}"
        for indices, of in names.items()
    )
