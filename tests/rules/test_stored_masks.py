"""Masks that a generated C++ kernel stores for `backward()`, lane by lane."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity

FOLDER = Path(__file__).parents[2] / "fixtures/rules/IND005-cpp-kernel-not-vectorised"
MASK, COMPARE = FOLDER / "fires-mask.log", FOLDER / "fires-compare.log"


def found(path: Path) -> list[Finding]:
    return [one for one in analyze(str(path)).findings if one.code == "IND005"]


@pytest.mark.parametrize(
    ("size", "severity"),
    [
        (1 << 20, Severity.WARNING),
        ((1 << 20) - 1, Severity.INFO),
        (1 << 18, Severity.INFO),
        ((1 << 18) - 1, None),
    ],
)
def test_masks_count_from_where_storing_them_takes_milliseconds(
    tmp_path: Path, size: int, severity: Severity | None
) -> None:
    (tmp_path / "run.log").write_text(MASK.read_text().replace("262144L", f"{size}L"))
    told = found(tmp_path / "run.log")
    assert [one.severity for one in told] == ([severity] if severity else [])
    for one in told:
        assert f"{size:,} elements" in one.message
        assert [advice.id for advice in one.advice] == ["recompute"]
        assert one.where is not None
        assert one.where.line == 44  # `leaky_relu`


def test_a_comparison_without_a_gradient_recomputes_nothing() -> None:
    (one,) = found(COMPARE)
    assert (one.data["cause"], one.advice) == ("masks", ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bool* out_ptr0", "float* out_ptr0"),  # not what is stored
        (".store(out_ptr0 + ", ".store(in_out_ptr0 + "),  # a mask that stays in registers
    ],
)
def test_only_a_mask_that_is_stored_counts(tmp_path: Path, old: str, new: str) -> None:
    text = MASK.read_text()
    assert old in text
    (tmp_path / "run.log").write_text(text.replace(old, new))
    assert not found(tmp_path / "run.log")
