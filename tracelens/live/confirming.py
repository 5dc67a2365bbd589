"""Findings to verdicts, in two halves: what the log shows of each change first, then the time.

The structural half needs one recorded run per change: all findings get it, the changes that most
findings share first. The temporal half follows, the costliest finding first, and only adds: running
out of time takes no verdict away.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Sequence

from tracelens import engine
from tracelens.errors import UsageError
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.live import conditions, matching, temporal, verdicts
from tracelens.live.budget import Forecast, forecast
from tracelens.live.cases import Case, in_turn, sides_of, timed
from tracelens.live.lab import Lab, OutOfTime, RunFailed
from tracelens.live.sides import key_of
from tracelens.live.structural import examine
from tracelens.live.trials import Means, Nothing, Result, Trial, experiments_of, trials
from tracelens.live.workload import Side
from tracelens.report import Confirmation, Finding, Report
from tracelens.rules import Rule

__all__ = ["Means", "candidates", "confirm"]

#: Said where a program is given, and a finding needs a change in it.
_ASIDE = (
    f"{IN_THE_PROGRAM}; --only {{}} runs a small program of the same form instead, which shows "
    "what the change does in general"
)
OnResult = Callable[[Report, Finding], None]
OnFinding = Callable[[Finding, int, int], None]


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
    every: bool = False,
    on_plan: Callable[[Forecast], None] | None = None,
    on_finding: OnFinding | None = None,
    on_result: OnResult | None = None,
) -> Report:
    """Test findings until all are tested or the time is up, and return the report with verdicts.

    What an earlier run has settled stays as it is. What it left open is tried again when ``only``
    names it, and what the time limit left open in any case.

    Args:
        report: What to test.
        lab: Where to run things, with its time budget.
        means: What to run.
        only: Which findings; those to act on when empty.
        every: Whether each printed advice is tried, also when another has worked.
        on_plan: Called once it is known how long things take.
        on_finding: Called before each structural half, with its number and how many there are.
        on_result: Called after each change of a verdict with the report and the finding.
    """
    session = _Session(report, lab, means, only, every=every)
    session.tell(on_plan, on_finding, on_result)
    session.plan()
    session.structure()
    session.verify()
    session.structure(same_form=True)
    session.time()
    return session.report


class _Session:
    """One call: what is found out is in ``report`` at any moment."""

    def __init__(
        self, report: Report, lab: Lab, means: Means, only: Collection[str], *, every: bool
    ) -> None:
        self.report = report
        self.lab = lab
        self.means = means
        self.every = every
        self._on_plan: Callable[[Forecast], None] | None = None
        self._on_finding: OnFinding | None = None
        self._on_result: OnResult | None = None
        self._told: set[str] = set()
        self._is_named = bool(only)
        rules = {rule.code: rule for rule in engine.select_rules()}
        asked = candidates(report, only)
        changed = _changed(lab, means)
        self.cases = [
            self._case(finding, rules.get(finding.code), is_changed=finding.id in changed)
            for finding in asked
            if finding.id in changed or every or _is_open(finding.confirmation, bool(only))
        ]

    def tell(
        self,
        on_plan: Callable[[Forecast], None] | None,
        on_finding: OnFinding | None,
        on_result: OnResult | None,
    ) -> None:
        """Set who is told."""
        self._on_plan, self._on_finding, self._on_result = on_plan, on_finding, on_result

    def _case(self, finding: Finding, rule: Rule | None, *, is_changed: bool) -> Case:
        case = Case(finding, is_changed=is_changed)
        why = matching.foreign(self.report, platform.machine(), conditions.accelerators())
        try:
            case.trials = trials(finding, rule, self.report, self.means, self.lab)
        except Nothing as none:
            is_told = self.means.workload is None and bool(experiments_of(rule, finding))
            case.nothing = verdicts.nothing(str(none), "not_applicable" if is_told else "")
            return case
        if self._is_aside(case.trials):
            case.nothing = verdicts.nothing(_ASIDE.format(finding.code))
        if why:
            there = f"tracelens repro {self.means.name} {finding.id} writes a script to run there"
            case.nothing = verdicts.nothing(
                f"not confirmable on this machine: {why}; {there}", "not_applicable"
            )
        return case

    def _is_aside(self, trials: Sequence[Trial]) -> bool:
        """Return whether only a program of our own can be run: no word about the one given."""
        given = self.means.workload is not None and self.means.log_code is None
        return given and not self._is_named and all(trial.same_form for trial in trials)

    def structure(self, *, same_form: bool = False) -> None:
        """Give every finding its structural half, the cheapest first, then every further change.

        Args:
            same_form: Whether it is the turn of programs of our own: they give no verdict.
        """
        told = self._told
        cases = [case for case in self.cases if all(t.same_form == same_form for t in case.trials)]
        rounds = max((len(case.trials) for case in cases), default=0)
        for number in range(rounds):
            turn = in_turn(cases, number, every=self.every)
            for place, case in enumerate(turn):
                if self.lab.left < 1:
                    self._leave_open()
                    return
                if case.finding.id not in told and self._on_finding is not None:
                    count = sum(case.nothing is None for case in self.cases)
                    self._on_finding(case.finding, len(told) + 1, count)
                told.add(case.finding.id)
                if not all(map(self.lab.is_known, sides_of([case.trials[number]]))):
                    self.lab.ahead(sides_of([other.trials[number] for other in turn[place:]]))
                self._examine(case, case.trials[number])

    def _examine(self, case: Case, trial: Trial) -> None:
        self._look(case, trial)
        self._say(case)

    def _look(self, case: Case, trial: Trial) -> None:
        try:
            result = examine(trial, self.lab)
        except OutOfTime as error:
            result = Result(trial, "unfinished", str(error), pending=True)
        result.pending |= result.wants_time
        if result.structure and not result.structure.note and self._stood(trial):
            note = "the recording stands for the unchanged run"
            result.structure = result.structure.model_copy(update={"note": note})
        case.results.append(result)

    def verify(self) -> None:
        """Record the unchanged program where its recording stood for it, and look at all again.

        What changes were seen to end, or to leave, must not have come by chance.
        """
        stood = [case for case in self.cases if any(self._stood(r.trial) for r in case.results)]
        befores = {key_of(r.trial.before): r.trial.before for case in stood for r in case.results}
        for side in (side for side in befores.values() if self.lab.is_adopted(side)):
            try:
                self.lab.renew(side)
            except OutOfTime:
                return
            except RunFailed:
                pass  # each of the findings says so below
        for case in stood:
            done, case.results = [r.trial for r in case.results], []
            case.is_changed = True  # what was said of it is replaced, also by less
            for trial in done:
                self._look(case, trial)
            self._say(case)

    def _stood(self, trial: Trial) -> bool:
        return self.lab.is_adopted(trial.before)

    def _leave_open(self) -> None:
        for case in self.cases:
            if case.nothing is None and not case.results:
                self._say(case)

    def time(self) -> None:
        """Time what the structural half has left to say, the costliest finding first.

        Changes of one program are timed in the same rounds, which share its unchanged runs.
        """
        for rows in timed(self.cases, every=self.every):
            first = rows[0][1].trial
            sides = {key_of(result.trial.after): result.trial.after for _, result in rows}
            done: set[str] = set()
            if len(sides) > 1 and self.lab.left >= 1:
                afters = list(sides.values())
                for after in self.lab.together(first.before, afters, first.experiment.of):
                    done.add(key_of(after))
                    self._measure([row for row in rows if key_of(row[1].trial.after) in done])
            for row in rows:
                if self.lab.left < 1 and key_of(row[1].trial.after) not in done:
                    return
                self._measure([row])

    def _measure(self, rows: Sequence[tuple[Case, Result]]) -> None:
        for case, result in rows:
            if result.judgement is None and not result.untimed:
                temporal.measure(result, self.lab)
                self._say(case)

    def plan(self) -> None:
        """Say how long it will take, and of what nothing can be tried."""
        self._forecast()
        for case in self.cases:
            if case.nothing is not None:
                self._say(case)

    def _forecast(self) -> None:
        open_cases = [case for case in self.cases if case.nothing is None]
        if self._on_plan is None or not open_cases:
            return
        firsts = [case.trials[0] for case in open_cases]
        self._on_plan(forecast(firsts, self.means, self.lab))

    def _say(self, case: Case) -> None:
        """Put a verdict into the report, unless an earlier one of the same program says more."""
        said, old = case.said, case.finding.confirmation
        if not case.is_changed and not verdicts.better(old, said):
            said = old.model_copy(update={"tried": said.tried or old.tried})
        known = next((f for f in self.report.findings if f.id == case.finding.id), case.finding)
        if said == known.confirmation:
            return
        findings = [
            verdicts.told(other, said) if other.id == case.finding.id else other
            for other in self.report.findings
        ]
        findings.sort(key=lambda other: other.order)
        self.report = self.report.model_copy(update={"findings": tuple(findings)})
        self.lab.run_cache.keep_verdict(case.finding.id, _signature(self.lab, self.means))
        if self._on_result is not None:
            self._on_result(self.report, case.finding.model_copy(update={"confirmation": said}))


def _changed(lab: Lab, means: Means) -> set[str]:
    """Return the findings whose verdict is from another program than the one that is given now."""
    verdicts_of = lab.run_cache.verdicts() if means.workload is not None else {}
    now = _signature(lab, means) if verdicts_of else ""
    return {finding for finding, signature in verdicts_of.items() if signature != now}


def _signature(lab: Lab, means: Means) -> str:
    """Return what stands for the program as it is: command, files, machine, code that it reads."""
    if means.workload is None:
        return lab.run_cache.signature(None, {})
    kept = lab.run_cache.recorded(Side(means.workload))
    return lab.run_cache.signature(means.workload, kept.sources if kept else {})


def _is_open(confirmation: Confirmation, is_named: bool) -> bool:
    open_again = {"not_tried", "inconclusive"} if is_named else {"not_tried"}
    return (
        confirmation.state in open_again
        or confirmation.reason == "unfinished"
        or confirmation.pending
    )
