"""GBR017 profiler-function-ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tracelens.evidence import Table
from tracelens.experiment import EXPECTED
from tracelens.logs.warnings import TorchWarning
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few

__all__ = ["ProfilerFunctionIgnored"]


class AnnotationData(FindingData):
    """Profiler annotations that compiled code does without."""

    annotations: int


class ProfilerFunctionIgnored(Rule):
    """Dynamo leaves a profiler annotation out of the compiled code, and says so.

    ## Why it matters
    It does not: a ``record_function`` inside compiled code is dropped. The warning looks like a graph
    break and is none, and people spend time on it.

    ## What it looks like
        W1120 10:37:06.625000 25342 torch/_logging/_internal.py:1345] [1/0] Profiler record function <class 'torch.autograd.profiler.record_function'> will be ignored

    Up to torch 2.7 ``Profiler function``.

    ## When it is harmless
    Always. The annotation is missing in a profile of the compiled model, nothing else.

    ## What to do
    Nothing; to keep the annotation, put it around the call of the compiled function.

    ## How a live run confirms it
    Not applicable: it costs nothing.

    ## See also
    GBR012 (real graph breaks).
    <https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html>
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "GBR017"
    name = "profiler-function-ignored"
    severity = Severity.NONE
    moved_by: ClassVar = {"said.topic": {"profiler-function"}}
    unconfirmable = EXPECTED
    Data = AnnotationData

    def check(self, *, said: Table[TorchWarning]) -> Iterator[Finding]:
        """Yield one note for all of them."""
        found = [seen for seen in said if seen.record.topic == "profiler-function"]
        if found:
            count = sum(seen.count for seen in found)
            yield self.finding(
                "ignored",
                title="profiler annotations are left out of compiled code",
                message="This is no graph break: the annotation is dropped, the code is compiled.",
                count=count,
                data=AnnotationData(annotations=count),
                harmless="nothing but the name of a range in a profile is lost",
                evidence=[seen.quote() for seen in few(found)],
            )
