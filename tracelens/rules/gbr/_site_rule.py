"""Rules about one kind of graph break: one finding per line of the program that causes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite, effect, once, sites
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.report import Advice, Finding, Severity
from tracelens.rules import Rule

__all__ = ["SiteRule", "named"]


class SiteRule(Rule):
    """Base of the rules that differ only in which breaks they judge and what they advise."""

    #: The families of breaks (see :class:`tracelens.logs.graph_breaks.Kind`) that the rule is
    #: about.
    families: ClassVar[frozenset[str]] = frozenset()

    def check(self, breaks: Table[GraphBreak], *, setup: Table[SetupBreak]) -> Iterator[Finding]:
        """Yield one finding per line of the program."""
        for site in sites(breaks, self.families, setup=setup):
            if not self.wanted(site):
                continue
            line = site.line
            what = self.what(site)
            yield self.finding(
                what,
                *site.identity,
                title=f"{what} at {user_code.short(line.file, line.line)}",
                message=f"{once(site)}. {effect(site)}",
                severity=self.graded(site),
                count=site.count,
                where=user_code.where(line),
                evidence=site.quotes(),
                advice=self.advice(site),
            )

    def wanted(self, site: BreakSite) -> bool:
        """Tell whether the rule is about this break."""
        del site
        return True

    def what(self, site: BreakSite) -> str:
        """Say what breaks the graph, for the title."""
        raise NotImplementedError

    def advice(self, site: BreakSite) -> list[Advice]:
        """Say what to do about it."""
        raise NotImplementedError

    def graded(self, site: BreakSite) -> Severity:
        """Grade the break: a lost function weighs more than a cut one."""
        return Severity.WARNING if site.skipped else self.severity


def named(site: BreakSite) -> str:
    """Return the function, logger or operator that the record names; empty where it names none."""
    cause = site.record.cause
    if cause is None:
        return ""
    kind, context = cause.kind, cause.context
    of_kind = kind.skipped_name or kind.dynamic_operator or kind.drawn
    if context is None:
        return of_kind
    return context.qualname or context.operator or context.builtin or of_kind
