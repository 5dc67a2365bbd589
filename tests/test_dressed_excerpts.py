"""What a finding quotes, dressed as people paste it, is never refused nor left unanswered."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import excerpts as bench

ROOT = Path(__file__).parents[1]
LOGS = [
    "RCP021-backend-or-empty-reason/fires-compile-in-a-loop.log",
    "RCP027-dict-keys-or-hasattr/fires-attributes.log",
    "IND024-layout-optimisation-skipped/fires-grouped.log",
    "CGR005-re-record-unstable-address/fires-each-step.log",
    "DYN004-size-specialised-by-code/fires-int-key-text.log",
    "GBR022-cold-start-side-effect/fires-hook-and-tables.log",
]


@pytest.mark.parametrize("name", LOGS)
def test_each_dress_has_an_answer(name: str, tmp_path: Path) -> None:
    dresses = ("plain", "bare", "bare fenced", "quoted", "contained")
    asked = [
        one
        for one in bench.excerpts(ROOT / "fixtures/rules" / name, tmp_path)
        if one.dress in dresses and one.around == 0
    ]
    said = {one.dress: bench.answer(one, tmp_path / "p.txt") for one in asked}
    assert said
    wrong = ("exit 2", "nothing", "false")
    assert {at: one for at, one in said.items() if one.startswith(wrong)} == {}
