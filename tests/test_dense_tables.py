"""Tables that are small each, and large together."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze

FIXTURES = Path(__file__).parents[1] / "fixtures" / "rules" / "IND029-dense-table-gradient"


@pytest.mark.parametrize(
    ("rows", "told"),
    [("8192", [6]), ("8191", [])],  # 1 MiB each, and a row less
)
def test_tables_are_added_up_and_none_is_below_a_mebibyte(
    tmp_path: Path, rows: str, told: list[int]
) -> None:
    text = gzip.decompress((FIXTURES / "fires-fields.log.gz").read_bytes()).decode()
    log = tmp_path / "run.log"
    log.write_text(text.replace("8192", rows))
    found = [one for one in analyze(str(log)).findings if one.code == "IND029"]
    assert [one.data["tables"] for one in found] == told


def test_a_few_of_them_are_too_little(tmp_path: Path) -> None:
    """Three tables of 1 MiB are below 4 MiB: the others have more indices than rows allow."""
    text = gzip.decompress((FIXTURES / "fires-fields.log.gz").read_bytes()).decode()
    log = tmp_path / "run.log"
    for table in range(3):
        text = text.replace(f'_modules_{table}_parameters_weight_: "f32[8192', f'_{table}: "f32[81')
    log.write_text(text)
    assert not [one for one in analyze(str(log)).findings if one.code == "IND029"]
