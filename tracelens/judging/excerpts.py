"""The excerpt on a rule's page: that it can still be read, so that it does not rot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from tracelens.rules import Rule
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter

__all__ = ["excerpts", "problems"]

#: The heading below which the indented blocks are lines of a log.
HEADING = "What it looks like"
_BLOCK = re.compile(r"(?:^(?: {4}.*)?\n)+", re.MULTILINE)


def excerpts(rule: type[Rule]) -> Iterator[str]:
    """Yield the indented blocks of the page that are lines of a log."""
    for block in _BLOCK.findall(f"{rule.sections().get(HEADING, '')}\n"):
        if block.strip():
            yield dedent(block).strip("\n")


def problems(rule: type[Rule], kinds: Kinds) -> list[str]:
    """Return which lines of the page no log kind reads; nothing when all is well."""
    found = []
    for excerpt in excerpts(rule):
        segmenter = Segmenter(kinds, "excerpt")
        segmenter.feed([line.encode() + b"\n" for line in excerpt.split("\n")])
        evidence = segmenter.finish()
        refused = [f"{one.kind} does not read it: {one.reason}" for one in evidence.unread]
        if not refused and not sum(evidence.kinds.values()):
            refused = ["no log kind reads it"]
        found += [f"{rule.code}: {HEADING}: {excerpt[:80]!r}: {reason}" for reason in refused]
    return found
