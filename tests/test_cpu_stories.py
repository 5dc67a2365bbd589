"""One cause is told once: what rules about CPU code tell together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

RULES = Path(__file__).parents[1] / "fixtures" / "rules"


def told(name: str) -> dict[str, Finding]:
    report = analyze(str(RULES / name))
    return {finding.code: finding for finding in report.findings}


def test_what_follows_from_weights_that_are_inputs() -> None:
    found = told("IND002-unfused-epilogue/fires-unfrozen-bert.log.gz")
    assert found["IND002"].explained_by == found["IND004"].id
    assert found["IND004"].explained_by is None


def test_float16_is_told_before_freezing() -> None:
    found = told("ONE023-float16-outside-onednn/fires-two-linears.log")
    assert found["IND004"].explained_by == found["ONE023"].id
    advice = {one.id for finding in found.values() for one in finding.advice}
    assert "freeze" not in advice
    assert "bfloat16" in advice


def test_a_frozen_model_in_bfloat16_has_neither() -> None:
    found = told("ONE023-float16-outside-onednn/quiet-bfloat16.log")
    assert "ONE023" not in found
    assert [one.id for one in found["IND004"].advice] == ["freeze"]


def test_a_refusal_belongs_to_what_runs_instead() -> None:
    found = told("ONE020-deferred-to-nobody/fires-float16-convolution.log")
    assert found["ONE020"].explained_by == found["ONE001"].id


@pytest.mark.parametrize(
    ("log", "first"), [("fires-two-linears", "bfloat16"), ("fires-unknown-cpu", "float32")]
)
def test_bfloat16_is_advised_where_the_cpu_is_known_to_have_it(log: str, first: str) -> None:
    """Where it has neither type, bfloat16 is as slow as float16, or slower."""
    found = told(f"ONE023-float16-outside-onednn/{log}.log")
    assert found["ONE023"].advice[0].id == first
    for code in found.keys() & {"IND002", "IND004"}:
        assert first in {one.id for one in found[code].advice}


SHORT = RULES / "ONE023-float16-outside-onednn"


def test_bfloat16_without_avx512_is_told_before_freezing() -> None:
    found = told("ONE023-float16-outside-onednn/fires-bfloat16-eight-rows.log")
    assert found["ONE023"].advice[0].id == "float32"
    assert found["ONE023"].data["dtypes"] == "bfloat16"
    assert {found[code].severity.value for code in ("IND002", "IND004")} == {"none"}
    assert "freeze" not in {one.id for finding in found.values() for one in finding.advice}


def test_few_rows_in_bfloat16_need_nothing() -> None:
    found = told("ONE023-float16-outside-onednn/quiet-bfloat16-seven-rows.log")
    assert {finding.severity.value for finding in found.values()} == {"none"}


@pytest.mark.parametrize(
    ("before", "after", "fires"),
    [
        # AVX-512 goes over 32 numbers in 16 bits, or over 16 in one vector of float32.
        ("static_cast<int64_t>(16L)", "static_cast<int64_t>(32L)", False),
        ("<float,2", "<float,1", False),
        # Without pairs, AVX2 goes over 8.
        ("static_cast<int64_t>(16L)", "static_cast<int64_t>(8L)", True),
    ],
)
def test_the_width_of_vectors_tells_the_cpu(
    tmp_path: Path, before: str, after: str, fires: bool
) -> None:
    text = (SHORT / "fires-bfloat16-eight-rows.log").read_text()
    if after.endswith("(8L)"):
        text = text.replace("<float,2", "<float,1")
    log = tmp_path / "run.log"
    log.write_text(text.replace(before, after))
    assert ("ONE023" in {one.code for one in analyze(str(log)).findings}) is fires


@pytest.mark.parametrize(
    ("flags", "fires"),
    [
        ("fpu vme de pse sse2 avx2 fma", True),
        ("fpu vme de pse sse2 avx2 fma avx_ne_convert", False),
        ("fpu vme de pse sse2 avx2 avx512f avx512bw avx512vl", False),
    ],
)
def test_flags_tell_whether_torch_hands_bfloat16_on(
    tmp_path: Path, flags: str, fires: bool
) -> None:
    text = (SHORT / "fires-bfloat16-eight-rows.log").read_text()
    log = tmp_path / "run.log"
    log.write_text(f"Flags:      {flags}\n{text}")
    found = {one.code: one for one in analyze(str(log)).findings}
    assert ("ONE023" in found) is fires
    if fires:
        assert found["ONE023"].severity.value == "warning"
    else:
        assert found["IND004"].advice[0].id == "freeze"
