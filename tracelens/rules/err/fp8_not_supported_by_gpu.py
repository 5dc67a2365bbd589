"""ERR012 fp8-not-supported-by-gpu."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.report import Confidence
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["Fp8NotSupportedByGpu"]


class Fp8NotSupportedByGpu(FailureRule):
    """Compiled code uses an 8-bit float that the GPU does not have.

    ## Why it matters
    Triton compiles ``float8_e4m3fn`` (fp8e4nv) only for compute capability 8.9 (Ada, Hopper)
    and newer. Eager code converts it slowly and works; a kernel cannot be compiled.

    ## What it looks like
        CompilationError: at 1:0:
        def triton_poi_fused__to_copy_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
        ^
        ValueError("type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')")

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Use ``float8_e5m2``, float16 or another quantization there; or leave these layers out.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR011 (the GPU is too old altogether).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR012"
    name = "fp8-not-supported-by-gpu"
    of_causes: ClassVar[frozenset[str]] = frozenset({"fp8"})
    remedies = (
        Remedy(
            "other-type",
            "Use weights in another format: float8_e5m2, float16 or bfloat16, int8 or GGUF."
            " float8_e4m3fn needs compute capability 8.9 (sm_89: RTX 40, L4, H100).",
            basis="untestable",
            proof="needs a GPU before compute capability 8.9",
        ),
        Remedy(
            "leave-out",
            "Leave the layers that convert from fp8 out of what is compiled.",
            code="@torch.compiler.disable",
            since="2.1",
            basis="untestable",
            proof="needs a GPU before compute capability 8.9",
        ),
        without_compiling(),
    )

    def confidence(self, failure: Failure) -> Confidence:
        """A cast that is refused without a word is mostly that of an 8-bit float."""
        return Confidence.MEDIUM if failure.fact("unnamed") else super().confidence(failure)

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if "unnamed" in data.facts:
            return (
                "Triton refuses to convert what a kernel loads: mostly float8_e4m3fn, which this"
                " GPU does not have"
            )
        return (
            f"this GPU has no `{data.facts.get('type', 'fp8e4nv')}` (float8_e4m3fn): the kernel"
            " cannot be compiled"
        )
