"""Tables that a module makes anew, larger, where a call needs more of them (RCP002)."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze

(RULE,) = (Path(__file__).parents[2] / "fixtures" / "rules").glob("RCP002-*")
LINE = "if self.table is not None and self.table.shape[0] >= n:"


@pytest.mark.parametrize(
    ("old", "new", "is_filled"),
    [
        ("", "", True),
        (LINE, "if self.table is not None and n <= len(self.table):", True),
        (LINE, "if self.table is not None and self.table.size(0) > n:", True),
        (LINE, "table = self.table[:n]", False),
        (LINE, "if self.other.shape[0] >= n:", False),
        ("actual 90\n", "actual 31\n", False),  # it falls once
        ("self._buffers['table']", "self._parameters['table']", False),
    ],
)
def test_what_a_module_makes_anew_where_a_call_needs_more_is_made_before(
    old: str, new: str, tmp_path: Path, *, is_filled: bool
) -> None:
    text = gzip.decompress((RULE / "fires-table-grows.log.gz").read_bytes()).decode()
    assert old in text
    log = tmp_path / "run.log"
    log.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    (found,) = (one for one in analyze(str(log)).findings if one.code == "RCP002")
    ids = [one.id for one in found.advice]
    assert (ids == ["call-first"]) is is_filled
    assert ("pad" in ids) is not is_filled
    assert ("makes it anew" in found.message) is is_filled
