"""A list of tensors as an index is no operator without an implementation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
LOG = next(RULES.glob("ERR015-*/fires-list-as-index.log"))
LINE = "return h[range(len(h)), [length - 1 for length in lengths]].sum()"


def told(tmp_path: Path, *changes: tuple[str, str]) -> Finding:
    text = LOG.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    log = tmp_path / "run.log"
    log.write_text(text, "utf-8")
    (found,) = [one for one in analyze(str(log)).findings if one.code == "ERR015"]
    return found


def test_the_list_is_made_one_tensor(tmp_path: Path) -> None:
    found = told(tmp_path)
    assert found.title.startswith("a list of tensors is an index")
    assert [one.id for one in found.advice] == ["as-one-tensor"]
    assert found.advice[0].code == LINE.replace("[length", "torch.stack([length").replace(
        "lengths]", "lengths])"
    )


@pytest.mark.parametrize(
    "line",
    [
        "return h[rows, last]",  # the list is not in the line
        "return h[rows, [0, last]]",  # a number cannot be stacked
        "return h[[a, b], [c, d]]",
        "return h[rows, [length - 1",  # a line of several
    ],
)
def test_a_line_without_one_such_list_is_no_example(line: str, tmp_path: Path) -> None:
    code = told(tmp_path, (LINE, line)).advice[0].code or ""
    assert code.startswith("x[rows, torch.stack(columns)]")


def test_tensors_with_a_dimension_are_put_behind_one_another(tmp_path: Path) -> None:
    found = told(tmp_path, ("size=(), dtype", "size=(1,), dtype"))
    assert "torch.cat([length - 1" in (found.advice[0].code or "")


def test_in_a_package_the_function_is_left_out(tmp_path: Path) -> None:
    found = told(tmp_path, ("/home/ana/proj/last/model.py", "/venv/site-packages/seq/step.py"))
    assert [one.id for one in found.advice] == ["disable", "as-one-tensor"]
    assert found.advice[1].text.startswith("For the authors of `seq`")
    assert found.advice[1].code is None


@pytest.mark.parametrize(
    ("old", "new", "ids"),
    [
        (
            "<built-in function getitem>",
            "<built-in method smooth of PyCapsule object at 0x7f00>",
            ["opaque", "fake-kernel"],
        ),
        ("<built-in function getitem>", "dsp.smooth.default", ["opaque", "fake-kernel"]),
        ("size=(), dtype", "size=(2,), dtype", ["opaque", "fake-kernel"]),
    ],
)
def test_an_operator_of_an_extension_is_one(
    old: str, new: str, ids: list[str], tmp_path: Path
) -> None:
    found = told(tmp_path, (old, new))
    assert [one.id for one in found.advice] == ids
    assert "no implementation for fake tensors" in found.title


def test_a_list_that_is_made_a_tensor_is_told_by_its_call(tmp_path: Path) -> None:
    made = "<built-in method as_tensor of type object at 0x7f2fdbccea40>"
    found = told(tmp_path, ("<built-in function getitem>", made))
    assert found.title.startswith("a list of tensors is given to `torch.as_tensor`")
    assert (found.advice[0].code or "").startswith("torch.stack(numbers)")
