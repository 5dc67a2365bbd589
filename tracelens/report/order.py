"""The order in which the findings of a run are told: as someone would act on them.

What ended the program comes first, then by severity; within it causes before symptoms, then what
costs most, then what the input shows most often. The cost is weighed, since not all are of a kind:
a compilation is paid once, at the start, and a slow kernel in every step, of which a recording
holds a few and the run that matters thousands.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracelens.report.model import Finding

__all__ = ["order"]

#: What tells of the run as a whole: how long compiling took in all, how many breaks there are; then
#: guards: a thousandth of a second in each call, of which no log of the compiler has more than a
#: few, or how many there are, which costs no time that the log tells; then what tells of the log.
_OF_THE_WHOLE = {"CMP001": 1, "GBR012": 1, "GRD001": 2, "GRD002": 2, "LOG": 3}
#: Families whose cost is compiling or tuning, or waiting for it: the same in a longer run.
_PAID_ONCE = frozenset({"CMP", "DST", "DYN", "GBR", "RCP", "TUN"})
#: Rules of other families about the same: what a trace shows of compiling, and of its start.
_SEEN_ONCE = frozenset({"TRC003", "TRC023", "TRC029"})
#: Rules of those families about what every step costs: training that nothing compiles.
_PAID_IN_EACH_STEP = frozenset({"CMP008"})
#: How many times as long as its recording the run is that matters.
_LONGER = 100.0
#: What a graph break costs at least, as weighed: some tens of microseconds in each step, of which
#: no log of the compiler tells. A cost of less than a millisecond in all of a recording is less.
_OF_A_BREAK = 100.0
#: What a bound is worth beside an estimate: it is the most that there can be.
_OF_A_BOUND = 0.5


def order(finding: Finding) -> tuple[object, ...]:
    """Return the sort key of a finding among those of its report.

    Within a severity, an error about results comes first. What a run has confirmed comes before
    what the log alone says, and that before what a run has refuted, or shown to cost nothing. A sum
    over the whole run comes after what names a place in it, and what is about the log itself after
    that. A bound counts half. Of two that cost about the same, what its reader can change comes
    first, and what is compiled again after what breaks a graph. What is silenced comes last.
    """
    shown = bool(finding.cost and finding.cost.basis == "confirmed")
    said = finding.confirmation
    tried = -1 if shown else int(said.state == "refuted" or said.harmless)
    silenced = bool(finding.ignored or finding.suppressed_by)
    ended = finding.severity == "error" and bool(finding.data.get("ended_program"))
    symptom = finding.explained_by is not None
    family = finding.code[:3]
    whole = _OF_THE_WHOLE.get(family, 0) or _OF_THE_WHOLE.get(finding.code, 0)
    if finding.code == "CMP001" and finding.cost:  # it names a part, and what that took
        whole = 0
    if finding.code == "ENV001" and finding.data.get("threads") == 1:  # of others, in this run
        whole = _OF_THE_WHOLE["LOG"]
    wrong = finding.severity == "error" and _is_of_results(finding)
    first = (silenced, not ended, finding.severity.rank, not wrong, whole, symptom, tried)
    ms = _weight(finding)
    again = ms > 0 and family == "RCP"  # a break makes more functions to compile again
    cost = (-_magnitude(ms), ms > 0 and _is_out_of_reach(finding), again, -ms)
    return (*first, *cost, -finding.count, finding.code, finding.id, finding.run)


def _is_of_results(finding: Finding) -> bool:
    """Whether it says that results are wrong: a buffer never read, a float without its guard."""
    return finding.code == "NUM003" or finding.data.get("computed") == "lost"


def _weight(finding: Finding) -> float:
    """Return the milliseconds that a finding costs the run that matters; 0 where not known."""
    ms = (finding.cost.ms or 0.0) if finding.cost else 0.0
    if finding.cost and finding.cost.basis == "upper_bound":
        ms *= _OF_A_BOUND
    if finding.code.startswith("GBR"):
        return max(ms, _OF_A_BREAK)
    is_once = finding.code[:3] in _PAID_ONCE and finding.code not in _PAID_IN_EACH_STEP
    once = is_once or finding.code in _SEEN_ONCE
    if finding.code in _SEEN_ONCE and finding.data.get("mostly"):
        once = False  # the recording holds hardly anything of the run that matters
    return ms if once else ms * _LONGER


def _magnitude(ms: float) -> int:
    """Return the power of ten of a cost; costs of one power are about the same."""
    return math.floor(math.log10(ms)) if ms > 0 else -99


def _is_out_of_reach(finding: Finding) -> bool:
    """Whether no change is named, or neither a line to change nor something to paste."""
    pasted = any(one.is_pasted for one in finding.advice)
    return not finding.advice or (finding.where is None and not pasted)
