"""From what two runs showed to a verdict: pure functions, no runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from tracelens.experiment import Experiment
from tracelens.live.statistics import Judgement
from tracelens.report import Confirmation, Cost, Effect, Finding, Report, Severity, Structure

__all__ = [
    "Said",
    "effect",
    "foreign",
    "matching",
    "milder",
    "replacement",
    "structure",
    "told",
    "verdict",
]

State = Literal["confirmed", "confirmed_structure", "refuted", "inconclusive"]
Predicted = Literal["gone", "fewer", "stays"]


@dataclass(frozen=True)
class Said:
    """A verdict with its reason, in words for people."""

    state: State
    reason: str

    @property
    def rank(self) -> int:
        """0 for the verdict that says most."""
        order: tuple[State, ...] = ("confirmed", "confirmed_structure", "refuted", "inconclusive")
        return order.index(self.state)


def matching(finding: Finding, report: Report) -> tuple[Finding, ...]:
    """Return the findings of ``report`` that are this one: by id, else by code and place.

    What is left of a defect as a harmless remark is not the defect.
    """
    harmless = finding.severity is Severity.NONE
    found = [f for f in report.findings if harmless or f.severity is not Severity.NONE]
    same = tuple(other for other in found if other.id == finding.id)
    return same or tuple(other for other in found if _in_place(finding, other))


def milder(finding: Finding, report: Report) -> Finding | None:
    """Return this very finding where ``report`` rates it harmless, as its rule may by its share."""
    found = (other for other in report.findings if other.id == finding.id)
    return next((other for other in found if other.severity is Severity.NONE), None)


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
    known = {other.id for other in before.findings}
    fresh = [other for other in after.shown if other.id not in known]
    return next((other for other in fresh if _replaces(finding, other)), None)


def _replaces(finding: Finding, other: Finding) -> bool:
    if finding.where is None and other.where is None:
        as_bad = other.severity.rank <= finding.severity.rank
        return other.code == finding.code and as_bad and other.count >= finding.count
    return (
        other.code[:3] == finding.code[:3]
        and _same_function(finding, other)
        and other.severity.rank <= min(finding.severity.rank, Severity.WARNING.rank)
    )


def _same_function(finding: Finding, other: Finding) -> bool:
    a, b = finding.where, other.where
    if a is None or b is None:
        return False
    return PurePath(a.file).name == PurePath(b.file).name and a.function == b.function


def structure(
    predicted: Predicted, before: int, after: int, *, instead: Finding | None = None
) -> Structure:
    """Judge the structural half from how often both runs showed the finding."""
    holds = {"gone": not after, "fewer": after < before, "stays": after > 0}[predicted]
    note = ""
    if holds and instead is not None and predicted != "stays":
        holds = False
        note = f"{instead.code} takes its place: {instead.title}"
    return Structure(predicted=predicted, before=before, after=after, holds=holds, note=note)


def effect(judgement: Judgement, of: Literal["step", "run"]) -> Effect:
    """Return the temporal half of a confirmation."""
    return Effect(
        ratio=_digits(judgement.ratio),
        low=_digits(judgement.low),
        high=_digits(judgement.high),
        threshold=_digits(judgement.threshold),
        aa_ratio=_digits(judgement.aa_ratio),
        before_ms=float(f"{judgement.before_ms:.4g}"),
        after_ms=float(f"{judgement.after_ms:.4g}"),
        iterations=judgement.iterations,
        blocks=judgement.blocks,
        of=of,
        holds=judgement.answer == "faster",
        note=judgement.reason,
    )


def told(finding: Finding, said: Confirmation, step: str = "a step") -> Finding:
    """Return a finding with its verdict, and with the measured cost where there is one.

    What the log alone said of the cost stays in the confirmation.

    Args:
        finding: The finding.
        said: The verdict.
        step: What the measured time is of, where it is no whole run.
    """
    estimate = finding.confirmation.estimate or finding.cost
    measured = _saved(said, step)
    if measured is not None:
        said = said.model_copy(update={"estimate": estimate})
    cost = measured or estimate
    return finding.model_copy(update={"confirmation": said, "cost": cost})


def _saved(said: Confirmation, step: str) -> Cost | None:
    """Return what the change was measured to save; None where that is not the verdict."""
    half = said.effect
    if said.state != "confirmed" or half is None or not half.holds or half.before_ms <= 0:
        return None
    of = "the run" if half.of == "run" else step
    share = max(1 - 1 / half.ratio, 0.0)
    return Cost(ms=half.before_ms * share, share=share, basis="confirmed", of=of)


def _digits(ratio: float) -> float:
    return round(ratio, 3) if ratio < 100 else float(f"{ratio:.4g}")


def verdict(
    experiment: Experiment, structural: Structure, judgement: Judgement | None, *, why: str = ""
) -> Said:
    """Join both halves.

    Args:
        experiment: What was predicted.
        structural: What the logs of both runs showed.
        judgement: What the timings showed; None where nothing was timed.
        why: Why nothing was timed although the experiment asks for it.
    """
    what = "the run" if experiment.of == "run" else "a step"
    if not structural.holds:
        return Said("refuted", _not_as_predicted(structural))
    changed = _as_predicted(structural)
    if experiment.time == "any":
        return Said("confirmed", f"{changed}, as predicted")
    if judgement is None:
        return Said("inconclusive", f"{changed}, as predicted, but it was not timed: {why}")
    return _timed(structural, judgement, changed, what)


def _timed(structural: Structure, judgement: Judgement, changed: str, what: str) -> Said:
    if judgement.answer == "unclear":
        return Said("inconclusive", f"{changed}, but its time is unclear: {judgement.reason}")
    if judgement.answer == "faster":
        return Said("confirmed", f"{changed}, and {what} takes less time, as predicted")
    than = "takes longer" if judgement.answer == "slower" else "takes no less time"
    if judgement.answer == "slower" or structural.predicted == "stays":
        return Said("refuted", f"{changed}, but {what} {than}")
    return Said("confirmed_structure", f"{changed}, but {what} {than}: harmless here")


def _as_predicted(structural: Structure) -> str:
    if structural.predicted == "gone":
        return "with the change the finding is gone"
    if structural.predicted == "fewer":
        return f"with the change it is seen {structural.after} times instead of {structural.before}"
    return "the finding stays"


def _not_as_predicted(structural: Structure) -> str:
    if structural.note:
        return f"with the change it is gone, but {structural.note}"
    if structural.predicted == "stays":
        return "with the change the finding is gone, which was not predicted"
    if structural.predicted == "fewer":
        return (
            f"with the change it is seen {structural.after} times, "
            f"and {structural.before} times without"
        )
    return "the finding is still there with the change"


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
    device = (report.environment.device or "").lower()
    accelerated = any(word in device for word in _GPU)
    if accelerated and devices is not None and not devices:
        return f"the log is from {report.environment.device}, and this machine has no such device"
    return ""


def _architecture(text: str) -> str:
    words = text.lower()
    for name, marks in _ARCHITECTURES.items():
        if any(mark in words for mark in marks):
            return name
    return ""
