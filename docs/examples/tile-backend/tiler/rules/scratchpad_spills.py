"""TIL001 scratchpad-spills."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tiler.logs.tiler import Graph, Spill
from tracelens import Finding, Rule, Table
from tracelens.evidence import Seen
from tracelens.experiment import Experiment, Knob
from tracelens.remedies import Remedy
from tracelens.report import FindingData


class ScratchpadSpillsData(FindingData):
    """One product that spills."""

    compilation: str
    node: str
    cores: int
    tile: int
    #: Of one core.
    bytes: int


def smaller(data: ScratchpadSpillsData) -> Knob:
    """Return the change that makes the tiles smaller."""
    half = str(data.tile // 2)
    return Knob("smaller tiles", env={"TILER_TILE": half})


class ScratchpadSpills(Rule):
    """A tile is too large for the scratchpad of a core.

    ## Why it matters
    What does not fit is written to memory and read again for every block of the inner dimension.

    ## What it looks like

        tiler [0/0] spill node=matmul core=0 bytes=65536 tile=128

    ## When it is harmless
    Never: the next smaller tile does the same work.

    ## What to do
    Set ``TILER_TILE`` to half of the tile that the line names.

    ## How a live run confirms it
    It runs the program with the smaller tile: the lines must be gone.

    ## See also
    TIL003: smaller tiles also waste less at the edges.
    """

    code = "TIL001"
    name = "scratchpad-spills"
    Data = ScratchpadSpillsData
    remedies = (
        Remedy(
            id="smaller-tile",
            text="Make the tiles smaller.",
            env=lambda data: f"TILER_TILE={data.tile // 2}",
            applies=lambda data: data.tile >= 2,
            proof="examples/spills.py",
            knob=smaller,
        ),
    )

    def experiments(self, finding: Finding) -> tuple[Experiment, ...]:
        """Return the run with half of the tile."""
        data = ScratchpadSpillsData.model_validate(finding.data)
        return (Experiment(smaller(data), structure="gone", time="any"),)

    def check(self, graphs: Table[Graph], *, spills: Table[Spill]) -> Iterator[Finding]:
        """Yield one finding for each product: a graph without a spill is why it is quiet."""
        del graphs
        products: defaultdict[tuple[str, str], list[Seen[Spill]]] = defaultdict(list)
        for seen in spills:
            products[seen.record.compilation, seen.record.node].append(seen)
        for (compilation, node), rows in products.items():
            worst = max(rows, key=lambda seen: seen.record.bytes)
            data = ScratchpadSpillsData(
                compilation=compilation,
                node=node,
                cores=len(rows),
                tile=worst.record.tile,
                bytes=worst.record.bytes,
            )
            yield self.finding(
                compilation,
                node,
                title=f"{node} of [{compilation}] spills on {len(rows)} cores",
                message=f"A tile of {data.tile} is {data.bytes:,} bytes too large for a core.",
                count=len(rows),
                evidence=[worst.quote()],
                advice=self.advise(data),
                data=data,
            )
