"""ERR008 triton-missing."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures.versions import SOURCE, pairs
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["TritonMissing"]


class TritonMissing(FailureRule):
    """Triton is not installed where Inductor needs it.

    ## Why it matters
    On a GPU Inductor generates Triton kernels. The wheels of torch for Linux bring Triton as a
    dependency; on Windows, in some distributions, and after ``--no-deps`` it is not there.

    ## What it looks like
        torch._inductor.exc.TritonMissing: Cannot find a working triton installation. Either the package is not installed or it is too old. More information on installing Triton can be found at: https://github.com/triton-lang/triton

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that. An optional import of Triton that a library
    tries and does without is no failure.

    ## What to do
    Install the Triton of this version of torch; on Windows triton-windows, with the Python that
    runs the program.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR009 (a Triton that does not fit).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR008"
    name = "triton-missing"
    of_causes: ClassVar[frozenset[str]] = frozenset({"no-triton"})
    remedies = (
        Remedy(
            "embedded",
            "Install triton-windows with the program's own Python, not with the one on PATH.",
            code='python_embeded\\python.exe -m pip install -U "triton-windows<3.6"',
            applies=lambda d: d.platform == "embedded",
            when="embedded Python",
            proof="https://github.com/woct0rdho/triton-windows",
        ),
        Remedy(
            "windows",
            "On Windows others build it: triton-windows, of the version that belongs to this"
            " torch.",
            code='python -m pip install -U "triton-windows<3.6"',
            applies=lambda d: d.platform == "windows",
            when="Windows",
            proof="https://github.com/woct0rdho/triton-windows",
        ),
        Remedy(
            "no-wheel",
            "The index does not have what was asked for, for this system and this Python. Where pip"
            " lists other versions, take that of this torch. On Windows take triton-windows; on"
            " Linux a Python that Triton has wheels for (3.10 to 3.14), in 64"
            " bits; for macOS there is none, and nothing there needs it.",
            code='python -m pip install -U "triton-windows<3.6"  # on Windows',
            applies=lambda d: "no_wheel" in d.facts and not d.on_windows,
            when="pip finds no distribution of Triton",
            proof="https://pypi.org/project/triton/#files",
        ),
        Remedy(
            "install",
            f"Install the Triton that this torch requires (torch: triton is {pairs()}). A torch "
            "for the CPU requires none, and prints nothing here: it needs none.",
            code=(
                'python -m pip install $(python -c "import importlib.metadata as m;'
                " print(*(r.split(';')[0] for r in m.requires('torch') if 'triton' in r))\")"
            ),
            applies=lambda d: (
                not d.on_windows and d.platform != "macos" and "no_wheel" not in d.facts
            ),
            when="Linux",
            proof=SOURCE,
        ),
        Remedy(
            "macos",
            "There is no Triton for macOS: a tensor on `mps` or the CPU needs none. Something asked"
            " for `cuda`, or a library imports Triton without need.",
            applies=lambda d: d.platform == "macos",
            when="macOS",
            basis="untestable",
            proof="needs macOS",
        ),
        without_compiling(),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if "no_wheel" in data.facts:
            return "pip does not find this Triton for the system and its Python"
        return "Triton is not installed, or not in the Python that runs the program"
