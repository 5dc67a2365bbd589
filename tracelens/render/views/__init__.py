"""Views of the HTML report: a picture and its table, beside the list of findings.

A view is one class in one file of this package, and is found there; there is no list to add a name
to. It is a function of the report alone, mostly of ``report.tables``::

    class Phases(View):
        name = "phases"  # its anchor, #view-phases
        title = "Phases"
        says = "What the device did in each phase."
        order = 40  # the smaller, the further up
        tables = ("time",)  # what it draws; these are not listed again among the summaries

        @classmethod
        def pictures(cls, report: Report) -> Iterator[Picture]:
            svg = Svg(100, 20, "Compute and idle time by phase")
            ...
            yield Picture(svg, "What the picture shows, in a sentence.")

By default it is shown where one of its tables has rows, and its own table is those.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, NamedTuple

from tracelens.render._svg import Svg
from tracelens.report import Report

__all__ = ["Listing", "Picture", "Sheet", "View", "discovered"]


class Picture(NamedTuple):
    """One drawing of a view."""

    svg: Svg
    #: A line below it: how to read it, or what was left out.
    caption: str = ""
    #: What the colours mean: (class of :mod:`tracelens.render._svg`, word).
    legend: tuple[tuple[str, str], ...] = ()
    #: Heading, where a view has several.
    title: str = ""


class Sheet(NamedTuple):
    """One table of a view."""

    title: str
    rows: list[dict[str, Any]]
    says: str = ""


class Listing(NamedTuple):
    """Text in a fixed pitch, folded: code, or a tree."""

    title: str
    #: (class, text): ``k`` keyword, ``s`` string, ``n`` number, ``c`` comment, ``bad`` marked.
    spans: list[tuple[str, str]]
    says: str = ""


class View:
    """Base of every view; never instantiated."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    #: One or two sentences under the title.
    says: ClassVar[str] = ""
    #: Where it stands among the others: the smaller, the further up.
    order: ClassVar[int] = 50
    #: Names of the report's tables that it draws, and that are then not shown among the summaries.
    tables: ClassVar[tuple[str, ...]] = ()
    #: How many of its tables, the first ones, are open when the page is.
    unfolded: ClassVar[int] = 0

    @classmethod
    def applies(cls, report: Report) -> bool:
        """Whether there is something to draw."""
        return any(report.tables.get(name) for name in cls.tables)

    @classmethod
    def pictures(cls, report: Report) -> Iterator[Picture]:
        """Yield the drawings."""
        del report
        yield from ()

    @classmethod
    def listings(cls, report: Report) -> Iterator[Listing]:
        """Yield what is to be read as it is written; nothing, for most views."""
        del report
        yield from ()

    @classmethod
    def sheets(cls, report: Report) -> Iterator[Sheet]:
        """Yield the tables behind the drawings, which say the same in words and numbers."""
        from tracelens.render._table_words import about  # noqa: PLC0415 -- for those who ask

        for name in cls.tables:
            if rows := report.tables.get(name):
                known = about(name)
                yield Sheet(known.title, rows, known.says)


@cache
def discovered() -> tuple[type[View], ...]:
    """Return the views in the order in which they are shown."""
    found: list[type[View]] = []
    for info in pkgutil.iter_modules(__path__, f"{__name__}."):
        module = importlib.import_module(info.name)
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, View)
            and value.__module__ == module.__name__
            and value.name
        ]
    return tuple(sorted(found, key=lambda view: (view.order, view.name)))
