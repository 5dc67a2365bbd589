"""What DYN001 calls a condition that compiling could not decide: as the program does."""

from __future__ import annotations

import pytest

from tracelens.rules.dyn.data_dependent_guard_error import (
    DataDependentData,
    DataDependentGuardError,
)


def advice(code: str, expression: str) -> dict[str, str]:
    data = DataDependentData(expression=expression, code=code)
    return {one.id or "": one.code or "" for one in DataDependentGuardError().advise(data)}


@pytest.mark.parametrize(
    ("code", "expression", "condition"),
    [
        ("if n > 4:", "u9 > 4", "n > 4"),
        ("elif len(found) == 0:", "Eq(u0, 0)", "len(found) == 0"),
        ("if 4 < n:", "u3 > 4", "4 < n"),
        ("if n >= limit:", "u0 >= s7", "n >= limit"),
        ("if x[:n].sum() > 4:", "u9 < 0", ""),  # the slice asked, and not the branch
        ("if x[:n].sum() > 4:", "Eq(u9, 1)", ""),
        ("if x[:n].sum() > 4:", "u9 > 0", ""),
        ("if n > 4 and ready:", "u9 > 4", ""),  # Python itself asks for the truth
        ("if holds(x, most=4):", "u9 > 4", ""),
        ("y = x[:n]", "u9 < 0", ""),
    ],
)
def test_a_condition_is_named_as_the_program_writes_it(
    code: str, expression: str, condition: str
) -> None:
    data = DataDependentData(expression=expression, code=code)
    assert data.condition == condition
    given = advice(code, expression)
    assert given["check"] == (f"torch._check({condition})" if condition else "")
    assert ("guard-or-false" in given) is bool(condition)
    assert (condition or expression) in data.asked


@pytest.mark.parametrize(
    ("code", "is_left_out"),
    [
        ("if len(found) > 0:", True),
        ("if found.numel() == 0: return x", True),
        ("elif len(found) > 0:", False),  # what stands below is not for every call
        ('if found.numel() == 0: raise ValueError("nothing found")', False),
        ("if found.numel() == 0: assert training", False),
    ],
)
def test_no_branch_of_several_and_no_check_is_left_out(code: str, *, is_left_out: bool) -> None:
    given = advice(code, "u0 > 0")
    assert ("take-empty" in given) is is_left_out
    assert ("check" in given) is not is_left_out
