"""A failure in Inductor's pattern matcher is told how to switch that off; others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
(FOLDER,) = RULES.glob("ERR017-*")
SETTING = "torch._inductor.config.pattern_matcher = False"


def settings(log: Path) -> list[str | None]:
    return [
        advice.setting
        for one in analyze(str(log)).findings
        if one.code == "ERR017"
        for advice in one.advice
    ]


def test_the_matcher_is_switched_off_first() -> None:
    assert settings(FOLDER / "fires-pattern.log")[0] == SETTING


@pytest.mark.parametrize(
    "name", sorted(log.name for log in FOLDER.glob("fires-*") if log.stem != "fires-pattern")
)
def test_it_is_not_where_something_else_failed(name: str) -> None:
    assert SETTING not in settings(FOLDER / name)


def test_a_pass_that_replaces_nothing_is_none(tmp_path: Path) -> None:
    text = (FOLDER / "fires-pattern.log").read_text("utf-8")
    log = tmp_path / "run.log"
    log.write_text(text.replace("pattern_matcher.py", "scheduler.py"), "utf-8")
    found = settings(log)
    assert found
    assert SETTING not in found
