"""Findings to experiments to verdicts: reproduce, change one thing, count, time."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from tracelens import engine
from tracelens.errors import UsageError
from tracelens.experiment import UNCHANGED, Experiment, Knob
from tracelens.live import conditions, logcode, verdicts
from tracelens.live.lab import Lab, OutOfTime, Recorded, RunFailed, Timing, driven
from tracelens.live.micro import Pair, build
from tracelens.live.verdicts import Said
from tracelens.live.workload import Side, Workload
from tracelens.report import Confirmation, Deviation, Finding, Report, Structure
from tracelens.rules import Rule

__all__ = ["Means", "candidates", "confirm"]

#: Said of a finding whose experiment the time limit ended; it is tried again the next time.
UNFINISHED = "the time limit came first"

Count = Callable[[Report], int]


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


@dataclass(frozen=True)
class _Trial:
    """An experiment that can be carried out: two sides, and how to see the finding in a report."""

    experiment: Experiment
    knob: Knob
    before: Side
    after: Side
    count: Count
    #: What a finding that takes this one's place is, given both reports.
    instead: Callable[[Report, Report], Finding | None]
    #: The finding where a run rates it harmless: a share of the time differs from run to run.
    mild: Callable[[Report], Finding | None] = lambda _: None


def candidates(report: Report, only: Collection[str] = ()) -> list[Finding]:
    """Return the findings to test, the costliest first: those to act on, or those asked for.

    Args:
        report: The report.
        only: Codes, prefixes of codes, names of rules, or ids of findings.

    Raises:
        UsageError: ``only`` matches nothing in the report.
    """
    if not only:
        return list(report.shown)
    for wanted in only:
        if not any(_asked(finding, wanted) for finding in report.findings):
            raise UsageError(f"--only {wanted}: the report has no such finding")
    return [f for f in report.findings if any(_asked(f, wanted) for wanted in only)]


def _asked(finding: Finding, wanted: str) -> bool:
    return (
        finding.code.startswith(wanted.upper())
        or finding.name == wanted.lower()
        or finding.id == wanted
    )


def confirm(
    report: Report,
    lab: Lab,
    means: Means,
    *,
    only: Collection[str] = (),
    on_finding: Callable[[Finding, int, int], None] | None = None,
    on_result: Callable[[Report, Finding], None] | None = None,
) -> Report:
    """Test findings until all are tested or the time is up, and return the report with verdicts.

    What an earlier run has settled stays as it is. What it left open is tried again when ``only``
    names it.

    Args:
        report: What to test.
        lab: Where to run things, with its time budget.
        means: What to run.
        only: Which findings; those to act on when empty.
        on_finding: Called before each, with its number and how many there are.
        on_result: Called after each verdict with the report and the finding.
    """
    rules = {rule.code: rule for rule in engine.select_rules()}
    asked = candidates(report, only)
    changed = _changed(lab, means)
    todo = [f for f in asked if f.id in changed or _is_open(f.confirmation, bool(only))]
    for number, finding in enumerate(todo, start=1):
        if lab.left < 1:
            break
        if on_finding is not None:
            on_finding(finding, number, len(todo))
        said = _Tester(report, lab, means, rules.get(finding.code)).test(finding)
        mine = means.workload is not None and said.workload == str(means.workload)
        report = _with(report, finding, said, "a step" if mine else "a step of a small program")
        lab.keeper.keep_verdict(finding.id, _signature(lab, means))
        if on_result is not None:
            on_result(report, finding.model_copy(update={"confirmation": said}))
    return report


def _changed(lab: Lab, means: Means) -> set[str]:
    """Return the findings whose verdict is from another program than the one that is given now."""
    verdicts_of = lab.keeper.verdicts() if means.workload is not None else {}
    now = _signature(lab, means) if verdicts_of else ""
    return {finding for finding, signature in verdicts_of.items() if signature != now}


def _signature(lab: Lab, means: Means) -> str:
    """Return what stands for the program as it is: command, files, machine, code that it reads."""
    if means.workload is None:
        return lab.keeper.signature(None, {})
    kept = lab.keeper.recorded(Side(means.workload))
    return lab.keeper.signature(means.workload, kept.sources if kept else {})


def _is_open(confirmation: Confirmation, is_named: bool) -> bool:
    open_again = {"not_tried", "inconclusive"} if is_named else {"not_tried"}
    return confirmation.state in open_again or confirmation.reason.startswith(UNFINISHED)


def _with(report: Report, finding: Finding, said: Confirmation, step: str) -> Report:
    """Return the report with a verdict in it, and its findings in the order that follows."""
    findings = [
        verdicts.told(other, said, step) if other.id == finding.id else other
        for other in report.findings
    ]
    findings.sort(key=lambda other: other.order)
    return report.model_copy(update={"findings": tuple(findings)})


class _Tester:
    """Carries out the experiments of one finding."""

    def __init__(self, report: Report, lab: Lab, means: Means, rule: Rule | None) -> None:
        self.report = report
        self.lab = lab
        self.means = means
        self.rule = rule

    def test(self, finding: Finding) -> Confirmation:
        """Return what the best of its experiments says."""
        experiments = self.rule.experiments(finding) if self.rule else ()
        if not experiments:
            reason = self.rule.unconfirmable if self.rule else "its rule is not installed"
            return Confirmation(reason=reason or "no run can show it")
        if why := self._foreign():
            there = f"tracelens repro {self.means.name} {finding.id} writes a script to run there"
            return _inconclusive(f"not confirmable on this machine: {why}; {there}")
        best: tuple[int, Confirmation] | None = None
        for experiment in experiments:
            said = self._try(finding, experiment)
            rank = Said(said.state, "").rank if said.state != "not_tried" else len(experiments)
            if best is None or rank < best[0]:
                best = rank, said
            if said.state == "confirmed" or said.reason.startswith(UNFINISHED):
                break
        return best[1] if best is not None else Confirmation()

    def _foreign(self) -> str:
        return verdicts.foreign(self.report, platform.machine(), conditions.accelerators())

    def _try(self, finding: Finding, experiment: Experiment) -> Confirmation:
        try:
            trial = self._trial(finding, experiment)
        except _NoTrial as none:
            return _inconclusive(str(none), experiment.knob)
        start = Confirmation(
            state="inconclusive",
            workload=str(trial.before.workload),
            knob=trial.knob.text,
            settings=trial.knob.settings,
        )
        try:
            return self._carry_out(trial, start)
        except RunFailed as failed:
            return _saying(start, str(failed))
        except OutOfTime:
            return _saying(start, f"{UNFINISHED}; confirm it again, or with more --minutes")

    def _trial(self, finding: Finding, experiment: Experiment) -> _Trial:
        """Choose the workload: the user's, or else a small program of our own.

        An experiment without a setting of its own is about the small program in any case.
        """
        if self.means.workload is not None and experiment.knob is not UNCHANGED:
            return _Trial(
                experiment,
                experiment.knob,
                Side(self.means.workload),
                Side(self.means.workload, experiment.knob),
                _counting(finding),
                lambda before, after: verdicts.replacement(finding, before, after),
                lambda report: verdicts.milder(finding, report),
            )
        pair = build(experiment.micro, finding, self.report) if experiment.micro else None
        if pair is None and self.means.log_code is not None:
            pair = logcode.pair(finding, self.means.log_code, experiment.knob)
        if pair is None:
            what = "only the program itself can show it"
            raise _NoTrial(f"{what}: tracelens confirm {self.means.name} -- COMMAND")
        if pair.machine and pair.machine != platform.machine():
            raise _NoTrial(
                f"not confirmable on this machine: it is from {pair.machine}; tracelens repro "
                f"{self.means.name} {finding.id} writes a script to run there"
            )
        return self._small(experiment, pair)

    def _small(self, experiment: Experiment, pair: Pair) -> _Trial:
        before, after = pair.sides(self.means.python, self.lab.folder("program"))
        expected = pair.structure or experiment.structure
        experiment = replace(experiment, structure=expected, of="step")
        return _Trial(experiment, pair.knob, before, after, pair.shows, lambda *_: None)

    def _carry_out(self, trial: _Trial, start: Confirmation) -> Confirmation:
        """Reproduce, change, count, time; in this order, so that a failure costs little."""
        first = self._recorded(trial.before, "the unchanged program")
        start = start.model_copy(update={"environment": dict(first.about)})
        seen = trial.count(first.report)
        note = ""
        if not seen and (mild := trial.mild(first.report)):
            trial = replace(trial, count=_counting(mild))
            seen, note = trial.count(first.report), "rated harmless in the unchanged run"
        if not seen:
            return _saying(start, "the finding did not show when the program was run again here")
        second = self._recorded(trial.after, "the changed program")
        if why := _without_effect(trial.knob, first, second):
            return _saying(start, f"the change had no effect: {why}")
        instead = trial.instead(first.report, second.report)
        left = trial.count(second.report)
        if not left and (mild := trial.mild(second.report)) and mild.count >= seen:
            left, note = mild.count, "as often as before, and rated harmless in the changed run"
        structural = verdicts.structure(trial.experiment.structure, seen, left, instead=instead)
        if note and not structural.note:
            structural = structural.model_copy(update={"note": note})
        start = start.model_copy(update={"structure": structural})
        return self._timed(trial, start, structural)

    def _recorded(self, side: Side, what: str) -> Recorded:
        try:
            return self.lab.record(side)
        except RunFailed as failed:
            raise RunFailed(f"{what}: {failed}") from failed

    def _timed(self, trial: _Trial, start: Confirmation, structural: Structure) -> Confirmation:
        timing: Timing | None = None
        why = ""
        if trial.experiment.time == "faster" and structural.holds:
            try:
                timing = self.lab.blocks(trial.before, trial.after, trial.experiment.of)
            except RunFailed as failed:
                why = str(failed)
            except OutOfTime:
                return _saying(start, f"{UNFINISHED}; confirm it again, or with more --minutes")
        judgement = timing.judgement if timing is not None else None
        said = verdicts.verdict(trial.experiment, structural, judgement, why=why)
        update: dict[str, object] = {"state": said.state, "reason": said.reason}
        if timing is not None and timing.unfinished:
            update["reason"] = f"{UNFINISHED}; confirm it again to go on. So far: {said.reason}"
        if timing is not None:
            update["effect"] = verdicts.effect(timing.judgement, timing.of)
            update["environment"] = start.environment | dict(timing.environment)
        if trial.knob.changes_results:
            deviation, aside = self._deviation(trial)
            update["deviation"] = deviation
            update["reason"] = f"{said.reason}; {aside}" if aside else said.reason
        return start.model_copy(update=update)

    def _deviation(self, trial: _Trial) -> tuple[Deviation | None, str]:
        """Return how far the results are from eager, or why that is not known."""
        if not driven(trial.after):
            return None, "it may change results, and what a command computes is not known"
        try:
            changed, unchanged = self.lab.compare(trial.after), self.lab.compare(trial.before)
        except (RunFailed, OutOfTime) as error:
            return None, f"results could not be compared with eager: {str(error) or UNFINISHED}"
        found = Deviation(
            max_abs=changed["max_abs"],
            max_rel=changed["max_rel"],
            unchanged_max_abs=unchanged["max_abs"],
        )
        return found, ""


def _counting(finding: Finding) -> Count:
    """Return what counts how often a report shows the finding."""
    return lambda report: sum(found.count for found in verdicts.matching(finding, report))


class _NoTrial(Exception):
    """An experiment cannot be carried out; the message says why."""


def _inconclusive(reason: str, knob: Knob | None = None) -> Confirmation:
    if knob is None:
        return Confirmation(state="inconclusive", reason=reason)
    return Confirmation(state="inconclusive", reason=reason, knob=knob.text, settings=knob.settings)


def _saying(start: Confirmation, reason: str) -> Confirmation:
    return start.model_copy(update={"state": "inconclusive", "reason": reason})


def _without_effect(knob: Knob, first: Recorded, second: Recorded) -> str:
    """Return which setting did not take effect, as the child itself told; empty when all did."""
    threads = first.about.get("threads")
    if threads and "OMP_NUM_THREADS" in knob.env and threads == second.about.get("threads"):
        return f"the program has {threads} thread{'s' * (threads != '1')} with it and without"
    return "; ".join(
        note
        for note in second.steps.notes
        if any(note.startswith(f"{name}:") for name in knob.settings)
    )
