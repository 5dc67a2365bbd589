"""ERR009 triton-version-mismatch."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures.versions import SOURCE, pairs
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["TritonVersionMismatch"]


_ON_WINDOWS = (
    "Install the triton-windows version of this torch, with the program's own Python, and pin it"
    f" (torch: triton is {pairs()})."
)


def _is_old(data: FailureData) -> bool:
    """Tell whether it is what torch up to 2.6 asks for, and Triton from 3.3 on left out."""
    return data.facts.get("missing") == "AttrsDescriptor"


#: What torch up to 2.7 asks of compiled kernels, and Triton from 3.4 on keeps elsewhere.
_HOOKS = frozenset({"launch_enter_hook", "launch_exit_hook"})


def _has_moved(data: FailureData) -> bool:
    return data.facts.get("missing") in _HOOKS


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
            "Install the Triton that this torch requires, and pin it (torch: triton is"
            f" {pairs()}).",
            code=(
                'python -m pip install --force-reinstall --no-deps $(python -c "import'
                " importlib.metadata as m; print(*(r.split(';')[0] for r in m.requires('torch')"
                " if 'triton' in r))\")"
            ),
            applies=lambda d: not d.on_windows,
            when="Linux",
            proof=SOURCE,
        ),
        Remedy(
            "pin-windows",
            _ON_WINDOWS,
            code='python -m pip install -U "triton-windows<3.6"  # for torch 2.9',
            applies=lambda d: d.on_windows and not (_is_old(d) or _has_moved(d)),
            when="Windows",
            proof=SOURCE,
        ),
        Remedy(
            "pin-windows-hooks",
            f"{_ON_WINDOWS[:-1]}; or install torch 2.8 or newer.",
            code='python -m pip install -U "triton-windows<3.4"  # for torch 2.7',
            applies=lambda d: d.on_windows and _has_moved(d),
            when="Windows, and torch 2.7 or older",
            proof=SOURCE,
        ),
        Remedy(
            "pin-windows-old",
            _ON_WINDOWS,
            code='python -m pip install -U "triton-windows<3.3"  # for torch 2.6',
            applies=lambda d: d.on_windows and _is_old(d),
            when="Windows, and torch 2.6 or older",
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
        Remedy(
            "eager",
            "Where neither is at hand (Triton built from its sources, a board that has wheels of"
            " its own), go on without compiling meanwhile.",
            env="TORCHDYNAMO_DISABLE=1",
            applies=lambda d: (
                not (d.on_windows or d.facts.get("missing") or d.facts.get("drivers"))
            ),
            when="Triton refuses what Inductor gives it",
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
            old = " Torch up to 2.6 asks for it, and Triton from 3.3 on does not have it."
            moved = " Torch up to 2.7 asks for it, and Triton from 3.4 on does not have it."
            return (
                "Inductor uses the inside of Triton, which changes from version to version: this"
                f" one is not the version that torch was made with."
                f"{old if _is_old(data) else moved if _has_moved(data) else ''}"
            )
        return ""
