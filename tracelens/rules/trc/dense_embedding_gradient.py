"""TRC031 dense-embedding-gradient."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import Operator, OptimizerCall
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.rules.trc.single_tensor_optimizer import with_fused
from tracelens.traces.form_rows import LaunchedIn
from tracelens.traces.measured import Step, Window
from tracelens.traces.rows import KernelTime, Timeline
from tracelens.traces.runs import runs
from tracelens.traces.views import COMPUTING, computing, on_each
from tracelens.words import length, percent

__all__ = ["DenseEmbeddingGradient"]

#: Operators that write a gradient of the whole table.
DENSE = frozenset({"embedding_dense_backward", "_embedding_bag_dense_backward"})
#: What they take of the time, at least, and what they and the optimizer take together.
MIN_DENSE = 0.02
MIN_SHARE = 0.6
#: An optimizer reads and writes a table with its moments: so many times what clearing it takes.
WALKS = 20.0


class Dense(FindingData):
    """What the dense gradient costs."""

    gradient_ms: float
    optimizer_ms: float
    of_ms: float
    optimizers: tuple[str, ...]
    fused: bool


def _takes_sparse(data: Dense) -> str:
    """Return the optimizer where the only one takes sparse gradients itself; else an empty text."""
    return data.optimizers[0] if data.optimizers in {("SGD",), ("Adagrad",)} else ""


class DenseEmbeddingGradient(Rule):
    """The gradient of an embedding is dense, and the optimizer walks the whole table each step.

    ## Why it matters
    A batch touches a few hundred rows of a table of millions. A dense gradient is zero everywhere
    else, and still it is written, read and fed to the optimizer, with its moments: the step takes as
    long as the table is large, not as the batch is.

    ## What it looks like
        {"ph": "X", "cat": "cpu_op", "name": "aten::embedding_dense_backward", "ts": 100.0, "dur": 9100.0, "pid": 1, "tid": 1}

    ## When it is harmless
    For small tables, and where most rows occur in each batch: below 2 % of the time for the
    gradient, or three fifths with the optimizer, the rule keeps quiet; on a GPU it does so as well
    where the optimizer takes more than the tables explain: twenty times what clearing them takes.

    ## What to do
    ``sparse=True`` in the embedding, and an optimizer that takes sparse gradients for its weights:
    ``SGD`` or ``SparseAdam``. Weight decay and momentum then act on the rows of the batch only. Where
    that is not wanted, a fused optimizer walks the table once instead of ten times.

    ## How a live run confirms it
    The program runs with ``sparse=True``. Confirmed when the step's time falls.

    ## See also
    TRC012 for optimizers that update one parameter at a time.
    <https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC031"
    name = "dense-embedding-gradient"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM
    Data = Dense
    remedies = (
        Remedy(
            id="sparse",
            text=lambda data: (
                "Make the gradient sparse; "
                + (
                    f"`{_takes_sparse(data)}` takes it where it has no weight decay. "
                    if _takes_sparse(data)
                    else "give the table an optimizer that takes it. "
                )
                + "`clip_grad_norm_` raises on sparse gradients: leave the table out there."
            ),
            code=lambda data: (
                "torch.nn.Embedding(rows, width, sparse=True)"
                + (
                    ""
                    if _takes_sparse(data)
                    else "; torch.optim.SparseAdam(embedding.parameters())"
                )
            ),
            basis="tested",
            proof="tests/advice/TRC031/sparse.py",
        ),
        Remedy(
            id="fused",
            text="Or let the optimizer walk the table once (on the CPU since 2.4).",
            code=lambda data: (
                f"torch.optim.{with_fused(data.optimizers)}(model.parameters(), fused=True)"
            ),
            when="the optimizer is an Adam, SGD or Adagrad that is not fused",
            applies=lambda data: not data.fused and bool(with_fused(data.optimizers)),
            since="2.0",
            basis="tested",
            proof="tests/advice/TRC031/fused.py",
        ),
    )

    def check(
        self,
        windows: Table[Window],
        operators: Table[Operator],
        *,
        steps: Table[Step],
        calls: Table[OptimizerCall],
        timelines: Table[Timeline],
        kernels: Table[KernelTime],
        inside: Table[LaunchedIn],
    ) -> Iterator[Finding]:
        """Yield one finding per trace that spends much on such gradients."""
        for run in runs(windows, steps):
            source = run.window.first.input
            mine = list(operators.within(source))
            rows = [row for row in mine if row.record.op in DENSE]
            whole, of = run.window.record.ms, "the trace"
            gradient = sum(row.ms for row in rows)
            optimizer = run.window.record.optimizer_ms or 0.0
            if run.on_device:
                whole, of = computing(timelines, source), COMPUTING
                known = [row.record for row in inside.within(source)]
                names = {f"aten::{name}" for name in DENSE}
                gradient = sum(row.device_ms for row in known if row.operator in names)
                ran = [row.record for row in kernels.within(source)]
                optimizer = sum(row.sum_ms for row in ran if row.kind == "optimizer")
            if gradient < MIN_DENSE * whole or whole <= 0:
                continue
            if run.on_device and optimizer > WALKS * gradient:
                continue
            if gradient + optimizer >= MIN_SHARE * whole:
                names_of = [
                    row.record.optimizer
                    for row in calls.within(source)
                    if row.record.call == "step"
                ]
                data = Dense(
                    gradient_ms=gradient,
                    optimizer_ms=optimizer,
                    of_ms=whole,
                    optimizers=tuple(dict.fromkeys(names_of)),
                    fused=any(row.record.op.startswith("_fused_") for row in mine),
                )
                yield on_each(self._finding(rows, data, of), timelines, source)

    def _finding(self, rows: list[Seen[Operator]], data: Dense, of: str) -> Finding:
        both = data.gradient_ms + data.optimizer_ms
        share = min(1.0, both / data.of_ms)
        n = sum(row.count for row in rows)
        return self.finding(
            *data.optimizers,
            title=f"dense gradients of embeddings take {percent(share)} of {of}",
            message=(
                f"{n} gradients of whole embedding tables take {length(data.gradient_ms)}, and the "
                f"optimizer, which walks the tables, {length(data.optimizer_ms)} of "
                f"{length(data.of_ms)}, however few rows a batch has."
            ),
            confidence=Confidence.MEDIUM,
            count=n,
            evidence=[row.quote(f"{row.count} calls, {length(row.ms)} in all") for row in rows],
            cost=Cost(ms=both, share=share, basis="upper_bound", of=of),
            advice=self.advise(data),
            data=data,
        )
