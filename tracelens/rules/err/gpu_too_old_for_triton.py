"""ERR011 gpu-too-old-for-triton."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["GpuTooOldForTriton"]

_GPU = re.compile(r"Found (.{2,60}?) which is too old")


class GpuTooOldForTriton(FailureRule):
    """The GPU is older than Triton supports.

    ## Why it matters
    Triton needs a GPU of compute capability 7.0 (Volta, Turing) or newer. On an older one
    Inductor has no way to generate code.

    ## What it looks like
        torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
        RuntimeError: Found Tesla P100-SXM2-16GB which is too old to be supported by the triton GPU compiler, which is used as the backend. Triton only supports devices of CUDA Capability >= 7.0, but your device is of CUDA capability 6.0

    ## When it is harmless
    Where the error was suppressed, everything runs, eagerly: nothing is compiled, and nothing
    is wrong.

    ## What to do
    Do not compile on this GPU; or use a backend that generates no kernels.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR010 (the GPU is too new), ERR012 (one type is not supported).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR011"
    name = "gpu-too-old-for-triton"
    of_causes: ClassVar[frozenset[str]] = frozenset({"gpu-too-old"})
    remedies = (
        Remedy(
            "off",
            "Do not compile on this GPU.",
            env="TORCHDYNAMO_DISABLE=1",
            basis="untestable",
            proof="needs a GPU before compute capability 7.0",
        ),
        Remedy(
            "program",
            "Programs have a switch of their own: vLLM `--enforce-eager`, nnU-Net"
            " `nnUNet_compile=f`, nanoGPT `--compile=False`.",
            basis="untestable",
            proof="the options belong to other programs",
        ),
        Remedy(
            "backend",
            "Graphs without generated kernels: CUDA graphs, or the traced program as it is.",
            code='torch.compile(model, backend="cudagraphs")  # or "aot_eager"',
            basis="untestable",
            proof="needs a GPU before compute capability 7.0",
        ),
        Remedy(
            "dtype",
            "If the kernel uses bfloat16, use float16: bfloat16 needs compute capability 8.0.",
            applies=lambda d: bool(d.facts.get("arch")),
            when="a feature needs a newer GPU",
            basis="untestable",
            proof="needs a GPU before compute capability 8.0",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        found = _GPU.search(" ".join(data.message.split()))
        gpu = found[1] if found else data.facts.get("gpu")
        if data.facts.get("arch"):
            return f"the GPU is too old for this kernel: it needs {data.facts['arch']}"
        return (
            f"the GPU{f' ({gpu})' if gpu else ''} is too old for Triton, which needs compute"
            " capability 7.0"
        )
