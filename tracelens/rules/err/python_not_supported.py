"""ERR027 python-not-supported."""

from __future__ import annotations

from typing import ClassVar

from tracelens.failures.versions import PYTHON_SINCE, SOURCE
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule, without_compiling

__all__ = ["PythonNotSupported"]


class PythonNotSupported(FailureRule):
    """This Python is newer than this torch's Dynamo knows, or the system is not supported.

    ## Why it matters
    Dynamo works on Python's bytecode, which changes with each version. A torch that is older
    than the Python cannot compile on it, and says so at the call of ``torch.compile``.

    ## What it looks like
        RuntimeError: Dynamo is not supported on Python 3.12+

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    A newer torch, or an older Python.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ENV009 (Python 3.13.0).
    """

    code = "ERR027"
    name = "python-not-supported"
    of_causes: ClassVar[frozenset[str]] = frozenset({"python-version", "platform"})
    remedies = (
        Remedy(
            "newer-torch",
            lambda _: (
                "Install a newer torch: torch.compile knows "
                + ", ".join(
                    f"Python {python} from torch {torch}" for python, torch in PYTHON_SINCE.items()
                )
                + " on."
            ),
            code="python -m pip install -U torch",
            applies=lambda d: d.cause != "platform",
            proof=SOURCE,
        ),
        Remedy(
            "older-python",
            "Or run the program with an older Python.",
            code="uv venv --python 3.11  # or: conda create -n py311 python=3.11",
            applies=lambda d: d.cause != "platform",
            basis="untestable",
            proof="needs a Python that torch does not support",
        ),
        Remedy(
            "windows",
            "torch.compile works on Windows from torch 2.2 on for the CPU with Visual Studio, and"
            " with triton-windows on a GPU.",
            code="python -m pip install -U torch",
            applies=lambda d: d.cause == "platform",
            when="Windows",
            basis="untestable",
            proof="needs Windows",
        ),
        without_compiling(),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if data.cause == "platform":
            return "this torch cannot compile on Windows"
        version = data.facts.get("python")
        return (
            f"this torch cannot compile on Python {version} and newer"
            if version
            else "this torch cannot compile on this Python"
        )
