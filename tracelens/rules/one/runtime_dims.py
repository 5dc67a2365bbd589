"""ONE017 runtime-dims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.onednn_verbose import CpuIsa, DispatchRejection, NestedCreate, Primitive
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.implementations import Grade, grade
from tracelens.onednn.reasons import Reason, why
from tracelens.onednn.runs import instruction_set, times
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["RuntimeDims"]


class RuntimeDims(Rule):
    """A primitive was created with runtime dimensions.

    ## Why it matters
    oneDNN can leave sizes open (``DNNL_RUNTIME_DIM_VAL``), so that one primitive serves all of
    them. Few implementations accept that: weights cannot be packed for an open size, and blocking
    cannot be chosen. torch's own CPU operators always give sizes; frameworks on top of oneDNN's
    graph interface, and quantized products on GPUs, may not.

    ## What it looks like
    A ``*`` in the problem of a created primitive, or a refusal that says so:

        onednn_verbose,v1,primitive,create:cache_miss,cpu,matmul,gemm:jit:bf16,undef,src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 dst:f32::blocked:ab::f0,attr-scratchpad:user,runtime_dims_masks:1:0,*x16:16x64,0.25
        onednn_verbose,v1,primitive,create:dispatch,matmul,runtime dimension is not supported,src/cpu/x64/matmul/brgemm_matmul.cpp:99

    ## When it is harmless
    Inside another primitive: a recurrent network makes its products so, on purpose. That is not
    reported. Where a generated implementation accepted the open size and none refused it, this is a
    note of severity ``none``.

    ## What to do
    Mark only the dimension that varies as dynamic, or compile once per size for a few sizes.

    ## How a live run confirms it
    The workload runs with ``dynamic=False``. Confirmed when another implementation is chosen.

    ## See also
    ONE006 for many static shapes, ONE001 for reference kernels;
    <https://uxlfoundation.github.io/oneDNN/dev_guide_matmul.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ONE017"
    name = "runtime-dims"
    severity = Severity.INFO
    experiment = Experiment(
        Knob("sizes stay static", compile={"dynamic": False}), structure="fewer"
    )

    class Data(PrimitiveData):
        """A primitive that was made for open sizes."""

        chosen: tuple[str, ...] = ()
        #: Implementations that refused for that reason.
        refusals: int
        times: int

    remedies = (
        Remedy(
            id="mark-dynamic",
            text="Mark only the dimension that varies as dynamic.",
            when="compiled",
            applies=lambda data: data.is_compiled is not False,
            code="torch._dynamo.mark_dynamic(x, 0)",
            since="2.1",
            proof="https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/"
            "torch.compiler_dynamic_shapes.html",
        ),
        Remedy(
            id="static",
            text="Or compile once per size, if there are few.",
            when="compiled",
            applies=lambda data: data.is_compiled is not False,
            code="model = torch.compile(model, dynamic=False)",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
            knob=experiment.knob,
        ),
        Remedy(
            id="fixed-sizes",
            text="Give the layer few different sizes: pad to multiples.",
            when="nothing is compiled",
            applies=lambda data: data.is_compiled is False,
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_matmul.html",
        ),
    )

    def check(
        self,
        primitives: Table[Primitive],
        *,
        isas: Table[CpuIsa],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding per primitive."""
        isa = instruction_set(isas)
        made: dict[str, list[Seen[Primitive]]] = {}
        refused: dict[str, list[Seen[Primitive]]] = {}
        for row in primitives:
            record = row.record
            if isinstance(record, DispatchRejection):
                if why(record.message) is Reason.DYNAMIC_SHAPE:
                    refused.setdefault(record.primitive or record.component, []).append(row)
            elif not isinstance(record, NestedCreate) and _is_open(record):
                made.setdefault(record.primitive, []).append(row)
        for primitive, rows in made.items():
            # Helpers refuse in the name of a primitive: ``brgemm_matmul``.
            helpers = [name for name in refused if primitive in name]
            ours = [row for name in helpers for row in refused.pop(name)]
            yield self._finding(primitive, rows, ours, isa, run=run)
        for primitive, rows in refused.items():
            yield self._finding(primitive, [], rows, isa, run=run)

    def _finding(
        self,
        primitive: str,
        made: list[Seen[Primitive]],
        refused: list[Seen[Primitive]],
        isa: str,
        *,
        run: Table[RunFacts],
    ) -> Finding:
        chosen = dict.fromkeys(row.record.impl for row in made)
        fast = all(grade(primitive, impl, isa) is Grade.OPTIMISED for impl in chosen)
        what = ", ".join(f"`{impl}`" for impl in few(chosen)) or "not in the log"
        count = sum(row.count for row in made)
        said = (
            f"{primitive} was made or run {times(count, 'time')} with open sizes. " if made else ""
        )
        if refused:
            said += f"{times(len(refused), 'implementation')} refused for that reason. "
        data = self.Data.about(
            run,
            made or refused,
            primitive=primitive,
            chosen=tuple(chosen),
            refusals=len(refused),
            times=count,
        )
        harmless = made and fast and not refused
        return self.finding(
            primitive,
            title=f"{primitive}: sizes are runtime dimensions",
            message=f"{said}What was chosen is {what}.",
            severity=Severity.INFO,
            harmless="what was chosen is a fast implementation all the same" if harmless else None,
            confidence=Confidence.MEDIUM,
            count=max(1, count),
            evidence=[
                *(quote(row, "open sizes") for row in few(made)),
                *(row.quote("refused") for row in few(refused)),
            ],
            advice=self.advise(data),
            data=data,
        )


def _is_open(run: Primitive) -> bool:
    """Whether a size of ``run`` is printed as ``*``."""
    return any("*" in part for part in (*run.problem.tensors, *run.problem.sizes))
