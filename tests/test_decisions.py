"""Where every rule changes its mind: to the last digit, from both sides.

Each rule is asked about its shortest logs with one thing changed at a time. Read a line as
``times[0].ms below 5.0: quiet; from it on: warning``: it is the threshold that the rule's code
gives a name, or a number that follows from it and the other rows.
"""

import contextlib
from pathlib import Path

import pytest

from tests.varying import decisions, logs
from tracelens.plugins.registry import discover
from tracelens.rules import Rule
from tracelens.source import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "rules"
RULES = [r for r in discover("rules", Rule) if r.__module__.startswith("tracelens.")]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_where_a_rule_changes_its_mind(rule: type[Rule], text_snapshot: object) -> None:
    lines = []
    with contextlib.chdir(FIXTURES / f"{rule.code}-{rule.name}"):
        for log in logs(Path()):
            evidence, _ = read([log])
            lines += [f"== {log}", *decisions(rule(), evidence)]
    assert "\n".join([*lines, ""]) == text_snapshot
