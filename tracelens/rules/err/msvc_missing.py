"""ERR002 msvc-missing."""

from __future__ import annotations

from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["MsvcMissing"]


class MsvcMissing(FailureRule):
    """On Windows, Microsoft's compiler cl.exe was not found.

    ## Why it matters
    Inductor compiles C++ with ``cl``, which is on PATH only in the prompts that Visual Studio
    installs. Some versions of torch ask for it even where only Triton is used.

    ## What it looks like
        torch._dynamo.exc.InternalTorchDynamoError: RuntimeError: Compiler: cl is not found.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Install the Build Tools with the C++ workload; start Python from the x64 Native Tools
    prompt, or after ``vcvars64.bat``.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR003 (cl is there, its headers are not found), ERR001.
    """

    code = "ERR002"
    name = "msvc-missing"
    of_causes: ClassVar[frozenset[str]] = frozenset({"no-msvc"})
    remedies = (
        Remedy(
            "prompt",
            "Start the program from the x64 Native Tools Command Prompt of Visual Studio, or run"
            " vcvars64.bat before it: both put cl.exe (MSVC) on PATH.",
            code=(
                r'"C:\Program Files (x86)\Microsoft Visual'
                r' Studio\2022\BuildTools\VC\Auxiliary\Build\vcvars64.bat"'
            ),
            proof="https://docs.pytorch.org/tutorials/unstable/inductor_windows.html",
        ),
        Remedy(
            "install",
            "If it is not installed: the Build Tools with the workload for C++.",
            code=(
                'winget install Microsoft.VisualStudio.2022.BuildTools --override "--add'
                ' Microsoft.VisualStudio.Workload.VCTools --includeRecommended"'
            ),
            proof="https://docs.pytorch.org/tutorials/unstable/inductor_windows.html",
        ),
        without_compiling(),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        del data
        return "cl.exe, the C++ compiler of Visual Studio, was not found on PATH"

    def why(self, data: FailureData) -> str:
        """Say what it means."""
        del data
        return (
            "Inductor builds C++ with cl.exe; it is on PATH only where Visual Studio's environment"
            " was set up."
        )
