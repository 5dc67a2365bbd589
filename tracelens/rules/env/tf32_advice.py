"""ENV002 tf32-advice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.guards import GuardTree
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.warnings import TorchWarning

__all__ = ["Tf32Advice"]


class Tf32Advice(Rule):
    """torch says that a GPU could compute float32 products in TF32, and that this is off.

    ## Why it matters
    Since Ampere, NVIDIA GPUs multiply float32 matrices on tensor cores when they may round the
    factors to 10 bits of mantissa. That is several times faster for large products, and off until
    the program allows it.

    ## What it looks like
        /home/ana/venv/lib/python3.11/site-packages/torch/_inductor/compile_fx.py:321: UserWarning: TensorFloat32 tensor cores for float32 matrix multiplication available but not enabled. Consider setting `torch.set_float32_matmul_precision('high')` for better performance.
          warnings.warn(

    ## When it is harmless
    Where float32 products are a small part of the step, or the program needs all 24 bits. torch
    warns once for any graph with a float32 product, whatever its size, so this is information; what
    products cost is said by TRC019 and TUN010. Where the log shows that TF32 was allowed later, the
    rule keeps quiet.

    ## What to do
    Allow TF32 at the start of the program, and compare results with those of float32.

    ## How a live run confirms it
    The workload runs with TF32 allowed, and the largest error against float32 is reported.
    Confirmed when a step gets faster.

    ## See also
    TRC019 (products of a trace), TUN010 (AUTOTUNE tables);
    <https://pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-devices>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ENV002"
    name = "tf32-advice"
    severity = Severity.INFO
    moved_by: ClassVar = {"warnings.topic": {"tf32"}}
    experiment = Experiment(
        Knob(
            "TF32 in matrix products",
            changes_results=True,
            env={"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"},
        )
    )

    class Data(InRun):
        """torch's warning, and how often it came."""

        warnings: int

    remedies = (
        Remedy(
            id="high",
            text="Allow TF32 before the model is compiled; check that results are good enough.",
            setting='torch.set_float32_matmul_precision("high")',
            since="1.12",
            basis="tested",
            proof="tests/advice/ENV002/high.py",
            knob=experiment.knob,
        ),
    )

    def check(
        self,
        *,
        warnings: Table[TorchWarning],
        trees: Table[GuardTree],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding for the warning, however often it is printed."""
        rows = [row for row in warnings if row.record.topic == "tf32"]
        allowed = any(
            guard.state.get("allow_tf32")
            for tree in trees
            for guard in tree.record.guards
            if guard.is_global
        )
        if rows and not allowed:
            data = self.Data.of(run, warnings=sum(row.count for row in rows))
            yield self.finding(
                "tf32",
                title="float32 products do not use the GPU's TF32 tensor cores",
                message=(
                    "torch warns that TF32 is available and not allowed: float32 products run at "
                    "the rate of the plain cores."
                ),
                count=sum(row.count for row in rows),
                evidence=[row.quote() for row in few(rows)],
                advice=self.advise(data),
                data=data,
            )
