"""What is said of a condition on which nothing can be done."""

import pytest

from tracelens.rules.rcp._bounds import looked_at
from tracelens.rules.rcp._data import Guard
from tracelens.rules.rcp._relation import RelationData


@pytest.mark.parametrize(
    ("name", "is_on_stride"), [("x.stride()[1]", True), ("x.size()[1]", False)]
)
def test_a_condition_on_a_stride_is_not_told_as_on_none(name: str, *, is_on_stride: bool) -> None:
    guard = Guard(kind="relation", scope="", name=name, expected="x.size()[3]*x.size()[2]")
    data = RelationData(cause="RCP023", function="f", file="net.py", line=1, guards=(guard,))
    assert ("the condition is on a stride, and" in looked_at(data)) is is_on_stride
    assert ("no remainder and no stride" in looked_at(data)) is not is_on_stride
