"""How near operators come to what the device can do: rate over intensity, both logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._svg import Svg
from tracelens.render.views import Picture, View
from tracelens.report import Report

__all__ = ["Roofline"]

#: Operators that are drawn, those that took longest; the table has more.
MAX_DOTS = 200
#: Pixels: of the drawing, of what stands at its left and below.
WIDTH, HEIGHT, LEFT, BELOW = 620, 340, 70, 46
#: Share of the bound from which on a dot is good, and below which it is bad.
GOOD, BAD = 0.6, 0.2
_LEGEND = (("good", "60 % of the bound and more"), ("warn", "20 % and more"), ("bad", "less"))


class _Dot(NamedTuple):
    """An operator on one shape: operations per byte, TFLOP/s."""

    intensity: float
    rate: float
    row: dict[str, Any]


class Roofline(View):
    """Scatter of operators below the roof of the device."""

    name = "roofline"
    title = "Roofline"
    says = (
        "Each dot is an operator on one shape: operations per byte to the right, TFLOP/s upwards. "
        "The lines are what the device can move and compute at most; dots grow with time."
    )
    order = 24
    tables: ClassVar[tuple[str, ...]] = ("ops",)

    @classmethod
    def applies(cls, report: Report) -> bool:
        """Whether operations and bytes of any operator are known."""
        return bool(_dots(report))

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield the scatter."""
        dots = _dots(report)
        said = f"Roofline of {_words.plural(len(dots), 'operator')}"
        svg = Svg(WIDTH, HEIGHT, said, fits=True)
        compute, memory = _roofs(dots)
        rates = [dot.rate for dot in dots] + ([compute] if compute else [])
        across = _Axis([dot.intensity for dot in dots], LEFT, WIDTH - 30)
        upwards = _Axis(rates, HEIGHT - BELOW, 16)
        svg.line(LEFT, HEIGHT - BELOW, WIDTH - 30, HEIGHT - BELOW)
        svg.line(LEFT, HEIGHT - BELOW, LEFT, 16)
        for exponent in across.ticks():
            svg.text(
                across.at(10.0**exponent), HEIGHT - BELOW + 18, f"{10.0**exponent:g}", "label mid"
            )
        for exponent in upwards.ticks():
            svg.text(LEFT - 8, upwards.at(10.0**exponent) + 4, f"{10.0**exponent:g}", "label end")
        svg.text((LEFT + WIDTH) / 2, HEIGHT - 4, "operations per byte", "label mid")
        if compute and memory:
            _roof(svg, compute, memory, across, upwards)
        longest = max(number(dot.row, "sum_ms") for dot in dots) or 1.0
        for dot in dots:
            share = number(dot.row, "sum_ms") / longest
            radius = 3 + 7 * math.sqrt(min(1.0, share))
            svg.circle(across.at(dot.intensity), upwards.at(dot.rate), radius, *_look(dot))
        yield Picture(svg, legend=_LEGEND if compute or memory else ())


class _Axis:
    """Places of numbers on a logarithmic line from ``first`` to ``last`` pixel."""

    def __init__(self, values: list[float], first: float, last: float) -> None:
        self.low = math.floor(math.log10(min(values)))
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))
        self._first, self._last = first, last

    def at(self, value: float) -> float:
        """Return the pixel of a number."""
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self._first + min(1.0, max(0.0, part)) * (self._last - self._first)

    def ticks(self) -> range:
        """Return powers of ten to write at the line, at most a dozen."""
        return range(self.low, self.high + 1, max(1, (self.high - self.low) // 12))


def _dots(report: Report) -> list[_Dot]:
    rows = (row for row in report.tables.get("ops", ()) if number(row, "tbs") > 0)
    dots = [
        _Dot(rate / number(row, "tbs"), rate, row)
        for row in rows
        if (rate := number(row, "tflops")) > 0
    ]
    fit = [dot for dot in dots if 0 < dot.intensity < math.inf and dot.rate < math.inf]
    return sorted(fit, key=lambda dot: -number(dot.row, "sum_ms"))[:MAX_DOTS]


def _roofs(dots: list[_Dot]) -> tuple[float, float]:
    """Return TFLOP/s and TB/s of the device, as the shares of the bounds have them; 0 unknown."""
    compute = memory = 0.0
    for _, rate, row in dots:
        share, bound = number(row, "share_of_bound"), word(row, "bound")
        if share > 0 and bound == "compute":
            compute = max(compute, rate / share)
        elif share > 0 and bound == "memory":
            memory = max(memory, number(row, "tbs") / share)
    return compute, memory


def _roof(svg: Svg, compute: float, memory: float, across: _Axis, upwards: _Axis) -> None:
    """Draw what memory allows up to the ridge, and what computing allows from there on."""
    ridge = compute / memory
    low, high = 10.0**across.low, 10.0**across.high
    start = max(low, 10.0**upwards.low / memory)
    points = [(across.at(start), upwards.at(max(start * memory, 10.0**upwards.low)))]
    if start < ridge < high:
        points.append((across.at(ridge), upwards.at(compute)))
    points.append((across.at(high), upwards.at(min(compute, high * memory))))
    svg.path(points, "line")


def _look(dot: _Dot) -> tuple[str, str]:
    """Return the colour of a dot and what is said of it."""
    name = " ".join(filter(None, (word(dot.row, "name"), word(dot.row, "shapes"))))
    ms = _words.milliseconds(number(dot.row, "sum_ms"))
    tip = f"{name} {word(dot.row, 'dtype')}: {dot.rate:.3g} TFLOP/s, {ms}"
    share = number(dot.row, "share_of_bound", -1.0)
    if share < 0:
        return "c0", tip
    tip += f", {_words.percent(min(1.0, share))} of the {word(dot.row, 'bound')} bound"
    return ("good" if share >= GOOD else "warn" if share >= BAD else "bad"), tip
