"""Every rule against all its logs at once: several findings, long lists, many rows."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracelens.engine import judge
from tracelens.plugins.registry import discover
from tracelens.rules import Rule
from tracelens.source import read
from tracelens.testing import told

FIXTURES = Path(__file__).parents[1] / "fixtures" / "rules"
RULES = [r for r in discover("rules", Rule) if r.__module__.startswith("tracelens.")]


def logs(rule: type[Rule]) -> Iterator[str]:
    for path in sorted((FIXTURES / f"{rule.code}-{rule.name}").glob("fires-*")):
        yield path.name


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_logs_of_a_rule_together(rule: type[Rule], text_snapshot: object) -> None:
    with contextlib.chdir(FIXTURES / f"{rule.code}-{rule.name}"):
        evidence, inputs = read(list(logs(rule)))
    asked = rule()
    report = judge(evidence, inputs, rules=[asked])
    assert report.findings
    assert told(report, asked) == text_snapshot
