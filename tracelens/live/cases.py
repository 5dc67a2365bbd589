"""Findings in the making: what can be tried of each, what was, and what comes next."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tracelens.live import verdicts
from tracelens.live.sides import key_of
from tracelens.live.trials import Result, Trial
from tracelens.live.workload import Side
from tracelens.report import Confirmation, Finding

__all__ = ["Case", "in_turn", "sides_of", "timed"]


@dataclass
class Case:
    """One finding, and what was and what can be tried of it."""

    finding: Finding
    trials: list[Trial] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    #: Said where there is nothing to try.
    nothing: Confirmation | None = None
    #: Whether its old verdict is of another program.
    is_changed: bool = False

    @property
    def worked(self) -> bool:
        """Whether one of the trials has shown what was predicted, and nothing worse."""
        return any(result.holds and not result.brought for result in self.results)

    @property
    def said(self) -> Confirmation:
        """The verdict so far."""
        if self.nothing is not None:
            return self.nothing
        more = len(self.results) < len(self.trials) and not self.worked
        return verdicts.verdict(self.results, more=more)


def in_turn(cases: Sequence[Case], number: int, *, every: bool) -> list[Case]:
    """Return the cases whose trial of this number is to be made: shared changes first.

    Args:
        cases: All of them.
        number: Of the trial, from 0.
        every: Whether a trial is made also where another has worked.
    """
    found = [
        case
        for case in cases
        if case.nothing is None
        and len(case.trials) > number
        and (number == 0 or every or not case.worked)
    ]
    keys = [_key(case.trials[number]) for case in found]
    ranked = sorted(
        enumerate(found),
        key=lambda pair: (
            pair[1].trials[number].same_form,
            -keys.count(keys[pair[0]]),
            keys.index(keys[pair[0]]),
        ),
    )
    return [case for _, case in ranked]


def sides_of(trials: Sequence[Trial]) -> list[Side]:
    """Return what is recorded for these trials, in their order.

    Up to the first that rests on times: they would feel what runs beside them.
    """
    counted = itertools.takewhile(lambda trial: not trial.by_time, trials)
    sides = ((trial.own, trial.before, trial.after) for trial in counted)
    return [side for three in sides for side in three if side is not None]


def timed(cases: Sequence[Case], *, every: bool) -> Iterator[list[tuple[Case, Result]]]:
    """Yield what is to be timed, the costliest first: changes of one program together."""
    found: dict[tuple[str, str], list[tuple[Case, Result]]] = {}
    for case in sorted(cases, key=_costly):
        wanted = [result for result in case.results if result.wants_time]
        for result in wanted if every else wanted[:1]:
            trial = result.trial
            found.setdefault((key_of(trial.before), trial.experiment.of), []).append((case, result))
    yield from found.values()


def _key(trial: Trial) -> str:
    return f"{trial.before.workload} {sorted(trial.knob.settings.items())}"


def _costly(case: Case) -> tuple[bool, float]:
    cost = case.finding.cost
    own = not any(result.trial.same_form for result in case.results)
    return not own, -(cost.ms or 0.0 if cost else 0.0)
