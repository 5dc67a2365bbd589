"""TIL003 padded-tiles."""

from __future__ import annotations

from collections.abc import Iterator

from tiler.logs.tiler import Layout
from tracelens import Advice, Finding, Rule, Table
from tracelens.report import Cost, FindingData

#: Share of what is computed that may be thrown away.
PADDED = 0.2


class PaddedTilesData(FindingData):
    """A product with padding."""

    compilation: str
    node: str
    rows: int
    columns: int
    tile: int
    padded_share: float


class PaddedTiles(Rule):
    """A large part of the tiles is padding.

    ## Why it matters
    Padding is computed like everything else, and thrown away.

    ## What it looks like

        tiler [0/0] layout node=matmul_1 rows=1024 columns=130 inner=1152 tile=128 padded=0.492

    ## When it is harmless
    Below a fifth nothing is said.

    ## What to do
    Pad the model's size itself to a multiple of the tile, once, or use smaller tiles.

    ## How a live run confirms it
    It does not: the size is the model's.

    ## See also
    TIL001.
    """

    code = "TIL003"
    name = "padded-tiles"
    unconfirmable = "the size is the model's"
    Data = PaddedTilesData

    def check(self, layouts: Table[Layout]) -> Iterator[Finding]:
        """Yield one finding for each product."""
        for seen in layouts.where(lambda layout: layout.padded > PADDED):
            of = seen.record
            yield self.finding(
                of.compilation,
                of.node,
                title=f"{of.padded:.0%} of the tiles of {of.node} of [{of.compilation}] is padding",
                message=f"{of.rows} x {of.columns} in tiles of {of.tile}.",
                evidence=[seen.quote()],
                cost=Cost(share=of.padded, basis="estimated", of="the work of this product"),
                advice=[
                    Advice(text=f"Make the sizes multiples of {of.tile}, or the tiles smaller.")
                ],
                data=PaddedTilesData(
                    compilation=of.compilation,
                    node=of.node,
                    rows=of.rows,
                    columns=of.columns,
                    tile=of.tile,
                    padded_share=of.padded,
                ),
            )
