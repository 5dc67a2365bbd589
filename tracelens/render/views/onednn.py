"""Where the time in oneDNN went: bars by primitive, implementation and data type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._svg import Svg
from tracelens.render.views import Picture, View
from tracelens.report import Report

__all__ = ["OneDnn"]

#: Bars at most; the rest is one bar.
MAX_BARS = 12
#: Pixels: of the drawing, of a bar's line, of the words at its left, of the number at its right.
WIDTH, LINE, LEFT, RIGHT = 900, 26, 330, 130
#: What a class of implementations is in the picture: (its colour, the word).
_CLASSES = {
    "optimised": ("c0", "optimised"),
    "generic": ("warn", "threads, but no generated code"),
    "reference": ("bad", "reference implementation"),
    "disguised": ("bad", "reference implementation"),
}
_OTHER = ("c7", "others")


class OneDnn(View):
    """Bars of the time in oneDNN."""

    name = "onednn"
    title = "Time in oneDNN"
    says = "Each bar is one primitive with one implementation and data type, over all its shapes."
    order = 30
    tables: ClassVar[tuple[str, ...]] = ("primitives", "precision")

    @classmethod
    def applies(cls, report: Report) -> bool:
        """Whether oneDNN executed anything with a time."""
        return any(number(row, "ms") for row in report.tables.get("primitives", ()))

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield the bars, the longest first."""
        bars = _bars(report.tables["primitives"])
        total = sum(ms for _, ms, _ in bars)
        shown = bars[:MAX_BARS]
        if rest := bars[MAX_BARS:]:
            names = _words.plural(len(rest), "more")
            shown.append((("all others", names, "", ""), sum(ms for _, ms, _ in rest), 0))
        svg = Svg(WIDTH, LINE * len(shown) + 4, f"Time in oneDNN by primitive: {_said(shown)}")
        top = max(ms for _, ms, _ in shown)
        for row, (key, ms, count) in enumerate(shown):
            _draw(svg, row, key, ms, count, (WIDTH - LEFT - RIGHT) * ms / top, total)
        kinds = dict.fromkeys(_kind(key) for key, _, _ in shown)
        yield Picture(svg, legend=tuple(kinds))


#: Primitive, implementation, its class, data types.
_Key = tuple[str, str, str, str]


def _bars(rows: list[dict[str, Any]]) -> list[tuple[_Key, float, int]]:
    """Return milliseconds and executions, the longest first."""
    ms: defaultdict[_Key, float] = defaultdict(float)
    count: defaultdict[_Key, int] = defaultdict(int)
    for row in rows:
        names = (word(row, name) for name in ("primitive", "impl", "class", "dtypes"))
        key: _Key = tuple(names)  # type: ignore[assignment]
        ms[key] += number(row, "ms")
        count[key] += int(number(row, "count"))
    return [(key, ms[key], count[key]) for key in sorted(ms, key=lambda key: (-ms[key], key))]


def _kind(key: _Key) -> tuple[str, str]:
    return _CLASSES.get(key[2], _OTHER)


def _said(bars: list[tuple[_Key, float, int]]) -> str:
    return "; ".join(f"{key[0]} {key[1]} {_words.milliseconds(ms)}" for key, ms, _ in bars[:3])


def _draw(  # noqa: PLR0917 -- what a bar shows
    svg: Svg, row: int, key: _Key, ms: float, count: int, width: float, total: float
) -> None:
    primitive, impl, _, dtypes = key
    y = row * LINE + 4
    time = _words.milliseconds(ms)
    tip = f"{primitive} {impl} {dtypes}: {time} in {_words.plural(count, 'execution')}"
    svg.text(0, y + 14, " ".join(filter(None, (primitive, dtypes))), "label", 170)
    svg.text(175, y + 14, impl, "small", LEFT - 185)
    svg.rect(LEFT, y + 1, width, LINE - 8, _kind(key)[0], tip)
    share = f", {_words.percent(ms / total)}" if total else ""
    svg.text(LEFT + width + 6, y + 14, time + share, "label")
