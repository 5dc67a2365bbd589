"""What the parts of torch say of their own work that no rule asks for."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

from tracelens.grammars import Unreadable
from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped
from tracelens.logs.graph_breaks import GraphBreak, GraphBreaks

__all__ = ["BackwardNode", "OperatorCalled", "RangeComputed", "TorchNote", "TorchNotes"]

_UNSUPPORTED = re.compile(r"(?m)^torch\._dynamo\.exc\.Unsupported: (?P<reason>\S[^\n]{0,2000})")


class TorchNotes(Log):
    """Records without artifact of the parts of torch whose messages are no rule's evidence.

    The modules that rules learn from are not among ``modules``: a message of theirs that no
    grammar expects is reported as one that nobody reads yet.
    """

    name = "torch_notes"
    switch = 'TORCH_LOGS="+all"'
    prefixed = True
    modules = (
        "torch/_dynamo/aot_compile",
        "torch/_dynamo/backends/",
        "torch/_dynamo/debug_utils",
        "torch/_dynamo/exc",
        "torch/_dynamo/graph_",
        "torch/_dynamo/metrics_context",
        "torch/_dynamo/package",
        "torch/_dynamo/precompile_context",
        "torch/_dynamo/repro/",
        "torch/_dynamo/testing",
        "torch/_dynamo/utils",
        "torch/_dynamo/variables/",
        "torch/_export/",
        "torch/_functorch/",
        "torch/_guards",
        "torch/_higher_order_ops/",
        "torch/_inductor/analysis/",
        "torch/_inductor/async_compile",
        "torch/_inductor/augmented_graph_helper",
        "torch/_inductor/autotune_process",
        "torch/_inductor/bounds",
        "torch/_inductor/choices",
        "torch/_inductor/codegen/",
        "torch/_inductor/comm",
        "torch/_inductor/compile_worker/",
        "torch/_inductor/coordinate_descent_tuner",
        "torch/_inductor/cpp_builder",
        "torch/_inductor/cpu_vec_isa",
        "torch/_inductor/debug",
        "torch/_inductor/decomposition",
        "torch/_inductor/dependencies",
        "torch/_inductor/freezing",
        "torch/_inductor/fx_",
        "torch/_inductor/heuristics/",
        "torch/_inductor/ir",
        "torch/_inductor/kernel/",
        "torch/_inductor/loop_body",
        "torch/_inductor/lowering",
        "torch/_inductor/memory",
        "torch/_inductor/output_code",
        "torch/_inductor/package/",
        "torch/_inductor/pattern_matcher",
        "torch/_inductor/quantized_lowerings",
        "torch/_inductor/remote_",
        "torch/_inductor/runtime/",
        "torch/_inductor/sizevars",
        "torch/_inductor/subgraph_lowering",
        "torch/_inductor/template_heuristics/",
        "torch/_inductor/tiling_utils",
        "torch/_inductor/triton_",
        "torch/_inductor/utils",
        "torch/_library/",
        "torch/_logging/",
        "torch/_native/",
        "torch/_ops",
        "torch/_strobelight/",
        "torch/_subclasses/",
        "torch/_utils",
        "torch/autograd/",
        "torch/backends/",
        "torch/compiler/",
        "torch/cuda/",
        "torch/distributed/",
        "torch/export/",
        "torch/func/",
        "torch/fx/_",
        "torch/fx/experimental/accelerator",
        "torch/fx/experimental/dynamic_spec",
        "torch/fx/experimental/optimization",
        "torch/fx/experimental/proxy_tensor",
        "torch/fx/experimental/recording",
        "torch/fx/experimental/sym_node",
        "torch/fx/experimental/validator",
        "torch/fx/graph",
        "torch/fx/interpreter",
        "torch/fx/node",
        "torch/fx/passes/",
        "torch/fx/proxy",
        "torch/fx/traceback",
        "torch/jit/",
        "torch/multiprocessing/",
        "torch/nested/",
        "torch/nn/",
        "torch/numa/",
        "torch/onnx/",
        "torch/overrides",
        "torch/profiler/",
        "torch/utils/",
    )
    cuts = re.compile(
        r"[a-z_]\w*(?:\.\w+){2} \(|FakeTensorMode\.__torch_dispatch__: |set_proxy_slot "
        r"|maybe_propagate_real_tensors |bound_sympy\(|\w+\(\[VR\[|Executing: <"
    )

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the record, and the graph break that its last line is the reason of.

        Up to torch 2.3 Dynamo logs the exception of a function that an operator could not trace.
        """
        records = super().parse(text)
        found = list(_UNSUPPORTED.finditer(text))
        if not found:
            return records
        from tracelens.logs._payloads import moved  # noqa: PLC0415 -- it reads all kinds

        at = text.count("\n", 0, found[-1].start())
        head = "Graph break in user code at ?:0\nGraph Break Reason: "
        try:
            told = GraphBreaks.parse(f"{head}{found[-1]['reason']}")
        except Unreadable:
            return records
        breaks = [one for one in told if isinstance(one, GraphBreak)]
        breaks = [one.model_copy(update={"file": "", "announced": True}) for one in breaks]
        return (*records, *(moved(one, lambda _: at) for one in breaks))


class OperatorCalled(Record):
    """torch called an operator while it traced, with these arguments where it says so."""

    operator: str
    arguments: Stripped = ""


class RangeComputed(Record):
    """The values that a symbolic expression can have."""

    #: ``bound_sympy`` or the operation.
    function: str
    arguments: Annotated[str, BeforeValidator(lambda text: text.strip(" ()"))]
    result: str = ""
    #: The ranges of the symbols in it, as ``p0: VR[0, 39]``.
    symbol: tuple[Stripped, ...] = ()


class BackwardNode(Record):
    """The autograd engine ran one node."""

    node: str
    gradients: Annotated[
        str, BeforeValidator(lambda text: text.rpartition("with grad_outputs: ")[2])
    ] = ""


class TorchNote(Record):
    """Another record: its first line, and what stands below."""

    title: str
    text: str = ""
