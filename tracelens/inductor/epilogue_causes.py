"""Why a library call takes no epilogue along, and what would change that."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

from tracelens.evidence.tables import Seen
from tracelens.inductor.epilogues import Unfused, Winners
from tracelens.inductor.graphs import is_little
from tracelens.inductor.weights import unprepared
from tracelens.report import Severity

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import PrimitiveExec

__all__ = ["Cause", "cause_of", "freezes_in_vain", "moved", "reason", "severity", "why"]

#: Products of one matrix per batch entry: mostly of two activations, so that there is no weight.
_BATCHED = {"bmm", "baddbmm"}
#: Bytes per call of the graph that are worth a warning: more than a core's first cache holds.
LARGE = 64 << 10
#: Bytes that a GPU moves in about a microsecond.
LITTLE_ON_GPU = 1 << 20
#: Weights of float32 layers that a cache holds. With fewer, layers and convolutions that sum up 3
#: to 64 products took as long when they were frozen, or frozen and tuned (one CPU with AVX2).
CACHED = 32 << 10
#: Part of oneDNN's time that reorders take, from which freezing was measured to save time.
REORDERED = 0.2


class Cause(Enum):
    """Why the library call has no epilogue."""

    ACL = "acl"
    TRAINING = "training"
    TUNED = "tuned"
    UNFROZEN = "unfrozen"
    PLAIN = "plain"
    RANK = "rank"
    BATCHED = "batched"
    MKL = "mkl"
    INT8 = "int8"
    ONEDNN = "onednn"
    GPU = "gpu"
    SEARCHED = "searched"


def cause_of(found: Unfused, winners: Winners, *, acl: bool, training: bool) -> Cause:
    """Return the first cause that holds, from the one that explains most.

    Args:
        found: The library call and the kernel after it.
        winners: What was tuned, and won by a library.
        acl: Whether the log is of an AArch64 build with the Arm Compute Library.
        training: Whether the log holds graphs that are differentiated.
    """
    frozen = any(c.result.startswith("_frozen") for c in found.seen.record.constants)
    whys = {
        Cause.ACL: acl,
        Cause.TUNED: winners.of(found) is not None,
        Cause.SEARCHED: found.kernel.device != "cpu" and bool(winners.searched),
        Cause.GPU: found.kernel.device != "cpu",
        Cause.INT8: found.call.op == "_weight_int8pack_mm",
        Cause.MKL: found.call.op == "_mkl_linear",
        Cause.ONEDNN: found.call.target.startswith("torch.ops.mkldnn."),
        Cause.BATCHED: found.call.op in _BATCHED and not training,
        Cause.RANK: is_1d_convolution(found) and (frozen or not training),
        Cause.PLAIN: frozen,
        Cause.TRAINING: training,
    }
    return next((cause for cause, holds in whys.items() if holds), Cause.UNFROZEN)


def is_1d_convolution(found: Unfused) -> bool:
    """Whether it is a convolution over one dimension: its result has three.

    Inductor packs weights of two and three dimensions alone (``_is_packable_convolution`` in
    torch/_inductor/fx_passes/mkldnn_fusion.py).
    """
    return found.call.op == "convolution" and len(found.content.size or ()) == 3


def moved(pairs: list[Unfused]) -> tuple[int, bool]:
    """Return how many bytes cross memory per call of the graph, and whether all sizes are known."""
    sizes = [pair.bytes for pair in pairs]
    return sum(size or 0 for size in sizes), None not in sizes


def severity(cause: Cause, pairs: list[Unfused]) -> Severity:
    """Judge by bytes; a consequence of another finding, or of a measurement, is a note."""
    count, _ = moved(pairs)
    own = cause in {Cause.MKL, Cause.ONEDNN}  # a GPU moves 64 KiB in less than a launch takes
    return Severity.WARNING if own and count >= LARGE else Severity.INFO


def reason(cause: Cause, pairs: list[Unfused], call_ms: float = 0.0) -> str | None:
    """Return why there is nothing to do in a call of so many milliseconds; None where there is."""
    if cause in _HARMLESS:
        return _HARMLESS[cause]
    count, known = moved(pairs)
    if cause is Cause.GPU:
        return _FEW if known and count < LITTLE_ON_GPU else _ON_GPU
    if known and is_little(count, pairs[0].seen.record, call_ms):
        return "so few bytes stay in a cache, or are a small part of what the graph moves"
    return None


def freezes_in_vain(
    pairs: list[Unfused], call_ms: float, execs: Iterable[Seen[PrimitiveExec]]
) -> bool:
    """Whether freezing saves nothing that one can measure: for what follows, or for the weights."""
    first = pairs[0]
    sizes = {one.weight.name: one.bytes for one in unprepared(first.seen)}
    weights = sum(sizes.values())
    few = weights < CACHED or is_little(weights, first.seen.record, call_ms)
    known = bool(sizes) and all(sizes.values())
    return first.content.dtype == "float32" and known and few and _reordered(execs) < REORDERED


def _reordered(execs: Iterable[Seen[PrimitiveExec]]) -> float:
    """Return the part of oneDNN's time that reorders take; 0 without its lines."""
    times = [(row.record.primitive == "reorder", row.ms) for row in execs]
    total = sum(ms for _, ms in times)
    return sum(ms for is_reorder, ms in times if is_reorder) / total if total else 0.0


_FEW = "so few bytes take a GPU a microsecond; each kernel is a launch less"
#: Four programs on an H200: one took as long with templates, one became three times as slow, and
#: the search of two did not end in two minutes (docs/campaigns/gpu.json).
_ON_GPU = "the library with a kernel behind it is mostly as fast on a GPU as a template is"
_HARMLESS = {
    Cause.ACL: "on AArch64 builds with the Arm Compute Library, Inductor registers no such fusions "
    "(torch 2.6 to 2.15)",
    Cause.TRAINING: "gradients are computed on a CPU, so the weights cannot be packed, and "
    "Inductor generates no template for them",
    Cause.TUNED: "AUTOTUNE measured the library as faster, and no setting makes it count what "
    "follows",
    Cause.SEARCHED: "AUTOTUNE tables are in the log: templates competed, and the library was taken "
    "here",
    Cause.RANK: "Inductor packs no weights of 1-d convolutions, and one of them alone made 2-d "
    "was no faster",
    Cause.BATCHED: "a batched product is a plain ATen call on a CPU, frozen or not",
}


def why(cause: Cause) -> str:
    """Return the cause as a sentence."""
    return _WHY[cause]


_WHY = {
    Cause.ACL: "The library's call takes nothing along on AArch64.",
    Cause.TRAINING: "Nothing can take it in.",
    Cause.INT8: "The kernel for int8 weights takes nothing along.",
    Cause.TUNED: "AUTOTUNE measured the library as faster than the template that would take it "
    "in; it times the product alone, without what follows.",
    Cause.UNFROZEN: "The weights are no constants of the graph, so this is a "
    "plain ATen call, which takes nothing along.",
    Cause.PLAIN: "Although the model is frozen, this is a plain ATen call, which takes nothing "
    "along: oneDNN does not take this data type on this machine.",
    Cause.BATCHED: "Freezing packs no weights for it.",
    Cause.RANK: "Frozen or not, this is a plain ATen call, which takes nothing along: Inductor "
    "packs the weights of 2-d and 3-d convolutions, and this one is 1-d.",
    Cause.MKL: "A frozen float32 linear layer calls MKL, which takes nothing along; even the bias "
    "is added by the separate kernel.",
    Cause.ONEDNN: "oneDNN was called without a post-op: Inductor has none for what follows.",
    Cause.SEARCHED: "The library takes nothing along.",
    Cause.GPU: "The library takes nothing along. A Triton template would; whether its product is "
    "as fast as the library's, the search measures.",
}
