"""A slice whose bounds are tensors: they become numbers of Python, and no symbols."""

from pathlib import Path

import pytest

from tests.rules.test_break_advice import ITEM, OWN, PACKAGE, broken
from tracelens.report import Finding


def ids(finding: Finding) -> list[str]:
    return [one.id for one in finding.advice]


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        ("input.tensor[:, indices[0]:indices[1], :, :].view(b, -1, s, h, w)", True),
        ("output[:, out_indices[0]:out_indices[1], ...] = highest", True),
        ("x = x[:, self.starts[2]:]", True),
        ("x = x[:, starts[i] : starts[i + 1]]", False),  # of the input, as lengths are
        ("x = x[:, : rows[0].item()]", False),
        ("x = x[: int(rows[0])]", False),
        ("x = x[:, 0:4] * scales[0]", False),
    ],
)
def test_what_modules_of_a_package_keep(tmp_path: Path, line: str, is_kept: bool) -> None:
    found = broken(tmp_path, ITEM, (PACKAGE, 7, "forward", line))
    assert ("ranges-of-package" in ids(found)) == is_kept
    if is_kept:
        assert "capture-scalars" not in ids(found)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("x = x[:, self.ends[i] : self.ends[i + 1]]", "self.ends"),
        ("part = x[:, bounds[0] : bounds[1]]", "bounds"),
        ("x = x[: self.n]", "self.n"),
    ],
)
def test_the_tensor_is_named(tmp_path: Path, line: str, kept: str) -> None:
    found = broken(tmp_path, ITEM, (OWN, 7, "forward", line))
    first = found.advice[0]
    assert first.id == "ranges-in-python"
    assert f"`{kept}`" in first.text
    assert (f"{kept} = numbers" in (first.code or "")) == kept.startswith("self.")
    assert not {"capture-scalars", "read-outside"} & {*ids(found)}


def test_literal_bounds_are_none(tmp_path: Path) -> None:
    for line in ("y = x[:, 1:4] + len(names[k])", "y = table[{'a': n}['a']]", "y = x[-1:]"):
        assert "ranges-in-python" not in ids(broken(tmp_path, ITEM, (OWN, 7, "forward", line)))
