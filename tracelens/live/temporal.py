"""The temporal half: how much time the change saves; it only ever adds to a verdict."""

from __future__ import annotations

from tracelens.live.lab import Lab, OutOfTime, RunFailed
from tracelens.live.trials import Result, Trial
from tracelens.report import Deviation

__all__ = ["UNFINISHED", "measure"]

#: Said where the time was up.
UNFINISHED = "the time was up"


def measure(result: Result, lab: Lab) -> None:
    """Time both sides of a trial, as far as the time allows, and add what they show."""
    trial = result.trial
    try:
        timing = lab.blocks(trial.before, trial.after, trial.experiment.of)
    except RunFailed as failed:
        result.untimed, result.pending = str(failed), False
        return
    except OutOfTime:
        result.pending = True
        return
    result.judgement = timing.judgement
    result.environment |= dict(timing.environment)
    result.pending = timing.unfinished
    if trial.knob.changes_results and result.deviation is None:
        result.deviation, aside = _deviation(trial, lab)
        result.note = result.note or aside


def _deviation(trial: Trial, lab: Lab) -> tuple[Deviation | None, str]:
    """Return how far the results are from eager, or why that is not known."""
    try:
        changed, unchanged = lab.compare(trial.after), lab.compare(trial.before)
    except (RunFailed, OutOfTime) as error:
        return None, f"results could not be compared with eager: {str(error) or UNFINISHED}"
    found = Deviation(
        max_abs=changed["max_abs"],
        max_rel=changed["max_rel"],
        unchanged_max_abs=unchanged["max_abs"],
    )
    return found, ""
