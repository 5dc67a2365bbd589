"""Advice for those who use a model of an installed package: its code is not theirs to edit.

A finding that names a line is told so by its rule. Lines of oneDNN's name none; the frames that the
same run compiles do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tracelens.dynamo import user_code
from tracelens.evidence import Evidence
from tracelens.remedies import from_outside
from tracelens.report import Finding
from tracelens.rules import Rule

__all__ = ["for_users", "model_of"]

#: Log kinds that name the functions that are compiled.
_TELLING = frozenset({"graph_breaks", "guards", "recompiles", "torch_trace", "output_code"})


def for_users(
    findings: Iterable[Finding], asked: Mapping[str, Rule], evidence: Evidence
) -> Iterator[Finding]:
    """Yield the findings; what edits a package's model comes last.

    Args:
        findings: What the rules have said.
        asked: The rules, by code.
        evidence: What was read of the run.
    """
    package: str | None = None
    for finding in findings:
        remedies = asked[finding.code].remedies if finding.code in asked else ()
        edits = {remedy.id for remedy in remedies if remedy.edits}
        if finding.where is None and any(one.id in edits for one in finding.advice):
            package = model_of(evidence) if package is None else package
            if package:
                advice = from_outside(finding.advice, remedies, package, whole=True)
                yield finding.model_copy(update={"advice": advice})
                continue
        yield finding


def model_of(evidence: Evidence) -> str:
    """Return the package all of whose functions a run compiles; empty where one is a program's."""
    if evidence.kinds.keys().isdisjoint(_TELLING):
        return ""
    from tracelens.frames import Frame  # noqa: PLC0415 -- of logs that tell of frames

    files = (row.record.file for row in evidence.table(Frame))
    packages = Counter(user_code.package(file) for file in files if file)
    return "" if "" in packages or not packages else packages.most_common(1)[0][0]
