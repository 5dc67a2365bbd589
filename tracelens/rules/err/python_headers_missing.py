"""ERR004 python-headers-missing."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.report import Confidence
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["PythonHeadersMissing"]


class PythonHeadersMissing(FailureRule):
    """The C headers, or the import library, of this Python are missing.

    ## Why it matters
    What Triton and Inductor build is loaded into Python, and includes ``Python.h``.
    Distributions keep the headers in a package of their own, and an embedded Python (of
    ComfyUI, for example) has none.

    ## What it looks like
        /tmp/tmpab12/main.c:5:10: fatal error: Python.h: No such file or directory
        torch._inductor.exc.InductorError: CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpab12/main.c', '-O3', '-shared']' returned non-zero exit status 1.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Install the headers of exactly this version of Python; into an embedded Python copy
    ``include`` and ``libs`` from the installer of the same version.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR005 (the header is CUDA's), ERR006 (it is the compiler's own).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR004"
    name = "python-headers-missing"
    of_causes: ClassVar[frozenset[str]] = frozenset({"python-headers"})
    remedies = (
        Remedy(
            "embedded",
            "An embedded Python comes without them: copy the folders `Include` and `libs` of an"
            " installed Python of exactly the same version (3.X, as `python --version` prints it)"
            " into its folder (`python_embeded`).",
            code=(
                r"xcopy /E C:\Python3X\libs python_embeded\libs\ && xcopy /E C:\Python3X\include"
                r" python_embeded\Include\ "
            ),
            applies=lambda d: d.platform == "embedded",
            when="embedded Python on Windows",
            proof="https://github.com/woct0rdho/triton-windows",
        ),
        Remedy(
            "windows",
            "Repair the installation of Python with the development files, or use the installer of"
            " python.org; a Python of the Microsoft Store has none.",
            applies=lambda d: d.platform == "windows",
            when="Windows",
            basis="untestable",
            proof="needs Windows",
        ),
        Remedy(
            "apt",
            "Install the headers of exactly this Python (3.X as `python --version` prints it).",
            code=(
                "apt-get install -y python$(python3 -c \"import sys; print('%d.%d' %"
                ' sys.version_info[:2])")-dev'
            ),
            applies=lambda d: d.platform in {"", "conda"},
            when="Debian, Ubuntu",
            basis="untestable",
            proof="needs a machine without Python's headers",
        ),
        Remedy(
            "dnf",
            "Fedora and RHEL call the package python3-devel (python3.11-devel and so on); Alpine"
            " python3-dev.",
            code="dnf install -y python3-devel",
            applies=lambda d: d.platform == "",
            when="other Linux",
            basis="untestable",
            proof="needs Fedora or RHEL",
        ),
        Remedy(
            "uv",
            "Where the distribution has no such package, a Python of uv, pyenv or conda brings its"
            " headers.",
            code="uv python install 3.12 && uv venv --python 3.12",
            applies=lambda d: not d.on_windows,
            when="not Windows",
            basis="untestable",
            proof="needs a machine without Python's headers",
        ),
        without_compiling(),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        what = data.facts.get("library") or data.facts.get("header") or "Python.h"
        return f"the development files of this Python are missing (`{what}`)"

    def why(self, data: FailureData) -> str:
        """Say what it means."""
        if data.cause == "triton-launcher":
            return (
                "The compiler ended with an error whose text is not in the log. An embedded Python"
                " has no headers and no libs, which is what such a build needs first."
            )
        return ""

    def wanted(self, failure: Failure) -> bool:
        """Tell whether it is about Python's files: also where only the failed command is there."""
        if failure.cause == "triton-launcher":
            return failure.platform == "embedded"
        return failure.cause in self.of_causes

    def confidence(self, failure: Failure) -> Confidence:
        """Without the compiler's text it is the likely cause."""
        return Confidence.MEDIUM if failure.cause == "triton-launcher" else Confidence.HIGH
