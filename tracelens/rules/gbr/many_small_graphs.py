"""GBR015 many-small-graphs."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite, by_place, records, sites
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.frames import Frame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.report.stories import Story, graph_break
from tracelens.rules import Rule
from tracelens.rules.gbr._site_rule import Line
from tracelens.words import few

__all__ = ["ManySmallGraphs"]

#: Code objects compiled, and breaks between them, from which a model counts as cut to pieces.
MIN_FRAMES, MIN_BREAKS = 10, 5
#: Kernels and library calls of the median graph; larger graphs are worth having.
SMALL = 10


class PiecesData(FindingData):
    """A model in pieces: compiled functions, graph breaks and their lines, the worst first."""

    functions: int
    records: int
    places: tuple[Line, ...]
    #: Kernels and library calls of the median graph, where the log has the code.
    kernels: float | None = None


class ManySmallGraphs(Rule):
    """Graph breaks cut the model into many graphs of a few kernels each.

    ## Why it matters
    Every graph checks its guards, runs a wrapper and launches its kernels by itself, and nothing is
    fused across its border. A model in dozens of pieces often gains nothing from being compiled.

    ## What it looks like
    Many compile ids, most of functions named ``torch_dynamo_resume_in_...``:

        V1120 12:00:00.000000 71 torch/_dynamo/guards.py:5396] [7/1] [__recompiles] Recompiling function torch_dynamo_resume_in_forward_at_265 in /home/ana/proj/model.py:265
        V1120 12:00:00.000000 71 torch/_dynamo/guards.py:5396] [7/1] [__recompiles]     triggered by the following guard failure(s):
        V1120 12:00:00.000000 71 torch/_dynamo/guards.py:5396] [7/1] [__recompiles]     - 7/0: n == 2

    ## When it is harmless
    When the graphs between the breaks are large. Where the log shows the generated code, graphs of
    more than ten kernels are left alone.

    ## What to do
    Remove the breaks that come first, as their own findings say.

    ## How a live run confirms it
    ``torch._dynamo.explain`` counts the graphs per call before and after.

    ## See also
    GBR012 (all breaks by place).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR015"
    name = "many-small-graphs"
    severity = Severity.WARNING
    unconfirmable = "it counts breaks that have findings of their own, whose experiments test them"

    Data = PiecesData
    remedies = (
        Remedy(
            "breaks-first",
            "Remove the breaks with most records first: GBR012 lists them.",
            basis="untestable",
            proof="it says where to begin; the rules about those places say what to do",
        ),
    )

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the place with most records."""
        data = self.data_of(finding)
        if isinstance(data, PiecesData):
            yield from (graph_break(place.file, place.line) for place in data.places)

    def check(
        self, frames: Table[Frame], breaks: Table[GraphBreak], *, setup: Table[SetupBreak]
    ) -> Iterator[Finding]:
        """Yield at most one finding: the cause is the breaks together."""
        places = by_place(sites(breaks, setup=setup))
        compiled = {seen.record.id.partition("/")[0] for seen in frames}
        sizes = [size for seen in frames if (size := _size(seen.record)) is not None]
        typical = _median(sizes) if sizes else None
        if len(compiled) < MIN_FRAMES or _records(places) < MIN_BREAKS:
            return
        if typical is not None and typical >= SMALL:
            return
        each = f", half of them with at most {typical:g} kernels or library calls" if sizes else ""
        worst = places[0][0]
        data = PiecesData(
            functions=len(compiled),
            records=_records(places),
            kernels=typical,
            places=tuple(
                Line(file=group[0].record.file, line=group[0].record.line) for group in places
            ),
        )
        yield self.finding(
            "pieces",
            title=f"the model runs as {len(compiled)} separately compiled functions",
            message=(
                f"{_records(places)} graph breaks at {len(places)} places cut it into "
                f"{len(compiled)} compiled functions{each}. Each of them checks guards and "
                "launches kernels by itself."
            ),
            count=1,
            where=user_code.where(worst.line),
            evidence=[seen.quote(place=place) for place, seen in few(worst.events)],
            advice=self.advise(data),
            data=data,
        )


def _size(frame: Frame) -> int | None:
    """Return how many kernels and library calls a frame's first code has; None without code."""
    modules = frame.modules
    if not modules or frame.entry:
        return None
    from tracelens.logs._statements import ExternCall, KernelCall  # noqa: PLC0415 -- code was read

    steps = modules[0].record.steps
    return sum(isinstance(step.code, ExternCall | KernelCall) for step in steps)


def _median(sizes: list[int]) -> float:
    """Return what the module ``statistics`` does, which takes long to import."""
    half, odd = divmod(len(sizes), 2)
    ordered = sorted(sizes)
    return ordered[half] if odd else (ordered[half - 1] + ordered[half]) / 2


def _records(places: list[list[BreakSite]]) -> int:
    return sum(records(group) for group in places)
