"""Loops over the values of a tensor, and what stands beside compiling, told for what they are."""

from __future__ import annotations

from pathlib import Path

from tracelens import analyze
from tracelens.report import Finding, Severity

RULES = Path(__file__).parents[2] / "fixtures" / "rules"


def told(path: str) -> dict[str, list[Finding]]:
    (file,) = RULES.glob(path)
    found: dict[str, list[Finding]] = {}
    for one in analyze(str(file)).findings:
        found.setdefault(one.code, []).append(one)
    return found


def ids(finding: Finding) -> list[str]:
    return [one.id for one in finding.advice]


def test_a_loop_over_classes_is_one_problem_with_one_remedy() -> None:
    found = told("GBR008-*/fires-classes-in-a-loop.log.gz")
    loop, alone = sorted(found["GBR008"], key=lambda one: (one.where and one.where.line) or 0)
    assert ids(loop) == ["all-classes"]
    assert ids(alone) == ["capture-size"]
    assert {one.explained_by for one in (*found["GBR001"], *found["RCP017"])} == {loop.id}


def test_a_list_that_decides_how_often_a_loop_goes_round_is_not_passed_in() -> None:
    found = told("GBR001-*/fires-loop-over-numbers.log.gz")["GBR001"]
    texts = {one.where.line: one.advice[0].text for one in found if one.where}
    assert all(ids(one) == ["in-python"] for one in found)
    assert ["let it run outside" in texts[line] for line in (8, 13, 22)] == [True, True, False]
    assert ["and pass them on" in texts[line] for line in (8, 13, 22)] == [False, False, True]


def test_reorders_are_no_warning_beside_what_compiling_took(tmp_path: Path) -> None:
    (beside,) = told("ONE004-*/fires-beside-compiling.log.gz")["ONE004"]
    assert (beside.data["share"] or 0) > 0.04
    assert beside.severity is Severity.INFO
    assert "of compiling in this run" in beside.message
    (file,) = RULES.glob("ONE004-*/fires-default-layout.log")
    (alone,) = [one for one in analyze(str(file)).findings if one.code == "ONE004"]
    assert alone.severity is Severity.WARNING
    log = tmp_path / "run.log"
    for ms, severity in (200, Severity.WARNING), (800, Severity.INFO):
        log.write_text(compiled(ms) + file.read_text(encoding="utf-8"))
        (one,) = [one for one in analyze(str(log)).findings if one.code == "ONE004"]
        assert one.severity is severity
        assert ("of compiling in this run" in one.message) is (severity is Severity.INFO)


def compiled(ms: int) -> str:
    """Return the lines of a compilation that took so long by the clocks of the log."""
    at = "torch/_dynamo/guards.py:5396] [0/0] [__guards]"
    parts = ("GUARDS:", "TREE_GUARD_MANAGER:", "+- RootGuardManager")
    clocks = ("12:00:00.000000", *[f"12:00:00.{ms:03}000"] * 2)
    lines = zip(clocks, parts, strict=True)
    return "".join(f"V1120 {clock} 7 {at} {part}\n" for clock, part in lines)


def test_conversions_can_be_avoided_where_nothing_between_the_layers_needs_them() -> None:
    chain, beside = (
        told(f"ONE004-*/{name}.log.gz")["ONE004"][0].message
        for name in ("fires-beside-compiling", "fires-beside-a-transform")
    )
    assert "All but the conversions at the ends" in chain
    assert "where nothing between them needs the default layout" in beside


def test_eight_bit_weights_that_each_call_makes_anew_are_told_with_what_follows() -> None:
    found = told("IND021-*/fires-in-each-call.log.gz")
    (weights,) = found["IND021"]
    assert weights.severity is Severity.WARNING
    assert "`max-autotune`" in weights.message
    (plain,) = found["IND002"]
    assert plain.explained_by == weights.id
    assert "IND004" not in plain.message
    (few,) = told("IND021-*/fires-weights-only.log")["IND021"]
    assert few.severity is Severity.INFO


def test_kernels_that_compute_longer_than_a_call_takes_are_not_small() -> None:
    """57 kernels of a U-Net, none over more than 73,728 elements: a norm of those takes 25 us."""
    assert "IND019" not in told("IND004-*/fires-unet.log.gz")
    (small,) = told("IND019-*/fires-many.log.gz")["IND019"]
    assert "calling them may take as long as what they compute" in small.message
    assert "is most of what they cost" not in small.message
