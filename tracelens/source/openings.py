"""Tell from the first characters of a line that no pattern can match it.

A pattern that is anchored at the beginning of a line is walked along those characters. Whatever is
not simple, such as a reference to a group, counts as a match: the answer "no" is certain, the
answer "maybe" is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from re import _constants, _parser
from typing import Any

__all__ = ["Openings"]

#: Stands for any digit in the characters that are asked about.
_DIGIT = "0"
_ASCII = [chr(code) for code in range(128)]
_CATEGORIES = {
    _constants.CATEGORY_DIGIT: r"\d",
    _constants.CATEGORY_NOT_DIGIT: r"\D",
    _constants.CATEGORY_SPACE: r"\s",
    _constants.CATEGORY_NOT_SPACE: r"\S",
    _constants.CATEGORY_WORD: r"\w",
    _constants.CATEGORY_NOT_WORD: r"\W",
}
_ONE = {_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY}
_REPEATS = {
    _constants.MAX_REPEAT,
    _constants.MIN_REPEAT,
    _constants.POSSESSIVE_REPEAT,
}
#: What stands behind a part of a pattern: whether the text may go on from here.
_Then = Callable[[int], bool]


class Openings:
    """What lines begin with that one of some patterns may match.

    Args:
        patterns: They are anchored at the beginning of a line.
        absent: What the lines that are asked about do not hold anywhere.
    """

    def __init__(self, patterns: Iterable[str], absent: Iterable[str] = ()) -> None:
        self._patterns = [_parser.parse(pattern) for pattern in patterns]
        self._absent = tuple(absent)
        self._sets: dict[int, frozenset[str]] = {}

    def admit(self, start: str) -> bool:
        """Tell whether a line that goes on behind ``start`` may match.

        Args:
            start: ASCII characters; ``0`` stands for any digit.
        """
        return any(map(_Walk(start, self._absent, self._sets).matches, self._patterns))


def _done(at: int) -> bool:
    del at
    return True


class _Walk:
    """One start, walked along by patterns."""

    def __init__(
        self, start: str, absent: tuple[str, ...], sets: dict[int, frozenset[str]]
    ) -> None:
        self._start = start
        self._absent = absent
        self._sets = sets

    def matches(self, pattern: Any) -> bool:
        """Tell whether ``pattern`` may match."""
        return self.sequence(pattern, 0, 0, _done)

    def sequence(self, nodes: Any, index: int, at: int, then: _Then) -> bool:
        """Tell whether the nodes from ``index`` on may match from ``at`` on."""
        if at >= len(self._start):
            return True
        if index == len(nodes):
            return then(at)
        op, value = nodes[index]

        def rest(to: int) -> bool:
            return self.sequence(nodes, index + 1, to, then)

        if op in _ONE:
            return self._start[at] in self._set(nodes[index]) and rest(at + 1)
        if op in _REPEATS:
            return self._repeated(value, 0, at, rest)
        if op in {_constants.ASSERT, _constants.ASSERT_NOT, _constants.AT}:
            return self._stands(op, value, at) and rest(at)
        return self._within(op, value, at, rest)

    def _within(self, op: Any, value: Any, at: int, rest: _Then) -> bool:
        """Do the work of :meth:`sequence` for a node that holds others."""
        if op is _constants.BRANCH:
            return any(self.sequence(one, 0, at, rest) for one in value[1])
        if op is _constants.SUBPATTERN:  # where it has flags of its own, who knows
            return bool(value[1]) or self.sequence(value[3], 0, at, rest)
        return op is not _constants.ATOMIC_GROUP or self.sequence(value, 0, at, rest)

    def _stands(self, op: Any, value: Any, at: int) -> bool:
        """Tell whether what takes no characters may hold at ``at``, where more follow."""
        if op is _constants.AT:
            return value not in {_constants.AT_END, _constants.AT_END_STRING}
        if op is _constants.ASSERT_NOT or value[0] < 0:
            return True
        if any(one in text for text in _literals(value[1]) for one in self._absent):
            return False
        return self.sequence(value[1], 0, at, _done)

    def _repeated(self, what: Any, times: int, at: int, rest: _Then) -> bool:
        least, most, inner = what
        if times >= least and rest(at):
            return True

        def more(to: int) -> bool:
            return rest(to) if to == at else self._repeated(what, times + 1, to, rest)

        return times < most and self.sequence(inner, 0, at, more)

    def _set(self, node: Any) -> frozenset[str]:
        """Return the characters that one node matches; the mark of digits, if it matches one."""
        held = self._sets.get(id(node))
        if held is None:
            op, value = node
            one = op is _constants.LITERAL and value < len(_ASCII) and not chr(value).isdigit()
            held = frozenset(chr(value)) if one else _matched(_written(op, value))
            self._sets[id(node)] = held
        return held


@cache
def _matched(written: str) -> frozenset[str]:
    """Return the characters that a pattern of one matches; the mark of digits, if it matches one.

    Few patterns are written: the same ones stand in many places.
    """
    pattern = re.compile(written, re.ASCII)
    found = {char for char in _ASCII if pattern.fullmatch(char)}
    if any(char.isdigit() for char in found):
        found.add(_DIGIT)
    return frozenset(found)


def _literals(nodes: Any) -> list[str]:
    """Return texts that everything holds which ``nodes`` match."""
    told = "".join(chr(value) if op is _constants.LITERAL else "\0" for op, value in nodes)
    return told.split("\0")


def _written(op: Any, value: Any) -> str:
    """Return the pattern of a node that matches one character."""
    if op is _constants.LITERAL:
        return re.escape(chr(value))
    if op is _constants.NOT_LITERAL:
        return f"[^{re.escape(chr(value))}]"
    if op is _constants.ANY:
        return "."
    inner = "".join(_member(*one) for one in value if one[0] is not _constants.NEGATE)
    return f"[{'^' * (value[0][0] is _constants.NEGATE)}{inner}]"


def _member(op: Any, value: Any) -> str:
    if op is _constants.CATEGORY:
        return _CATEGORIES[value]
    if op is _constants.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return re.escape(chr(value))
