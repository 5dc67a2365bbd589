"""IND029 dense-table-gradient."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.tables import Trained, trained_densely
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.output_code import OutputModule
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural, size

__all__ = ["DenseTableGradient"]

MAX_QUOTED = 3


class DenseTableGradient(Rule):
    """A compiled step trains a few rows of an embedding table, and writes a gradient of all.

    ## Why it matters
    A batch touches some hundred rows of a table of many thousands. The dense gradient is zero
    everywhere else, and still it is filled, written, read and fed to the optimizer, with its
    moments: a step takes as long as the table is large, not as the batch is. Neither the gradient's
    fill nor the optimizer's walk gets faster by compiling.

    ## What it looks like
    In the traced graph, lookups in a table (here of 50,000 rows) by few indices, with ``False`` for
    ``sparse``; in the generated code, a backward graph with ``embedding_dense_backward``:

        [0/0] [__graph_code] TRACED GRAPH
        [0/0] [__graph_code]  ===== __compiled_fn_1 =====
        [0/0] [__graph_code]  <eval_with_key>.0 class GraphModule(torch.nn.Module):
        [0/0] [__graph_code]     def forward(self, w: "f32[50000, 64][64, 1]cpu", i: "i64[512][1]cpu"):
        [0/0] [__graph_code]         e: "f32[512, 64][64, 1]cpu" = torch.nn.functional.embedding(i, w, None, None, 2.0, False, False)

    ## When it is harmless
    For tables below 4 MiB in all, and each below 1 MiB, and with more than one index for every eight
    rows: nothing is said.
    Tables that something else reads as well, such as a last layer that is tied to them, get a dense
    gradient anyway and are not told; nor are those on a GPU, nor those that are not trained. Nor are
    lookups that have no sparse gradient: with ``scale_grad_by_freq``, and bags with ``mode="max"``.

    ## What to do
    ``sparse=True`` in the embedding, and an optimizer that takes sparse gradients for its weights:
    ``SparseAdam``, or ``SGD`` without weight decay. Where one function looks up the same table
    twice, the lookup has to stay outside of the compiled code: there, sparse gradients cannot be
    added (torch 2.13 raises).

    ## How a live run confirms it
    The program runs with ``sparse=True``. Confirmed when the step's time falls.

    ## See also
    TRC031 (the same in a trace), IND009 (scatters);
    <https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html>
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND029"
    name = "dense-table-gradient"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """Tables whose gradient is dense, of the graph where they are largest."""

        tables: int
        rows: int
        #: Of all tables, and of their gradients.
        bytes: int
        #: How many rows a call looks up at most.
        indices: int
        #: Whether a table is looked up more than once in the graph.
        several: bool

    remedies = (
        Remedy(
            id="sparse",
            text="Make the gradient sparse, and give the tables an optimizer that takes it: "
            "SparseAdam, or SGD without weight decay. Other parameters keep theirs; "
            "pass those alone to `clip_grad_norm_` and its kin, which raise on sparse gradients.",
            when="each table is looked up once in the compiled function",
            applies=lambda data: not data.several,
            code=(
                "torch.nn.Embedding(rows, width, sparse=True); "
                "torch.optim.SparseAdam(embedding.parameters())"
            ),
            basis="tested",
            proof="tests/advice/IND029/sparse.py",
            edits=True,
        ),
        Remedy(
            id="sparse-outside",
            text="Make the gradient sparse, and give the tables an optimizer that takes it: "
            "SparseAdam, or SGD without weight decay. A table is looked up twice here, so its "
            "lookup has to stay out of the compiled code (a graph break): there, sparse gradients "
            "cannot be added; and `clip_grad_norm_` raises on them: leave the table out there.",
            when="a table is looked up several times in the compiled function",
            applies=lambda data: data.several,
            code=(
                "embedding = torch.nn.Embedding(rows, width, sparse=True)\n"
                "embedding.forward = torch.compiler.disable(embedding.forward)\n"
                "optimizer = torch.optim.SparseAdam(embedding.parameters())"
            ),
            basis="tested",
            proof="tests/advice/IND029/sparse-outside.py",
            edits=True,
        ),
        Remedy(
            id="fused",
            text="Or, with Adam, AdamW, SGD or Adagrad, let the optimizer walk the tables once: "
            "`fused=True`, in the class that the program has.",
            code="torch.optim.AdamW(model.parameters(), fused=True)",
            when="always: the log does not show the optimizer",
            since="2.4",
            basis="tested",
            proof="tests/advice/TRC031/fused.py",
        ),
    )

    def check(self, graphs: Table[FxGraph], *, modules: Table[OutputModule]) -> Iterator[Finding]:
        """Yield one finding, for the graph with the largest tables."""
        groups: dict[int, list[Trained]] = {}
        for one in trained_densely(graphs, modules):
            groups.setdefault(id(one.seen), []).append(one)
        if groups:
            tables = max(groups.values(), key=lambda group: sum(one.bytes for one in group))
            yield self._finding(sorted(tables, key=lambda one: -one.bytes))

    def _finding(self, tables: list[Trained]) -> Finding:
        first = tables[0]
        data = self.Data(
            tables=len(tables),
            rows=sum(one.rows for one in tables),
            bytes=sum(one.bytes for one in tables),
            indices=sum(one.indices for one in tables),
            several=any(len(one.lookups) > 1 for one in tables),
        )
        return self.finding(
            str(len(tables)),
            title=f"{plural(len(tables), 'embedding table')} of {size(data.bytes)} "
            f"get{'s' if len(tables) == 1 else ''} a dense gradient in every step",
            message=f"At most {data.indices:,} of {data.rows:,} rows are looked up. The gradient "
            "has them all: the backward graph fills it with zeros, and the optimizer walks it, the "
            "table and its moments.",
            count=len(tables),
            where=user_code.where(first.origin.frame if first.origin else None),
            evidence=[
                one.seen.quote(f"{one.rows:,} rows, {size(one.bytes)}", at=one.line)
                for one in tables[:MAX_QUOTED]
            ],
            advice=self.advise(data),
            data=data,
        )
