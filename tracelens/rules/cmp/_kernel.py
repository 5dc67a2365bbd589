"""What CMP001 tells of one generated kernel that is extremely long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.report import Finding, Severity
from tracelens.rules import Rule
from tracelens.rules.cmp._advice import CompileData

if TYPE_CHECKING:
    from tracelens.inductor.longest import Longest

__all__ = ["of_kernel"]

_WRITTEN = "; slices are written into a tensor in it, one after another"


def of_kernel(rule: Rule, found: Finding, long: Longest) -> Finding:
    """Return a finding about compile time with the kernel as its cause: it is no note then."""
    told = {"kernel": long.kernel, "kernel_lines": long.lines, "is_written": long.is_of_slices}
    data = CompileData.model_validate({**found.data, **told})
    changes = {
        "title": f"{found.title.partition(':')[0]}: one kernel has {long.lines:,} lines",
        "message": f"{found.message} `{long.kernel}` has {long.lines:,} lines of C++"
        f"{_WRITTEN if long.is_of_slices else ''}. Compilers take long for so many, and what they "
        "make of them may be slow.",
        "severity": rule.severity if found.severity is Severity.NONE else found.severity,
        "harmless": None,
        "where": user_code.where(long.frame) or found.where,
        "advice": rule.advise(data),
        "data": data.model_dump(mode="json"),
    }
    return found.model_copy(update=changes)
