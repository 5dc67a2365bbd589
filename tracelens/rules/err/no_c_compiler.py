"""ERR001 no-c-compiler."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.report import Finding
from tracelens.report.stories import NO_COMPILER, Story
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["NoCCompiler"]


class NoCCompiler(FailureRule):
    """Triton or Inductor needs a C or C++ compiler and found none.

    ## Why it matters
    Inductor compiles C++ for the CPU, and Triton builds a small launcher in C for every kernel
    on a GPU. Without a compiler neither works: images that only run Python (``slim``,
    ``runtime``) have none.

    ## What it looks like
        torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
        RuntimeError: Failed to find C compiler. Please specify via CC environment variable.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Install a compiler, or name the one that there is in ``CC`` and ``CXX``.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR002 (on Windows), ERR006 (a compiler that is broken), ENV003.
    """

    code = "ERR001"
    name = "no-c-compiler"
    of_causes: ClassVar[frozenset[str]] = frozenset({"no-compiler"})
    remedies = (
        Remedy(
            "apt",
            "Install one; on Debian, Ubuntu and Docker images made from them:",
            code="apt-get update && apt-get install -y build-essential  # gcc and g++",
            applies=lambda d: d.platform in {"", "conda"},
            when="Linux",
            basis="untestable",
            proof="needs a machine without a compiler",
        ),
        Remedy(
            "dnf",
            "Fedora, RHEL; Alpine has `apk add build-base`.",
            code="dnf install -y gcc gcc-c++",
            applies=lambda d: d.platform == "",
            when="Linux",
            basis="untestable",
            proof="needs a machine without a compiler",
        ),
        Remedy(
            "conda",
            "In a conda environment, without root:",
            code="conda install -c conda-forge gxx_linux-64",
            applies=lambda d: d.platform == "conda",
            when="conda on Linux",
            basis="untestable",
            proof="needs conda",
        ),
        Remedy(
            "xcode",
            "Install Apple's command line tools.",
            code="xcode-select --install",
            applies=lambda d: d.platform == "macos",
            when="macOS",
            basis="untestable",
            proof="needs macOS",
        ),
        Remedy(
            "windows",
            "With Triton: triton-windows from 3.2 on brings a C compiler of its own. For the CPU:"
            " Visual Studio Build Tools with the C++ workload, and start from the x64 Native Tools"
            " prompt.",
            code='python -m pip install -U "triton-windows"',
            applies=lambda d: d.on_windows,
            when="Windows",
            proof="https://github.com/woct0rdho/triton-windows",
        ),
        Remedy(
            "name-it",
            "If there is one, name it: it is not on PATH, or CC and CXX name another.",
            env="CC=/usr/bin/gcc CXX=/usr/bin/g++",
            applies=lambda d: not d.on_windows,
            when="not Windows",
            basis="tested",
            proof="tests/advice/ERR001/name-it.py",
        ),
        without_compiling(),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story that ENV003 tells another part of."""
        return [NO_COMPILER, *super().causes(finding)]

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if data.facts.get("compiler"):
            return f"the compiler `{data.facts['compiler']}` was not found"
        return "no C or C++ compiler was found, and generated code must be built with one"

    def why(self, data: FailureData) -> str:
        """Say what it means."""
        del data
        return (
            "Triton builds a launcher for its kernels with a C compiler, Inductor its kernels for"
            " the CPU with a C++ compiler."
        )
