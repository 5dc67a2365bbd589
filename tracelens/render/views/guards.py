"""The guards of compiled functions as trees; what did not hold is marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render.views import Listing, View
from tracelens.report import Report

__all__ = ["Guards"]

#: Levels of a tree that are indented, and trees that are shown.
MAX_DEPTH, MAX_TREES = 30, 8


class Guards(View):
    """Trees of guards."""

    name = "guards"
    title = "Guards"
    says = (
        "What is checked before each call of a compiled function. Marked is the value on which an "
        "entry failed, so that the function was compiled again."
    )
    order = 15
    tables: ClassVar[tuple[str, ...]] = ("guards", "guard_tree")

    @classmethod
    def listings(cls, report: Report) -> Iterator[Listing]:
        """Yield the tree of each entry."""
        trees: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in report.tables.get("guard_tree", ()):
            trees.setdefault((word(row, "run"), word(row, "frame")), []).append(row)
        for (run, frame), rows in list(trees.items())[:MAX_TREES]:
            failed = sum(number(row, "failed") > 0 for row in rows)
            name = f"{run} {frame}" if len(report.runs) > 1 else frame
            title = f"{name}: {_words.plural(int(number(rows[0], 'guards')), 'guard')}"
            title += f", {_words.plural(failed, 'value')} failed" if failed else ""
            yield Listing(title, [span for row in rows for span in _line(row)])


def _line(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    times = int(number(row, "failed"))
    kind, place = word(row, "kind"), word(row, "from")
    yield "", "  " * min(int(number(row, "depth")), MAX_DEPTH)
    if kind and not kind.endswith("Manager"):
        yield "k", f"{kind}: "
    yield ("bad" if times else ""), word(row, "text")
    if times:
        yield "bad", f"  <- failed {_words.plural(times, 'time')}"
    if place:
        yield "c", f"  # {place}"
    yield "", "\n"
