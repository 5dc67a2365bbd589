"""Products of gathered rows: what counts as one, and from where it is told."""

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Severity

RULES = Path(__file__).parents[1] / "fixtures" / "rules"
LOG = RULES / "IND033-product-of-gathered-rows" / "fires-joined.log"


def told(tmp_path: Path, *changes: tuple[str, str]) -> list[Severity]:
    """Return how bad the log is called with texts in it changed."""
    text = LOG.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    log = tmp_path / "run.log"
    log.write_text(text, encoding="utf-8")
    return [one.severity for one in analyze(str(log), select=["IND033"]).findings]


@pytest.mark.parametrize(
    ("nodes", "severity"),
    [
        (1000, Severity.INFO),
        (4000, Severity.INFO),
        (4001, None),
    ],
)
def test_a_row_has_two_copies_at_least(
    tmp_path: Path, nodes: int, severity: Severity | None
) -> None:
    found = told(tmp_path, ("f32[1000, 64]", f"f32[{nodes}, 64]"))
    assert found == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("edges", "severity"),
    [(1999, None), (2000, Severity.INFO), (8000, Severity.INFO)],
)
def test_what_is_saved_decides(tmp_path: Path, edges: int, severity: Severity | None) -> None:
    found = told(tmp_path, ("[8000", f"[{edges}"))
    assert found == ([severity] if severity else [])


@pytest.mark.parametrize(("columns", "fires"), [(62, False), (63, True)])
def test_little_is_not_told(tmp_path: Path, columns: int, fires: bool) -> None:
    """Measured: from 6 to 14 million multiplications on, 1.1 to 1.2 times as fast."""
    changes = [("[8000", "[2000"), ('linear: "f32[2000, 64]', f'linear: "f32[2000, {columns}]')]
    assert bool(told(tmp_path, *changes)) is fires


@pytest.mark.parametrize(("columns", "fires"), [(255, True), (256, False)])
def test_copies_of_a_wide_result_cost_as_much(tmp_path: Path, columns: int, fires: bool) -> None:
    changes = [('linear: "f32[8000, 64]', f'linear: "f32[8000, {columns}]')]
    assert bool(told(tmp_path, *changes)) is fires


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i64[8000]", "b8[8000]"),  # a mask
        ("i64[8000][1]", "i64[8000, 1][1, 1]"),
        ("8000", "s77"),
        ("], -1)", "], 0)"),
        ("torch.cat([getitem, getitem_1]", "torch.cat([getitem.relu(), getitem_1.relu()]"),
        ("linear.relu()", "l_h_.relu_()"),
    ],
    ids=["mask", "matrix", "symbolic", "rows", "activated", "written"],
)
def test_what_is_another_thing(tmp_path: Path, old: str, new: str) -> None:
    assert not told(tmp_path, (old, new))
