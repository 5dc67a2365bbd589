"""ERR007 generated-cpp-rejected."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, gist

__all__ = ["GeneratedCppRejected"]


class GeneratedCppRejected(FailureRule):
    """The C++ compiler rejected code that Inductor generated.

    ## Why it matters
    Inductor writes C++ that its authors tried with some compilers. A newer, older or unusual
    one may refuse it, and then a graph cannot run.

    ## What it looks like
        torch._inductor.exc.InductorError: CppCompileError: C++ compile error

        Output:
        /tmp/torchinductor_ana/us/cus67.main.cpp:23:5: error: expected ';' before 'return'

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Read the first ``error:`` line. Another version of the compiler mostly helps; report the
    pair of torch and compiler.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR006 (a compiler that is broken), IND015 (what the code looks like).
    """

    code = "ERR007"
    name = "generated-cpp-rejected"
    of_causes: ClassVar[frozenset[str]] = frozenset({"generated-cpp"})
    remedies = (
        Remedy(
            "msvc-openmp",
            "This MSVC (19.50, of Visual Studio 2026) clashes with the options for OpenMP that"
            " torch passes: use the toolset 14.44 of Visual Studio 2022 beside it, or a torch that"
            " knows this compiler.",
            code="vcvars64.bat -vcvars_ver=14.44",
            applies=lambda d: "C7660" in d.output or "19.50" in d.message,
            when="cl 19.50 and -openmp:experimental",
            basis="untestable",
            proof="needs Windows",
        ),
        Remedy(
            "msvc",
            "Another version of MSVC: take the toolset that was current when this torch came out.",
            code="vcvars64.bat -vcvars_ver=14.44",
            applies=lambda d: d.on_windows and "C7660" not in d.output,
            when="Windows",
            basis="untestable",
            proof="needs Windows",
        ),
        Remedy(
            "compiler",
            "Another compiler: g++ 11 to 14 is what torch is tested with.",
            env="CXX=g++-12",
            applies=lambda d: not d.on_windows,
            when="Linux",
            basis="untestable",
            proof="which compiler takes the code depends on the bug",
        ),
        Remedy(
            "scalar",
            "If the refused line is about vectors (at::vec, an intrinsic), generate code without"
            " them.",
            setting="torch._inductor.config.cpp.simdlen = 1",
            since="2.1",
            basis="untestable",
            proof="needs code that the compiler refuses",
        ),
        Remedy(
            "leave-out",
            "Leave this function to eager, and compile the others.",
            code="@torch.compiler.disable",
            since="2.1",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
        ),
        Remedy(
            "report",
            "It is a bug of torch or of the compiler: report the first error line, with both"
            " versions.",
            code="https://github.com/pytorch/pytorch/issues?q=is%3Aissue+CppCompileError",
            basis="untestable",
            proof="it is a report",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if data.output:
            return f"the C++ compiler rejected generated code: {data.output[-160:].strip()}"
        return "the C++ compiler rejected code that Inductor generated"

    def identity(self, failure: Failure) -> tuple[str, ...]:
        """Each error of the compiler is a failure of its own."""
        return (failure.cause, gist(failure.output))
