"""Why a library call takes no epilogue along, and what would change that."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.inductor.epilogues import Unfused, winner
from tracelens.report import Advice, Severity

if TYPE_CHECKING:
    from tracelens.logs.autotune import AutotuneTable

__all__ = ["Cause", "advice", "cause_of", "moved", "severity", "why"]

#: Bytes per call of the graph that stay in the nearest cache: not worth a word.
SMALL = 8 << 10
#: ... and that are worth a warning: more than a core's first-level cache holds.
LARGE = 64 << 10


class Cause(Enum):
    """Why the library call has no epilogue."""

    ACL = "acl"
    TRAINING = "training"
    TUNED = "tuned"
    UNFROZEN = "unfrozen"
    PLAIN = "plain"
    MKL = "mkl"
    ONEDNN = "onednn"
    GPU = "gpu"


def cause_of(found: Unfused, tables: Table[AutotuneTable], *, acl: bool, training: bool) -> Cause:
    """Return the first cause that holds, from the one that explains most.

    Args:
        found: The library call and the kernel after it.
        tables: What was tuned.
        acl: Whether the log is of an AArch64 build with the Arm Compute Library.
        training: Whether the log holds graphs that are differentiated.
    """
    frozen = any(c.result.startswith("_frozen") for c in found.seen.record.constants)
    whys = {
        Cause.GPU: found.kernel.device != "cpu",
        Cause.ACL: acl,
        Cause.TUNED: winner(tables, found) is not None,
        Cause.MKL: found.call.op == "_mkl_linear",
        Cause.ONEDNN: found.call.target.startswith("torch.ops.mkldnn."),
        Cause.PLAIN: frozen,
        Cause.TRAINING: training,
    }
    return next((cause for cause, holds in whys.items() if holds), Cause.UNFROZEN)


def moved(pairs: list[Unfused]) -> tuple[int, bool]:
    """Return how many bytes cross memory per call of the graph, and whether all sizes are known."""
    sizes = [pair.bytes for pair in pairs]
    return sum(size or 0 for size in sizes), None not in sizes


def severity(cause: Cause, pairs: list[Unfused]) -> Severity:
    """Judge by bytes; a consequence of another finding, or of a measurement, is a note."""
    count, known = moved(pairs)
    if cause in {Cause.ACL, Cause.TRAINING}:
        return Severity.NONE
    if count < SMALL and known and cause is not Cause.GPU:
        return Severity.NONE
    own = cause in {Cause.MKL, Cause.ONEDNN, Cause.GPU}
    return Severity.WARNING if own and count >= LARGE else Severity.INFO


def why(cause: Cause) -> str:
    """Return the cause as a sentence."""
    return _WHY[cause]


def advice(cause: Cause) -> tuple[Advice, ...]:
    """Return what to do about it; nothing where nothing can be done."""
    return _ADVICE.get(cause, ())


_WHY = {
    Cause.ACL: "This is expected: on AArch64 builds with the Arm Compute Library, Inductor "
    "registers no such fusions (torch 2.6 to 2.15).",
    Cause.TRAINING: "Nothing can take it in: the model is being trained on a CPU, so its weights "
    "cannot be packed, and Inductor generates no template for them.",
    Cause.TUNED: "AUTOTUNE measured the library as faster than the template that would take it "
    "in; it times the product alone, without what follows.",
    Cause.UNFROZEN: "It follows from IND004: the weights are inputs of the graph, so this is a "
    "plain ATen call, which takes nothing along.",
    Cause.PLAIN: "Although the model is frozen, this is a plain ATen call, which takes nothing "
    "along: oneDNN does not take this data type on this machine.",
    Cause.MKL: "A frozen float32 linear layer calls MKL, which takes nothing along; even the bias "
    "is added by the separate kernel.",
    Cause.ONEDNN: "oneDNN was called without a post-op: Inductor has none for what follows.",
    Cause.GPU: "The library takes nothing along; a Triton template would.",
}

_TUNE_CPU = Advice(
    text="Tune the frozen model: Inductor's C++ template takes what follows into the product.",
    env="TORCHINDUCTOR_FREEZING=1 TORCHINDUCTOR_MAX_AUTOTUNE=1",
    code='torch.compile(model, mode="max-autotune")',
    since="2.4",
)
_ADVICE = {
    Cause.TUNED: (
        Advice(
            text="Let the benchmark include what follows.",
            setting="torch._inductor.config.benchmark_epilogue_fusion = True",
            env="TORCHINDUCTOR_BENCHMARK_EPILOGUE_FUSION=1",
        ),
    ),
    Cause.UNFROZEN: (
        Advice(
            text="Freeze the model for inference, under torch.no_grad(). Convolutions and bfloat16 "
            "layers then take activations and sums along, and a batch norm vanishes into the "
            "weights; float32 linear layers call MKL, and have to be tuned as well.",
            setting="torch._inductor.config.freezing = True",
            env="TORCHINDUCTOR_FREEZING=1",
            since="2.1",
        ),
        _TUNE_CPU,
    ),
    Cause.PLAIN: (_TUNE_CPU,),
    Cause.MKL: (_TUNE_CPU,),
    Cause.ONEDNN: (_TUNE_CPU,),
    Cause.GPU: (
        Advice(
            text="Let Triton templates compete: they take what follows into the product.",
            env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM=1",
            code='torch.compile(model, mode="max-autotune")',
        ),
    ),
}
