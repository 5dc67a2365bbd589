"""IND013 bad-tiling-hint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, TypeVar

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs import Joined, Record
from tracelens.logs.perf_hints import (
    BadTiling,
    FallbackKernel,
    PaddingSkipped,
    PerfHints,
    ReductionOrder,
    TilingLimited,
)
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural

__all__ = ["BadTilingHint"]

MAX_QUOTED = 3
R = TypeVar("R", BadTiling, ReductionOrder, TilingLimited)


class Hinted(Joined):
    """A performance hint of any kind: it shows that they were asked for."""

    switch: ClassVar[str] = PerfHints.switch

    @classmethod
    def join(
        cls,
        fallbacks: Table[FallbackKernel],
        skipped: Table[PaddingSkipped],
        tilings: Table[BadTiling],
        reductions: Table[ReductionOrder],
        limits: Table[TilingLimited],
    ) -> Iterator[Seen[Hinted]]:
        """Take them all."""
        for seen in (*fallbacks, *skipped, *tilings, *reductions, *limits):
            yield Seen(cls(), seen.count, seen.places, seen.text)


class BadTilingHint(Rule):
    """Inductor warns of a Triton kernel's tiling: its accesses are not coalesced.

    ## Why it matters
    Threads that read neighbours in memory share a transaction. Where the tensors of a kernel are
    laid out differently, or a reduction runs over the dimension that is not contiguous, one set of
    tiles cannot serve all of them, and the kernel reaches a fraction of the bandwidth.

    ## What it looks like
    A performance hint:

        [0/0] [__perf_hints] Reduction over non-contiguous dims.
        [0/0] [__perf_hints] Consider setting config.triton.tile_reductions to True.

    ## When it is harmless
    Often: the hint is about structure, and many such kernels run at full bandwidth all the same, or
    are small. It is a note, folded where the sizes are symbols.

    ## What to do
    Try the setting that the hint names, and measure; or change the layout of the tensor that is
    read across.

    ## How a live run confirms it
    The kernel's time with the setting. Confirmed when it falls; refuted when it stays or rises.

    ## See also
    IND008 (copies between layouts), IND015 (registers that spill).
    """

    code = "IND013"
    name = "bad-tiling-hint"
    severity = Severity.INFO
    experiment = Experiment(
        Knob(
            "reductions are tiled", config={"torch._inductor.config.triton.tile_reductions": True}
        ),
        structure="stays",
    )

    class Data(FindingData):
        """One kind of hint, and how many kernels it is about."""

        #: ``BadTiling``, ``ReductionOrder`` or ``TilingLimited``.
        hint: str
        kernels: int

    remedies = (
        Remedy(
            id="nd-tiling",
            text="Let tiles follow all dimensions, and measure.",
            when="no tiling suits all tensors",
            applies=lambda data: data.hint == "BadTiling",
            setting="torch._inductor.config.triton.prefer_nd_tiling = True",
            since="2.5",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="tile-reductions",
            text="Let reductions have tiles, and measure.",
            when="a reduction whose accesses are not coalesced",
            applies=lambda data: data.hint == "ReductionOrder",
            setting="torch._inductor.config.triton.tile_reductions = True",
            since="2.7",
            basis="untestable",
            proof="needs a GPU",
            knob=experiment.knob,
        ),
        Remedy(
            id="more-tiles",
            text="Allow one dimension more, and measure.",
            when="fewer tiles than would be best",
            applies=lambda data: data.hint == "TilingLimited",
            setting="torch._inductor.config.triton.max_tiles = 3",
            basis="untestable",
            proof="needs a GPU",
        ),
    )

    def check(
        self,
        hinted: Table[Hinted],
        *,
        tilings: Table[BadTiling],
        reductions: Table[ReductionOrder],
        limits: Table[TilingLimited],
    ) -> Iterator[Finding]:
        """Yield one finding per kind of hint."""
        del hinted
        if len(tilings):
            yield self._finding(BadTiling, tilings)
        if len(reductions):
            yield self._finding(ReductionOrder, reductions)
        if len(limits):
            yield self._finding(TilingLimited, limits)

    def _finding(self, kind: type[R], group: Table[R]) -> Finding:
        count = group.count
        title, message = _TOLD[kind]
        data = self.Data(hint=kind.__name__, kernels=count)
        return self.finding(
            kind.__name__,
            title=f"{plural(count, 'kernel')}: {title}",
            message=message,
            harmless=_UNKNOWN if all(_is_symbolic(row.record) for row in group) else None,
            confidence=Confidence.MEDIUM,
            count=count,
            evidence=[_quote(row) for row in group][:MAX_QUOTED],
            advice=self.advise(data),
            data=data,
        )


def _is_symbolic(hint: Record) -> bool:
    """Return whether sizes are symbols, of which Inductor does not know whether they matter."""
    return isinstance(hint, BadTiling) and re.search(r"\bs\d+\b", hint.tilings) is not None


def _quote(row: Seen[R]) -> EvidenceLine:
    """Return the first line that is not empty: torch begins some hints with a new line."""
    lines = row.text.split("\n")
    return row.quote(at=next((number for number, line in enumerate(lines) if line.strip()), 0))


_UNKNOWN = "their sizes are symbols: Inductor warns whenever it cannot compare the tilings"
_TOLD: dict[type[Record], tuple[str, str]] = {
    BadTiling: (
        "no tiling suits all tensors",
        "The tensors of a kernel are laid out differently, so some of them are read across.",
    ),
    ReductionOrder: (
        "a reduction's accesses are not coalesced",
        "The dimension that is reduced is not the contiguous one.",
    ),
    TilingLimited: (
        "fewer tiles than would be best",
        "Inductor found a tiling with more dimensions than the configuration allows.",
    ),
}
