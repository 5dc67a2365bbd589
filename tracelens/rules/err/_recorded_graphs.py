"""What to do where an operation is refused while somebody records a CUDA graph."""

from __future__ import annotations

from tracelens.dynamo import user_code
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["RECORDED", "records_itself"]


def _engine(data: FailureData) -> str:
    """Return the engine that records the graph; empty where none does."""
    return data.facts.get("engine_records", "") if data.cause == "capture" else ""


def records_itself(data: FailureData) -> bool:
    """Tell whether torch, or the program, records the graph: what torch is told then holds."""
    return data.cause == "capture" and not _engine(data)


def _operator(data: FailureData) -> str:
    """Name the operator that was called, and whose it is."""
    package = user_code.package(data.file)
    name = f"`{data.function}`" if data.function.isidentifier() else "The operator"
    return f"{name} of `{package}`" if package else name


RECORDED = (
    Remedy(
        "engine-graphs",
        lambda d: (
            f"{_engine(d) or 'The engine'} records the graph itself: no `mode` of torch.compile"
            " reaches it. Start it without graphs"
            + (", or without `--enable-torch-compile`." if _engine(d) == "sglang" else ".")
        ),
        code="--disable-cuda-graph  # of sglang; of vLLM: --enforce-eager",
        applies=lambda d: bool(_engine(d)),
        when="an engine records the graph",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "recorded-operator",
        lambda d: (
            f"{_operator(d)} must launch on the current stream, and may neither wait for the GPU"
            " nor copy to the CPU while a graph is recorded: take a newer release of what brings"
            " it, or report it there."
        ),
        code="at::cuda::getCurrentCUDAStream()  // in its C++, for every launch",
        applies=lambda d: d.cause == "capture" and "operator" in d.facts,
        when="a registered operator is called while a graph is recorded",
        basis="untestable",
        proof="needs a GPU",
    ),
)
