"""Models that graph breaks in a package cut to pieces: whether to compile them is a question."""

from __future__ import annotations

from collections import Counter

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.report import Finding, Severity

__all__ = ["in_pieces", "without_inner"]

#: So many compiled functions are the pieces of a model, rather than the model.
PIECES = 8
_MEASURE = (
    " The model is compiled in many pieces. Whether that is faster at all, a run with "
    "`TORCHDYNAMO_DISABLE=1` tells; if it is not, compile only the part that takes the most "
    "time, by `torch.compile(part)`."
)


def in_pieces(finding: Finding, site: BreakSite, compiled: Counter[tuple[str, str]]) -> Finding:
    """Return the finding, with how to see whether compiling pays where no change is named."""
    processes = {place.process for place, _ in site.events}
    pieces = max((compiled[one] for one in processes), default=0)
    quiet = finding.severity is Severity.NONE or bool(finding.advice)
    if quiet or not user_code.package(site.line.file) or pieces < PIECES:
        return finding
    return finding.model_copy(update={"message": finding.message + _MEASURE})


def without_inner(finding: Finding) -> Finding:
    """Return the finding without the advice to compile what does not reach its line."""
    advice = tuple(one for one in finding.advice if one.id not in {"compile-inner", "see-parts"})
    return finding.model_copy(update={"advice": advice})
