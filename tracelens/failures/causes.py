"""What a failure is about, by the phrases in its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from tracelens.failures.needed import needed
from tracelens.failures.phrases import PHRASES
from tracelens.late import late

__all__ = ["ELSEWHERE", "GENERAL", "Hit", "hits", "squeeze"]

#: Causes that say little: of several failures those of any other cause come first.
GENERAL = frozenset(
    {
        "worker",
        "generated-cpp",
        "internal-dynamo",
        "internal-compiler",
        "triton-launcher",
        "choice-left-out",
        "triton-passes",
        "unknown",
    }
)
#: Causes that rules of other families explain.
ELSEWHERE = frozenset(
    {
        "constraint",
        "data-dependent",
        "no-choices",
        "no-openmp",
        "not-close",
        "output-overwritten",
        "recompile-limit",
        "skipped-guards",
        "two-openmp",
    }
)
_BLANKS = late(r"[\s│┃║]+")
#: What the search goes on after.
_IGNORED = late(r"Ignoringthischoice")
#: ... unless the process dies of it.
_DIED = late(r"exitcode-\d|SIG(?:SEGV|ABRT|BUS|ILL)|Segmentationfault|coredumped")


class Hit(NamedTuple):
    """A phrase that was found."""

    cause: str
    #: Which of the lines it begins in.
    line: int
    facts: dict[str, str]


def squeeze(lines: Sequence[str]) -> tuple[str, list[int]]:
    """Return the lines without blanks, one after the other, and where each of them ends."""
    parts, ends, size = [], [], 0
    for line in lines:
        part = _BLANKS.sub("", line)
        parts.append(part)
        size += len(part)
        ends.append(size)
    return "".join(parts), ends


@cache
def _needed() -> list[tuple[str, tuple[str, ...], str]]:
    """Return each phrase's cause, the words of which it needs one, and its pattern."""
    return [(one.cause, words, one.pattern) for one, words in zip(PHRASES, needed(), strict=True)]


_pattern = cache(re.compile)


def mentioned(words: str) -> list[str]:
    """Return the causes whose phrases hold ``words``, which have no blanks, as they stand."""
    low = words.lower().strip("_")
    return [phrase.cause for phrase in PHRASES if low in phrase.pattern.lower().replace("\\", "")]


@lru_cache(maxsize=64)
def hits(text: str) -> tuple[tuple[str, int, dict[str, str]], ...]:
    """Return the causes that ``text``, which has no blanks, tells of: the most telling first.

    With each, the place of its last phrase, and what the phrase caught. An excerpt is read when it
    is found, and again when somebody asks for what failed.
    """
    return tuple(_hits(text))


def _hits(text: str) -> Iterator[tuple[str, int, dict[str, str]]]:
    died = bool(_DIED.search(text))
    for cause, words, pattern in _needed():
        if words and not any(word in text for word in words):
            continue
        found = [
            one
            for one in _pattern(pattern).finditer(text)
            if died or not _IGNORED.search(text, one.start(), one.end() + 800)
        ]
        if found:
            facts: dict[str, str] = {}
            for one in found:
                for name, value in one.groupdict().items():
                    if value:
                        facts.setdefault(name.rstrip("_0123456789"), value)
            yield cause, found[-1].start(), facts
