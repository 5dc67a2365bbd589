"""What rules need is imported while others still read: it must be what is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens.plugins import ahead, manifest
from tracelens.plugins.facts import RuleFacts
from tracelens.source import Reading, files, ranges, read

RULES = Path(__file__).parents[1] / "fixtures" / "rules"
CODES = frozenset(rule.code for rule in manifest.current().rules)
#: They look at what is in no table, and are asked whatever was read.
ANYWAY = frozenset(rule.code for rule in manifest.current().rules if rule.everything)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the codes of the rules that are imported from now on."""
    codes: list[str] = []
    monkeypatch.setattr(RuleFacts, "load", lambda rule: codes.append(rule.code))
    return codes


@pytest.mark.parametrize("path", sorted(RULES.glob("*/fires-*.log"))[::20], ids=lambda p: p.stem)
def test_a_rule_that_fires_was_imported_ahead(path: Path, loaded: list[str]) -> None:
    code = path.parent.name[:6]
    evidence, _ = read([str(path)])
    ahead.fetch(evidence, CODES)
    assert code in ANYWAY or code in loaded


def test_a_rule_of_other_logs_is_not(loaded: list[str]) -> None:
    evidence, _ = read([str(min(RULES.glob("RCP001-*/fires-*.log")))])
    ahead.fetch(evidence, CODES)
    assert "RCP001" in loaded
    assert "ONE001" not in loaded
    assert len(loaded) < len(CODES) / 2


def test_only_rules_that_will_be_asked_are_imported(loaded: list[str]) -> None:
    path = min(RULES.glob("RCP001-*/fires-*.log"))
    evidence, _ = read([str(path)])
    ahead.fetch(evidence, {"RCP001"})
    assert loaded == ["RCP001"]


def test_what_the_first_part_says_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "MIN_RANGE", 1000)
    monkeypatch.setattr(files, "CHUNK", 4096)
    path = tmp_path / "all.log"
    path.write_bytes(min(RULES.glob("RCP001-*/fires-*.log")).read_bytes() * 40)
    told: list[int] = []
    whole, source = Reading(None, 2, None, lambda part: told.append(part.understood_lines)).file(
        str(path)
    )
    alone, one = Reading().file(str(path))
    assert len(told) == 1
    assert 0 < told[0] < whole.understood_lines
    assert (whole.kinds, source) == (alone.kinds, one)
