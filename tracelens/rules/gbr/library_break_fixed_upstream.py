"""GBR018 library-break-fixed-upstream."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.beside import look_beside
from tracelens.dynamo.breaks import BACKEND_EXCEPTION, BreakSite, records, sites
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story, graph_break
from tracelens.rules import Rule
from tracelens.rules.gbr._site_rule import LIBRARY, Line, break_data
from tracelens.rules.gbr._stories import library
from tracelens.rules.gbr._worst import WorstData, of_worst
from tracelens.words import few, plural

__all__ = ["LibraryBreakFixedUpstream"]

#: Breaks on purpose are nobody's bug.
DELIBERATE = frozenset({"disabled", "explicit"})
MAX_LISTED = 4


class LibraryData(WorstData):
    """The graph breaks inside one installed package."""

    package: str
    records: int
    places: tuple[Line, ...]


class LibraryBreakFixedUpstream(Rule):
    """Graph breaks stand in the code of an installed package, not in the program.

    ## Why it matters
    You cannot edit a package, but its next version may have removed the break, and its authors
    want to know. Which package it is decides where to look and where to report.

    ## What it looks like
        [0/0] [__graph_breaks] Graph break in user code at /home/ana/venv/lib/python3.11/site-packages/transformers/modeling_utils.py:4769
        [0/0] [__graph_breaks] Graph Break Reason: logging.Logger method not supported for non-export cases

    ## When it is harmless
    It is information beside the rule that names the break itself. Torch's own packages and breaks
    on purpose are left out.

    ## What to do
    Upgrade the package; look whether an option avoids the line; report it with the finding that
    names the break. Which versions fixed which line is not known to tracelens.

    ## How a live run confirms it
    The same calls with the newer version: no break at the place.

    ## See also
    GBR012 (all breaks).
    <https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR018"
    name = "library-break-fixed-upstream"
    severity = Severity.INFO
    unconfirmable = "it takes another version of the library"

    Data = LibraryData
    remedies = of_worst(LIBRARY)

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the breaks themselves, of which one is told, or to another of the package."""
        data = self.data_of(finding)
        if isinstance(data, LibraryData):
            yield from library(data.package)
            yield from (graph_break(place.file, place.line) for place in data.places)

    def check(
        self, breaks: Table[GraphBreak], *, setup: Table[SetupBreak], trees: Table[GuardTree]
    ) -> Iterator[Finding]:
        """Yield one finding per package."""
        by_package: dict[str, list[BreakSite]] = {}
        for site in sites(breaks, setup=setup):
            package = user_code.package(site.line.file)
            failed = site.record.text.startswith(BACKEND_EXCEPTION)  # an error, which GBR013 tells
            if package and not failed and site.family not in DELIBERATE:
                by_package.setdefault(package, []).append(site)
        for package, found in by_package.items():
            ranked = sorted(found, key=lambda site: -site.count)
            count = records(ranked)
            look_beside(ranked[:1], breaks, trees)
            places = dict.fromkeys(user_code.short(s.line.file, s.line.line) for s in ranked)
            data = LibraryData(
                package=package,
                worst=break_data(ranked[0]),
                records=count,
                places=tuple(Line(file=s.record.file, line=s.record.line) for s in ranked),
            )
            yield self.finding(
                package,
                title=f"{plural(count, 'graph break')} in `{package}` itself",
                message=(
                    "They are in the package, not in your program: "
                    f"{', '.join(list(places)[:MAX_LISTED])}"
                    f"{' and more' if len(places) > MAX_LISTED else ''}."
                ),
                count=count,
                where=user_code.where(ranked[0].caller or ranked[0].line),
                evidence=[
                    seen.quote(place=place)
                    for site in few(ranked)
                    for place, seen in site.events[:1]
                ],
                advice=self.advise(data),
                data=data,
            )
