"""Which regular expressions take linear time on any line, told by their form and not by trying.

A pack's declarative rules are data, and a line of a log is hostile: a pattern is accepted only
where the engine cannot go back over the same characters again and again. Repetitions are of one
class of characters each, and what comes after one begins with none of its characters; one that is
followed by something of its own class, as in ``.*:``, may be the last one.
"""

from __future__ import annotations

import re
import string
from re import _constants as sre
from re import _parser
from typing import Any

__all__ = ["check", "first_characters", "literal_start"]

#: Characters of a pattern, and choices (``|``, ``?``) in it.
MAX_LENGTH, MAX_CHOICES = 500, 8
#: More repetitions of something are as good as any number.
FEW = 64
#: What stands for all that is not in ASCII.
OTHER = "\xe9"
ALPHABET = frozenset(string.printable + OTHER)
_REPEATS = {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


def check(pattern: str) -> re.Pattern[str]:
    """Return the pattern, compiled.

    Raises:
        ValueError: It is none, or there may be lines on which it takes more than linear time.
    """
    if len(pattern) > MAX_LENGTH:
        raise ValueError(f"it has {len(pattern)} characters, at most {MAX_LENGTH} are accepted")
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if compiled.flags & ~re.UNICODE:
        raise ValueError("flags are not accepted: write [Aa] for both cases")
    items = _flat(_parser.parse(pattern))
    choices = sum(_choices(op, arg) for op, arg in items)
    if choices > MAX_CHOICES:
        raise ValueError(f"it has {choices} choices (? and |), at most {MAX_CHOICES} are accepted")
    _check_repeats(items)
    return compiled


def literal_start(pattern: str) -> str:
    """Return the text that everything begins with that a pattern matches."""
    start = ""
    for op, arg in _parser.parse(pattern):
        if op is not sre.LITERAL:
            break
        start += chr(arg)
    return start


def first_characters(pattern: re.Pattern[str]) -> str | None:
    """Return the printable characters of ASCII that what a pattern matches may begin with.

    None where that is not known: it may be nothing at all, say.
    """
    if pattern.flags & ~re.UNICODE:
        return None
    try:
        found, empty = _first(_ahead_left_out(_parser.parse(pattern.pattern)))
    except ValueError:
        return None
    return None if empty else "".join(sorted(filter(_told, found)))


def _told(char: str) -> bool:
    return char.isascii() and char.isprintable()


def _ahead_left_out(tree: Any) -> list[tuple[Any, Any]]:
    """Return the nodes without what only looks at what comes: that takes no characters."""
    return [node for node in _flat(tree) if node[0] not in {sre.ASSERT, sre.ASSERT_NOT}]


def _flat(tree: Any) -> list[tuple[Any, Any]]:
    """Return the nodes of a pattern with groups in the place of what is in them."""
    out: list[tuple[Any, Any]] = []
    for op, arg in tree:
        if op is sre.SUBPATTERN:
            if arg[1] or arg[2]:
                raise ValueError("flags are not accepted: write [Aa] for both cases")
            out += _flat(arg[3])
        else:
            out.append((op, arg))
    return out


def _choices(op: Any, arg: Any) -> int:
    if op is sre.BRANCH:
        return len(arg[1]) - 1 + sum(_choices(*node) for part in arg[1] for node in _flat(part))
    if op in _REPEATS and not _is_open(arg):
        return int(arg[1] - arg[0]) + sum(_choices(*node) for node in _flat(arg[2]))
    return 0


def _is_open(arg: Any) -> bool:
    """Tell whether something is repeated as often as one likes."""
    return arg[1] is sre.MAXREPEAT or int(arg[1]) > FEW or (arg[1] - arg[0] > MAX_CHOICES)


def _check_repeats(items: list[tuple[Any, Any]]) -> None:
    """Check that what is repeated cannot be divided in several ways.

    Raises:
        ValueError: It may be, or there is something in the pattern of which nobody knows.
    """
    open_after = False
    for number in range(len(items) - 1, -1, -1):
        op, arg = items[number]
        if op in _REPEATS and _is_open(arg):
            own = _class_of(_flat(arg[2]))
            first, _ = _first(items[number + 1 :])
            if own & first and open_after:
                raise ValueError(
                    "a repetition is followed by something of its own characters and by another "
                    "repetition: write the class without what ends it, as [^ ]+ before a blank"
                )
            open_after = True
            continue
        for part in _parts(op, arg):
            if any(inner in _REPEATS and _is_open(what) for inner, what in _walk(part)):
                raise ValueError(
                    "something is repeated, or left open, in what is repeated or chosen itself: "
                    "repeat a class of characters, as [a-z,]+"
                )
        _matched(op, arg)


def _parts(op: Any, arg: Any) -> list[Any]:
    if op is sre.BRANCH:
        return list(arg[1])
    return [arg[2]] if op in _REPEATS else []


def _walk(tree: Any) -> list[tuple[Any, Any]]:
    out = []
    for op, arg in _flat(tree):
        out.append((op, arg))
        for part in _parts(op, arg):
            out += _walk(part)
    return out


def _class_of(body: list[tuple[Any, Any]]) -> frozenset[str]:
    """Return the characters of the one class that is repeated."""
    if len(body) != 1 or body[0][0] in _REPEATS or body[0][0] is sre.BRANCH:
        raise ValueError("a group is repeated: repeat a class of characters, as [a-z,]+")
    return _matched(*body[0])


def _first(items: list[tuple[Any, Any]]) -> tuple[frozenset[str], bool]:
    """Return the characters that items may begin with, and whether they may be nothing at all."""
    found: frozenset[str] = frozenset()
    for op, arg in items:
        if op is sre.AT:
            continue
        if op in _REPEATS:
            inner, empty = _first(_flat(arg[2]))
            found |= inner
            if not (arg[0] == 0 or empty):
                return found, False
        elif op is sre.BRANCH:
            parts = [_first(_flat(part)) for part in arg[1]]
            found = found.union(*(chars for chars, _ in parts))
            if not any(empty for _, empty in parts):
                return found, False
        else:
            return found | _matched(op, arg), False
    return found, True


def _matched(op: Any, arg: Any) -> frozenset[str]:
    """Return the characters that one node matches."""
    if op is sre.LITERAL:
        return frozenset(chr(arg) if chr(arg) in ALPHABET else OTHER)
    if op is sre.NOT_LITERAL:
        return ALPHABET - {chr(arg)}
    if op is sre.ANY:
        return ALPHABET - {"\n"}
    if op is sre.IN:
        return _set(arg)
    if op in _REPEATS or op is sre.BRANCH:
        return frozenset().union(*(_matched(*n) for part in _parts(op, arg) for n in _flat(part)))
    if op is sre.AT:
        return frozenset()
    raise ValueError("no look-around, backward reference, condition or atomic group is accepted")


def _set(arg: Any) -> frozenset[str]:
    """Return the characters of a class in brackets."""
    found: set[str] = set()
    negated = False
    for op, what in arg:
        if op is sre.NEGATE:
            negated = True
        elif op is sre.LITERAL:
            found.add(chr(what) if chr(what) in ALPHABET else OTHER)
        elif op is sre.RANGE:
            found |= {c for c in ALPHABET if what[0] <= ord(c) <= what[1]}
            found |= {OTHER} if what[1] > 0x7F else set()
        else:
            found |= {c for c in ALPHABET if re.match(_CATEGORIES[what], c)}
    if not negated:
        return frozenset(found)
    return (ALPHABET - found) | {OTHER}
