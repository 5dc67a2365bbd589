"""ERR023 mps-shader-failed."""

from __future__ import annotations

from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["MpsShaderFailed"]


class MpsShaderFailed(FailureRule):
    """Metal code that Inductor generated did not compile.

    ## Why it matters
    On Apple's GPUs Inductor writes Metal shaders. That is a prototype: some operators give code
    that Metal refuses.

    ## What it looks like
        torch._inductor.exc.InductorError: SyntaxError: failed to compile Metal shader
        program_source:12:26: error: use of undeclared identifier 'tmp3'

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    A newer torch; meanwhile another backend on ``mps``, or leave the function out.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR017.
    """

    code = "ERR023"
    name = "mps-shader-failed"
    of_causes: ClassVar[frozenset[str]] = frozenset({"metal"})
    remedies = (
        Remedy(
            "newer",
            "Support for mps is a prototype and grows with each version: take the newest torch.",
            code="python -m pip install -U torch",
            basis="untestable",
            proof="needs macOS",
        ),
        Remedy(
            "backend",
            "Trace, but generate no shaders.",
            code='torch.compile(model, backend="aot_eager")',
            basis="untestable",
            proof="needs macOS",
        ),
        Remedy(
            "leave-out",
            "Leave the function out, and report the shader line.",
            code="@torch.compiler.disable",
            basis="untestable",
            proof="needs macOS",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        return (
            "a generated Metal shader did not"
            f" compile{': ' + data.output[-140:].strip() if data.output else ''}"
        )
