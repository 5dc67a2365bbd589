"""Verdicts from what trials showed: no runs."""

import sys
from dataclasses import replace
from typing import Any

import pytest

from tests.live.reports import finding, report
from tracelens.experiment import Experiment, Knob
from tracelens.live.statistics import Answer, Judgement
from tracelens.live.trials import Outcome, Result, Trial
from tracelens.live.verdicts import better, effect, told, verdict
from tracelens.live.workload import Side, Workload
from tracelens.render import Options
from tracelens.render.html import Html
from tracelens.render.markdown import Markdown
from tracelens.render.text import Text
from tracelens.report import Advice, Confirmation, Cost, Structure, Tried

STEP = Experiment(Knob("freezing", config={"torch._inductor.config.freezing": True}))
TIMELESS = replace(STEP, time="any")
ONLY_TIME = replace(STEP, structure="stays")
FEWER = replace(STEP, structure="fewer")
PROGRAM = Side(Workload((sys.executable, "train.py")))


def result(
    outcome: Outcome,
    answer: Answer | None = None,
    counts: tuple[int, int] = (4, 0),
    experiment: Experiment = STEP,
    **what: Any,
) -> Result:
    """Return what a trial showed, with counts of the finding before and after."""
    trial = Trial(
        experiment,
        experiment.knob,
        PROGRAM,
        PROGRAM,
        lambda _: 1,
        lambda _: 0,
        advice=what.pop("advice", "freeze"),
        same_form=what.pop("same_form", False),
    )
    before, after = counts
    predicted = experiment.structure
    holds = {"gone": not after, "fewer": after < before, "stays": after > 0}[predicted]
    half = Structure(predicted=predicted, before=before, after=after, holds=holds)
    seen = outcome in {"gone", "fewer", "stays", "still_there"}
    noisy = "too noisy" if answer == "unclear" else ""
    ratio = {"faster": 1.5, "slower": 0.7}.get(answer or "", 1.0)
    judged = Judgement(answer, noisy, ratio=ratio) if answer else None
    return Result(trial, outcome, structure=half if seen else None, judgement=judged, **what)


@pytest.mark.parametrize(
    ("shown", "state", "reason"),
    [
        (result("gone", "faster"), "confirmed", ""),
        (result("gone", "same"), "confirmed_structure", ""),
        (result("gone", "slower"), "confirmed_structure", ""),
        (result("gone", "unclear"), "confirmed_structure", ""),
        (result("gone", pending=True), "confirmed_structure", ""),
        (result("gone", untimed="12 compiled calls are too few"), "confirmed_structure", ""),
        (result("still_there", counts=(4, 4)), "refuted", ""),
        (result("fewer", counts=(4, 3)), "inconclusive", "no_effect"),
        (result("fewer", counts=(4, 1)), "confirmed_structure", ""),
        (result("fewer", "faster", (4, 3), FEWER), "confirmed", ""),
        (result("still_there", None, (4, 4), FEWER), "refuted", ""),
        (result("gone", experiment=TIMELESS), "confirmed", ""),
        (result("still_there", None, (4, 4), TIMELESS), "refuted", ""),
        (result("stays", "faster", (4, 4), ONLY_TIME), "confirmed", ""),
        (result("stays", "same", (4, 4), ONLY_TIME), "refuted", ""),
        (result("stays", "slower", (4, 4), ONLY_TIME), "refuted", ""),
        (result("stays", "unclear", (4, 4), ONLY_TIME), "inconclusive", "unfinished"),
        (result("stays", None, (4, 4), ONLY_TIME, pending=True), "inconclusive", "unfinished"),
        (result("replaced", note="GBR009 takes its place"), "inconclusive", "no_effect"),
        (result("replaced", note="GBR009 takes its place", moved=True), "refuted", ""),
        (result("no_effect", note="freezing was False"), "inconclusive", "no_effect"),
        (result("raises", note="KeyError"), "inconclusive", "raises"),
        (result("not_applicable", note="did not show"), "inconclusive", "not_applicable"),
        (result("unfinished", pending=True), "inconclusive", "unfinished"),
        (result("gone", "faster", same_form=True), "inconclusive", "same_form_only"),
        (result("still_there", None, (4, 4), same_form=True), "inconclusive", "same_form_only"),
    ],
)
def test_one_trial_makes_the_verdict(shown: Result, state: str, reason: str) -> None:
    said = verdict([shown])
    assert (said.state, said.reason) == (state, reason)
    assert said.note
    assert not said.harmless or "harmless" in said.note


def test_time_only_adds() -> None:
    """Running out of it takes nothing away, and a clearer answer is told in words."""
    shown = result("gone", pending=True)
    assert verdict([shown]).pending
    shown.judgement = Judgement("unclear", "steps fall into two groups")
    assert "steps fall into two groups" in verdict([shown]).note
    shown.judgement, shown.pending = Judgement("faster", ""), False
    assert (verdict([shown]).state, verdict([shown]).pending) == ("confirmed", False)


GONE, STAYS = result("gone", "faster"), result("still_there", counts=(4, 4))


def test_what_worked_is_not_overruled_by_what_failed() -> None:
    assert verdict([STAYS, GONE]).state == "confirmed"
    assert verdict([GONE, STAYS]).state == "confirmed"
    assert verdict([STAYS, result("gone")]).state == "confirmed_structure"


@pytest.mark.parametrize("open_", ["raises", "no_effect", "replaced", "unfinished"])
def test_what_another_change_left_open_is_not_refuted(open_: Outcome) -> None:
    other = result(open_, note="it ended with exit code 1")
    assert verdict([STAYS, other]).state == "inconclusive"
    assert verdict([other, STAYS]).state == "inconclusive"


def test_what_only_moves_a_defect_is_refuted_unless_something_else_is_left_open() -> None:
    moved = result("replaced", note="GBR002 takes its place", moved=True)
    assert "GBR002 takes its place" in verdict([moved]).note
    assert verdict([STAYS, moved]).state == "refuted"
    assert verdict([moved, GONE]).state == "confirmed"
    assert verdict([moved, result("raises", note="KeyError")]).state == "inconclusive"
    assert verdict([moved], more=True).state == "inconclusive"


def test_what_was_not_tried_for_lack_of_time_refutes_nothing() -> None:
    said = verdict([STAYS], more=True)
    assert (said.state, said.reason, said.pending) == ("inconclusive", "unfinished", True)
    assert verdict([STAYS, result("not_applicable")]).state == "refuted"
    assert verdict([], more=True).reason == "unfinished"


def test_what_was_tried_is_listed_by_the_id_of_the_advice() -> None:
    failed = result("raises", note="KeyError: 'x'", advice="autocast")
    said = verdict([failed, result("gone", "faster"), result("gone", advice="")])
    assert said.tried == (
        Tried(advice="autocast", outcome="raises", error="KeyError: 'x'"),
        Tried(advice="freeze", outcome="gone", ratio=1.5, interval=(1.0, 1.0)),
    )
    given = finding(advice=[Advice(id=name, text=name) for name in ("autocast", "cast", "freeze")])
    ranked = told(given, said).advice
    assert [each.id for each in ranked] == ["freeze", "cast", "autocast"]


def test_what_a_change_brought_along_is_said_and_puts_it_behind_what_did_not() -> None:
    new = "RCP001 `training_step` hit the limit of 8 entries"
    mixed = result("gone", "faster", advice="capture", brought=new)
    said = verdict([mixed])
    assert said.state == "confirmed"
    assert said.note.endswith(f"is gone, and a step takes less time; new with it: {new}")
    (tried,) = said.tried
    assert tried.note == f"new with it: {new}"
    assert verdict([mixed, result("gone", "faster")]).note.endswith(
        "gone, and a step takes less time"
    )
    given = finding(advice=[Advice(id=name, text=name) for name in ("capture", "other")])
    assert [each.id for each in told(given, said).advice] == ["capture", "other"]
    both = verdict([mixed, result("gone", advice="other")])
    assert [each.id for each in told(given, both).advice] == ["other", "capture"]


def test_a_shorter_run_replaces_no_better_answer() -> None:
    confirmed = Confirmation(state="confirmed")
    structure = Confirmation(state="confirmed_structure")
    unfinished = Confirmation(state="inconclusive", reason="unfinished")
    refuted, raised = Confirmation(state="refuted"), Confirmation(state="inconclusive")
    ranked = [confirmed, structure, unfinished, refuted, raised, Confirmation()]
    for number, old in enumerate(ranked):
        for new in ranked[:number]:
            assert better(old, new)
            assert old.state == "not_tried" or not better(new, old)
    assert better(structure, structure)


def test_what_an_earlier_version_wrote_is_read() -> None:
    said = Confirmation.model_validate({"state": "refuted", "reason": "it is still there"})
    assert (said.reason, said.note) == ("", "it is still there")


def test_the_effect_is_told_with_few_digits() -> None:
    judgement = Judgement("faster", "", ratio=1.234567, before_ms=12.34567, blocks=3)
    said = effect(judgement, "run")
    assert (said.ratio, said.before_ms, said.of, said.holds) == (1.235, 12.35, "run", True)


ESTIMATE = Cost(ms=500.0, share=0.06, basis="estimated", of="the time in oneDNN")
FASTER = effect(
    Judgement("faster", "", ratio=1.5, low=1.4, high=1.6, before_ms=2.4, after_ms=1.6, blocks=3),
    "step",
)


def test_a_measured_cost_takes_the_place_of_an_estimate() -> None:
    known = finding(cost=ESTIMATE)
    found = told(known, Confirmation(state="confirmed", effect=FASTER))
    assert found.cost == Cost(ms=0.8, share=0.33, basis="confirmed", of="a step")
    assert found.confirmation.estimate == ESTIMATE
    run = FASTER.model_copy(update={"of": "run"})
    found = told(found, Confirmation(state="confirmed", effect=run))
    assert found.cost == Cost(ms=0.8, share=0.33, basis="confirmed", of="the run")
    again = told(found, Confirmation(state="refuted"))
    assert again.cost == ESTIMATE, "of what is refuted the log alone speaks"
    assert told(known, Confirmation(state="confirmed")).cost == ESTIMATE


def test_what_is_shown_comes_first_and_what_is_refuted_last() -> None:
    small = told(
        finding("IND004", 1, cost=ESTIMATE), Confirmation(state="confirmed", effect=FASTER)
    )
    open_ = finding("ONE003", 2, cost=ESTIMATE)
    same = effect(Judgement("same", "", before_ms=2.4, after_ms=2.4, blocks=5), "step")
    harmless = told(open_, Confirmation(state="confirmed_structure", effect=same))
    assert harmless.confirmation.harmless
    refuted = finding("ONE001", 3, cost=Cost(ms=9000.0, basis="estimated"))
    refuted = told(refuted, Confirmation(state="refuted"))
    info = finding("GBR002", 4, severity="info")
    ranked = sorted([info, refuted, harmless, open_, small], key=lambda f: f.order)
    assert ranked == [small, open_, refuted, harmless, info]


@pytest.mark.parametrize("renderer", [Text, Markdown, Html])
def test_a_page_says_what_has_become_of_a_cost(renderer: type[Text | Markdown | Html]) -> None:
    shown = told(
        finding("IND004", 1, cost=ESTIMATE), Confirmation(state="confirmed", effect=FASTER)
    )
    refuted = told(finding("ONE001", 3, cost=ESTIMATE), Confirmation(state="refuted"))
    page = " ".join(renderer.render(report(shown, refuted), Options()).split())
    assert "0.8 ms of a step, 33 % (confirmed by running it again)" in page
    assert "(estimated); refuted by running it again" in page
