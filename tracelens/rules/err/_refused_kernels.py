"""Kernels that Inductor generated, and Triton refuses."""

from __future__ import annotations

import re

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["UNSIGNED", "refused_line", "written"]

#: A negative number that Inductor writes in a dtype that has none.
_NEGATIVE = re.compile(r"tl\.full\(\[[^\]]{0,80}\], -\d[\d.e]{0,20}, tl\.uint\d+\)")
#: The kernel that Inductor wrote, in what Triton quotes of it, and the line below the place.
_WRITTEN = re.compile(r"\bdef (triton_\w{1,200})\(")
_POINTER = re.compile(r"\s*\^+\s*")

UNSIGNED = Remedy(
    "unsigned",
    "The kernel writes a negative number in an unsigned dtype. Write the number that it becomes,"
    " as eager does it, or compute in a signed dtype.",
    code="value % 2**32  # for uint32: -90 is 4294967206",
    when="a negative constant of an unsigned dtype in a generated kernel",
    applies=lambda data: _NEGATIVE.search(data.message) is not None,
    basis="untestable",
    proof="needs a GPU",
)


def written(data: FailureData) -> str:
    """Return the kernel of Inductor's that Triton refuses; empty where it is none."""
    found = _WRITTEN.search(data.message) if "CompilationError" in data.exception else None
    return found[1] if found else ""


def refused_line(data: FailureData) -> str:
    """Return what Triton says of the place that it points at, or the line that stands there."""
    lines = data.message.split("\n")
    at = next((n for n, line in enumerate(lines) if _POINTER.fullmatch(line)), 0)
    below = next((line for line in lines[at + 1 :] if line.strip()), "") if at else ""
    return (below or lines[max(0, at - 1)]).strip()
