"""IND002 unfused-epilogue."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from tracelens.epilogues import Unfused, unfused, winner
from tracelens.evidence import Table
from tracelens.logs.autotune import AutotuneTable
from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec
from tracelens.logs.output_code import OutputModule
from tracelens.report import Advice, Confidence, Finding, Severity
from tracelens.rules import Rule

__all__ = ["UnfusedEpilogue"]

#: Bytes per call of the graph that stay in the nearest cache: not worth a word.
SMALL = 8 << 10
#: ... and that are worth a warning: more than a core's first-level cache holds.
LARGE = 64 << 10
#: Pairs of lines quoted per finding.
MAX_QUOTED = 3


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


class UnfusedEpilogue(Rule):
    """A library matrix product or convolution is followed by a kernel that only reads it back.

    ## Why it matters
    A bias, an activation or a sum costs nothing while the result is still in registers. As a kernel
    of its own it writes the whole result to memory, reads it back, and starts one more kernel.

    ## What it looks like
    In the generated code, a library call writes a buffer, and the next kernel is the only reader of
    it and computes each element on its own:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     extern_kernels.addmm(arg1_1, arg2_1, arg0_1, out=buf0)
        [0/0] [__output_code]     buf1 = buf0; del buf0  # reuse
        [0/0] [__output_code]     cpp_fused_gelu_0(buf1)

    A kernel that folds elements (a norm, a softmax, a mean) or moves them (a transpose, a
    concatenation) cannot be an epilogue, and is not reported.

    ## When it is harmless
    When the result is small, when the AUTOTUNE table shows that the library was faster than the
    templates that could have fused it, in training on a CPU, where no template exists, and on
    AArch64 builds with the Arm Compute Library, which register no fusions on purpose.

    ## What to do
    For inference on a CPU, freeze the model: oneDNN then takes activations and sums along. Frozen
    float32 linear layers call MKL, which takes nothing along: tune them, so that Inductor's own
    template, which does, can win. On a GPU, ``mode="max-autotune"``.

    ## How a live run confirms it
    The same graph is run with and without the setting. Confirmed when the separate kernel is gone
    from the generated code and the step is faster; refuted when the library still wins the AUTOTUNE
    table.

    ## See also
    IND003 for AArch64, IND004 for weights that are not frozen, ONE013 for oneDNN's post-ops;
    <https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html>
    """

    code = "IND002"
    name = "unfused-epilogue"
    severity = Severity.WARNING

    def check(
        self,
        modules: Table[OutputModule],
        *,
        tables: Table[AutotuneTable],
        isas: Table[CpuIsa],
        execs: Table[PrimitiveExec],
    ) -> Iterator[Finding]:
        """Yield one finding per library operator and cause."""
        acl = any("AArch64" in row.record.isa for row in isas) or any(
            "acl" in row.record.impl for row in execs
        )
        training = any(row.record.graph in {"forward", "backward"} for row in modules)
        groups: dict[tuple[str, Cause], list[Unfused]] = {}
        for row in modules:
            for found in unfused(row):
                cause = _cause(found, tables, acl=acl, training=training)
                groups.setdefault((found.call.op, cause), []).append(found)
        for (op, cause), group in groups.items():
            yield self._finding(op, cause, group, tables)

    def _finding(
        self, op: str, cause: Cause, group: list[Unfused], tables: Table[AutotuneTable]
    ) -> Finding:
        pairs = _heaviest(group)
        lines = [line for pair in pairs[:MAX_QUOTED] for line in pair.quotes()]
        table = winner(tables, pairs[0]) if cause is Cause.TUNED else None
        if table is not None and table.record.best is not None:
            lines.append(table.quote("the library won", at=table.record.best.at))
        results = f"one result of `{op}` passes"
        if len(pairs) > 1:
            results = f"{len(pairs)} results of `{op}` pass"
        return self.finding(
            op,
            cause.value,
            title=(
                f"one result of `{op}` passes" if one else f"{len(pairs)} results of `{op}` pass"
            )
            + " through memory to a separate kernel",
            message=f"{_moved(pairs)} {_WHY[cause]}",
            severity=_severity(cause, pairs),
            confidence=Confidence.MEDIUM if None in _sizes(pairs) else Confidence.HIGH,
            count=len(pairs),
            evidence=lines,
            advice=_ADVICE.get(cause, ()),
        )


def _cause(found: Unfused, tables: Table[AutotuneTable], *, acl: bool, training: bool) -> Cause:
    frozen = any(c.result.startswith("_frozen") for c in found.seen.record.constants)
    mkldnn = found.call.target.startswith("torch.ops.mkldnn.")
    whys = {
        Cause.GPU: found.kernel.device != "cpu",
        Cause.ACL: acl,
        Cause.TUNED: winner(tables, found) is not None,
        Cause.MKL: found.call.op == "_mkl_linear",
        Cause.ONEDNN: mkldnn,
        Cause.PLAIN: frozen,
        Cause.TRAINING: training,
    }
    return next((cause for cause, holds in whys.items() if holds), Cause.UNFROZEN)


def _heaviest(group: list[Unfused]) -> list[Unfused]:
    """Return the pairs of the graph that moves most: recompilations repeat the same code."""
    graphs: dict[int, list[Unfused]] = {}
    for found in group:
        graphs.setdefault(id(found.seen), []).append(found)
    pairs = max(graphs.values(), key=lambda pairs: (sum(p.bytes or 0 for p in pairs), len(pairs)))
    return sorted(pairs, key=lambda pair: -(pair.bytes or 0))


def _sizes(pairs: list[Unfused]) -> list[int | None]:
    return [pair.bytes for pair in pairs]


def _severity(cause: Cause, pairs: list[Unfused]) -> Severity:
    sizes = _sizes(pairs)
    moved = sum(size or 0 for size in sizes)
    small = moved < SMALL and None not in sizes and cause is not Cause.GPU
    if small or cause in {Cause.ACL, Cause.TRAINING}:
        return Severity.NONE
    own = cause in {Cause.MKL, Cause.ONEDNN, Cause.GPU}
    return Severity.WARNING if own and moved >= LARGE else Severity.INFO


def _moved(pairs: list[Unfused]) -> str:
    first = pairs[0]
    size = "x".join(map(str, first.content.size or ())) or "unknown size"
    buffer = f"`{first.content.name}` ({size}, {first.content.dtype})"
    text = f"{buffer} is written by `{first.call.target}` and read only by `{first.kernel.kernel}`"
    sizes = [size for size in _sizes(pairs) if size is not None]
    if not sizes:
        return f"{text}; its size is symbolic."
    others = len(pairs) - 1
    more = f" With {others} more such pair{'s' if others > 1 else ''}," if others else ""
    moved = f"{_bytes(sum(sizes))} per call are written and read for nothing."
    return f"{text}.{more or ' That is:'} {moved}"


def _bytes(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024 or unit == "MiB":
            return f"{count:.3g} {unit}" if unit != "bytes" else f"{count} bytes"
        count //= 1024
    return ""


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
            text="Freeze the model for inference, under torch.no_grad(): oneDNN then takes "
            "activations and sums along, and a batch norm disappears into the weights.",
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
