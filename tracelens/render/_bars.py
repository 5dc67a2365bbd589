"""Bars, each below its name and its number: they fit a narrow page as well as a wide one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tracelens.render._svg import Svg, fitted

__all__ = ["GROWN", "WIDTH", "Bars", "Piece", "headed"]

#: Pixels: of the drawing, of a bar with its name, of the bar alone, and of the number at the right.
WIDTH, LINE, HEIGHT, NUMBER = 620, 36, 12, 120
#: Letters of a narrow page are as much wider in a drawing that shrinks.
GROWN = 1.5


class Piece(NamedTuple):
    """A part of a bar: its length, its colour, and what the pointer shows."""

    length: float
    kind: str
    tip: str


def headed(svg: Svg, y: float, name: str, number: str) -> None:
    """Write a line with a name at its left and a number at its right."""
    wide, narrow = (fitted(name, svg.width / by - NUMBER) for by in (1, GROWN))
    if wide == narrow:
        svg.text(0, y + 14, name)
    else:
        svg.text(0, y + 14, wide, "label roomy")
        svg.text(0, y + 14, narrow, "label tight")
    svg.text(svg.width, y + 14, number, "label end")


class Bars:
    """A drawing of bars under construction."""

    def __init__(self, title: str, count: int, longest: float) -> None:
        #: The drawing.
        self.svg = Svg(WIDTH, LINE * count + 4, title, fits=True)
        self._scale = WIDTH / longest if longest else 0.0
        self._line = 0

    def add(self, name: str, number: str, pieces: Iterable[Piece]) -> None:
        """Draw one bar, of pieces beside each other, in the unit of the longest one."""
        y = self._line * LINE
        self._line += 1
        headed(self.svg, y, name, number)
        x = 0.0
        for piece in pieces:
            width = piece.length * self._scale
            self.svg.rect(x, y + 19, width, HEIGHT, piece.kind, piece.tip)
            x += width
