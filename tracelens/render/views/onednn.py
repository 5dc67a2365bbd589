"""Where the time in oneDNN went: bars by primitive, implementation and data type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar

from tracelens.render import _words
from tracelens.render._bars import Bars, Piece
from tracelens.render._rows import number, word
from tracelens.render.views import Picture, View
from tracelens.report import Report

__all__ = ["OneDnn"]

#: Bars at most; the rest is one bar.
MAX_BARS = 12
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
        said = f"Time in oneDNN by primitive: {_said(shown)}"
        drawn = Bars(said, len(shown), max(ms for _, ms, _ in shown))
        for key, ms, count in shown:
            _draw(drawn, key, ms, count, total)
        kinds = dict.fromkeys(_kind(key) for key, _, _ in shown)
        yield Picture(drawn.svg, legend=tuple(kinds))


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


def _draw(drawn: Bars, key: _Key, ms: float, count: int, total: float) -> None:
    primitive, impl, _, dtypes = key
    time = _words.milliseconds(ms)
    tip = f"{primitive} {impl} {dtypes}: {time} in {_words.plural(count, 'execution')}"
    share = f", {_words.percent(ms / total)}" if total else ""
    name = " ".join(filter(None, (primitive, dtypes, impl)))
    drawn.add(name, time + share, [Piece(ms, _kind(key)[0], tip)])
