"""IND030 one-hot-product."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.one_hots import OneHot, one_hots
from tracelens.logs.graph_code import FxGraph
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule

__all__ = ["OneHotProduct"]

#: Elements of the matrix per call of the graph from which it is told, and is a warning.
MANY, LARGE = 1 << 20, 1 << 21

LINEAR = "y = torch.nn.functional.embedding(ids, layer.weight.t()) + layer.bias"
TABLE = "y = torch.nn.functional.embedding(ids, table)"
PART = "part = torch.nn.functional.embedding(ids, layer.weight[:, first:last].t())"


class OneHotProduct(Rule):
    """A one-hot matrix is multiplied with a weight: a lookup, written as a product.

    ## Why it matters
    Each row of the result is one row of the weight. The product multiplies all of them, nearly all
    with zero, and the matrix of zeros is written and read. A lookup copies the row.

    ## What it looks like
    In the traced graph, ``one_hot`` (or a single one that is scattered into zeros), and a product
    that reads it as its first factor:

        [0/0] [__graph_code] TRACED GRAPH
        [0/0] [__graph_code]  ===== __compiled_fn_1 =====
        [0/0] [__graph_code]  <eval_with_key>.0 class GraphModule(torch.nn.Module):
        [0/0] [__graph_code]     def forward(self, L_ids_: "i64[512][1]cpu", L_w_: "f32[8192, 64][64, 1]cpu"):
        [0/0] [__graph_code]         one_hot: "i64[512, 8192][8192, 1]cpu" = torch._C._nn.one_hot(L_ids_, 8192)
        [0/0] [__graph_code]         float_1: "f32[512, 8192][8192, 1]cpu" = one_hot.float()
        [0/0] [__graph_code]         y: "f32[512, 64][64, 1]cpu" = float_1 @ L_w_

    ## When it is harmless
    Below a million elements nothing is said, below 2 million it is a note. Nor is it said of rows
    with several ones, of matrices that are changed before the product, as for smoothed labels, of
    batched factors, or of one-hot matrices that are transposed (sums by class).

    ## What to do
    Look the rows up with ``torch.nn.functional.embedding``. The rows of ``nn.Linear`` are the
    columns of its weight.

    ## How a live run confirms it
    The same step with the line changed. Confirmed when the matrix is gone and the step is faster.

    ## See also
    IND027 (another product that is hidden), IND029 (gradients of tables);
    <https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.embedding.html>
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND030"
    name = "one-hot-product"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """A one-hot matrix, at one line."""

        rows: int
        classes: int
        elements: int
        #: Other columns stand beside it in the product.
        is_joined: bool
        #: ``nn.Linear`` multiplies, whose weight is transposed.
        is_linear: bool

    remedies = (
        Remedy(
            id="table",
            text="Look the rows up, with the indices that the one-hot matrix is made of.",
            when="the product's second factor has a row for each class",
            applies=lambda data: not data.is_joined and not data.is_linear,
            code=TABLE,
            basis="tested",
            proof="tests/advice/IND030/table.py",
            edits=True,
        ),
        Remedy(
            id="columns",
            text="Look them up as columns of the layer's weight, with the indices that the one-hot "
            "matrix is made of; add the bias, if it has one.",
            when="a linear layer multiplies",
            applies=lambda data: not data.is_joined and data.is_linear,
            code=LINEAR,
            basis="tested",
            proof="tests/advice/IND030/columns.py",
            edits=True,
        ),
        Remedy(
            id="part",
            text="Leave it out of what is joined. Look its part of the result up as columns of the "
            "weight, those that stand where it did; give the layer's other columns the rest, and "
            "add both.",
            when="other columns stand beside it",
            applies=lambda data: data.is_joined,
            code=PART,
            basis="tested",
            proof="tests/advice/IND030/part.py",
            edits=True,
        ),
    )

    def check(self, graphs: Table[FxGraph]) -> Iterator[Finding]:
        """Yield one finding per line."""
        groups: dict[object, list[OneHot]] = {}
        for row in graphs:
            if row.record.traced:
                for one in one_hots(row):
                    where = (one.origin.file, one.origin.line) if one.origin else row.record.name
                    groups.setdefault(where, []).append(one)
        for group in groups.values():
            first = max(group, key=lambda one: one.elements)
            if first.elements >= MANY:
                yield self._finding(first)

    def _finding(self, first: OneHot) -> Finding:
        data = self.Data(
            rows=first.rows,
            classes=first.classes,
            elements=first.elements,
            is_joined=first.is_joined,
            is_linear=first.is_linear,
        )
        origin = first.origin
        return self.finding(
            *((origin.file, origin.function) if origin else (first.product.label,)),
            title="a one-hot matrix is multiplied with a weight",
            message=f"`{first.made.label}` has {first.rows:,} rows of {first.classes:,}, of which "
            "one is not zero. The product computes with all of them; a lookup copies the row.",
            severity=Severity.WARNING if first.elements >= LARGE else Severity.INFO,
            where=user_code.where(origin.frame if origin else None),
            evidence=[
                first.seen.quote("the one-hot matrix", at=first.line(first.made)),
                first.seen.quote("its product", at=first.line(first.product)),
            ],
            advice=self.advise(data),
            data=data,
        )
