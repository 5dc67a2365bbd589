"""What can be tried of a finding: the advice that is printed, then what its rule states."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tracelens.experiment import IN_THE_PROGRAM, Experiment, Knob
from tracelens.live import logcode, matching
from tracelens.live.lab import Lab
from tracelens.live.micro import Pair, build
from tracelens.live.statistics import Judgement
from tracelens.live.workload import Side, Workload
from tracelens.report import Deviation, Finding, Report, Structure
from tracelens.rules import Rule

__all__ = ["Means", "Nothing", "Outcome", "Result", "Trial", "experiments_of", "trials"]

#: Families whose claims about time rest on what was run, which is counted.
_COUNTED = frozenset({"ONE"})
Count = Callable[[Report], int]
#: What a trial showed; ``unfinished`` where the time was up, ``stays`` where only time can tell.
Outcome = Literal[
    "gone", "fewer", "stays", "still_there", "replaced", "raises", "no_effect", "not_applicable",
    "unfinished",
]  # fmt: skip


@dataclass(frozen=True)
class Means:
    """What there is to run."""

    #: The user's command, or the entry; None where only small programs of our own are.
    workload: Workload | None
    #: The interpreter that has torch, for programs of our own.
    python: str
    #: The log whose generated code may be run; None unless the user has said so.
    log_code: Path | None = None
    #: What the report is called on the command line, for the command that goes on elsewhere.
    name: str = "report.json"
    #: What the program took when it was recorded; 0 where that is not known.
    seconds: float = 0.0


@dataclass(frozen=True)
class Trial:
    """One change to one program, and how to see the finding in a report."""

    experiment: Experiment
    knob: Knob
    before: Side
    after: Side
    #: How often the finding shows in the unchanged program, and what is left of it in the changed.
    shows: Count
    left: Count
    #: What a finding that takes this one's place is, given both reports.
    instead: Callable[[Report, Report], Finding | None] = lambda *_: None
    #: How the defect lives on though its finding is gone, given both reports; empty if it does not.
    remains: Callable[[Report, Report], str] = lambda *_: ""
    #: Whether what it is of is as frequent as before though it is gone, given both reports.
    as_many: Callable[[Report, Report], bool] = lambda *_: False
    #: The finding where a run rates it harmless: a share of the time differs from run to run.
    mild: Callable[[Report], Finding | None] = lambda _: None
    #: The id of the printed advice that this is; empty for what only the rule knows of.
    advice: str = ""
    #: Whether the program is one of our own: what it shows is no word about the user's.
    same_form: bool = False
    #: Whether the finding rests on times, so that it may come and go by chance, or the structural
    #: half is all there is: then it is looked at twice.
    by_time: bool = False
    #: The user's program beside it, where there is one, and how to see the finding there.
    own: Side | None = None
    shown: Count = lambda _: 1

    @property
    def is_timed(self) -> bool:
        """Whether the finding says something about time."""
        return self.experiment.time == "faster"


@dataclass
class Result:
    """What a trial has shown so far."""

    trial: Trial
    outcome: Outcome
    #: Why, in words; empty where the outcome says it.
    note: str = ""
    structure: Structure | None = None
    environment: dict[str, str] = field(default_factory=dict)
    judgement: Judgement | None = None
    #: Why the time is not known, where that will stay so.
    untimed: str = ""
    #: Whether more time might say more.
    pending: bool = False
    deviation: Deviation | None = None
    #: Whether what took its place is the same in another form, and as much as it was.
    moved: bool = False
    #: What the change brought along that was not there before, in words.
    brought: str = ""

    @property
    def holds(self) -> bool:
        """Whether the log changed as predicted."""
        return self.outcome in {"gone", "fewer"}

    @property
    def wants_time(self) -> bool:
        """Whether timing it can say more."""
        return self.trial.is_timed and (self.holds or self.outcome == "stays")


class Nothing(Exception):
    """There is nothing to try; the message says why."""


def trials(
    finding: Finding, rule: Rule | None, report: Report, means: Means, lab: Lab
) -> list[Trial]:
    """Return what to try, the first choice first.

    Args:
        finding: The finding.
        rule: Its rule, where it is installed.
        report: The report that it is of.
        means: What there is to run.
        lab: Where small programs are written.

    Raises:
        Nothing: Nothing can be tried.
    """
    experiments = experiments_of(rule, finding)
    workload = means.workload
    found = list(_own(finding, experiments, workload)) if workload is not None else []
    if found:
        by_time = rule is not None and rule.claim == "time" and rule.code[:3] not in _COUNTED
        return [replace(trial, by_time=by_time or not trial.is_timed) for trial in found]
    if not experiments:
        reason = rule.unconfirmable if rule else "its rule is not installed"
        if rule and rule.experiment is not None:
            reason = "what it is about has no change from outside"
        raise Nothing(reason or "no run can show it")
    small = _small(experiments[0], finding, report, means, lab)
    if workload is not None:
        small = replace(small, own=Side(workload), shown=matching.count(finding))
    return [small]


def experiments_of(rule: Rule | None, finding: Finding) -> tuple[Experiment, ...]:
    """Return what a rule states of a finding; nothing where another version has written it."""
    try:
        return rule.experiments(finding) if rule else ()
    except ValidationError:
        return ()


def _own(
    finding: Finding, experiments: tuple[Experiment, ...], workload: Workload
) -> Iterator[Trial]:
    """Yield the printed advice as changes to the user's program, then the rule's other changes."""
    settings = [e for e in experiments if e.knob.settings]
    usual = settings[0] if settings else None
    seen: set[str] = set()
    for advice in finding.advice:
        knob = advice.knob
        if knob is None or not knob.settings or _key(knob) in seen:
            continue
        seen.add(_key(knob))
        alike = next((e for e in settings if _key(e.knob) == _key(knob)), None)
        base = alike or usual or Experiment(knob)
        yield _trial(finding, replace(base, knob=knob), workload, advice.id)
    for experiment in settings:
        if _key(experiment.knob) not in seen:
            yield _trial(finding, experiment, workload, "")


def _key(knob: Knob) -> str:
    return repr(sorted(knob.settings.items()))


def _trial(finding: Finding, experiment: Experiment, workload: Workload, advice: str) -> Trial:
    return Trial(
        experiment,
        experiment.knob,
        Side(workload),
        Side(workload, experiment.knob),
        matching.count(finding),
        matching.left(finding),
        lambda before, after: matching.replacement(finding, before, after),
        lambda before, after: matching.remains(finding, before, after),
        lambda before, after: matching.as_many(finding, before, after),
        lambda report: matching.milder(finding, report),
        advice=advice,
    )


def _small(
    experiment: Experiment, finding: Finding, report: Report, means: Means, lab: Lab
) -> Trial:
    """Return a program of our own, of the form that the log has recorded."""
    pair = build(experiment.micro, finding, report) if experiment.micro else None
    if pair is None and means.log_code is not None:
        pair = logcode.pair(finding, means.log_code, experiment.knob)
    if pair is None:
        if means.workload is not None:
            raise Nothing(IN_THE_PROGRAM)
        what = "only the program itself can show it"
        raise Nothing(f"{what}: tracelens confirm {means.name} -- COMMAND")
    if pair.machine and pair.machine != platform.machine():
        raise Nothing(
            f"not confirmable on this machine: it is from {pair.machine}; tracelens repro "
            f"{means.name} {finding.id} writes a script to run there"
        )
    return _of_pair(experiment, pair, means.python, lab.folder("program"))


def _of_pair(experiment: Experiment, pair: Pair, python: str, folder: Path) -> Trial:
    before, after = pair.sides(python, folder)
    expected = pair.structure or experiment.structure
    experiment = replace(experiment, structure=expected, of="step")
    return Trial(experiment, pair.knob, before, after, pair.shows, pair.shows, same_form=True)
