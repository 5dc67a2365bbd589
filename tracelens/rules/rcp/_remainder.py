"""What a condition on the remainder of a size asks for: a multiple of the divisor."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tracelens.rules.rcp._data import Guard

__all__ = ["Multiple", "multiples", "padded"]

#: ``x.size()[1]``, and as torch 2.6 wrote it: ``L['x'].size()[1]``.
_SIZE = re.compile(r"(?:[LG]\['(?P<key>\w{1,80})'\]|(?P<name>[\w.]{1,80}))\.size\(\)\[(?P<at>\d)\]")
#: ``8*(x.size()[0] // 8)``, ``8*math.ceil(x.size()[0] / 8)``: the multiple below or above.
_ROUNDED = re.compile(
    r"\(?(?P<factor>\d{1,9})\*(?:math\.ceil)?"
    r"\((?P<what>[^ ()]{1,160}\.size\(\)\[\d\]) //? (?P<divisor>\d{1,9})\)\)?"
)


#: ``(32*x.size()[1]) == (64*(x.size()[1] // 2))``: rows of 32 in pairs.
_TIMES = re.compile(r"\(?(?P<factor>\d{1,9})\*(?P<what>[^ ()*]{1,160}\.size\(\)\[\d\])\)?")
#: ``4 + 4*((x.size()[0] - 1) // 4) == x.size()[0]``: it holds for multiples of 4.
_ONE_LESS = re.compile(
    r"\(?(?P<more>\d{1,9}) \+ (?P<factor>\d{1,9})\*"
    r"\(\(\(-1\) \+ (?P<what>[^ ()]{1,160}\.size\(\)\[\d\])\) // (?P<divisor>\d{1,9})\)\)?"
)
#: Pairs of brackets around a condition that are looked through.
MAX_BRACKETS = 8


class Multiple(NamedTuple):
    """A size, or what is computed from one, and the number that it should be a multiple of."""

    what: str
    number: str


def multiples(guards: Sequence[Guard]) -> tuple[Multiple, ...]:
    """Return what must be padded so that all conditions have one side; empty where one is other."""
    found = [_multiple(guard.name, guard.expected) for guard in guards]
    return tuple(dict.fromkeys(one for one in found if one)) if all(found) else ()


def padded(found: Sequence[Multiple]) -> str:
    """Return "dimension 1 of `x` to a multiple of 32", for all of them."""
    parts: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for one in found:
        size = _SIZE.fullmatch(one.what)
        if size is None:
            return f"the input so that `{one.what}` is a multiple of {one.number}"
        parts[size["key"] or size["name"], one.number].append(size["at"])
    texts = [
        f"dimension{'s' if len(at) > 1 else ''} {' and '.join(at)} of `{name}` to "
        f"{'multiples' if len(at) > 1 else 'a multiple'} of {number}"
        for (name, number), at in parts.items()
    ]
    return ", and ".join(texts)


def _multiple(left: str, right: str) -> Multiple | None:
    return _of_rounded(left, right) or _of_remainder(left, right)


def _of_rounded(left: str, right: str) -> Multiple | None:
    """Return what a size that equals its own multiple below, or above, is a multiple of."""
    times, whole = _TIMES.fullmatch(left), _ROUNDED.fullmatch(right)
    if times and whole and times["what"] == whole["what"]:
        same = int(times["factor"]) * int(whole["divisor"]) == int(whole["factor"])
        return Multiple(whole["what"], whole["divisor"]) if same else None
    rounded = _ROUNDED.fullmatch(left)
    if rounded and rounded["factor"] == rounded["divisor"] and rounded["what"] == right:
        return Multiple(right, rounded["divisor"])
    less = _ONE_LESS.fullmatch(left)
    if less and less["factor"] == less["divisor"] == less["more"] and less["what"] == right:
        return Multiple(right, less["divisor"])
    return None


def _of_remainder(left: str, right: str) -> Multiple | None:
    before, _, divisor = _bare(left).rpartition(" % ")
    if not (before and divisor.isdecimal() and right.isdecimal() and ".size()[" in before):
        return None
    what = _bare(before)
    if " % " not in what:
        return Multiple(what, divisor)
    sizes = {match.group() for match in _SIZE.finditer(what)}
    if len(sizes) != 1:
        return None
    (size,) = sizes
    same = what.count(f"{size} % {divisor})") == what.count(size) == what.count(" % ")
    return Multiple(size, divisor) if same else None


def _bare(text: str) -> str:
    """Return ``text`` without the brackets around all of it."""
    for _ in range(MAX_BRACKETS):
        if not (text.startswith("(") and text.endswith(")") and _is_one(text[1:-1])):
            break
        text = text[1:-1]
    return text


def _is_one(text: str) -> bool:
    """Whether the brackets in ``text`` are closed where they are opened."""
    depth = 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return False
    return depth == 0
