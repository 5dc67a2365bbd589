"""Advice that cannot help in its run is not printed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.judging.fitting import agreeing, fitting
from tracelens.report import Advice, Finding, Severity

RULES = Path(__file__).parents[1] / "fixtures" / "rules"
FREEZE = Advice(
    id="freeze",
    text="Freeze the model.",
    setting="torch._inductor.config.freezing = True",
    env="TORCHINDUCTOR_FREEZING=1",
)
THAW = Advice(id="not-frozen", text="Or do not freeze it.", env="TORCHINDUCTOR_FREEZING=0")
OTHER = Advice(id="float32", text="Or run it in float32.")


def said(*advice: Advice, code: str = "RCP022", suppressed_by: str | None = None) -> Finding:
    return Finding(
        id=f"{code}-000000",
        code=code,
        name="optimizer-hyperparameter",
        severity=Severity.WARNING,
        title="t",
        message="m",
        advice=advice,
        suppressed_by=suppressed_by,
    )


@pytest.mark.parametrize(
    ("until", "torch", "stays"),
    [
        ("2.9", "2.13.0+cpu", False),
        ("2.9", "2.10.0", False),
        ("2.9", "2.9.1", True),
        ("2.9", "2.8.0", True),
        ("2.15.0", "2.15.0", True),
        ("2.15.0", "2.15.1", False),
        ("2.9", None, True),
        ("2.9", "nightly", True),
        ("oneDNN 3.8", "3.9.0", True),
        (None, "2.13.0", True),
    ],
)
def test_advice_goes_where_it_no_longer_holds(
    until: str | None, torch: str | None, stays: bool
) -> None:
    kept, tried = Advice(text="Always."), Advice(text="In these.", until=until)
    assert fitting(said(kept, tried), torch).advice == ((kept, tried) if stays else (kept,))


@pytest.mark.parametrize(
    ("since", "torch", "stays"),
    [
        ("2.8", "2.7.1+cpu", False),
        ("2.8", "2.8.0", True),
        ("2.8", "2.10.0", True),
        ("2.15.0", "2.15.0a0", True),
        ("2.15.0", "2.14.1", False),
        ("2.8", None, True),
        ("oneDNN 3.8", "2.1.0", True),
    ],
)
def test_advice_for_a_later_torch_goes_where_there_is_other(
    since: str, torch: str | None, stays: bool
) -> None:
    kept, later = Advice(text="Always."), Advice(text="In these.", since=since)
    assert fitting(said(later, kept), torch).advice == ((later, kept) if stays else (kept,))
    assert fitting(said(later), torch).advice == (later,), "to upgrade is what is left"


@pytest.mark.parametrize(
    ("name", "value", "goes"),
    [
        ("torch._inductor.config.freezing", "True", True),
        ("torch._inductor.config.freezing", "False", False),
        ("TORCHINDUCTOR_FREEZING", "1", True),
        ("TORCHINDUCTOR_FREEZING", "0", False),
        ("TORCHINDUCTOR_FREEZING_MORE", "1", False),
    ],
)
def test_what_is_set_is_not_advised(name: str, value: str, goes: bool) -> None:
    finding = fitting(said(FREEZE, OTHER), None, {name: value})
    if not goes:
        assert finding.advice == (FREEZE, OTHER)
        return
    assert [one.text for one in finding.advice] == ["Run it in float32."]
    (left,) = fitting(said(FREEZE), None, {name: value}).advice
    assert left.text.startswith("This run has `torch._inductor.config.freezing = True` already")
    assert (left.setting, left.env, left.knob) == (None, None, None)


def test_half_of_what_an_advice_sets_is_not_all_of_it() -> None:
    both = Advice(text="Tune.", env="TORCHINDUCTOR_FREEZING=1 TORCHINDUCTOR_MAX_AUTOTUNE=1")
    settings = {"TORCHINDUCTOR_FREEZING": "1"}
    assert fitting(said(both, OTHER), None, settings).advice == (both, OTHER)
    settings["TORCHINDUCTOR_MAX_AUTOTUNE"] = "1"
    assert len(fitting(said(both, OTHER), None, settings).advice) == 1


def test_no_finding_advises_to_undo_what_one_before_it_advises() -> None:
    first, second, third = agreeing(
        [said(THAW, code="ONE001"), said(FREEZE, OTHER, code="IND002"), said(FREEZE)]
    )
    assert first.advice == (THAW,)
    assert [one.id for one in second.advice] == ["float32"]
    (instead,) = third.advice
    assert instead.text.startswith("Not together with `TORCHINDUCTOR_FREEZING` = `0`, which ONE001")


def test_ways_of_one_finding_are_alternatives() -> None:
    assert next(agreeing([said(THAW, FREEZE)])).advice == (THAW, FREEZE)


def test_what_is_not_shown_contradicts_nobody() -> None:
    found = list(agreeing([said(THAW, suppressed_by="ENV001"), said(FREEZE, code="IND002")]))
    assert [finding.advice for finding in found] == [(THAW,), (FREEZE,)]


def test_logs_may_be_asked_for_one_after_the_other() -> None:
    one, two = (Advice(text="See.", env=f'TORCH_LOGS="{name}"') for name in ("guards", "dynamic"))
    assert [finding.advice for finding in agreeing([said(one), said(two)])] == [(one,), (two,)]


@pytest.mark.parametrize("line", ["", "export TORCHINDUCTOR_FREEZING=1\n"])
def test_a_variable_in_the_log_is_set(line: str, tmp_path: Path) -> None:
    """A log that begins with the environment, and shows no frozen graph all the same."""
    text = (RULES / "ONE001-reference-kernel-dispatch" / "fires-padded-convolution.log").read_text()
    (tmp_path / "run.log").write_text(line + text)
    findings = analyze(str(tmp_path / "run.log")).findings
    printed = [one.env for finding in findings for one in finding.advice]
    assert ("TORCHINDUCTOR_FREEZING=1" in printed) == (not line)


def test_the_compute_library_is_not_frozen_and_thawed() -> None:
    """Its bfloat16 layers are slow when frozen, its fusions need it: one of the two."""
    log = RULES / "IND003-acl-fusions-disabled" / "fires-linear-relu.log.gz"
    assert b"_frozen_param" in gzip.decompress(log.read_bytes())
    (finding,) = (found for found in analyze(str(log)).findings if found.code == "IND003")
    assert finding.advice[0].text.startswith("Not together with `TORCHINDUCTOR_FREEZING` = `0`")


def test_what_is_set_is_said_to_be_and_no_more() -> None:
    switch = Advice(text="Record.", env='TORCH_LOGS="recompiles"')
    (left,) = fitting(said(switch), None, {"TORCH_LOGS": "recompiles"}).advice
    assert left.text == 'Record a longer part of the run: it has `TORCH_LOGS="recompiles"` already.'
    (left,) = fitting(said(FREEZE), None, {"TORCHINDUCTOR_FREEZING": "1"}).advice
    assert left.text == "This run has `torch._inductor.config.freezing = True` already."


def test_what_comes_after_an_advice_goes_with_it() -> None:
    eager = Advice(text="See whether it is the compiler.", env="TORCH_COMPILE_DISABLE=1")
    then = Advice(text="If it is gone then, find the stage.")
    assert fitting(said(eager, then, OTHER), None, {}).advice == (eager, then, OTHER)
    there = {"TORCH_COMPILE_DISABLE": "1"}
    left = fitting(said(eager, then, OTHER), None, there).advice
    assert [advice.id for advice in left] == ["float32"]


def test_a_list_that_takes_both_contradicts_nobody() -> None:
    one, two = (
        Advice(text="See.", env=f"PYTORCH_CUDA_ALLOC_CONF={value}")
        for value in ("expandable_segments:True", "backend:native")
    )
    assert [found.advice for found in agreeing([said(one), said(two)])] == [(one,), (two,)]


def test_what_is_written_in_capitals_stays_so() -> None:
    graphs = Advice(text="CUDA graphs need it.", env="TORCHINDUCTOR_FREEZING=1")
    *_, last = agreeing([said(THAW, code="ONE001"), said(graphs)])
    assert "CUDA graphs need it." in last.advice[0].text
