"""Which finding of one run is which of another, and whether a report is from here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from tracelens.report import Finding, Report, Severity, Where

__all__ = [
    "accelerated",
    "as_many",
    "brought",
    "count",
    "foreign",
    "left",
    "matching",
    "milder",
    "remains",
    "replacement",
]


#: Breaks at a value that is read from a tensor, and where a value of a tensor decides.
_VALUE = re.compile(r"Tensor\.item")
_DECISION = re.compile(r"Data-dependent (?:branching|jump)")


def matching(finding: Finding, report: Report) -> tuple[Finding, ...]:
    """Return the findings of ``report`` that are this one: by id, else by code, place and claim.

    What is left of a defect as a harmless remark is not the defect.
    """
    harmless = finding.severity is Severity.NONE
    found = [f for f in report.findings if harmless or f.severity is not Severity.NONE]
    same = tuple(other for other in found if other.id == finding.id)
    return same or tuple(other for other in found if _says_the_same(finding, other))


def count(finding: Finding) -> Callable[[Report], int]:
    """Return what counts how often a report shows this very finding."""
    return lambda report: sum(found.count for found in matching(finding, report))


def left(finding: Finding) -> Callable[[Report], int]:
    """Return what counts what is left of a finding: the same rule at the same place is enough."""

    def counted(report: Report) -> int:
        found = matching(finding, report)
        if not found:
            harmless = finding.severity is Severity.NONE
            shown = [f for f in report.findings if harmless or f.severity is not Severity.NONE]
            found = tuple(other for other in shown if _in_place(finding, other))
        return sum(other.count for other in found)

    return counted


def milder(finding: Finding, report: Report) -> Finding | None:
    """Return this very finding where ``report`` rates it harmless, as its rule may by its share."""
    found = (other for other in report.findings if other.id == finding.id)
    return next((other for other in found if other.severity is Severity.NONE), None)


def _says_the_same(finding: Finding, other: Finding) -> bool:
    """Return whether both claim the same about one line; only the path may differ."""
    a, b = finding.where, other.where
    same_line = a is not None and b is not None and a.line == b.line
    return same_line and _in_place(finding, other) and _claim(finding) == _claim(other)


def _claim(finding: Finding) -> object:
    """Return what a finding claims, without figures: its data, or else its title."""
    plain = {k: v for k, v in finding.data.items() if isinstance(v, str) and "/" not in v}
    return plain or re.sub(r"\d+", "", finding.title)


def _in_place(finding: Finding, other: Finding) -> bool:
    """Return whether both say the same of one place; a path may differ, and so may a line."""
    a, b = finding.where, other.where
    if finding.code != other.code or a is None or b is None:
        return False
    same_file = PurePath(a.file).name == PurePath(b.file).name
    if a.function or b.function:
        return same_file and a.function == b.function
    return same_file and a.line == b.line


def replacement(finding: Finding, before: Report, after: Report) -> Finding | None:
    """Return the finding that has taken the place of one that is gone, if any.

    It is of the same family, says the same severity or worse about the same function, and the
    unchanged run did not have it. Where no place is known, it is of the same rule, as severe, and
    seen as often.
    """
    return next(_instead(finding, before, after), None)


def _instead(finding: Finding, before: Report, after: Report) -> Iterator[Finding]:
    known = {other.id for other in before.findings}
    fresh = (other for other in after.shown if other.id not in known)
    return (other for other in fresh if _replaces(finding, other))


def remains(finding: Finding, before: Report, after: Report) -> str:
    """Return how a defect lives on though its finding is gone; empty where it does not.

    The same line may break the graph for a reason that no rule tells, and the same function may be
    compiled anew as often, by another guard. What breaks another line of its function may have been
    hidden before.
    """
    if finding.code.startswith("GBR") and finding.where is not None:
        old, new = _breaks(finding.where, before), _breaks(finding.where, after)
        if new and not new < old:
            kind = min(new - old or new)
            return f"the graph still breaks at this line: {kind}"
        if not new and not matching(finding, after) and left(finding)(after):
            return "the same breaks the graph at another line of this function"
    if finding.code.startswith("RCP") and finding.where is not None:
        times = _recompiles(finding.where, after)
        if 0 < _recompiles(finding.where, before) <= times:
            return f"`{finding.where.function}` is compiled anew as often as before ({times} times)"
    return ""


def as_many(finding: Finding, before: Report, after: Report) -> bool:
    """Return whether a defect is where it was and as frequent, though its finding is gone.

    The finding's own line breaks the graph as before, or by a decision on the same value; the
    function is compiled anew as often, by the same kind of guard or for the same argument. A break
    at another line, or another guard, may have been hidden by what the change has ended.
    """
    where = finding.where
    if where is None:
        return any(_claim(other) == _claim(finding) for other in _instead(finding, before, after))
    if finding.code.startswith("GBR"):
        old, new = _breaks(where, before), _breaks(where, after)
        return bool(old) and old <= new | _decided(old, new)
    if finding.data.get("cause") == finding.code and finding.code.startswith("RCP"):
        as_often = _recompiles(where, after) >= _recompiles(where, before) > 0
        return as_often and any(_same_cause(finding, other) for other in after.findings)
    return False


def _decided(old: set[str], new: set[str]) -> set[str]:
    """Return the breaks at ``item()`` that have become breaks where that value decides."""
    decides = any(_DECISION.match(kind) for kind in new)
    return {kind for kind in old if decides and _VALUE.search(kind)}


def _same_cause(finding: Finding, other: Finding) -> bool:
    """Return whether the same guard, or one on the same argument, recompiles the same function."""
    told = ("cause", "source")
    alike = any(finding.data.get(k) and finding.data[k] == other.data.get(k) for k in told)
    return other.code.startswith("RCP") and alike and _same_function(finding, other)


def _breaks(where: Where, report: Report) -> set[str]:
    """Return what breaks the graph at a line."""
    rows = report.tables.get("graph_breaks", ())
    return {str(row.get("type")) for row in rows if _at(where, row) and row["line"] == where.line}


def _recompiles(where: Where, report: Report) -> int:
    """Return how often a function was compiled anew."""
    rows = report.tables.get("recompiles", ())
    found = (row for row in rows if _at(where, row) and row.get("function") == where.function)
    return sum(int(row.get("count") or 1) for row in found)


def _at(where: Where, row: Mapping[str, Any]) -> bool:
    return PurePath(str(row.get("file"))).name == PurePath(where.file).name


#: What a change may bring is told of these: what is counted, and does not come and go by chance.
_TOLD = frozenset({"DYN", "ERR", "GBR", "NUM", "RCP"})


def brought(before: Report, after: Report) -> Finding | None:
    """Return the worst defect that a changed run has and the unchanged one had nowhere, if any."""
    known = {other.id for other in before.findings}
    fresh = (
        other
        for other in after.shown
        if other.code[:3] in _TOLD
        and other.severity.rank <= Severity.WARNING.rank
        and other.id not in known
        and not any(_in_place(other, one) for one in before.shown)
    )
    return min(
        fresh, key=lambda other: (bool(other.explained_by), other.severity.rank), default=None
    )


def _replaces(finding: Finding, other: Finding) -> bool:
    if finding.where is None and other.where is None:
        as_bad = other.severity.rank <= finding.severity.rank
        return other.code == finding.code and as_bad and other.count >= finding.count
    return (
        _family(other) == _family(finding)
        and _same_function(finding, other)
        and other.severity.rank <= min(finding.severity.rank, Severity.WARNING.rank)
    )


def _family(finding: Finding) -> str:
    """Return the family: to be compiled anew, or to be made dynamic, is the same question."""
    family = finding.code[:3]
    return "RCP" if family == "DYN" else family


def _same_function(finding: Finding, other: Finding) -> bool:
    a, b = finding.where, other.where
    if a is None or b is None:
        return False
    return PurePath(a.file).name == PurePath(b.file).name and a.function == b.function


#: Words in what a report says about instruction sets and processors, by architecture.
_ARCHITECTURES = {
    "aarch64": ("aarch64", "arm", "sve", "asimd", "neon", "neoverse", "graviton", "apple"),
    "x86_64": ("x86", "avx", "sse", "amx", "xeon", "epyc", "intel", "amd", "ryzen"),
    "ppc64le": ("ppc", "power9", "power10", "vsx"),
    "s390x": ("s390", "zvector"),
}
#: Other names of the same.
_MACHINES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
_GPU = ("cuda", "nvidia", "tesla", "geforce", "rtx", "hip", "rocm", "xpu", "radeon", "instinct")


def foreign(report: Report, machine: str, devices: Sequence[str] | None) -> str:
    """Return why a report's findings cannot be tested here; empty when they can.

    Args:
        report: The report whose environment counts.
        machine: The architecture of this machine, as ``uname -m`` says it.
        devices: The names of this machine's accelerators; None where that is not known.
    """
    here = _MACHINES.get(machine.lower(), machine.lower())
    there = _architecture(f"{report.environment.isa or ''} {report.environment.cpu or ''}")
    if there and there != here:
        return f"the log is from {there}, and this machine is {here}"
    if accelerated(report) and devices is not None and not devices:
        return f"the log is from {report.environment.device}, and this machine has no such device"
    return ""


def accelerated(report: Report) -> bool:
    """Return whether a report is of a run on an accelerator."""
    device = (report.environment.device or "").lower()
    return any(word in device for word in _GPU)


def _architecture(text: str) -> str:
    words = text.lower()
    for name, marks in _ARCHITECTURES.items():
        if any(mark in words for mark in marks):
            return name
    return ""
