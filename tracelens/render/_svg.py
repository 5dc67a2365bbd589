"""Drawings as inline SVG that a policy without inline styles allows: classes give the colours.

Classes: ``c0`` to ``c7`` are the colours of categories, ``good``, ``bad`` and ``warn`` those of
judgement, ``soft`` a quiet filling, ``line`` an axis, ``label`` text, ``small`` smaller text,
``end`` and ``mid`` text that is anchored at its end or middle, ``inside`` text on a filled shape.

Lengths are pixels of a drawing that is as wide as the page lets it be, at most its own width, and
scrolls where the page is narrow; one that ``fits`` shrinks instead, and its letters grow.
"""

from __future__ import annotations

from html import escape

__all__ = ["COLOURS", "Svg", "colour", "fitted"]

#: How many colours of categories there are.
COLOURS = 8
#: Pixels of a character of a label, about.
_CHARACTER = 6.6


class Svg:
    """A drawing under construction. All text is escaped here."""

    def __init__(self, width: float, height: float, title: str, *, fits: bool = False) -> None:
        self.width = width
        self.height = height
        #: What somebody who does not see it is told.
        self.title = title
        #: Whether it shrinks with the page.
        self.fits = fits
        self._parts: list[str] = []

    def rect(  # noqa: PLR0917 -- a rectangle has four numbers
        self, x: float, y: float, width: float, height: float, kind: str, tip: str = ""
    ) -> None:
        """Draw a rectangle; ``tip`` is shown under the pointer."""
        self._shape(
            f'rect x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0.5))}" height="{_n(height)}"',
            kind,
            tip,
        )

    def circle(self, x: float, y: float, radius: float, kind: str, tip: str = "") -> None:
        """Draw a dot."""
        self._shape(f'circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"', kind, tip)

    def line(self, x: float, y: float, to_x: float, to_y: float, kind: str = "line") -> None:
        """Draw a line."""
        self._shape(f'line x1="{_n(x)}" y1="{_n(y)}" x2="{_n(to_x)}" y2="{_n(to_y)}"', kind, "")

    def path(self, points: list[tuple[float, float]], kind: str = "line", tip: str = "") -> None:
        """Draw a line through ``points``."""
        way = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._shape(f'polyline fill="none" points="{way}"', kind, tip)

    def text(self, x: float, y: float, words: str, kind: str = "label", room: float = 0) -> None:
        """Write ``words``; with ``room``, as much of them as fits into so many pixels."""
        if shown := fitted(words, room) if room else words:
            self._parts.append(
                f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}">{escape(shown)}</text>'
            )

    def pane(self, height: float, length: float) -> None:
        """Begin what a script can zoom, from the left edge to the right and from the top on.

        ``length`` is what its width stands for, in milliseconds.
        """
        size = f"{_n(self.width)} {_n(height)}"
        self._parts.append(
            f'<svg class="pane" width="{_n(self.width)}" height="{_n(height)}" '
            f'viewBox="0 0 {size}" preserveAspectRatio="none" data-ms="{length:.6g}">'
        )

    def close_pane(self) -> None:
        """End it."""
        self._parts.append("</svg>")

    def _shape(self, tag: str, kind: str, tip: str) -> None:
        name = tag.partition(" ")[0]
        inside = f"><title>{escape(tip)}</title></{name}>" if tip else "/>"
        self._parts.append(f'<{tag} class="{kind}"{inside}')

    def __html__(self) -> str:
        """Return the markup."""
        name = "draw fits" if self.fits else "draw"
        return (
            f'<svg class="{name}" role="img" viewBox="0 0 {_n(self.width)} {_n(self.height)}" '
            f'width="{_n(self.width)}" height="{_n(self.height)}">'
            f"<title>{escape(self.title)}</title>{''.join(self._parts)}</svg>"
        )


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def colour(index: int) -> str:
    """Return the class of a category's colour; they repeat after :data:`COLOURS`."""
    return f"c{index % COLOURS}"


def fitted(words: str, room: float) -> str:
    """Return as much of ``words`` as fits into ``room`` pixels; nothing for less than 2 letters."""
    most = int(room / _CHARACTER)
    if len(words) <= most:
        return words
    return words[: most - 2] + ".." if most > 4 else ""
