"""One cause, one advice: copies for convolutions follow from the layout of the images."""

from __future__ import annotations

import pytest

from tracelens.engine import select_rules
from tracelens.report import Advice, Finding
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
