"""What a rule says of rows that differ a little from those of its logs.

A number of a record is moved until the rule says something else, and the point where it does is
found to the last digit; of words, lists and rows other ones are tried. So a threshold shows from
both sides, and a list shows longer than any log has it.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

from tests.variants import Leaf, altered, leaves, mixed, moved, others
from tests.wording import EVERY, with_words, words_of
from tracelens.evidence import Evidence, Seen, Table, arguments
from tracelens.evidence.subscription import needs
from tracelens.rules import Rule

__all__ = ["decisions", "logs"]

#: Logs of a rule that are varied, by the promise in their name.
LOGS = {"fires": 2, "quiet": 1}

#: Leaves of a row that are varied.
MAX_LEAVES = 32
#: Numbers found at which a rule changes its mind: for one leaf, and for one row.
MAX_EDGES, MAX_OF_ROW = 3, 8
#: Other words that are tried before a leaf is left alone.
PROBES = 2
#: What is as good as the first number above zero.
TINY = 1e-9
#: Two numbers as near as that may have the threshold, a short number, between them.
NEAR = 1e-3
#: How many rows like one are put beside it.
MANY = 13
#: How often two or three things in a row are changed at once.
MIXED = 6
#: Rows that are looked at for one without which something else is said.
MAX_LOOKED = 12

_NUMBER = re.compile(r"less than \d|\d[\d.,]*(?:e[+-]?\d+)?")
_UNIT = re.compile(r"# (?:us|ms|s|min|%|bytes?|[KMG]iB)(?![a-z])")
_ID = re.compile(r'"(?:id|explained_by)":"[^"]*"')
#: Begins with the point, which is looked for much faster than a digit.
_DIGITS = re.compile(r"(\.\d{5})(?<=\d\.\d{5})\d+")


@dataclass(frozen=True)
class Answer:
    """What a rule says."""

    #: All of it.
    text: str
    #: In a word.
    gist: str

    @cached_property
    def shape(self) -> str:
        """All of it without its numbers."""
        return _UNIT.sub("#", _NUMBER.sub("#", _ID.sub("", self.text)))

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
        return Answer(raised, raised)
    gist = ", ".join(one.severity.value for one in found[:3]) + (", ..." if found[3:] else "")
    text = _DIGITS.sub(r"\1", "\n".join(lines))
    return Answer(text, gist or "quiet")


def logs(folder: Path) -> list[str]:
    """Return the names of the shortest logs in a rule's folder."""
    paths = sorted(folder.iterdir(), key=lambda log: (log.suffix == ".gz", log.stat().st_size))
    out = []
    for promise, most in LOGS.items():
        found = [path for path in paths if path.name.startswith(promise)]
        out += found[:1] + [path for path in found[1:most] if path.suffix != ".gz"]
    return [path.name for path in out]


def decisions(rule: Rule, evidence: Evidence) -> Iterator[str]:
    """Yield what the rule says when one thing in ``evidence`` is other than it is.

    A line for each number at which it changes its mind, and one for each row: how many other
    things were tried, what was said of them, and characters that change when any of that does.
    """
    tables = arguments(rule.check, evidence)
    known = words_of(Path(sys.modules[rule.__module__].__file__ or ""))
    usual = answer(rule, tables)
    yield f"as it is: {usual.gist}"
    for name, (kind, _) in needs(rule.check).items():
        rows = list(tables[name]) if kind is not None else []
        for at in _chosen(rows, partial(_without, rule, tables, name), usual):
            row = rows[at]

            def says(
                *others: Seen[Any], at: int = at, name: str = name, rows: Any = rows
            ) -> Answer:
                changed = Table([*rows[:at], *others, *rows[at + 1 :]])
                return answer(rule, tables | {name: changed})

            where = f"{name}[{at}]"
            tried = dict(_rows(row, says))
            tried |= _mixtures(where, row, says)
            edges: list[str] = []
            for leaf in islice(leaves(row), MAX_LEAVES):
                if isinstance(leaf.value, int | float) and not isinstance(leaf.value, bool):
                    if leaf.optional:
                        tried[f"{leaf.path} nothing"] = says(leaf.put(None))
                    found = _points(f"{where}{leaf.path}", leaf, says, tried, usual)
                    edges += islice(found, min(MAX_EDGES, MAX_OF_ROW - len(edges)))
                else:
                    tried |= _words(leaf, says, usual, known)
            yield from edges
            yield _summary(where, tried)


def _without(rule: Rule, tables: dict[str, Any], name: str, rows: list[Seen[Any]]) -> Answer:
    """Return what is said with other rows in a table."""
    return answer(rule, tables | {name: Table(rows)})


def _chosen(
    rows: list[Seen[Any]], says: Callable[[list[Seen[Any]]], Answer], usual: Answer
) -> Iterator[int]:
    """Yield which rows are varied: the first, and the next without which it says otherwise."""
    yield from range(min(1, len(rows)))
    looked = range(1, min(MAX_LOOKED, len(rows)))
    matter = (at for at in looked if says(rows[:at] + rows[at + 1 :]).text != usual.text)
    yield from islice(chain(matter, looked), 1)


def _mixtures(where: str, row: Seen[Any], says: Callable[..., Answer]) -> dict[str, Answer]:
    """Return what is said when several things in a row are other ones, with it and without."""
    tried = {}
    for at in range(MIXED):
        other = mixed(row, f"{where} {at}")
        beside = [(other,), (row, moved(other, 1)), (other, moved(row, 1))][at % 3]
        tried[f"mixture {at}"] = says(*beside)
    return tried


def _summary(where: str, tried: dict[str, Answer]) -> str:
    """Return what was said of a row, in a line."""
    gists = sorted({one.gist for one in tried.values()})
    said = "; ".join(f"{sum(one.gist == gist for one in tried.values())} {gist}" for gist in gists)
    every = "".join(f"{name} {one.text}" for name, one in tried.items())
    return f"{where}: {said}: {digest(every)}"


def _rows(row: Seen[Any], says: Callable[..., Answer]) -> Iterator[tuple[str, Answer]]:
    """Yield what is said with other rows in the place of one."""
    yield "away", says()
    yield "twice", says(row, moved(row, 1))
    yield "and a larger one", says(row, altered(row, words=False))
    yield "after another", says(altered(row), row)
    yield "again elsewhere", says(row, moved(row, 1, writer="rank9", frame="9/9"))
    yield "in another input", says(row, moved(row, 1, input="other.log"))
    more = [moved(row, n, frame=f"{n}/0") for n in range(1, MANY)]
    for count in (2, 3, 4, 5, MANY - 1):
        yield f"and {count} more", says(row, *more[:count])


def _words(
    leaf: Leaf, says: Callable[..., Answer], usual: Answer, known: tuple[str, ...]
) -> dict[str, Answer]:
    """Return what is said with others than a word, a list or nothing."""
    tried: dict[str, Answer] = {}
    for name, other in others(leaf):
        tried[f"{leaf.path} {name}"] = said = says(leaf.put(other))
        if said.text == usual.text and len(tried) == PROBES:
            break  # it is nothing to the rule
    else:
        if isinstance(leaf.value, str):
            more = [moved(leaf.put(f"{leaf.value}{n}"), n) for n in range(1, MANY)]
            for count in (1, MANY - 1):
                tried[f"{leaf.path} and {count} more"] = says(leaf.put(leaf.value), *more[:count])
    if isinstance(leaf.value, str):
        for name, word in with_words(leaf.value, known):
            tried[f"{leaf.path} {name}"] = said = says(leaf.put(word))
            if said.text == usual.text and name == EVERY and len(tried) == PROBES + 1:
                break  # nor is any of the words that the rule knows
    return tried


def _points(
    where: str,
    leaf: Leaf,
    says: Callable[..., Answer],
    tried: dict[str, Answer],
    usual: Answer,
) -> Iterator[str]:
    """Yield the numbers from which on something else is said."""
    value = leaf.value
    whole = isinstance(value, int)
    ends = [0, 100 * value or 100] if whole else [0.0, 100 * value or 100.0]
    shapes = {one: says(leaf.put(one)) for one in ends}
    if {one.text for one in shapes.values()} == {usual.text}:
        return
    more = {1, 2, value, 2 * value, 10 * value, value // 2 if whole else value / 2}
    shapes |= {one if whole else float(one): says(leaf.put(one)) for one in more}
    tried |= {f"{leaf.path} {point}": one for point, one in shapes.items()}
    points = sorted(shapes)
    for low, high in pairwise(points):
        before = shapes[low]
        if before.shape == shapes[high].shape:
            continue
        above = _edge(low, high, partial(_differs, leaf, says, before.shape))
        edge = says(leaf.put(above))
        yield f"{where} below {above!r}: {before.gist}; from it on: {edge.gist} {edge.digest}"


def _differs(leaf: Leaf, says: Callable[..., Answer], shape: str, number: Any) -> bool:
    return says(leaf.put(number)).shape != shape


def _edge(below: Any, above: Any, is_other: Callable[[Any], bool]) -> Any:
    """Return the least number that is as other as ``above``, of which the shortest is a guess."""
    guessed = isinstance(below, int)
    while (middle := _between(below, above)) is not None:
        if not guessed and above - below < NEAR * above:
            guessed, middle = True, _short(below, above)
            before, after = math.nextafter(middle, 0.0), math.nextafter(middle, math.inf)
            if is_other(middle):
                if not is_other(before):
                    return middle
                above = before
            elif is_other(after):
                return after
            else:
                below = after
        elif is_other(middle):
            above = middle
        else:
            below = middle
    return above


def _short(below: float, above: float) -> float:
    """Return the number between two that is written with the fewest digits."""
    shorts = (float(f"{above:.{digits}g}") for digits in range(1, 18))
    return next((one for one in shorts if below < one < above), (below + above) / 2)


def _between(below: Any, above: Any) -> Any:
    """Return a number between two, None where there is none."""
    if isinstance(below, int):
        return (below + above) // 2 if above - below > 1 else None
    middle = (below + above) / 2
    return middle if below < middle < above and above > TINY else None
