"""Words of which a text holds one wherever a phrase fits: most phrases need not be looked for.

To find a word in a text is many times faster than to search for a pattern, and a pattern that is
not searched for need not be compiled. The words are written down in ``needed.txt``, a line for each
phrase, since taking patterns apart takes as long as compiling them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tracelens.failures.phrases import PHRASES

__all__ = ["needed", "written"]

_FILE = Path(__file__).with_name("needed.txt")
#: Shorter words are in most texts.
LEAST = 4
#: Words beyond which a phrase is looked for at once.
MOST = 12


def needed() -> list[tuple[str, ...]]:
    """Return the words of each phrase, in the order of the phrases; none where nothing is known."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split()) for line in lines]


def written() -> str:
    """Return what the file is to hold."""
    return "".join(" ".join(words(phrase.pattern)) + "\n" for phrase in PHRASES)


def words(pattern: str) -> tuple[str, ...]:
    """Return words of which every match of ``pattern`` holds one; none where that is not known."""
    from re import _parser  # noqa: PLC0415 -- the file is made with it, nothing else

    tree = _parser.parse(pattern)
    if tree.state.flags & re.IGNORECASE:
        return ()
    found = _words(tree)
    return tuple(sorted(found)) if _shortest(found) >= LEAST and len(found) <= MOST else ()


def _words(tree: Iterable[tuple[Any, Any]]) -> frozenset[str]:
    """Return the best words that parts of a pattern, one after the other, cannot do without."""
    held: list[frozenset[str]] = []
    run = ""
    for op, arg in tree:
        name = str(op)
        if name == "LITERAL":
            run += chr(arg)
            continue
        if name == "AT":
            continue
        held.append(frozenset({run}))
        run = ""
        if name == "SUBPATTERN" and not (arg[1] or arg[2]):
            held.append(_words(arg[3]))
        elif name == "BRANCH":
            parts = [_words(part) for part in arg[1]]
            held.append(frozenset().union(*parts) if all(map(_shortest, parts)) else frozenset())
        elif name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"} and arg[0]:
            held.append(_words(arg[2]))
    held.append(frozenset({run}))
    return max(held, key=lambda found: (_shortest(found), -len(found)))


def _shortest(found: Iterable[str]) -> int:
    return min(map(len, found), default=0)
