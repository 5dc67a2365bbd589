"""ERR006 c-toolchain-broken."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["CToolchainBroken"]


class CToolchainBroken(FailureRule):
    """The C or C++ compiler lacks its own headers, its linker, or a library.

    ## Why it matters
    A compiler is found and cannot work: its own headers are missing, it belongs to another
    system, or the linker does not find a library. Nothing that is generated can be built.

    ## What it looks like
        /usr/include/stdlib.h:32:10: fatal error: stddef.h: No such file or directory
        torch._inductor.exc.InductorError: CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpab12/main.c', '-O3', '-shared']' returned non-zero exit status 1.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Name a complete compiler in ``CC`` and ``CXX``; put the library that is missing where the
    linker looks.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR001 (no compiler at all), ERR004 and ERR005 (headers of Python and CUDA).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR006"
    name = "c-toolchain-broken"
    of_causes: ClassVar[frozenset[str]] = frozenset({"toolchain", "triton-launcher"})
    remedies = (
        Remedy(
            "see",
            "Run the command of the message by hand: the first line with `error:` names what is"
            " missing. Mostly it is Python.h (install python3-dev), cuda.h, or -lcuda.",
            applies=lambda d: d.cause == "triton-launcher" and not d.on_windows,
            when="the compiler's output is not in the log",
        ),
        Remedy(
            "see-windows",
            "Run the command of the message by hand in the x64 Native Tools prompt: the first line"
            " with `error` names what is missing. Mostly it is Python.h or python3XX.lib, or"
            " INCLUDE and LIB of MSVC are not set.",
            applies=lambda d: d.cause == "triton-launcher" and d.on_windows,
            when="the same on Windows",
        ),
        Remedy(
            "libcuda",
            "The driver's library has no name without a version there; give the linker one.",
            code=(
                "ldconfig -p | grep libcuda.so  # then, in that folder: ln -s libcuda.so.1"
                " libcuda.so"
            ),
            env="LIBRARY_PATH=/usr/lib/x86_64-linux-gnu",
            applies=lambda d: "cuda" in d.facts.get("library", ""),
            when="-lcuda",
        ),
        Remedy(
            "other-compiler",
            "Use a complete compiler: the system's gcc, not one that another environment put on"
            " PATH.",
            env="CC=/usr/bin/gcc CXX=/usr/bin/g++",
            code="apt-get install -y --reinstall gcc g++ libc6-dev",
            applies=lambda d: not d.on_windows and "cuda" not in d.facts.get("library", ""),
            when="Linux",
        ),
        Remedy(
            "conda",
            "In conda, take compiler and libraries from there.",
            code="conda install -c conda-forge gxx_linux-64 sysroot_linux-64",
            applies=lambda d: d.platform == "conda",
            when="conda",
        ),
        Remedy(
            "runtime",
            "Load the newer library: the compiler's own libstdc++, not that of an older"
            " environment.",
            code="conda install -c conda-forge libstdcxx-ng",
            applies=lambda d: "glibc" in d.facts,
            when="GLIBCXX is too old",
        ),
        without_compiling(),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        facts = data.facts
        if facts.get("header"):
            return (
                f"the C compiler does not find its own `{facts['header']}`: its installation is"
                " broken"
            )
        if facts.get("library"):
            return f"the linker does not find the library `{facts['library']}`"
        if facts.get("glibc"):
            return f"a library is older than what was built: `{facts['glibc']}` is missing"
        if data.cause == "triton-launcher":
            return "the C compiler failed on Triton's launcher; what it said is not in the log"
        return "the C or C++ compiler is there and does not work"

    def wanted(self, failure: Failure) -> bool:
        """Leave what an embedded Python lacks to ERR004."""
        embedded = failure.cause == "triton-launcher" and failure.platform == "embedded"
        return failure.cause in self.of_causes and not embedded
