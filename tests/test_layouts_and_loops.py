"""One cause, one advice: copies for convolutions follow from the layout of the images."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.engine import select_rules
from tracelens.report import Advice, Finding, Severity
from tracelens.rules import Rule
from tracelens.rules.ind.cpp_kernel_not_vectorised import CppKernelNotVectorised


def advising(code: str, advice: str) -> tuple[Rule, Finding]:
    (rule,) = select_rules([code])
    given = [Advice(id=advice, text="Convert it once.")]
    return rule, rule.finding("it", title="a copy", message="A copy.", advice=given)


@pytest.mark.parametrize("teller", ["ONE002", "ONE004"])
@pytest.mark.parametrize(
    ("advice", "same"), [("channels-last", True), ("channels-last-3d", True), ("report", False)]
)
def test_copies_for_convolutions_follow_from_the_layout(
    teller: str, advice: str, *, same: bool
) -> None:
    rule, finding = advising(teller, advice)
    copies, copied = advising("IND008", advice)
    shared = set(rule.causes(finding)) & set(copies.follows(copied))
    assert bool(shared) is same


@pytest.mark.parametrize(("cause", "asked"), [("none", True), ("scalar", False)])
def test_a_vector_loop_shows_that_the_instruction_set_is_known(cause: str, *, asked: bool) -> None:
    remedy = next(one for one in CppKernelNotVectorised.remedies if one.id == "instruction-set")
    data = CppKernelNotVectorised.Data(cause=cause, kernels=("k",), functions=(), elements=1 << 23)
    assert remedy.applies(data) is asked


def test_a_scalar_loop_beside_vector_loops_is_no_warning(tmp_path: Path) -> None:
    """Nothing can be advised, and what can be comes first."""
    folder = Path(__file__).parents[1] / "fixtures/rules/IND005-cpp-kernel-not-vectorised"
    scalar, vector = folder / "fires-no-kernel-vectorised.log", folder / "quiet-gelu.log"
    log = tmp_path / "run.log"
    log.write_text(scalar.read_text("utf-8") + vector.read_text("utf-8"), encoding="utf-8")
    (found,) = (one for one in analyze(str(log)).findings if one.code == "IND005")
    assert (found.data["cause"], found.severity, found.advice) == ("scalar", Severity.INFO, ())
