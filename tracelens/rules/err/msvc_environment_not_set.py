"""ERR003 msvc-environment-not-set."""

from __future__ import annotations

from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["MsvcEnvironmentNotSet"]


class MsvcEnvironmentNotSet(FailureRule):
    """cl.exe runs, but does not find its headers or libraries.

    ## Why it matters
    ``cl`` finds the C++ library through the variables INCLUDE and LIB, which Visual Studio's
    prompt sets. Called by its path alone it compiles nothing.

    ## What it looks like
        torch._inductor.exc.InductorError: CppCompileError: C++ compile error

        Output:
        C:/Temp/torchinductor_ana/us/main.cpp(2): fatal error C1083: Cannot open include file: 'algorithm': No such file or directory

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Start from the x64 Native Tools prompt, or run ``vcvars64.bat`` first.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR002 (cl is not found at all), ERR004 (the header is Python's).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR003"
    name = "msvc-environment-not-set"
    of_causes: ClassVar[frozenset[str]] = frozenset({"msvc-environment"})
    remedies = (
        Remedy(
            "prompt",
            "Start the program from the x64 Native Tools Command Prompt of Visual Studio, or run"
            " vcvars64.bat before it: it sets INCLUDE and LIB for MSVC.",
            code=(
                r'"C:\Program Files (x86)\Microsoft Visual'
                r' Studio\2022\BuildTools\VC\Auxiliary\Build\vcvars64.bat"'
            ),
            proof="https://docs.pytorch.org/tutorials/unstable/inductor_windows.html",
        ),
        Remedy(
            "sdk",
            "If that does not help, the Windows SDK is missing: add it, and the C++ workload, in"
            " the Visual Studio Installer.",
            applies=lambda d: "machine" not in d.facts,
            when="a header or a library is not found",
            proof="https://docs.pytorch.org/tutorials/unstable/inductor_windows.html",
        ),
        without_compiling(),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if "machine" in data.facts:
            return "MSVC was started for 32-bit x86, and torch is a 64-bit program"
        name = data.facts.get("header") or data.facts.get("library") or "its headers"
        return (
            f"cl.exe runs and does not find `{name}`: the environment of Visual Studio is not set"
        )
