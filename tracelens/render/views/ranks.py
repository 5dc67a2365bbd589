"""The ranks of a job beside each other: who computes, who waits, who comes late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._svg import Svg
from tracelens.render.views import Picture, View
from tracelens.report import Report

__all__ = ["Ranks"]

#: Ranks that are drawn; the table has more.
MAX_RANKS = 128
#: Pixels: of the drawing, of a rank's line, of the words at its left, of the heads.
WIDTH, LINE, LEFT, HEAD = 900, 18, 70, 22
#: What is drawn of a rank: (column, colour, head).
COLUMNS = (
    ("compute_ms", "c0", "computes"),
    ("exposed_comm_ms", "c1", "communicates alone"),
    ("idle_ms", "warn", "idle"),
    ("waited_ms", "c7", "waits for later ranks"),
    ("late_ms", "bad", "comes late"),
)


class Ranks(View):
    """A line of bars for each rank."""

    name = "ranks"
    title = "Ranks"
    says = (
        "Each line is a rank. All bars have one scale: what is long in one line and short in the "
        "others is out of balance."
    )
    order = 21
    tables: ClassVar[tuple[str, ...]] = ("ranks", "skew")

    @classmethod
    def applies(cls, report: Report) -> bool:
        """Whether several ranks have times."""
        return len(_timed(report)) > 1

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield the lines of all ranks."""
        rows = _timed(report)
        shown = rows[:MAX_RANKS]
        heads = [each for each in COLUMNS if any(number(row, each[0]) for row in shown)]
        top = max(number(row, column) for row in shown for column, _, _ in heads)
        room = (WIDTH - LEFT) / len(heads)
        svg = Svg(WIDTH, HEAD + LINE * len(shown) + 4, f"Time of {len(shown)} ranks")
        for at, (_, _, says) in enumerate(heads):
            svg.text(LEFT + at * room, HEAD - 8, says, "small", room - 6)
        for line, row in enumerate(shown):
            y = HEAD + line * LINE
            svg.text(0, y + 12, f"rank {word(row, 'rank')}", "label", LEFT - 6)
            for at, (column, kind, says) in enumerate(heads):
                _cell(svg, (LEFT + at * room, y, room - 64), row, (column, kind, says, top))
        rest = len(rows) - len(shown)
        caption = f"{_words.plural(rest, 'more rank')} in the table." if rest else ""
        yield Picture(svg, caption)


def _timed(report: Report) -> list[dict[str, Any]]:
    rows = report.tables.get("ranks", ())
    return [row for row in rows if any(number(row, column) for column, _, _ in COLUMNS)]


def _cell(
    svg: Svg,
    place: tuple[float, float, float],
    row: dict[str, Any],
    what: tuple[str, str, str, float],
) -> None:
    x, y, room = place
    column, kind, says, top = what
    ms = number(row, column)
    if ms:
        time = _words.milliseconds(ms)
        svg.rect(
            x, y + 2, room * ms / top, LINE - 5, kind, f"rank {word(row, 'rank')} {says}: {time}"
        )
        svg.text(x + room * ms / top + 4, y + 12, time, "small", 58)
