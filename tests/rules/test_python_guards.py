"""Conditions on sizes can be checked in C++ or be spared; names of one object cannot."""

from pathlib import Path

import pytest

from tracelens import analyze

PREFIX = "V1120 14:02:01.000000 7 torch/_dynamo/guards.py:4483] [0/0] [__guards] "


@pytest.mark.parametrize(
    ("condition", "is_told"),
    [("L['x'].size()[{n}] == L['y'].size()[{n}]", True), ("G['m{n}'].F is G['F']", False)],
)
def test_only_conditions_on_sizes_are_told(condition: str, is_told: bool, tmp_path: Path) -> None:
    lines = ["TREE_GUARD_MANAGER:", "+- RootGuardManager"]
    lines += [f"+- LAMBDA_GUARD: {condition.format(n=n)}" for n in range(60)]
    log = tmp_path / "run.log"
    log.write_text("".join(f"{PREFIX}{line}\n" for line in lines))
    assert ("GRD004" in {one.code for one in analyze(str(log)).findings}) is is_told
