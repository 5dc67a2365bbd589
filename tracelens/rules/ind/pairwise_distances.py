"""IND027 pairwise-distances."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.distances import Distances, distances
from tracelens.logs.graph_code import FxGraph
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule

__all__ = ["PairwiseDistances"]

#: Dimensions from which the product was measured to be faster, twice and more.
DEEP = 32
#: Rows, and columns, from which it was: with few of them all that matters is reading the points.
WIDE = 256
#: Differences per call of the graph from which it is told, and from which it is a warning.
MANY, LARGE = 1 << 22, 1 << 25

SQUARES = """\
x2, y2 = x.square().sum(-1, keepdim=True), y.square().sum(-1, keepdim=True)
d = (x2 + y2.mT - 2 * x @ y.mT).clamp(min=0)"""


class PairwiseDistances(Rule):
    """Distances of all pairs are computed from a broadcast difference.

    ## Why it matters
    For n and m points in d dimensions n x m x d elements are subtracted, squared and added, one
    vector register at a time. The squares of the distances are also the squared norms of the
    points, less twice a matrix product, which does most of the work many times as fast. In training
    the gradient goes through all n x m x d elements again, which the product saves where they are
    many.

    ## What it looks like
    In the traced graph, a difference of tensors with a 1 where the other one has its points,
    its square, and a sum over the last dimension:

        [0/0] [__graph_code] TRACED GRAPH
        [0/0] [__graph_code]  ===== __compiled_fn_1 =====
        [0/0] [__graph_code]  <eval_with_key>.0 class GraphModule(torch.nn.Module):
        [0/0] [__graph_code]     def forward(self, a: "f32[4096, 1, 64][64, 64, 1]cpu", b: "f32[256, 64][64, 1]cpu"):
        [0/0] [__graph_code]         sub: "f32[4096, 256, 64][16384, 64, 1]cpu" = a - b
        [0/0] [__graph_code]         pow_1: "f32[4096, 256, 64][16384, 64, 1]cpu" = sub ** 2
        [0/0] [__graph_code]         d: "f32[4096, 256][256, 1]cpu" = pow_1.sum(-1)

    ## When it is harmless
    Below 32 dimensions, 256 rows or columns, and 4 million elements nothing is said: there a product
    gains little, or takes longer. So does its backward for squares of fewer than 32 million.
    Nor is it said where something else reads the difference, for other norms than the Euclidean
    one, in bfloat16 and float16, where the product loses too many digits, or for a GPU, where it
    has not been measured.

    ## What to do
    For distances, ``torch.cdist``. For their squares, the norms and a product. Where distances are
    far smaller than the norms of the points, both lose digits: subtract a mean from all points
    first.

    ## How a live run confirms it
    The same step with the line changed. Confirmed when it is faster.

    ## See also
    IND017 (attention that is written out), IND005 (kernels without vector registers);
    <https://docs.pytorch.org/docs/stable/generated/torch.cdist.html>
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND027"
    name = "pairwise-distances"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """Distances of all pairs, at one line."""

        #: Of the largest difference.
        size: tuple[int, ...]
        elements: int
        #: Whether the root is taken; else they are squares.
        is_root: bool
        #: Whether squares are averaged over the dimensions, not added.
        is_mean: bool
        #: Whether differences are multiplied by a number first.
        is_scaled: bool

        @property
        def same(self) -> str:
            """How what is printed becomes the same as before; empty where it is."""
            scaled = " Scale x and y before." if self.is_scaled else ""
            return scaled + (f" Divide by {self.size[-1]} for the mean." if self.is_mean else "")

        @property
        def trained(self) -> str:
            """What holds for training; empty where it gains there, too."""
            if self.elements >= LARGE:
                return ""
            return " In training, compare the times: with so few elements its backward took longer."

    remedies = (
        Remedy(
            id="cdist",
            text=lambda data: (
                "Let torch.cdist compute them, from the tensors before they are "
                "broadcast: x has the rows of the result, y its columns." + data.same
            ),
            when="the root is taken",
            applies=lambda data: data.is_root and not data.is_mean,
            code="d = torch.cdist(x, y)",
            basis="tested",
            proof="tests/advice/IND027/cdist.py",
            edits=True,
        ),
        Remedy(
            id="product",
            text=lambda data: (
                "Compute the squares with a matrix product, from the tensors before "
                "they are broadcast: x has the rows of the result, y its columns."
                + data.same
                + data.trained
            ),
            when="squares are needed",
            applies=lambda data: not data.is_root,
            code=SQUARES,
            basis="tested",
            proof="tests/advice/IND027/product.py",
            edits=True,
        ),
    )

    def check(self, graphs: Table[FxGraph]) -> Iterator[Finding]:
        """Yield one finding per line."""
        groups: dict[object, list[Distances]] = {}
        for row in graphs:
            if row.record.traced:
                for one in distances(row):
                    where = (one.origin.file, one.origin.line) if one.origin else row.record.name
                    groups.setdefault(where, []).append(one)
        for group in groups.values():
            first = max(group, key=lambda one: one.elements)
            *_, rows, columns, depth = first.size
            is_told = depth >= DEEP and min(rows, columns) >= WIDE and first.elements >= MANY
            if is_told and not (first.is_root and first.is_mean):
                yield self._finding(first)

    def _finding(self, first: Distances) -> Finding:
        data = self.Data(
            size=first.size,
            elements=first.elements,
            is_root=first.is_root,
            is_mean=first.is_mean,
            is_scaled=first.is_scaled,
        )
        origin, size = first.origin, "x".join(map(str, first.size))
        return self.finding(
            *((origin.file, origin.function) if origin else (size,)),
            title="distances of all pairs are computed from a broadcast difference",
            message=f"`{first.difference.label}` has {size} elements, {first.elements:,} in all, "
            "which are squared and summed over the last dimension. A matrix product gives the same "
            "sums several times as fast; where distances are far smaller than the norms of the "
            "points, with fewer digits.",
            severity=Severity.WARNING if first.elements >= LARGE else Severity.INFO,
            where=user_code.where(origin.frame if origin else None),
            evidence=[
                first.seen.quote("the difference", at=first.line(first.difference)),
                first.seen.quote("its sum", at=first.line(first.total)),
            ],
            advice=self.advise(data),
            data=data,
        )
