"""ERR022 xpu-module-build-failed."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["XpuModuleBuildFailed"]

_ASSERTED = re.compile(r"Assertion [`']([^`'\n]{1,120})")
#: A call of ocloc for a device without a name.
_NAMELESS = re.compile(r"'-device', ''")


def _nameless(data: FailureData) -> bool:
    return bool(data.facts.get("tool")) and _NAMELESS.search(data.message) is not None


class XpuModuleBuildFailed(FailureRule):
    """Level Zero or Intel's graphics compiler could not build a kernel.

    ## Why it matters
    On an Intel GPU, Triton's kernels are built by the driver's compiler (IGC). When it fails,
    it is the driver, or a kernel that is too large for it.

    ## What it looks like
        L0 build module failed. Log: IGC: Internal Compiler Error: Floating point exception
        Error during Intel loadBinary: ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
        torch._inductor.exc.InductorError: RuntimeError: ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
        subprocess.CalledProcessError: Command '['ocloc', 'compile', '-file', ...]' returned non-zero exit status 255.

    ## When it is harmless
    While tuning, a candidate that cannot be built is left out. A process that dies afterwards
    died of the driver all the same.

    ## What to do
    Another version of the driver; smaller fusions. It is not the program.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    TUN013 (candidates that fail while tuning).
    """  # noqa: E501 -- a line of a log

    code = "ERR022"
    name = "xpu-module-build-failed"
    of_causes: ClassVar[frozenset[str]] = frozenset({"xpu-build"})
    remedies = (
        Remedy(
            "driver",
            "Update (or go back to) the GPU driver with its IGC: they refused what torch and Triton"
            " gave them; the program has no part in it.",
            code="sycl-ls && clinfo | grep -i 'driver version'",
            applies=lambda data: not data.facts.get("tool"),
            when="the driver failed",
            basis="untestable",
            proof="needs an Intel GPU",
        ),
        Remedy(
            "newer-triton",
            "Triton called `ocloc` for no device (`-device ''`): it does not know the"
            " architecture of this GPU. Take a newer Triton, with the torch that it belongs to.",
            code="python -m pip install -U torch --index-url https://download.pytorch.org/whl/xpu"
            "  # then: python -m pip show torch pytorch-triton-xpu triton-xpu",
            applies=_nameless,
            when="ocloc was called for no device",
            basis="untestable",
            proof="needs an Intel GPU",
        ),
        Remedy(
            "ocloc",
            "`ocloc` comes with the driver, Triton with torch: an `ocloc` that does not know the"
            " GPU, or the code that Triton writes, is the older of the two. See which one runs.",
            code="which -a ocloc && ocloc query OCL_DRIVER_VERSION; pip show pytorch-triton-xpu",
            applies=lambda data: bool(data.facts.get("tool")) and not _nameless(data),
            when="ocloc failed",
            basis="untestable",
            proof="needs an Intel GPU",
        ),
        Remedy(
            "smaller",
            "Let Inductor fuse less, so that kernels are smaller.",
            setting="torch._inductor.config.max_fusion_size = 8",
            applies=lambda data: not _nameless(data),
            when="the kernel itself may be what fails",
            basis="untestable",
            proof="needs an Intel GPU",
        ),
        Remedy(
            "leave-out",
            "Leave the function with that kernel out.",
            code="@torch.compiler.disable",
            applies=lambda data: not _nameless(data),
            when="the kernel itself may be what fails",
            since="2.1",
            basis="untestable",
            proof="needs an Intel GPU",
        ),
        Remedy(
            "report",
            "Report it to intel/intel-xpu-backend-for-triton or intel/torch-xpu-ops with the"
            " driver's and IGC's version.",
            applies=lambda data: not _nameless(data),
            when="the kernel itself may be what fails",
            basis="untestable",
            proof="it is a report",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if data.facts.get("igc"):
            return "Intel's graphics compiler (IGC) crashed on a generated kernel"
        if _nameless(data):
            return "Triton does not know this Intel GPU, and called `ocloc` for no device"
        if data.facts.get("tool"):
            return "Intel's offline compiler (`ocloc`) could not build a kernel"
        if found := _ASSERTED.search(data.message):
            return f"Triton's code for Intel GPUs stopped at `{found[1]}`"
        return (
            "the Level Zero driver could not build or run a kernel:"
            f" {data.facts.get('result', 'an error')}"
        )
