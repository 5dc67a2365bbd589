"""ERR009 triton-version-mismatch."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures.versions import SOURCE, pairs
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["TritonVersionMismatch"]


class TritonVersionMismatch(FailureRule):
    """Triton and torch do not fit each other.

    ## Why it matters
    Inductor uses the inside of Triton, so each version of torch works with one version of
    Triton. ``pip install`` of another package often brings another one.

    ## What it looks like
        torch._inductor.exc.InductorError: ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler' (/home/ana/venv/lib/python3.12/site-packages/triton/compiler/compiler.py)

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Install the version of Triton that this torch names, and pin it.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR008 (no Triton at all), ERR024 (compile workers).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR009"
    name = "triton-version-mismatch"
    of_causes: ClassVar[frozenset[str]] = frozenset({"triton-mismatch"})
    remedies = (
        Remedy(
            "fork",
            "If it is in a compile worker (CUDA was initialised before the workers were forked),"
            " compile in the process itself, or start the workers anew.",
            env="TORCHINDUCTOR_COMPILE_THREADS=1",
            applies=lambda d: bool(d.facts.get("drivers")),
            when="0 active drivers",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "spawn",
            "Workers that do not inherit the process:",
            env="TORCHINDUCTOR_WORKER_START=spawn",
            since="2.4",
            applies=lambda d: bool(d.facts.get("drivers")),
            when="0 active drivers",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "visible",
            "If not, see whether the GPU is visible where it failed.",
            code='python -c "import torch; print(torch.cuda.is_available(), torch.version.cuda)"',
            applies=lambda d: bool(d.facts.get("drivers")),
            when="0 active drivers",
            basis="untestable",
            proof="it shows more",
        ),
        Remedy(
            "pin",
            f"Install the Triton version of this torch, and pin it (torch: triton is {pairs()};"
            " `pip show torch` names it).",
            code=(
                'python -m pip install --force-reinstall --no-deps "triton==3.5.*"  # for torch 2.9'
            ),
            applies=lambda d: not d.on_windows,
            when="Linux",
            proof=SOURCE,
        ),
        Remedy(
            "pin-windows",
            "Install the triton-windows version of this torch, with the program's own Python, and"
            f" pin it (torch: triton is {pairs()}).",
            code='python -m pip install -U "triton-windows<3.6"  # for torch 2.9',
            applies=lambda d: d.on_windows,
            when="Windows",
            proof=SOURCE,
        ),
        Remedy(
            "both",
            "Or install both anew, together, so that pip chooses the pair.",
            code="python -m pip install --force-reinstall torch",
            applies=lambda d: not d.on_windows,
            when="Linux",
            basis="untestable",
            proof="needs a GPU",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if data.facts.get("drivers"):
            return (
                "Triton finds no GPU driver here: a compile worker was forked, or Triton does not"
                " fit this torch"
            )
        name = data.facts.get("missing")
        return (
            f"Triton and torch do not match: Triton has no `{name}`"
            if name
            else "Triton and torch do not match"
        )

    def why(self, data: FailureData) -> str:
        """Say what it means."""
        if data.facts.get("missing"):
            return (
                "Inductor uses the inside of Triton, which changes from version to version: this"
                " one is not the version that torch was made with."
            )
        return ""
