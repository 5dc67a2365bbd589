"""A number that becomes the size of a tensor cannot stay one: it is captured, or handed in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.size_lines import sizes_by

LOG = (
    Path(__file__).parents[2]
    / "fixtures/rules/GBR001-scalar-from-tensor/fires-becomes-size-2.13.log"
)


@pytest.mark.parametrize(
    ("line", "keeps", "says"),
    [
        (7, False, "`return x.new_zeros(n, x.shape[1]).index_add(0, batch, x)` makes a size of"),
        (12, False, "`summed = x.new_zeros(n, x.shape[1])` makes a size of it: read it before"),
        (18, True, "Return the tensor, and read the number outside"),
    ],
)
def test_a_number_that_is_a_size_is_handed_in(line: int, says: str, *, keeps: bool) -> None:
    (found,) = (
        one
        for one in analyze(str(LOG)).findings
        if one.code == "GBR001" and one.where and one.where.line == line
    )
    texts = {one.id: one.text for one in found.advice}
    assert ("keep-tensor" in texts) is keeps
    assert texts["read-outside"].startswith(says)
    assert "capture-scalars" in texts


@pytest.mark.parametrize(
    ("line", "is_size"),
    [
        ("x.new_zeros(n, 4)", True),
        ("out = torch.zeros((2 * n, 4), device=x.device)", True),
        ("y = x[:n]", True),
        ("mask = torch.arange(n)[None] < lengths[:, None]", True),
        ("out = torch.full((n,), 0.5)", True),
        ("out = torch.full((4,), n)", False),
        ("y = x[n]", False),
        ("y = x / n", False),
        ("y = torch.clamp(x, max=n)", False),
        ("out = torch.zeros(other(n))", False),
        ("out = torch.zeros(n,", False),
    ],
)
def test_what_makes_a_size_of_it(line: str, *, is_size: bool) -> None:
    assert sizes_by(line, "n") is is_size
