"""Numbers that guards compare with, read only where a guard ends as a number does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens import grammars
from tracelens.dynamo.guard_values import numbers
from tracelens.logs import recompiles
from tracelens.logs.guards import Guard, GuardTree

NUMBERS = st.integers().map(str) | st.floats().map(repr) | st.sampled_from(["5.", ".5", "1e-5"])
OTHERS = st.sampled_from(["True", "None", "'a 3'", "torch.float32", "(1, 2)", "L['y']", "n", "f3"])


def tree(expression: str) -> GuardTree:
    return GuardTree(guards=(Guard(kind="EQUALS_MATCH", expression=expression),))


def read(expression: str) -> object:
    """What the grammar of recompiles makes of it, without a look at how it ends."""
    grammar = grammars.load(recompiles.Recompiles.name, recompiles.__name__)
    try:
        check = grammar.nested("check", expression)
    except grammars.Unreadable:
        return None
    if not isinstance(check, recompiles.ValueCheck) or check.operator.strip() != "==":
        return None
    return check.integer if check.integer is not None else check.number


@given(NUMBERS | OTHERS, st.sampled_from(["L['self'].step", "x", "L['cfg']['lr']"]))
def test_no_number_is_passed_over(value: str, source: str) -> None:
    expression = f"{source} == {value}"
    found = [repr(one.value) for one in numbers(tree(expression))]
    wanted = read(expression)
    assert found == ([] if wanted is None else [repr(wanted)])


@pytest.mark.parametrize(("value", "number"), [("3", 3), ("-1", -1), ("0.5", 0.5), ("'3'", None)])
def test_a_guard_that_compares_with_a_number(value: str, number: float | None) -> None:
    found = [one.value for one in numbers(tree(f"L['self'].step == {value}"))]
    assert found == ([] if number is None else [number])
