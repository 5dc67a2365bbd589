"""TIL002 uneven-cores."""

from __future__ import annotations

from collections.abc import Iterator

from tiler.logs.tiler import Division
from tracelens import Advice, Finding, Rule, Severity, Table
from tracelens.report import Cost, FindingData

#: Share of the cores' time in which they wait that is worth a word.
IDLE = 0.25


class UnevenCoresData(FindingData):
    """How a product is divided."""

    compilation: str
    node: str
    tiles: int
    cores: int
    idle_share: float


class UnevenCores(Rule):
    """Cores wait for others, since the tiles cannot be divided evenly.

    ## Why it matters
    A product is done when the last core is.

    ## What it looks like

        tiler [0/0] division node=matmul tiles=9 cores=8 least=1 most=2

    ## When it is harmless
    Where there are fewer tiles than cores there is nothing more to divide; it is then a note.

    ## What to do
    Smaller tiles (``TILER_TILE``), or a size that is a multiple of cores times the tile.

    ## How a live run confirms it
    It does not: what would be even depends on the sizes of the program.

    ## See also
    TIL003.
    """

    code = "TIL002"
    name = "uneven-cores"
    severity = Severity.INFO
    unconfirmable = "what would be even depends on the sizes of the program"
    Data = UnevenCoresData

    def check(self, divisions: Table[Division]) -> Iterator[Finding]:
        """Yield one finding for each product whose cores wait."""
        for seen in divisions:
            of = seen.record
            idle = 1 - of.tiles / (of.cores * of.most) if of.most else 0.0
            if idle < IDLE:
                continue
            few = of.tiles < of.cores
            yield self.finding(
                of.compilation,
                of.node,
                title=f"{idle:.0%} of the cores' time is waiting: {of.node} of [{of.compilation}]",
                message=f"{of.tiles} tiles on {of.cores} cores: {of.least} to {of.most} each.",
                evidence=[seen.quote()],
                harmless="there are fewer tiles than cores" if few else None,
                cost=Cost(share=idle, basis="estimated", of="the cores' time in this product"),
                advice=[] if few else [Advice(text="Use smaller tiles.", env="TILER_TILE=64")],
                data=UnevenCoresData(
                    compilation=of.compilation,
                    node=of.node,
                    tiles=of.tiles,
                    cores=of.cores,
                    idle_share=idle,
                ),
            )
