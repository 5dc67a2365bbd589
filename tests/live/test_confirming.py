"""The way from a finding to a verdict, with runs that are made up."""

import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from tests.live.reports import finding, report
from tracelens.errors import UsageError
from tracelens.experiment import UNCHANGED, Experiment, Knob
from tracelens.live import confirming
from tracelens.live.confirming import Means, candidates
from tracelens.live.lab import Lab, OutOfTime, Recorded, RunFailed, Timing
from tracelens.live.matching import count, left
from tracelens.live.statistics import Judgement
from tracelens.live.steps import Steps
from tracelens.live.trials import Trial
from tracelens.live.workload import Side, Workload
from tracelens.report import Advice, Confirmation, Finding, Report, Severity, Where

PROGRAM = Means(Workload(("python", "train.py")), sys.executable)


class FakeLab(Lab):
    """Runs nothing: says what the unchanged and the changed program showed."""

    def __init__(
        self,
        before: Report | BaseException,
        after: Report | BaseException,
        judgement: Judgement | Exception,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(base={}, seconds=1000)
        self.shown = {True: before, False: after}
        self.judgement = judgement
        self.notes = notes
        self.facts = {"torch": "2.13.0"}
        self.runs: list[str] = []

    def record(self, side: Side, *, again: bool = False) -> Recorded:
        self.runs.append(side.knob.text + " again" * again)
        shown = self.shown[side.knob is UNCHANGED]
        if isinstance(shown, BaseException):
            raise shown
        return Recorded(shown, Steps(), 1.0, self.facts, compiles=1, notes=self.notes)

    def blocks(self, before: Side, after: Side, of: Literal["step", "run"] = "step") -> Timing:
        assert before.knob is UNCHANGED
        assert after.knob is not UNCHANGED
        self.runs.append("time")
        if isinstance(self.judgement, Exception):
            raise self.judgement
        return Timing(self.judgement, of, (), {"busy elsewhere": "0.0 of 8 processors"})

    def together(
        self,
        before: Side,
        afters: Sequence[Side],
        of: Literal["step", "run"] = "step",
        on_round: object = None,
    ) -> Iterator[Side]:
        del before, of, on_round
        yield from afters


FASTER = Judgement("faster", "", ratio=1.5, low=1.4, high=1.6, blocks=3, iterations=60)


@pytest.fixture(autouse=True)
def _no_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracelens.live.conditions.accelerators", list)


def said(lab: FakeLab, given: Report, means: Means = PROGRAM) -> Confirmation:
    with lab:
        return confirming.confirm(given, lab, means).findings[0].confirmation


def test_reproduced_gone_and_faster_is_confirmed() -> None:
    known = report(finding())
    lab = FakeLab(known, report(), FASTER)
    answer = said(lab, known)
    assert answer.state == "confirmed"
    assert answer.workload == "python train.py"
    assert answer.settings == {"torch._dynamo.config.capture_scalar_outputs": "True"}
    assert answer.structure is not None
    assert (answer.structure.before, answer.structure.after) == (1, 0)
    assert answer.effect is not None
    assert answer.effect.ratio == 1.5
    assert answer.environment == {"torch": "2.13.0", "busy elsewhere": "0.0 of 8 processors"}
    assert lab.runs == ["unchanged", "scalars stay in the graph", "time"]


@pytest.mark.parametrize(
    ("line", "severity", "state"),
    [
        (7, Severity.WARNING, "refuted"),
        (9, Severity.WARNING, "inconclusive"),
        (9, Severity.INFO, "inconclusive"),
    ],
)
def test_a_break_below_that_was_hidden_by_another_refutes_nothing(
    line: int, severity: Severity, state: str
) -> None:
    """Two of one kind in one function: the first gave up the frame, so the second was not met."""

    def broken(found: Finding) -> Report:
        assert found.where is not None
        rows = ({"file": "train.py", "line": found.where.line, "type": "Tensor.item"},)
        return report(found).model_copy(update={"tables": {"graph_breaks": rows}})

    known = broken(finding())
    where = Where(file="/home/ana/proj/train.py", line=line, function="step")
    left_over = finding(number=2 if line != 7 else 1, where=where, severity=severity)
    answer = said(FakeLab(known, broken(left_over), FASTER), known)
    assert answer.state == state


def test_a_finding_that_was_never_there_is_not_confirmed() -> None:
    lab = FakeLab(report(finding("GBR002", 2)), report(), FASTER)
    answer = said(lab, report(finding()))
    assert answer.state == "inconclusive"
    assert (answer.state, answer.reason) == ("inconclusive", "not_applicable")
    assert "did not show" in answer.note
    assert lab.runs == ["unchanged"]


def test_a_finding_that_a_run_rates_harmless_is_still_there() -> None:
    """Its share of the time differs from run to run, and with it how the rule rates it."""
    known, mild = report(finding()), report(finding(severity=Severity.NONE))
    answer = said(FakeLab(mild, report(), FASTER), known)
    assert answer.state == "confirmed"
    assert answer.structure is not None
    assert "harmless in the unchanged run" in answer.structure.note
    assert said(FakeLab(mild, mild, FASTER), known).state == "refuted"
    assert said(FakeLab(known, mild, FASTER), known).state == "refuted"


def test_a_finding_that_stays_is_refuted_without_timing_it() -> None:
    known = report(finding())
    lab = FakeLab(known, known, FASTER)
    assert said(lab, known).state == "refuted"
    assert "time" not in lab.runs


@pytest.mark.parametrize("crash", ["it ended with exit code 1: KeyError", "signal 11 ended it"])
def test_a_program_that_fails_leaves_it_open(crash: str) -> None:
    known = report(finding())
    first = said(FakeLab(RunFailed(crash), report(), FASTER), known)
    assert first.state == "inconclusive"
    assert (first.reason, first.note) == ("raises", f"the unchanged program: {crash}")
    second = said(FakeLab(known, RunFailed(crash), FASTER), known)
    assert (second.reason, second.note) == ("raises", f"the changed program: {crash}")
    third = said(FakeLab(known, report(), RunFailed(crash)), known)
    assert third.state == "confirmed_structure", "what the log showed stands"
    assert crash in third.note
    assert not third.pending


def test_a_setting_that_does_not_exist_leaves_it_open() -> None:
    known = report(finding("RCP007"))
    note = "torch._dynamo.config.allow_unspec_int_on_nn_module: never imported, or no such setting"
    answer = said(FakeLab(known, report(), FASTER, notes=(note,)), known)
    assert (answer.state, answer.reason) == ("inconclusive", "no_effect")
    assert note in answer.note


def test_a_program_that_sets_its_own_threads_leaves_it_open() -> None:
    """It does not follow the variable: both sides would be the same."""
    waiting = report(finding("ENV001"))
    lab = FakeLab(waiting, report(), FASTER)
    lab.facts["threads"] = "8"
    answer = said(lab, waiting)
    assert (answer.state, answer.reason) == ("inconclusive", "no_effect")
    assert "the program has 8 threads with it and without" in answer.note


def test_a_log_from_another_machine_is_not_tried() -> None:
    there = "Neoverse-V1" if platform.machine() != "aarch64" else "Intel Xeon"
    lab = FakeLab(report(finding()), report(), FASTER)
    answer = said(lab, report(finding(), cpu=there))
    assert answer.state == "inconclusive"
    assert answer.reason == "not_applicable"
    assert answer.note.startswith("not confirmable on this machine")
    assert "tracelens repro" in answer.note
    assert lab.runs == []


def test_without_a_program_the_reason_says_what_to_type() -> None:
    known = report(finding("IND004"))
    answer = said(FakeLab(report(), report(), FASTER), known, Means(None, "python"))
    assert answer.state == "inconclusive"
    assert "tracelens confirm report.json -- COMMAND" in answer.note


def test_a_finding_without_an_experiment_stays_untried() -> None:
    known = report(finding("GBR012"))
    answer = said(FakeLab(known, known, FASTER), known)
    assert answer.state == "not_tried"
    assert answer.note


def test_a_finding_of_another_version_of_its_rule_ends_nothing() -> None:
    """Its data cannot be read: what it is about is not known."""
    known = report(finding("GBR003", data={"no such": "field"}), finding("RCP007", 2))
    with FakeLab(known, report(), FASTER) as lab:
        done = confirming.confirm(known, lab, PROGRAM)
    states = {f.code: f.confirmation.state for f in done.findings}
    assert states == {"GBR003": "not_tried", "RCP007": "confirmed"}


def test_the_time_limit_leaves_the_rest_for_the_next_time() -> None:
    """It takes no verdict away: what the log showed is one by itself."""
    known = report(finding(), finding("RCP007", 2))
    with FakeLab(known, report(), OutOfTime()) as lab:
        once = confirming.confirm(known, lab, PROGRAM)
    said = [f.confirmation for f in once.findings]
    assert [(one.state, one.pending) for one in said] == [("confirmed_structure", True)] * 2
    with FakeLab(known, report(), FASTER) as lab:
        twice = confirming.confirm(once, lab, PROGRAM)
        assert [f.confirmation.state for f in twice.findings] == ["confirmed", "confirmed"]
        runs = len(lab.runs)
        assert confirming.confirm(twice, lab, PROGRAM) == twice
        assert len(lab.runs) == runs


def test_no_time_at_all_is_said_of_each() -> None:
    known = report(finding(), finding("RCP007", 2))
    with FakeLab(OutOfTime(), report(), FASTER) as lab:
        once = confirming.confirm(known, lab, PROGRAM)
    assert [f.confirmation.reason for f in once.findings] == ["unfinished"] * 2


def test_all_findings_get_the_structural_half_before_one_is_timed() -> None:
    known = report(finding(), finding("RCP007", 2))
    seen: list[tuple[str, str]] = []

    def keep(now: Report, tested: Finding) -> None:
        del now
        seen.append((tested.code, tested.confirmation.state))

    with FakeLab(known, report(), FASTER) as lab:
        confirming.confirm(known, lab, PROGRAM, on_result=keep)
        assert lab.runs.index("time") == len(lab.runs) - lab.runs.count("time")
    assert {state for _, state in seen[:2]} == {"confirmed_structure"}
    assert {state for _, state in seen[2:]} == {"confirmed"}
    assert len(seen) == 4


def test_a_program_that_compiles_nothing_confirms_nothing() -> None:
    """What concerns compiled code alone is not even tried on it."""
    known = report(finding())

    class Eager(FakeLab):
        def record(self, side: Side, *, again: bool = False) -> Recorded:
            return replace(super().record(side, again=again), compiles=0)

    lab = Eager(known, report(), FASTER)
    answer = said(lab, known)
    assert (answer.state, answer.reason) == ("inconclusive", "not_applicable")
    assert lab.runs == ["unchanged"]


def test_a_change_after_which_nothing_is_compiled_confirms_nothing() -> None:
    known = report(finding())

    class Idle(FakeLab):
        def record(self, side: Side, *, again: bool = False) -> Recorded:
            found = super().record(side, again=again)
            return found if side.knob is UNCHANGED else replace(found, compiles=0)

    assert said(Idle(known, report(), FASTER), known).reason == "not_applicable"


CAPTURED = "torch._dynamo.config.capture_scalar_outputs"


@pytest.mark.parametrize(
    ("force", "after", "reason"),
    [
        (((CAPTURED, True, "True"),), True, ""),
        (((CAPTURED, True, "True"),), False, ""),
        (((CAPTURED, False, "False"),), False, "no_effect"),
        (((CAPTURED, False, "False"),), True, "no_effect"),
        (((CAPTURED, True, "True"), (CAPTURED, False, "False")), False, "no_effect"),
        (((CAPTURED, True, "True"), (CAPTURED, False, "False")), True, ""),
        ((), True, "no_effect"),
        ((), False, "no_effect"),
    ],
)
def test_nothing_is_refuted_by_a_change_that_was_not_in_force(
    force: tuple[tuple[str, bool, str], ...], after: bool, reason: str
) -> None:
    """What was read back where it was compiled: never, here and not there, or everywhere."""
    known = report(finding())

    class Told(FakeLab):
        def record(self, side: Side, *, again: bool = False) -> Recorded:
            return replace(super().record(side, again=again), force=force, told=True)

    answer = said(Told(known, report() if after else known, FASTER), known)
    assert answer.reason == reason
    if not reason:
        assert answer.state == ("confirmed" if after else "refuted")


def test_what_rests_on_times_is_looked_at_once_more() -> None:
    """One run may lack it by chance."""
    known = report(finding("ENV001"))
    lab = FakeLab(known, report(), FASTER)
    assert said(lab, known).state == "confirmed"
    assert lab.runs[:2] + lab.runs[2:4] == [*lab.runs[:2], *(f"{r} again" for r in lab.runs[:2])]

    class Chancy(FakeLab):
        def record(self, side: Side, *, again: bool = False) -> Recorded:
            found = super().record(side, again=again)
            return replace(found, report=known) if again else found

    answer = said(Chancy(known, report(), FASTER), known)
    assert (answer.state, answer.reason) == ("inconclusive", "no_effect")
    assert "rests on times" in answer.note


def test_printed_advice_is_tried_first_and_by_its_id() -> None:
    knob = Knob("sizes of their own", config={"torch._dynamo.config.allow_rnn": True})
    advice = (Advice(id="words", text="rewrite it"), Advice(id="rnn", text="allow", knob=knob))
    known = report(finding(advice=advice))
    lab = FakeLab(known, report(), FASTER)
    answer = said(lab, known)
    assert lab.runs == ["unchanged", "sizes of their own", "time"]
    assert [(one.advice, one.outcome) for one in answer.tried] == [("rnn", "gone")]
    with FakeLab(known, report(), FASTER) as lab:
        confirming.confirm(known, lab, PROGRAM, every=True)
        assert lab.runs.count("time") == 2
        assert "scalars stay in the graph" in lab.runs


def test_an_interrupted_run_ends_it_all() -> None:
    known = report(finding())
    with FakeLab(known, KeyboardInterrupt(), FASTER) as lab, pytest.raises(KeyboardInterrupt):
        confirming.confirm(known, lab, PROGRAM)


def test_what_is_tested_is_what_to_act_on_or_what_was_asked_for() -> None:
    harmless = finding("GBR009", 3, severity=Severity.NONE)
    known = report(finding(), harmless)
    assert [f.code for f in candidates(known)] == ["GBR001"]
    assert [f.code for f in candidates(known, ["GBR009"])] == ["GBR009"]
    assert [f.code for f in candidates(known, ["gbr"])] == ["GBR001", "GBR009"]
    assert [f.code for f in candidates(known, ["GBR001-000001"])] == ["GBR001"]
    with pytest.raises(UsageError, match="no such finding"):
        candidates(known, ["ONE"])


def test_a_laboratory_leaves_nothing_behind() -> None:
    with Lab(base={}, seconds=10) as lab:
        folder = lab.folder("some")
        (folder / "file").write_text("x")
    assert not folder.exists()
    assert not folder.parent.exists()


def test_no_time_is_no_time() -> None:
    with Lab(base={}, seconds=0) as lab, pytest.raises(OutOfTime):
        lab.record(Side(Workload((sys.executable, "-c", "pass"))))


@pytest.fixture
def quick() -> Iterator[Lab]:
    with Lab(base={"PATH": "/usr/bin:/bin"}, seconds=60) as lab:
        yield lab


def ran(lab: Lab, code: str) -> str:
    """Record a small program and return why it failed."""
    with pytest.raises(RunFailed) as failed:
        lab.record(Side(Workload((sys.executable, "-c", code))))
    return str(failed.value)


def test_a_crash_is_told_with_the_last_words(quick: Lab) -> None:
    assert ran(quick, "raise SystemExit('no data')") == "it ended with exit code 1: no data"
    assert ran(quick, "import os; os.abort()").startswith("signal 6 ended it")


def test_a_program_that_hangs_is_ended() -> None:
    with Lab(base={"PATH": "/usr/bin:/bin"}, seconds=3) as lab:
        hangs = Side(Workload((sys.executable, "-c", "import time; time.sleep(600)")))
        with pytest.raises(OutOfTime, match="did not end within"):
            lab.record(hangs)


def test_a_program_may_print_what_it_wants(quick: Lab) -> None:
    code = "for _ in range(300): print('x' * 1_000_000)"
    known = report(finding())
    means = Means(Workload((sys.executable, "-c", code)), sys.executable)
    assert confirming.confirm(known, quick, means).findings[0].confirmation.state == "inconclusive"


def test_the_same_side_is_recorded_once(monkeypatch: pytest.MonkeyPatch, quick: Lab) -> None:
    calls: list[Side] = []
    found = SimpleNamespace(report=report())

    def record(self: Lab, side: Side) -> SimpleNamespace:
        del self
        calls.append(side)
        return found

    monkeypatch.setattr(Lab, "_record", record)
    side = Side(Workload(("a",), env={"X": "1"}))
    assert quick.record(side) is quick.record(Side(Workload(("a",), env={"X": "1"})))
    quick.record(Side(Workload(("a",))))
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("only", "means", "is_run"),
    [
        ((), PROGRAM, False),
        (("GBR001",), PROGRAM, True),
        ((), replace(PROGRAM, workload=None), True),
        ((), replace(PROGRAM, log_code=Path("run.log")), True),
    ],
)
def test_time_for_a_program_is_not_spent_on_small_ones_of_its_form(
    monkeypatch: pytest.MonkeyPatch, only: tuple[str, ...], means: Means, is_run: bool
) -> None:
    def small(found: Finding, *_: object) -> list[Trial]:
        knob = Knob("as a tensor")
        before, after = (Side(Workload(("python", "small.py")), k) for k in (UNCHANGED, knob))
        seen = count(found), left(found)
        return [Trial(Experiment(knob), knob, before, after, *seen, same_form=True)]

    monkeypatch.setattr(confirming, "trials", small)
    known = report(finding())
    with FakeLab(known, report(), FASTER) as lab:
        answer = confirming.confirm(known, lab, means, only=only).findings[0].confirmation
        assert bool(lab.runs) is is_run
    assert answer.reason == ("same_form_only" if is_run else "")
    assert is_run or "--only GBR001" in answer.note
