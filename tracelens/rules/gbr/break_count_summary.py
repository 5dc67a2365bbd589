"""GBR012 break-count-summary."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite, records, sites
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.report import Advice, Finding, Severity
from tracelens.rules import Rule

__all__ = ["BreakCountSummary"]

#: Places that are spelled out, and characters of a type.
MAX_LISTED = 5
MAX_TYPE = 60
#: Breaks that somebody asked for.
DELIBERATE = frozenset({"ddp", "explicit", "disabled"})


class BreakCountSummary(Rule):
    """How many graph breaks there are, at how many places of the program.

    ## Why it matters
    The log repeats a break for every variant and every resumed function: 46 records can be ten
    lines of code. The places are what there is to fix, and the number of records says how often
    each of them hurts.

    ## What it looks like
    Most records are repetitions, which torch prints without their stack since 2.7:

        [2/0] [__graph_breaks] Graph break (user stack suppressed due to duplicate graph break) \
in user code at /home/ana/proj/model.py:39
        [2/0] [__graph_breaks] Graph Break Reason: Data-dependent branching

    ## When it is harmless
    A few breaks between large graphs cost little, and breaks in set-up code of the first call do
    not come again. Where every break was asked for, by ``torch._dynamo.graph_break()`` or
    ``torch.compiler.disable``, the finding is a note; torch itself does so around optimizers. It is
    one as well where there is a single place, which has a finding of its own.

    ## What to do
    Fix the places from the top: those with many records, and those that gave up whole functions.

    ## How a live run confirms it
    ``torch._dynamo.explain(model)(*inputs)`` counts the graphs per call before and after.

    ## See also
    GBR001, GBR002, GBR003 (single places), GBR015 (many small graphs).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html>
    """

    code = "GBR012"
    name = "break-count-summary"
    severity = Severity.INFO
    unconfirmable = "it counts breaks that have findings of their own, whose experiments test them"

    def check(self, breaks: Table[GraphBreak], *, setup: Table[SetupBreak]) -> Iterator[Finding]:
        """Yield the summary."""
        by_place: dict[tuple[str, int], list[BreakSite]] = {}
        for site in sites(breaks, setup=setup):
            by_place.setdefault((site.record.file, site.record.line), []).append(site)
        ranked = sorted(by_place.values(), key=lambda group: -records(group))
        if not ranked:
            return
        count = sum(records(group) for group in ranked)
        skipped = sum(site.skipped for group in ranked for site in group)
        lost = f"; {skipped} gave up a whole function" if skipped else ""
        yield self.finding(
            "summary",
            title=f"{_counted(count, 'graph break')} at {_counted(len(ranked), 'place')}{lost}",
            message=f"By place: {'; '.join(_listed(group) for group in ranked[:MAX_LISTED])}"
            + (f"; and {len(ranked) - MAX_LISTED} more." if len(ranked) > MAX_LISTED else "."),
            severity=Severity.NONE if _adds_nothing(ranked) else None,
            count=count,
            where=user_code.where(ranked[0][0].line),
            evidence=[
                seen.quote(_counted(records(group), "record"), place=place)
                for group in ranked[:MAX_LISTED]
                for place, seen in group[0].events[:1]
            ],
            advice=[Advice(text="Fix the places with most records first.")],
        )


def _listed(group: list[BreakSite]) -> str:
    record = group[0].record
    types = ", ".join(dict.fromkeys(_cut(site.record.text) for site in group))
    told = f"{records(group)}, {types}" if types else str(records(group))  # cut before the reason
    return f"{user_code.short(record.file, record.line)} ({told})"


def _adds_nothing(ranked: list[list[BreakSite]]) -> bool:
    """Whether all breaks were asked for, or the only place is one that another rule tells about."""
    if len(ranked) == 1 and all(site.family != "other" for site in ranked[0]):
        return True
    return all(_deliberate(group) for group in ranked)


def _deliberate(group: list[BreakSite]) -> bool:
    return all(site.family in DELIBERATE for site in group)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TYPE else f"{text[:MAX_TYPE]}..."


def _counted(number: int, one: str) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
