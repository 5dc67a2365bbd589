"""IND031 product-per-step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.steps import Steps, steps
from tracelens.logs.graph_code import FxGraph
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural

__all__ = ["ProductPerStep"]

#: Rows of one product up to which several are slower than one: beyond, each fills the kernel.
FEW_ROWS = 64
#: Elements of the weights from which it is a warning.
LARGE = 1 << 14
#: Layers that are quoted.
MAX_QUOTED = 3
_INPUT = re.compile(r"[lg]_([a-zA-Z]\w{0,30})_\Z")


class ProductPerStep(Rule):
    """A layer is called in every round of a loop, on what no round changes.

    ## Why it matters
    Dynamo unrolls the loop. Each call is a product of few rows, which reads the whole weight for
    them, and is compiled by itself. One product of all rows reads the weight once.

    ## What it looks like
    In the traced graph, layers with one weight whose inputs are slices of one tensor, or whose
    results are stacked and nothing else:

        [0/0] [__graph_code] TRACED GRAPH
        [0/0] [__graph_code]  ===== __compiled_fn_1 =====
        [0/0] [__graph_code]  <eval_with_key>.0 class GraphModule(torch.nn.Module):
        [0/0] [__graph_code]     def forward(self, L_x_: "f32[12, 8, 64][512, 64, 1]cpu", L_w_: "f32[64, 64][64, 1]cpu"):
        [0/0] [__graph_code]         x: "f32[8, 64][64, 1]cpu" = L_x_[0]
        [0/0] [__graph_code]         linear: "f32[8, 64][64, 1]cpu" = torch._C._nn.linear(x, L_w_)
        [0/0] [__graph_code]         x_1: "f32[8, 64][64, 1]cpu" = L_x_[1]
        [0/0] [__graph_code]         linear_1: "f32[8, 64][64, 1]cpu" = torch._C._nn.linear(x_1, L_w_)

    ## When it is harmless
    With fewer than eight rounds, or more than 64 rows in each product, nothing is said; with weights
    of fewer than 16,384 elements it is a note. Nor is it said where a round needs the result of the
    one before, as the recurrent half of a cell does, where a result is fed back, as in decoding,
    where the weight, the tensor that is sliced, or an input is written into, through a view, too,
    where less than half of the tensor is read, or where gradients or autocast are switched within
    the loop.

    ## What to do
    Call the layer once, before the loop on the whole tensor, or behind it on the stacked inputs.
    The results are the same but for rounding.

    ## How a live run confirms it
    The same step with the call moved. Confirmed when the products are one, and the step is faster.

    ## See also
    CMP001 (what compiling an unrolled loop takes), ONE011 (many tiny primitives);
    <https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html>
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND031"
    name = "product-per-step"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """Products of one unrolled loop."""

        #: Layers, calls of them, and rows per call.
        layers: int
        products: int
        rows: int
        #: They read slices of a tensor; else their results are joined.
        is_before: bool
        #: ``stack`` or ``cat`` of the results, and along which dimension it is, or they are cut.
        join: str
        dim: int

    remedies = (
        Remedy(
            id="before-the-loop",
            text="Call the layer once before the loop, on the whole tensor, and take slices of its "
            "result where it was called.",
            when="its inputs are slices of one tensor",
            applies=lambda data: data.is_before,
            code=lambda data: (
                "every = layer(x)  # before the loop\n"
                f"y = every[{':, ' * data.dim}t]  # in it, for layer(x[{':, ' * data.dim}t])"
            ),
            basis="tested",
            proof="tests/advice/IND031/before-the-loop.py",
            edits=True,
        ),
        Remedy(
            id="behind-the-loop",
            text="Collect what the layer is called with, and call it once behind the loop.",
            when="nothing but a stack reads its results",
            applies=lambda data: not data.is_before,
            code=lambda data: f"y = layer(torch.{data.join}(inputs, dim={data.dim}))",
            basis="tested",
            proof="tests/advice/IND031/behind-the-loop.py",
            edits=True,
        ),
    )

    def check(self, graphs: Table[FxGraph]) -> Iterator[Finding]:
        """Yield one finding per loop, for the layers before it and for those behind it."""
        groups: dict[tuple[bool, str, str], list[Steps]] = {}
        for row in graphs:
            if not row.record.traced:
                continue
            of_graph: dict[tuple[bool, str, str], list[Steps]] = {}
            for one in steps(row):
                if one.rows <= FEW_ROWS:
                    function = one.origin.function if one.origin else ""
                    of_graph.setdefault((one.is_before, one.whole, function), []).append(one)
            for key, found in of_graph.items():
                groups.setdefault(key, found)
        for found in groups.values():
            yield self._finding(found)

    def _finding(self, found: list[Steps]) -> Finding:
        first = found[0]
        products = sum(len(one.products) for one in found)
        data = self.Data(
            layers=len(found),
            products=products,
            rows=first.rows,
            is_before=first.is_before,
            join=first.join,
            dim=first.dim,
        )
        layers = plural(len(found), "layer")
        calls = f"{plural(products, 'product')} of {plural(first.rows, 'row')}"
        origin = first.origin
        where = (
            f"Their inputs are slices of {_named(first)}, which is there before the loop."
            if first.is_before
            else f"Nothing but `{first.whole}` reads their results."
        )
        return self.finding(
            "before" if first.is_before else "behind",
            *((origin.file, origin.function) if origin else (first.products[0].label,)),
            title=f"{layers} of an unrolled loop could be called once, not in every round",
            message=f"{calls} are computed one by one. {where}",
            severity=Severity.WARNING
            if max(one.weight for one in found) >= LARGE
            else Severity.INFO,
            where=user_code.where(origin.frame if origin else None),
            evidence=[
                one.seen.quote(f"the first of {len(one.products)}", at=one.line(one.products[0]))
                for one in found[:MAX_QUOTED]
            ],
            advice=self.advise(data),
            data=data,
        )


def _named(one: Steps) -> str:
    """Return what the program calls an input of the graph, as ``l_x_`` is, where its line does."""
    found = _INPUT.match(one.whole)
    words = re.findall(r"\w+", one.origin.code) if one.origin else ()
    return f"`{found[1]}`" if found and found[1] in words else "one tensor"
