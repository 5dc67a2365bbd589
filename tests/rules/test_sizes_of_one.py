"""A size of 1 asks for an entry: that is no layout, and no condition of which nothing is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding
from tracelens.rules.rcp._marking import FirstChangeData
from tracelens.rules.rcp.first_dynamic_recompile import FirstDynamicRecompile

RULES = Path(__file__).parents[2] / "fixtures/rules"
LAYOUT = RULES / "RCP015-stride-mismatch/quiet-batch-of-one.log"
IMAGE = RULES / "RCP023-shape-relation-guard/fires-one-image.log"
OPERATION = RULES / "RCP002-tensor-size-keeps-changing/fires-by-an-operation.log"


def told(log: Path, text: str) -> dict[str, Finding]:
    """Return what is found by ``code``: the last finding of each."""
    log.write_text(text)
    return {one.code: one for one in analyze(str(log)).findings}


def test_a_stride_of_a_dimension_of_one_is_no_layout(tmp_path: Path) -> None:
    found = told(tmp_path / "run.log", LAYOUT.read_text())
    assert "RCP015" not in found
    assert "dimension 1 of `x`" in found["RCP016"].message


@pytest.mark.parametrize(
    "other", ["index 1. expected 16, actual 5", "index 0. expected 8, actual 1"]
)
def test_a_stride_of_another_dimension_is_one(other: str, tmp_path: Path) -> None:
    text = LAYOUT.read_text().replace("index 1. expected 16, actual 1\n", f"{other}\n")
    found = told(tmp_path / "run.log", text)
    assert "RCP015" in found
    assert "RCP016" not in found


@pytest.mark.parametrize(("limit", "is_known"), [("20480", True), ("20481", False)])
def test_a_convolution_counts_the_elements_of_one_image(
    limit: str, *, is_known: bool, tmp_path: Path
) -> None:
    found = told(tmp_path / "run.log", IMAGE.read_text().replace("20480", limit))["RCP023"]
    assert ("A batch of 1 asks for it" in found.message) is is_known
    assert ("Nothing is known" in found.message) is not is_known


HEAD = "Recompiling function f in /home/ana/proj/mask.py:32\n"
WHY = "    triggered by the following guard failure(s):\n"
RANGE = "    - 9/2: 2 <= ids.size()[0] <= 15  # torch.ones(mask.size(1))  # proj/mask.py:32 in f\n"


@pytest.mark.parametrize(
    ("reason", "is_known"),
    [("index 0. expected 32, actual 1", True), ("index 0. expected 32, actual 20", False)],
)
def test_one_row_leaves_a_range(reason: str, *, is_known: bool, tmp_path: Path) -> None:
    text = f"{HEAD}{WHY}{RANGE}    - 9/1: tensor 'mask' size mismatch at {reason}\n"
    found = told(tmp_path / "run.log", text)["RCP023"]
    assert ("A size of 1 asks for it" in found.message) is is_known


@pytest.mark.parametrize("of_package", [True, False])
def test_what_a_package_is_called_with_is_not_padded(*, of_package: bool, tmp_path: Path) -> None:
    text = IMAGE.read_text()
    if not of_package:
        text = text.replace("/home/ana/venv/lib/python3.11/site-packages/", "/home/ana/proj/")
    found = told(tmp_path / "run.log", text)["RCP016"]
    assert ("pad" in {one.id for one in found.advice}) is not of_package


@pytest.mark.parametrize(("expected", "ids"), [("8, actual 1", ["drop-last"]), ("1, actual 8", [])])
def test_a_batch_of_one_after_larger_ones_may_be_the_last(
    expected: str, ids: list[str], tmp_path: Path
) -> None:
    lines = IMAGE.read_text().splitlines(keepends=True)
    text = "".join(one for one in lines if "[0/1]" in one)
    text = text.replace("index 2. expected 240, actual 320", f"index 0. expected {expected}")
    found = told(tmp_path / "run.log", text)["RCP016"]
    assert [one.id for one in found.advice if one.id in {"pad", "drop-last"}] == ids


@pytest.mark.parametrize("by", ["an operation", "a line"])
def test_a_line_is_named_by_another_finding_where_there_is_one(by: str, tmp_path: Path) -> None:
    text = OPERATION.read_text()
    if by == "a line":
        text = text.replace("opt_einsum/contract.py", "_dynamo/variables/tensor.py")
    found = told(tmp_path / "run.log", text)
    assert ("DYN004" in found) is (by == "a line")
    named = any("DYN004" in one.text for one in found["RCP002"].advice)
    assert named is (by == "a line")
    assert ("needs the number" in found["RCP002"].message) is (by == "an operation")


@pytest.mark.parametrize("smaller", [True, False])
def test_symbols_are_not_advised_for_a_last_batch(*, smaller: bool) -> None:
    (remedy,) = (one for one in FirstDynamicRecompile.remedies if one.id == "compile-dynamic")
    data = FirstChangeData(
        cause="RCP003",
        function="forward",
        file="/home/ana/proj/net.py",
        line=14,
        is_heavy=True,
        dimension=0,
        is_smaller=smaller,
    )
    assert bool(remedy.applies(data)) is not smaller
