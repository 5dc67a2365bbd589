"""Kernels that Inductor generated, and Triton refuses: their code, or in its passes."""

from __future__ import annotations

import re

from tracelens.failures.versions import pairs
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["KERNELS", "in_passes", "refused_kernel", "written"]

#: A negative number that Inductor writes in a dtype that has none.
_NEGATIVE = re.compile(r"tl\.full\(\[[^\]]{0,80}\], -\d[\d.e]{0,20}, tl\.uint\d+\)")
#: The kernel that Inductor wrote, in what Triton quotes of it, and the line below the place.
_WRITTEN = re.compile(r"\bdef (triton_\w{1,200})\(")
_POINTER = re.compile(r"\s*\^+\s*")

#: Dtypes that not every GPU has, in the words of MLIR and of Triton; a float8 is kept in an `i8`.
_FEW_HAVE = re.compile(r"\bf8E\w+|\bfp8\w*|[Ff]loat8|'i8'|xi8>|\bbf16\b|[Bb][Ff]loat")


def in_passes(data: FailureData) -> bool:
    """Tell whether Triton's passes failed, after it took the kernel's code."""
    return data.cause == "triton-passes"


def _reason(data: FailureData) -> str:
    """Return what the passes refuse; they end by saying that they did."""
    said = data.output.rpartition("error:")[2].strip()
    return "" if said.startswith("Failures have been detected") else said


def _may_be_dtype(data: FailureData) -> bool:
    """Tell whether the reason names a dtype that a GPU may lack, or is not in the text."""
    return in_passes(data) and (not _reason(data) or bool(_FEW_HAVE.search(_reason(data))))


def refused_kernel(data: FailureData) -> str:
    """Say what Triton refuses, of a kernel's code or in its passes; empty where it is neither."""
    if kernel := written(data):
        return f"Triton refuses a kernel that Inductor generated, `{kernel}`: {_line(data)}"
    if not in_passes(data):
        return ""
    if said := _reason(data):
        return f"Triton's passes refuse a kernel: {said}"
    return f"Triton's passes failed on a kernel, and why is not in the text: {data.message}"


KERNELS = (
    Remedy(
        "unsigned",
        "The kernel writes a negative number in an unsigned dtype. Write the number that it"
        " becomes, as eager does it, or compute in a signed dtype.",
        code="value % 2**32  # for uint32: -90 is 4294967206",
        when="a negative constant of an unsigned dtype in a generated kernel",
        applies=lambda data: _NEGATIVE.search(data.message) is not None,
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "pass-reason",
        "Triton prints why just above the traceback, on stderr: a line with a place in the kernel,"
        " `loc(...)`, and `error:` behind it, which names what is refused. Give it as well.",
        code='python app.py > run.log 2>&1; grep -n -B2 "error:" run.log',
        applies=lambda data: in_passes(data) and not _reason(data),
        when="Triton's passes failed, and their own error is not in the text",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "unfit-dtype",
        "The usual reason is a dtype in which the GPU, or this Triton, cannot compute: float8"
        " before compute capability 8.9 (RTX 40, L4, H100), bfloat16 before 8.0. Take the weights"
        " in float16 or in another quantization, or leave the layers that hold them uncompiled.",
        code='python -c "import torch; print(torch.cuda.get_device_capability())"',
        applies=_may_be_dtype,
        when="the passes' own error names float8, bfloat16 or i8, or is not in the text",
        basis="untestable",
        proof="reports of this failure; it needs a GPU",
    ),
    Remedy(
        "fitting-triton",
        lambda data: (
            f"{'Or this' if _may_be_dtype(data) else 'This'} Triton does not fit torch: take the"
            f" one that it was made with (torch: triton is {pairs()})."
        ),
        code="python -m pip show torch triton  # on Windows: triton-windows",
        applies=in_passes,
        when="Triton's passes failed",
        basis="untestable",
        proof="reports of this failure; it needs a GPU",
    ),
)


def written(data: FailureData) -> str:
    """Return the kernel of Inductor's that Triton refuses; empty where it is none."""
    found = _WRITTEN.search(data.message) if "CompilationError" in data.exception else None
    return found[1] if found else ""


def _line(data: FailureData) -> str:
    """Return what Triton says of the place that it points at, or the line that stands there."""
    lines = data.message.split("\n")
    at = next((n for n, line in enumerate(lines) if _POINTER.fullmatch(line)), 0)
    below = next((line for line in lines[at + 1 :] if line.strip()), "") if at else ""
    return (below or lines[max(0, at - 1)]).strip()
