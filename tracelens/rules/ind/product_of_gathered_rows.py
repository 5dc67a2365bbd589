"""IND033 product-of-gathered-rows."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.gathered import Gathered, gathered
from tracelens.logs.graph_code import FxGraph
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule

__all__ = ["ProductOfGatheredRows"]

#: Multiplications for nothing from which a gain was measured.
MANY = 8_000_000
#: What they are of the product's at least.
PART = 0.25


class ProductOfGatheredRows(Rule):
    """A layer multiplies rows that were copied before: message passing, computed per edge.

    ## Why it matters
    A graph has more edges than nodes. ``layer(torch.cat([h[src], h[dst]], -1))`` writes a row for
    each edge and multiplies it, the same node's rows again and again. The layer is linear: applied
    to the nodes, its results can be gathered and added.

    ## What it looks like
    In the traced graph, rows that an index copies, joined or not, and a product that reads them:

        [0/0] [__graph_code] TRACED GRAPH
        [0/0] [__graph_code]  ===== __compiled_fn_1 =====
        [0/0] [__graph_code]  <eval_with_key>.0 class GraphModule(torch.nn.Module):
        [0/0] [__graph_code]     def forward(self, L_h_: "f32[500, 64][64, 1]cpu", L_src_: "i64[8000][1]cpu", L_w_: "f32[64, 64][64, 1]cpu"):
        [0/0] [__graph_code]         sent: "f32[8000, 64][64, 1]cpu" = L_h_[L_src_]
        [0/0] [__graph_code]         linear: "f32[8000, 64][64, 1]cpu" = torch._C._nn.linear(sent, L_w_)

    ## When it is harmless
    With fewer than two copies of a row on average, below 8 million multiplications for nothing or a
    quarter of the product's, or where the result has four times as many columns as what is gathered
    (copying it costs what the product saves), nothing is said. It is information: what else runs
    per edge stays, so that calls took 0.6 to 1.0 times as long with the line changed (torch 2.13,
    one thread of a CPU with AVX2). Nor is it said where an activation stands between the index and the product, sizes are symbolic,
    what is read is written into, or a grad mode or autocast changes within the graph.

    ## What to do
    Apply the layer's columns to the nodes, gather the results, and add them. The results are the
    same but for rounding. A layer behind an activation stays where it is.

    ## How a live run confirms it
    The same step with the line changed. Confirmed when the product has the rows of the nodes, and
    the step is faster.

    ## See also
    IND009 (the sums of messages), IND032 (rows that are never read), IND027 (distances of pairs);
    <https://pytorch-geometric.readthedocs.io/en/latest/tutorial/create_gnn.html>
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND033"
    name = "product-of-gathered-rows"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """A product of copied rows, at one line."""

        #: Of the product, and of the largest tensor that is gathered from.
        rows: int
        nodes: int
        #: Columns of the product's input that are gathered, all of them, and of its result.
        gathered: int
        depth: int
        columns: int
        #: Multiplications for nothing per call.
        work: int
        is_joined: bool

    remedies = (
        Remedy(
            id="gather-behind",
            text="Apply the layer before rows are gathered, and gather its result.",
            when="all that the product reads is gathered by one index",
            applies=lambda data: not data.is_joined,
            code="y = layer(h)[index]  # for layer(h[index])",
            basis="tested",
            proof="tests/advice/IND033/gather-behind.py",
            edits=True,
        ),
        Remedy(
            id="split-layer",
            text="Split the layer's weight into the columns of each joined part, in their order. "
            "Multiply what is gathered before it is gathered, gather the results, and add them and "
            "the bias.",
            when="what is gathered is joined with other columns",
            applies=lambda data: data.is_joined,
            code=(
                "first, second = layer.weight.split([h.shape[1], h.shape[1]], dim=1)\n"
                "y = (h @ first.t() + layer.bias)[src] + (h @ second.t())[dst]"
                "  # for layer(torch.cat([h[src], h[dst]], -1))"
            ),
            basis="tested",
            proof="tests/advice/IND033/split-layer.py",
            edits=True,
        ),
    )

    def check(self, graphs: Table[FxGraph]) -> Iterator[Finding]:
        """Yield one finding per line."""
        groups: dict[object, list[Gathered]] = {}
        for row in graphs:
            if row.record.traced:
                for one in gathered(row):
                    where = (one.origin.file, one.origin.line) if one.origin else row.record.name
                    groups.setdefault(where, []).append(one)
        for group in groups.values():
            first = max(group, key=lambda one: one.saved)
            if first.saved >= MANY and first.share >= PART:
                yield self._finding(first)

    def _finding(self, first: Gathered) -> Finding:
        nodes = max(part.rows for part in first.parts)
        columns = sum(part.columns for part in first.parts)
        data = self.Data(
            rows=first.rows,
            nodes=nodes,
            gathered=columns,
            depth=first.depth,
            columns=first.columns,
            work=first.saved,
            is_joined=len(first.parts) > 1 or columns < first.depth,
        )
        origin = first.origin
        return self.finding(
            *((origin.file, origin.function) if origin else (first.product.label,)),
            title=f"a layer multiplies {first.rows:,} rows that are copies of {nodes:,}",
            message=f"{columns} of the {first.depth} columns that `{first.product.label}` "
            f"multiplies are rows of `{first.parts[0].source}`, gathered by an index: "
            f"{first.share:.0%} of its multiplications are repeated.",
            where=user_code.where(origin.frame if origin else None),
            evidence=[
                *(
                    first.seen.quote("gathers rows", at=first.line(part.node))
                    for part in first.parts[:2]
                ),
                first.seen.quote("multiplies them", at=first.line(first.product)),
            ],
            advice=self.advise(data),
            data=data,
        )
