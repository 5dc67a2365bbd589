"""ERR010 ptxas-too-old."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures.versions import CUDA_OF_ARCH
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["PtxasTooOld"]


class PtxasTooOld(FailureRule):
    """ptxas, the assembler of CUDA, does not know this GPU, or not this PTX.

    ## Why it matters
    Triton brings a ``ptxas``; a GPU that came later is unknown to it, and no kernel can be
    assembled.

    ## What it looks like
        triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error
        `ptxas` stderr:
        ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Let Triton use the ``ptxas`` of a CUDA that knows the GPU, or install a newer torch with its
    Triton.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR011 (the GPU is too old), ERR009.
    """

    code = "ERR010"
    name = "ptxas-too-old"
    of_causes: ClassVar[frozenset[str]] = frozenset({"ptxas"})
    remedies = (
        Remedy(
            "ptxas-path",
            lambda d: (
                "Let Triton use the ptxas of a CUDA toolkit that knows the GPU"
                + (
                    f" ({d.facts['arch']}: CUDA {CUDA_OF_ARCH[d.facts['arch']]} or newer)."
                    if d.facts.get("arch") in CUDA_OF_ARCH
                    else "."
                )
            ),
            env="TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",
            applies=lambda d: not d.facts.get("arch", "").startswith("compute_"),
            when="ptxas",
            basis="untestable",
            proof="needs a GPU that is newer than its ptxas",
        ),
        Remedy(
            "amd",
            "If the GPU is AMD's (gfx1100 is taken for sm_110, gfx1030 for sm_103), Triton is the"
            " one for CUDA: remove it, and install torch for ROCm, which brings its own.",
            code=(
                "python -m pip uninstall -y triton pytorch-triton && python -m pip install"
                " --force-reinstall torch --index-url https://download.pytorch.org/whl/rocm6.4"
            ),
            applies=lambda d: d.facts.get("arch", "") in {"sm_103", "sm_110"},
            when="an AMD GPU",
            basis="untestable",
            proof="needs a GPU of AMD",
        ),
        Remedy(
            "toolkit",
            "Name a CUDA toolkit that knows the GPU: torch builds its CUTLASS kernels with nvcc.",
            env="CUDA_HOME=/usr/local/cuda",
            applies=lambda d: d.facts.get("arch", "").startswith("compute_"),
            when="nvcc",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "newer",
            "Or install a newer torch, built for the newer CUDA; it brings its Triton.",
            code=(
                "python -m pip install -U torch --index-url https://download.pytorch.org/whl/cu130"
            ),
            basis="untestable",
            proof="needs a GPU that is newer than its ptxas",
        ),
        without_compiling(),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        arch = data.facts.get("arch", "")
        if arch.startswith("compute_"):
            return f"nvcc is too old for this GPU: it does not know `{arch}`"
        if arch:
            return f"ptxas is too old for this GPU: it does not know `{arch}`"
        if data.facts.get("ptx"):
            return "ptxas is too old for what Triton generated"
        return "ptxas refuses what Triton generated: mostly it is too old for it"
