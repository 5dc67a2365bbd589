"""How long it will take: said before it starts, from what the program took when it was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracelens.live.lab import Lab
from tracelens.live.statistics import LOOKS
from tracelens.live.trials import Means, Trial
from tracelens.live.workload import Side

__all__ = ["Forecast", "forecast"]

#: Seconds that a small program of our own takes, recorded: mostly the import of torch.
SMALL = 8.0
#: Seconds of a program of which nothing is known.
UNKNOWN = 15.0


@dataclass(frozen=True)
class Forecast:
    """What is to come, in seconds."""

    findings: int
    structure: float
    whole: float
    #: What the unchanged program takes; 0 where that is not known yet.
    program: float = 0.0


def forecast(trials: Sequence[Trial], means: Means, lab: Lab) -> Forecast:
    """Return how long the first trial of each finding will take, both halves.

    Args:
        trials: The first trial of each finding.
        means: What is run.
        lab: Where it is run: it knows what was recorded before.
    """
    usual = means.seconds
    if means.workload is not None and (kept := lab.run_cache.recorded(Side(means.workload))):
        usual = kept.seconds
    own = {_name(t) for t in trials if not t.same_form}
    timed = {_name(t) for t in trials if t.is_timed and not t.same_form}
    small = [t for t in trials if t.same_form]
    each = usual or UNKNOWN
    structure = each * (len(own) + bool(own)) + 2 * SMALL * len(small)
    blocks = 3 * LOOKS[0]
    longest = structure + blocks * (each * len(timed) + SMALL * len(small))
    return Forecast(len(trials), structure, min(longest, max(lab.left, structure)), usual)


def _name(trial: Trial) -> str:
    return repr(sorted(trial.knob.settings.items()))
