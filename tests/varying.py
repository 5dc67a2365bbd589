"""What a rule says of rows that differ a little from those of its logs.

A number of a record is moved until the rule says something else, and the point where it does is
found to the last digit; of words, lists and rows other ones are tried. So a threshold shows from
both sides, and a list shows longer than any log has it.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from tracelens.evidence import Evidence, Seen, Table, Times, arguments
from tracelens.evidence.subscription import needs
from tracelens.rules import Rule

__all__ = ["decisions", "logs"]

#: Logs of a rule that are varied, by the promise in their name.
LOGS = {"fires": 2, "quiet": 1}

#: Rows of a table and leaves of a row that are varied.
MAX_ROWS, MAX_LEAVES = 2, 32
#: Numbers found at which a rule changes its mind: for one leaf, and for one row.
MAX_EDGES, MAX_OF_ROW = 3, 8
#: Other words that are tried before a leaf is left alone.
PROBES = 2
#: Elements of a list that are looked into, and how deep.
MAX_ELEMENTS, MAX_DEPTH = 2, 4
#: What is as good as the first number above zero.
TINY = 1e-9
#: How many rows like one are put beside it.
MANY = 13

_NUMBER = re.compile(r"less than \d|\d[\d.,]*(?:e[+-]?\d+)?")
_UNIT = re.compile(r"# (?:us|ms|s|min|%|bytes?|[KMG]iB)(?![a-z])")
_ID = re.compile(r'"(?:id|explained_by)":"[^"]*"')
_DIGITS = re.compile(r"(\d\.\d{5})\d+")


class Answer(NamedTuple):
    """What a rule says."""

    #: All of it.
    text: str
    #: The same without its numbers.
    shape: str
    #: In a word.
    gist: str

    @property
    def digest(self) -> str:
        """A few characters that change when the text does."""
        return digest(self.text)


def digest(text: str) -> str:
    """Return a few characters that are others for another text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def answer(rule: Rule, tables: dict[str, Any]) -> Answer:
    """Return what ``rule`` says of ``tables``."""
    try:
        found = list(rule.check(**tables))
        lines = [finding.model_dump_json() for finding in found]
        lines += [str([*rule.causes(one), *rule.follows(one)]) for one in found]
        lines += [str([one.knob.settings for one in rule.experiments(each)]) for each in found]
    except Exception as error:  # rows that no log can have
        raised = f"raises {type(error).__name__}"
        return Answer(raised, raised, raised)
    gist = ", ".join(one.severity.value for one in found[:3]) + (", ..." if found[3:] else "")
    text = _DIGITS.sub(r"\1", "\n".join(lines))
    shape = _UNIT.sub("#", _NUMBER.sub("#", _ID.sub("", text)))
    return Answer(text, shape, gist or "quiet")


def logs(folder: Path) -> list[str]:
    """Return the names of the shortest logs in a rule's folder."""
    paths = sorted(folder.iterdir(), key=lambda log: (log.suffix == ".gz", log.stat().st_size))
    out = []
    for promise, most in LOGS.items():
        found = [path for path in paths if path.name.startswith(promise)]
        out += found[:1] + [path for path in found[1:most] if path.suffix != ".gz"]
    return [path.name for path in out]


class Leaf(NamedTuple):
    """A value within a row, and how the row is with another one there."""

    path: str
    value: Any
    put: Callable[[Any], Seen[Any]]


def decisions(rule: Rule, evidence: Evidence) -> Iterator[str]:
    """Yield what the rule says when one thing in ``evidence`` is other than it is.

    A line for each number at which it changes its mind, and one for each row: how many other
    things were tried, what was said of them, and characters that change when any of that does.
    """
    tables = arguments(rule.check, evidence)
    usual = answer(rule, tables)
    yield f"as it is: {usual.gist}"
    for name, (kind, _) in needs(rule.check).items():
        rows = list(tables[name]) if kind is not None else []
        for at, row in enumerate(rows[:MAX_ROWS]):

            def says(
                *others: Seen[Any], at: int = at, name: str = name, rows: Any = rows
            ) -> Answer:
                changed = Table([*rows[:at], *others, *rows[at + 1 :]])
                return answer(rule, tables | {name: changed})

            where = f"{name}[{at}]"
            tried = dict(_rows(row, says))
            edges: list[str] = []
            for leaf in islice(_leaves(row), MAX_LEAVES):
                if isinstance(leaf.value, int | float) and not isinstance(leaf.value, bool):
                    found = _points(f"{where}{leaf.path}", leaf, says, tried)
                    edges += islice(found, min(MAX_EDGES, MAX_OF_ROW - len(edges)))
                else:
                    tried |= _words(leaf, says, usual)
            yield from edges
            yield _summary(where, tried)


def _summary(where: str, tried: dict[str, Answer]) -> str:
    """Return what was said of a row, in a line."""
    gists = sorted({one.gist for one in tried.values()})
    said = "; ".join(f"{sum(one.gist == gist for one in tried.values())} {gist}" for gist in gists)
    every = "".join(f"{name} {one.text}" for name, one in tried.items())
    return f"{where}: {said}: {digest(every)}"


def _rows(row: Seen[Any], says: Callable[..., Answer]) -> Iterator[tuple[str, Answer]]:
    """Yield what is said with other rows in the place of one."""
    yield "away", says()
    yield "twice", says(row, _moved(row, 1))
    yield "again elsewhere", says(row, _moved(row, 1, writer="rank9", frame="9/9"))
    yield "in another input", says(row, _moved(row, 1, input="other.log"))
    more = [_moved(row, n, frame=f"{n}/0") for n in range(1, MANY)]
    for count in (2, 3, 4, 5, MANY - 1):
        yield f"and {count} more", says(row, *more[:count])


def _words(leaf: Leaf, says: Callable[..., Answer], usual: Answer) -> dict[str, Answer]:
    """Return what is said with others than a word, a list or nothing."""
    others = dict(_others(leaf.value))
    tried: dict[str, Answer] = {}
    for name, other in others.items():
        tried[f"{leaf.path} {name}"] = said = says(leaf.put(other))
        if said.text == usual.text and len(tried) == PROBES:
            break  # it is nothing to the rule
    else:
        if isinstance(leaf.value, str):
            more = [_moved(leaf.put(f"{leaf.value}{n}"), n) for n in range(1, MANY)]
            for count in (1, 3, MANY - 1):
                tried[f"{leaf.path} and {count} more"] = says(leaf.put(leaf.value), *more[:count])
    return tried


def _points(
    where: str, leaf: Leaf, says: Callable[..., Answer], tried: dict[str, Answer]
) -> Iterator[str]:
    """Yield the numbers from which on something else is said."""
    value = leaf.value
    whole = isinstance(value, int)
    ends = [0, 100 * value or 100] if whole else [0.0, 100 * value or 100.0]
    shapes = {one: says(leaf.put(one)) for one in ends}
    if len({one.text for one in shapes.values()}) == 1:
        return
    more = {1, 2, value, 2 * value, 10 * value, value // 2 if whole else value / 2}
    shapes |= {one if whole else float(one): says(leaf.put(one)) for one in more}
    tried |= {f"{leaf.path} {point}": one for point, one in shapes.items()}
    points = sorted(shapes)
    for low, high in pairwise(points):
        before = shapes[low]
        if before.shape == shapes[high].shape:
            continue
        below, above = low, high
        while (middle := _between(below, above)) is not None:
            if says(leaf.put(middle)).shape == before.shape:
                below = middle
            else:
                above = middle
        edge = says(leaf.put(above))
        yield f"{where} below {above!r}: {before.gist}; from it on: {edge.gist} {edge.digest}"


def _between(below: Any, above: Any) -> Any:
    """Return a number between two, None where there is none."""
    if isinstance(below, int):
        return (below + above) // 2 if above - below > 1 else None
    middle = (below + above) / 2
    return middle if below < middle < above and above > TINY else None


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield other values for one, by a name each."""
    if isinstance(value, bool):
        yield str(not value), not value
    elif value is None:
        yield from (("1", 1), ("word", "word"), ("0.5", 0.5))
    elif isinstance(value, str):
        yield from (("a word", "word"), ("empty", ""), ("long", value * 40))
    elif isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        kind = type(value)
        yield from (("empty", kind()), ("its first", kind(value[:1])))
        yield from ((f"{n} times", kind([*value] * n)) for n in (2, 5, 13))
        yield "turned", kind(value[::-1])
    elif isinstance(value, dict):
        yield "empty", {}
        for key in list(value)[:2]:
            yield f"without {key}", {name: item for name, item in value.items() if name != key}


def _leaves(row: Seen[Any]) -> Iterator[Leaf]:
    """Yield what a row is made of: how often, how long, and its record's fields."""
    yield Leaf(".count", row.count, lambda n: dataclasses.replace(row, count=n))
    if row.times is not None:
        n = max(1, row.times.n)
        yield Leaf(".ms", row.ms, lambda ms: dataclasses.replace(row, times=_times(ms, n)))
    for path, value, put in _within(row.record, MAX_DEPTH):
        yield Leaf(path, value, partial(_other, row, put))


def _times(ms: float, count: int) -> Times:
    times = Times()
    times.add(ms / count, count)
    return times


def _within(value: Any, depth: int) -> Iterator[tuple[str, Any, Callable[[Any], Any]]]:
    """Yield path, value and how to put another one for all that is in a value."""
    parts = [part for part in _parts(value) if not isinstance(part[1], enum.Enum)]
    yield from parts
    for name, one, put in parts if depth else ():
        for path, inner, deeper in _within(one, depth - 1):
            yield f"{name}{path}", inner, partial(_through, put, deeper)


def _parts(value: Any) -> Iterator[tuple[str, Any, Callable[[Any], Any]]]:
    """Yield the name of each part of a value, the part, and how to put another one there."""
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        for name, one in fields.items():
            yield f".{name}", one, partial(_model, type(value), fields, name)
    elif hasattr(value, "_fields"):
        for name, one in value._asdict().items():
            yield f".{name}", one, partial(_named, value, name)
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value[:MAX_ELEMENTS]):
            yield f"[{at}]", one, partial(_listed, value, at)
    elif isinstance(value, dict):
        for name, one in islice(value.items(), MAX_ELEMENTS):
            yield f"[{name}]", one, partial(_keyed, value, name)


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


def _moved(row: Seen[Any], lines: int, **changes: Any) -> Seen[Any]:
    """Return a row that stands some lines later."""
    places = [place.shifted(lines)._replace(**changes) for place in row.places]
    return dataclasses.replace(row, places=places, parts=None)
