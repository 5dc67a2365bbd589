"""Other values than those of a row: each thing in it at a time, a few at once, and rows beside it.

What may be missing is tried as missing, a list with another element before and after its own, and
two rows in either order: so a default, an index and each side of an ``and`` come to matter.
"""

from __future__ import annotations

import dataclasses
import enum
import random
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

from tracelens.evidence import Seen, Times

__all__ = ["Leaf", "altered", "leaves", "mixed", "moved", "others"]

#: Elements of a list that are looked into, and how deep.
MAX_ELEMENTS, MAX_DEPTH = 2, 4
#: How often a thing within a part is changed, not the part itself.
DEEPER = 0.4


class Leaf(NamedTuple):
    """A value within a row, and how the row is with another one there."""

    path: str
    value: Any
    put: Callable[[Any], Seen[Any]]
    #: Whether a log may leave it out.
    optional: bool = False


class _Part(NamedTuple):
    """The same within a value."""

    path: str
    value: Any
    put: Callable[[Any], Any]
    optional: bool = False


def altered(value: Any, *, words: bool = True, depth: int = MAX_DEPTH) -> Any:
    """Return a value all of which is other than it was: more, and without ``words`` only that."""
    again = partial(altered, words=words, depth=depth - 1)
    if isinstance(value, enum.Enum):
        return value
    if isinstance(value, bool):
        return value is not words
    if isinstance(value, int | float):
        return 2 * value + 1
    if isinstance(value, str):
        return f"{value}x" if words else value
    if isinstance(value, Seen):
        other = dataclasses.replace(value, record=again(value.record), count=value.count + 1)
        if value.times is not None:
            other = dataclasses.replace(
                other, times=_times(2 * value.ms + 1, max(1, value.times.n))
            )
        return moved(other, 1)
    for at in range(len(list(_parts(value))) if depth else 0):
        part = list(_parts(value))[at]
        value = part.put(again(part.value))
    return value


def mixed(row: Seen[Any], seed: str) -> Seen[Any]:
    """Return a row with two or three things in it other than they were: the same ones each time."""
    dice = random.Random(seed)
    record = row.record
    for _ in range(dice.choice((2, 2, 3))):
        record = _mixed(record, dice, MAX_DEPTH)
    return dataclasses.replace(row, record=record, count=dice.choice((1, row.count, 9)))


def _mixed(value: Any, dice: random.Random, depth: int) -> Any:
    """Return a value with one thing in it other than it was."""
    parts = [part for part in _parts(value) if not isinstance(part.value, enum.Enum)]
    if not parts:
        return value
    part = dice.choice(parts)
    choices = [other for _, other in others(part)]
    if isinstance(part.value, int | float) and not isinstance(part.value, bool):
        choices += [0 * part.value, 10 * part.value + 1]
    if depth and (dice.random() < DEEPER or not choices):
        choices = [_mixed(part.value, dice, depth - 1)]
    return part.put(dice.choice(choices)) if choices else value


def others(leaf: Leaf | _Part) -> Iterator[tuple[str, Any]]:
    """Yield other values for one that is no number, by a name each; nothing where it may be."""
    value = leaf.value
    if leaf.optional and value is not None:
        yield "nothing", None
    if isinstance(value, bool):
        yield str(not value), not value
    elif value is None:
        yield from (("1", 1), ("word", "word"), ("0.5", 0.5))
    elif isinstance(value, str):
        yield from (("a word", "word"), ("empty", ""), ("long", value * 40))
    elif isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        kind = type(value)
        yield "empty", kind()
        for one in value[:1]:
            yield "one before", kind([altered(one), *value])
            yield "one after", kind([*value, altered(one)])
        yield "its first", kind(value[:1])
        yield from ((f"{n} times", kind([*value] * n)) for n in (2, 13))
        yield "turned", kind(value[::-1])
    elif isinstance(value, dict):
        yield "empty", {}
        for key in list(value)[:2]:
            yield f"without {key}", {name: item for name, item in value.items() if name != key}


def leaves(row: Seen[Any]) -> Iterator[Leaf]:
    """Yield what a row is made of: how often, how long, and its record's fields."""
    yield Leaf(".count", row.count, lambda n: dataclasses.replace(row, count=n))
    if row.times is not None:
        n = max(1, row.times.n)
        yield Leaf(".ms", row.ms, lambda ms: dataclasses.replace(row, times=_times(ms, n)))
    for path, value, put, optional in _within(row.record, MAX_DEPTH):
        yield Leaf(path, value, partial(_other, row, put), optional)


def _times(ms: float, count: int) -> Times:
    times = Times()
    times.add(ms / count, count)
    return times


def _within(value: Any, depth: int) -> Iterator[_Part]:
    """Yield all that is in a value: its parts first, then what is in them."""
    parts = [part for part in _parts(value) if not isinstance(part.value, enum.Enum)]
    yield from parts
    for name, one, put, _ in parts if depth else ():
        for path, inner, deeper, optional in _within(one, depth - 1):
            yield _Part(f"{name}{path}", inner, partial(_through, put, deeper), optional)


def _parts(value: Any) -> Iterator[_Part]:
    """Yield each part of a value, by its name."""
    if isinstance(value, BaseModel):
        missing = _optional(type(value))
        fields = {name: getattr(value, name) for name in missing}
        for name, one in fields.items():
            put = partial(_model, type(value), fields, name)
            yield _Part(f".{name}", one, put, missing[name])
    elif hasattr(value, "_fields"):
        for name, one in value._asdict().items():
            optional = "None" in str(type(value).__annotations__[name])
            yield _Part(f".{name}", one, partial(_named, value, name), optional)
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value[:MAX_ELEMENTS]):
            yield _Part(f"[{at}]", one, partial(_listed, value, at))
    elif isinstance(value, dict):
        for name, one in islice(value.items(), MAX_ELEMENTS):
            yield _Part(f"[{name}]", one, partial(_keyed, value, name))


@cache
def _optional(kind: type[BaseModel]) -> dict[str, bool]:
    """Return which fields of a record may be missing."""
    fields = kind.model_fields.items()
    return {name: type(None) in get_args(field.annotation) for name, field in fields}


def _model(kind: type[BaseModel], fields: dict[str, Any], name: str, other: Any) -> BaseModel:
    """Return a new record: a copy would keep what has been worked out of the fields."""
    return kind.model_construct(**(fields | {name: other}))


def _other(row: Seen[Any], put: Callable[[Any], Any], other: Any) -> Seen[Any]:
    return dataclasses.replace(row, record=put(other))


def _through(put: Callable[[Any], Any], deeper: Callable[[Any], Any], other: Any) -> Any:
    return put(deeper(other))


def _named(value: Any, name: str, other: Any) -> Any:
    return value._replace(**{name: other})


def _keyed(value: dict[Any, Any], key: Any, other: Any) -> dict[Any, Any]:
    return value | {key: other}


def _listed(value: Any, at: int, other: Any) -> Any:
    return type(value)([*value[:at], other, *value[at + 1 :]])


def moved(row: Seen[Any], lines: int, **changes: Any) -> Seen[Any]:
    """Return a row that stands some lines later."""
    places = [place.shifted(lines)._replace(**changes) for place in row.places]
    return dataclasses.replace(row, places=places, parts=None)
