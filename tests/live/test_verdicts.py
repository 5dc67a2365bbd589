"""Verdicts from what two runs showed: no runs."""

from dataclasses import replace

import pytest

from tests.live.reports import finding, report
from tracelens.experiment import Experiment, Knob
from tracelens.live.statistics import Answer, Judgement
from tracelens.live.verdicts import (
    effect,
    foreign,
    matching,
    replacement,
    structure,
    told,
    verdict,
)
from tracelens.render import Options
from tracelens.render.html import Html
from tracelens.render.markdown import Markdown
from tracelens.render.text import Text
from tracelens.report import Confirmation, Cost, Severity, Where

STEP = Experiment(Knob("freezing"))
TIMELESS = replace(STEP, time="any")
ONLY_TIME = replace(STEP, structure="stays")
FEWER = replace(STEP, structure="fewer")


@pytest.mark.parametrize(
    ("experiment", "before", "after", "answer", "state"),
    [
        (STEP, 4, 0, "faster", "confirmed"),
        (STEP, 4, 0, "same", "confirmed_structure"),
        (STEP, 4, 0, "slower", "refuted"),
        (STEP, 4, 0, "unclear", "inconclusive"),
        (STEP, 4, 0, None, "inconclusive"),
        (STEP, 4, 4, "faster", "refuted"),
        (STEP, 4, 4, None, "refuted"),
        (STEP, 4, 1, "faster", "refuted"),
        (FEWER, 4, 1, "faster", "confirmed"),
        (FEWER, 4, 4, "faster", "refuted"),
        (FEWER, 4, 5, None, "refuted"),
        (TIMELESS, 4, 0, None, "confirmed"),
        (TIMELESS, 4, 4, None, "refuted"),
        (ONLY_TIME, 4, 4, "faster", "confirmed"),
        (ONLY_TIME, 4, 4, "same", "refuted"),
        (ONLY_TIME, 4, 4, "slower", "refuted"),
        (ONLY_TIME, 4, 4, "unclear", "inconclusive"),
        (ONLY_TIME, 4, 0, "faster", "refuted"),
    ],
)
def test_both_halves_make_the_verdict(
    experiment: Experiment, before: int, after: int, answer: Answer | None, state: str
) -> None:
    halves = structure(experiment.structure, before, after)
    judgement = Judgement(answer, "too noisy") if answer else None
    said = verdict(experiment, halves, judgement, why="it ended with exit code 1")
    assert said.state == state
    assert said.reason


def test_the_reason_of_an_open_verdict_is_told() -> None:
    gone = structure("gone", 3, 0)
    unclear = verdict(STEP, gone, Judgement("unclear", "steps fall into two groups"))
    assert "steps fall into two groups" in unclear.reason
    untimed = verdict(STEP, gone, None, why="it ended with exit code 1")
    assert "exit code 1" in untimed.reason


def test_another_finding_in_its_place_refutes() -> None:
    instead = finding("GBR009", title="`hash` is not traced")
    halves = structure("gone", 3, 0, instead=instead)
    assert not halves.holds
    said = verdict(STEP, halves, Judgement("faster", ""))
    assert said.state == "refuted"
    assert "GBR009" in said.reason


def test_a_finding_is_found_again_by_its_id_or_by_its_place() -> None:
    old = finding()
    moved = finding(number=2, where=Where(file="/elsewhere/train.py", line=9, function="step"))
    other = finding(number=3, where=Where(file="train.py", line=7, function="evaluate"))
    nowhere = finding(number=4, where=None)
    assert matching(old, report(old, moved)) == (old,)
    assert matching(old, report(moved, other)) == (moved,)
    assert matching(old, report(other, nowhere)) == ()
    assert matching(nowhere, report(old)) == ()
    assert matching(old, report(finding("GBR002"))) == ()


def test_a_harmless_remark_is_not_the_defect() -> None:
    remark = finding(severity=Severity.NONE)
    assert matching(finding(), report(remark)) == ()
    assert matching(remark, report(remark)) == (remark,)


def test_only_what_is_new_and_as_bad_in_the_same_function_takes_its_place() -> None:
    old, known = finding(), finding("GBR009", 9)
    new = finding("GBR009", 10)
    assert replacement(old, report(old, known), report(known)) is None
    assert replacement(old, report(old), report(new)) == new
    mild = finding("GBR009", 11, severity=Severity.INFO)
    assert replacement(old, report(old), report(mild)) is None
    family = finding("RCP009", 12)
    assert replacement(old, report(old), report(family)) is None
    elsewhere = finding("GBR009", 13, where=Where(file="train.py", line=3, function="other"))
    assert replacement(old, report(old), report(elsewhere)) is None


def test_what_no_place_is_known_of_is_replaced_by_the_same_rule_only() -> None:
    """Freezing may turn one library's unfused call into another's."""
    old = finding("IND002", where=None, count=2)
    again = finding("IND002", 3, where=None, count=2)
    assert replacement(old, report(old), report(again)) == again
    fewer = finding("IND002", 4, where=None, count=1)
    assert replacement(old, report(old), report(fewer)) is None
    other = finding("IND008", 5, where=None, count=2)
    assert replacement(old, report(old), report(other)) is None
    mild = finding("IND002", 6, where=None, count=2, severity=Severity.INFO)
    assert replacement(old, report(old), report(mild)) is None


@pytest.mark.parametrize(
    ("environment", "machine", "devices", "words"),
    [
        ({"isa": "AArch64 SVE (256 bits)"}, "x86_64", None, "aarch64"),
        ({"isa": "Intel AVX-512 with Intel DL Boost"}, "aarch64", None, "x86_64"),
        ({"isa": "Intel AVX2"}, "x86_64", None, ""),
        ({"cpu": "Neoverse-V1"}, "arm64", None, ""),
        ({}, "x86_64", [], ""),
        ({"device": "NVIDIA A100-SXM4-80GB"}, "x86_64", [], "no such device"),
        ({"device": "cuda"}, "x86_64", ["/dev/kfd"], ""),
        ({"device": "cpu"}, "x86_64", [], ""),
    ],
)
def test_a_log_from_another_machine(
    environment: dict[str, str], machine: str, devices: list[str] | None, words: str
) -> None:
    said = foreign(report(**environment), machine, devices)
    assert words in said
    assert bool(said) is bool(words)


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
    found = told(found, Confirmation(state="confirmed", effect=run), "a step of a small program")
    assert found.cost == Cost(ms=0.8, share=0.33, basis="confirmed", of="the run")
    again = told(found, Confirmation(state="refuted"))
    assert again.cost == ESTIMATE, "of what is refuted the log alone speaks"
    assert told(known, Confirmation(state="confirmed")).cost == ESTIMATE


def test_what_is_shown_comes_first_and_what_is_refuted_last() -> None:
    small = told(
        finding("IND004", 1, cost=ESTIMATE), Confirmation(state="confirmed", effect=FASTER)
    )
    open_ = finding("ONE003", 2, cost=ESTIMATE)
    harmless = told(open_, Confirmation(state="confirmed_structure"))
    refuted = finding("ONE001", 3, cost=Cost(ms=9000.0, basis="estimated"), severity="error")
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
