"""ERR010 ptxas-too-old."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures.versions import CUDA_OF_ARCH
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling
from tracelens.rules.err._known_messages import unless

__all__ = ["PtxasTooOld"]

#: Triton 3.6 and newer have a second ptxas, for GPUs from capability 10.0 on; that of 3.6 is of
#: CUDA 12.9.
_SECOND = "ptxas-blackwell"


#: A GPU of AMD's whose number is read as a capability of CUDA.
_TAKEN = "No ptxas knows a GPU of AMD's: this Triton is the one for CUDA"
_IF_AMD = (
    "If the GPU is AMD's (gfx1100 is taken for sm_110, gfx1030 for sm_103), Triton is the one for"
    " CUDA"
)


def _is_second(data: FailureData) -> bool:
    return _SECOND in f"{data.message} {data.output}"


def _on_amd(data: FailureData) -> bool:
    """Tell whether the GPU is AMD's, for which there is no ptxas at all."""
    return "amd" in data.facts


def _path(data: FailureData) -> str:
    """Say what the ptxas to name must know."""
    arch = data.facts.get("arch", "")
    known = f" ({arch}: CUDA {CUDA_OF_ARCH[arch]} or newer)" if arch in CUDA_OF_ARCH else ""
    return f"Let Triton use the ptxas of a CUDA toolkit that knows the GPU{known}."


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
            _path,
            env="TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",
            applies=lambda d: (
                not (d.facts.get("arch", "").startswith("compute_") or _is_second(d) or _on_amd(d))
            ),
            when="ptxas",
            basis="untestable",
            proof="needs a GPU that is newer than its ptxas",
        ),
        Remedy(
            "blackwell-path",
            lambda d: (
                f"{_path(d)} This Triton has a `ptxas-blackwell` for GPUs from capability 10.0 on,"
                " with a variable of its own: `TRITON_PTXAS_PATH` does not reach it."
            ),
            env="TRITON_PTXAS_BLACKWELL_PATH=/usr/local/cuda/bin/ptxas",
            applies=_is_second,
            when="`ptxas-blackwell`, of Triton 3.6 and newer",
            basis="untestable",
            proof="third_party/nvidia/backend/compiler.py of Triton: get_ptxas",
        ),
        Remedy(
            "amd",
            lambda d: (
                f"{_TAKEN if _on_amd(d) else _IF_AMD}: remove it, and install torch for ROCm, which"
                " brings its own."
            ),
            code=(
                "python -m pip uninstall -y triton pytorch-triton && python -m pip install"
                " --force-reinstall torch --index-url https://download.pytorch.org/whl/rocm6.4"
            ),
            applies=lambda d: d.facts.get("arch", "") in {"sm_103", "sm_110"} or _on_amd(d),
            when="an AMD GPU, or one whose number may be taken for NVIDIA's",
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
            applies=lambda d: not (_is_second(d) or _on_amd(d)),
            basis="untestable",
            proof="needs a GPU that is newer than its ptxas",
        ),
        Remedy(
            "newer-second",
            "Or install torch 2.12 or newer: its Triton (3.7) brings a `ptxas-blackwell` of CUDA"
            " 13.1; that of Triton 3.6 (torch 2.10 and 2.11) is of CUDA 12.9, also in the wheels"
            " for CUDA 13.",
            code="python -m pip install -U torch  # then: python -m pip show torch triton",
            applies=_is_second,
            when="`ptxas-blackwell`, of Triton 3.6 and newer",
            basis="untestable",
            proof="the tools in the wheels of triton 3.6.0 and 3.7.0",
        ),
        *unless(_on_amd, (without_compiling(),)),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        arch = data.facts.get("arch", "")
        if _on_amd(data):
            taken = f", and takes it for `{arch}`" if arch else ""
            return f"the Triton for NVIDIA's GPUs runs on one of AMD's{taken}"
        if arch.startswith("compute_"):
            return f"nvcc is too old for this GPU: it does not know `{arch}`"
        if arch:
            return f"ptxas is too old for this GPU: it does not know `{arch}`"
        if data.facts.get("ptx"):
            return "ptxas is too old for what Triton generated"
        return "ptxas refuses what Triton generated: mostly it is too old for it"
