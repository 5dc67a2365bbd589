"""Every rule against all its logs at once: several findings, long lists, many rows.

Below what it says stands which advice a finding with slightly different data would get: the two
sides of the conditions of its remedies.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tracelens.engine import judge
from tracelens.plugins.registry import discover
from tracelens.report import Finding
from tracelens.rules import Rule
from tracelens.source import read
from tracelens.testing import told

FIXTURES = Path(__file__).parents[1] / "fixtures" / "rules"
#: Findings of a rule whose data are varied.
MAX_VARIED = 3
RULES = [r for r in discover("rules", Rule) if r.__module__.startswith("tracelens.")]


def logs(rule: type[Rule]) -> Iterator[str]:
    for path in sorted((FIXTURES / f"{rule.code}-{rule.name}").glob("fires-*")):
        yield path.name


def others(value: object) -> Iterator[object]:
    """Yield values that a field could have instead."""
    if value is None or isinstance(value, bool):
        yield from (None, False, True)
    elif isinstance(value, int):
        yield from (0, 1, 2, 3, value + 1, value - 1)
    elif isinstance(value, float):
        yield from (None, 0.0, value * 2, value / 2)
    elif isinstance(value, str):
        yield from ("", "other", "macos", "windows", "linux", None)
    elif isinstance(value, list):
        yield from ([], value[:1], [*value, *value], [3], [4], [5])
        for item in value[:1]:
            yield from ([other] for other in others(item) if other is not None)
    elif isinstance(value, dict):
        yield {}
        for key in value:
            yield {name: item for name, item in value.items() if name != key}


def advised(rule: Rule, data: dict[str, Any]) -> list[str] | None:
    """Return the ids of the advice for such data; None where there can be no such data."""
    try:
        return [advice.id for advice in rule.advise(rule.Data.model_validate(data))]
    except (ValidationError, LookupError, TypeError, ValueError):
        return None


def conditions(rule: Rule, finding: Finding) -> Iterator[str]:
    """Yield what changes of the advice when one field of the data does."""
    usual = advised(rule, finding.data)
    yield f"\n== advice for {finding.id}: {usual}\n"
    for field, value in finding.data.items():
        for other in others(value):
            ids = advised(rule, finding.data | {field: other})
            if ids is not None and ids != usual:
                yield f"{field} = {str(other)[:60]}: {ids}\n"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_logs_of_a_rule_together(rule: type[Rule], text_snapshot: object) -> None:
    with contextlib.chdir(FIXTURES / f"{rule.code}-{rule.name}"):
        evidence, inputs = read(list(logs(rule)))
    asked = rule()
    report = judge(evidence, inputs, rules=[asked])
    assert report.findings
    said = [told(report, asked)]
    if rule.remedies:
        said += [
            line for finding in report.findings[:MAX_VARIED] for line in conditions(asked, finding)
        ]
    assert "".join(said) == text_snapshot
