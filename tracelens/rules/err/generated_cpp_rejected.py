"""ERR007 generated-cpp-rejected."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, gist

__all__ = ["GeneratedCppRejected"]

#: The name of a file before a line's number.
_FILE = re.compile(r"[\w.-]{1,80}(?=:\d|\(\d)")
#: What AOTInductor calls of torch is declared in a header; g++, clang and MSVC on one that is not.
_NO_SHIM = re.compile(
    r"['\u2018]aoti_torch_(?:c(?:pu|uda)_)?(\w{1,80})['\u2019]"
    r"(?: was not declared|: identifier not found)"
    r"|undeclared identifier '(?:aoti_torch_)(?:c(?:pu|uda)_)?(\w{1,80})'"
)


#: How compilers say that a class of torch's vectors has no function of that name.
_VECTORS = re.compile(
    r"(?:not a member of|no member named|has no member|no matching|no viable|C2039|C2665)"
    r"[^\n]{0,200}\bVectorized<|\bVectorized<[^\n]{0,120}(?:has no member|is not a member)"
)
#: The dtype that such a class is of, and has no function for.
_DTYPE = re.compile(r"Vectorized<(?:c10::)?(\w{1,40})>")


def _of_vectors(data: FailureData) -> bool:
    """Tell whether torch's vectors lack what is called: no other compiler takes it."""
    return _VECTORS.search(f"{data.output} {data.message}") is not None


def _dtype(data: FailureData) -> str:
    found = _DTYPE.search(f"{data.output} {data.message}")
    return f" for `{found[1]}`" if found else ""


def _unsaid(data: FailureData) -> bool:
    """Tell whether what the compiler refuses is cut off."""
    return "unsaid" in data.facts and not data.output


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
            "whole-error",
            lambda d: (
                "What the compiler refuses is not in the text: give the lines below `Output:` to"
                + (
                    " their end, with `error C....` or `LNK....` (D9025 is a warning)."
                    if d.on_windows
                    else " their end, with `error:`."
                )
            ),
            code="python app.py > run.log 2>&1; tracelens analyze run.log",
            applies=_unsaid,
            when="the compiler's own error is cut off",
            basis="untestable",
            proof="it shows more",
        ),
        Remedy(
            "no-shim",
            "A compiled package calls operators by C functions, and this torch has none for this;"
            " no compiler changes that. Take a newer torch, which has more of them; or replace the"
            " operator in the model by others that do the same.",
            code="python -m pip install -U torch",
            applies=lambda d: bool(_without_shim(d)),
            when="AOTInductor calls an operator that has no C function",
            basis="untestable",
            proof="needs a torch without the function",
        ),
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
            applies=lambda d: (
                d.on_windows
                and "C7660" not in d.output
                and not (_without_shim(d) or _of_vectors(d))
            ),
            when="Windows",
            basis="untestable",
            proof="needs Windows",
        ),
        Remedy(
            "compiler",
            "Another compiler: g++ 11 to 14 is what torch is tested with.",
            env="CXX=g++-12",
            applies=lambda d: not (d.on_windows or _without_shim(d) or _of_vectors(d)),
            when="Linux",
            basis="untestable",
            proof="which compiler takes the code depends on the bug",
        ),
        Remedy(
            "scalar",
            lambda d: (
                f"Torch's vectors lack{_dtype(d)} what the generated code calls: generate code"
                " without them. It holds for all that is compiled, and is slower."
                if _of_vectors(d)
                else "If the refused line is about vectors (at::vec, an intrinsic), generate code"
                " without them."
            ),
            setting="torch._inductor.config.cpp.simdlen = 1",
            applies=lambda d: not (_without_shim(d) or _unsaid(d)),
            since="2.1",
            basis="untestable",
            proof="needs code that the compiler refuses",
        ),
        Remedy(
            "leave-out",
            lambda d: (
                "Or leave the function with that operation (a conversion, a `where`) to eager, and"
                " compile the others."
                if _of_vectors(d)
                else "Leave this function to eager, and compile the others."
            ),
            code="@torch.compiler.disable",
            applies=lambda d: not _without_shim(d),
            since="2.1",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
        ),
        Remedy(
            "newer-torch",
            "It is a bug of torch's: a newer one may write other code there (2.13 takes a bool that"
            " becomes a float8, for one).",
            code="python -m pip install -U torch",
            applies=_of_vectors,
            when="what is refused is of torch's vectors",
            basis="untestable",
            proof="it depends on the release",
        ),
        Remedy(
            "report",
            lambda d: (
                f"It is a bug of torch{'' if _of_vectors(d) else ' or of the compiler'}: report the"
                " first error line, with both versions."
            ),
            code="https://github.com/pytorch/pytorch/issues?q=is%3Aissue+CppCompileError",
            applies=lambda d: not _unsaid(d),
            when="the compiler's own error is in the text",
            basis="untestable",
            proof="it is a report",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if operator := _without_shim(data):
            return f"AOTInductor calls `{operator}`, for which this torch has no C function"
        if data.output:
            said = _without_folders(data.output.strip(" `"))
            return f"the C++ compiler rejected generated code: {said[-160:].strip()}"
        cut = ": its own error is not in the text" if _unsaid(data) else ""
        return f"the C++ compiler rejected code that Inductor generated{cut}"

    def identity(self, failure: Failure) -> tuple[str, ...]:
        """Each error of the compiler is a failure of its own."""
        return (failure.cause, gist(failure.output))


def _without_folders(output: str) -> str:
    """Return what the compiler said, of a file that is named without its folders."""
    named = _FILE.search(output)
    return output[named.start() :] if named and " " not in output[: named.start()] else output


def _without_shim(data: FailureData) -> str:
    """Return the operator whose C function torch does not declare; empty if it is not about one."""
    found = _NO_SHIM.search(data.output) or _NO_SHIM.search(data.message)
    return (found[1] or found[2]) if found else ""
