"""ERR005 cuda-headers-missing."""

from __future__ import annotations

from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["CudaHeadersMissing"]


def _is_hip(data: FailureData) -> bool:
    return data.facts.get("header", "").startswith("hip/")


def _is_intel(data: FailureData) -> bool:
    return data.facts.get("header", "").startswith("level_zero/")


def _is_cuda(data: FailureData) -> bool:
    return not (_is_hip(data) or _is_intel(data))


class CudaHeadersMissing(FailureRule):
    """cuda.h is missing when Triton builds its launcher.

    ## Why it matters
    Triton's launcher calls the CUDA driver, and includes ``cuda.h``. The wheels of Triton bring
    a copy; builds of distributions and of conda-forge expect the toolkit's.

    ## What it looks like
        /tmp/tmpab12/main.c:1:10: fatal error: cuda.h: No such file or directory
        torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
        CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpab12/main.c', '-O3', '-shared', '-lcuda']' returned non-zero exit status 1.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Install the headers of the CUDA version that torch uses, and name their folder.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR004 (the header is Python's), ERR006.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR005"
    name = "cuda-headers-missing"
    of_causes: ClassVar[frozenset[str]] = frozenset({"cuda-headers"})
    remedies = (
        Remedy(
            "rocm",
            "Install ROCm's development files, and name the folder whose `include` has them.",
            env='ROCM_HOME=/opt/rocm CPLUS_INCLUDE_PATH="/opt/rocm/include"',
            applies=_is_hip,
            when="ROCm",
            basis="untestable",
            proof="needs an AMD GPU",
        ),
        Remedy(
            "level-zero",
            "Install the development files of Level Zero, from Intel's repository for GPUs or the "
            "distribution's: level-zero-devel on Fedora and RHEL, libze-dev or level-zero-dev on "
            "Ubuntu and Debian.",
            code="apt-get install -y libze-dev || apt-get install -y level-zero-dev",
            applies=lambda d: _is_intel(d) and not d.on_windows,
            when="an Intel GPU on Linux",
            basis="untestable",
            proof="https://github.com/oneapi-src/level-zero: packages of its releases",
        ),
        Remedy(
            "level-zero-windows",
            "The full installer of Intel's driver brings the SDK of Level Zero and names it in "
            "LEVEL_ZERO_V1_SDK_PATH; without it, unpack level-zero-win-sdk of Level Zero's "
            "releases on GitHub, and name its folder there.",
            code=r"set LEVEL_ZERO_V1_SDK_PATH=C:\level-zero-win-sdk",
            applies=lambda d: _is_intel(d) and d.on_windows,
            when="an Intel GPU on Windows",
            basis="untestable",
            proof="https://github.com/intel/compute-runtime/issues/837",
        ),
        Remedy(
            "conda",
            "Install the headers of the CUDA version that torch was built with.",
            code="conda install -c conda-forge cuda-cudart-dev cuda-crt",
            applies=lambda d: _is_cuda(d) and d.platform == "conda",
            when="conda",
            basis="untestable",
            proof="needs conda and a GPU",
        ),
        Remedy(
            "package",
            "Install the headers of the CUDA version that torch was built with"
            " (`torch.version.cuda`): the package cuda-cudart-dev-12-8 of NVIDIA's repository for"
            " 12.8; in conda cuda-cudart-dev.",
            code=(
                'apt-get install -y cuda-cudart-dev-$(python -c "import torch;'
                " print(torch.version.cuda.replace('.', '-'))\")"
            ),
            applies=lambda d: _is_cuda(d) and d.platform == "",
            when="Linux",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "name-it",
            "If the toolkit is installed, name it: CUDA_HOME for torch, C_INCLUDE_PATH for the"
            " compiler.",
            applies=_is_cuda,
            env="CUDA_HOME=/usr/local/cuda C_INCLUDE_PATH=/usr/local/cuda/include",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "wheel",
            "Or take Triton from its wheel, which brings the header.",
            code=(
                'python -m pip install --force-reinstall --no-deps triton==$(python -c "import'
                ' triton; print(triton.__version__)")'
            ),
            applies=lambda d: _is_cuda(d) and not d.on_windows,
            when="Linux",
            basis="untestable",
            proof="needs a GPU",
        ),
        without_compiling(),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if _is_intel(data):
            header = data.facts["header"]
            return f"`{header}` is missing: Triton cannot build what launches kernels on Intel GPUs"
        if _is_hip(data):
            return f"`{data.facts['header']}` is missing: C++ for ROCm cannot be compiled"
        return (
            f"`{data.facts.get('header', 'cuda.h')}` is missing: Triton cannot build its launcher"
        )
