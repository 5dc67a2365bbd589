"""One cause is told once, and folding hides nothing that counts."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tracelens.report import Cost, EvidenceLine, Finding, Severity, Where
from tracelens.report.stories import Story, told_once


class Telling:
    """A rule that says of every finding the same."""

    def __init__(self, causes: Iterable[Story] = (), follows: Iterable[Story] = ()) -> None:
        self._causes, self._follows = tuple(causes), tuple(follows)

    def causes(self, finding: Finding) -> Iterable[Story]:
        del finding
        return self._causes

    def follows(self, finding: Finding) -> Iterable[Story]:
        del finding
        return self._follows


BREAK, AGAIN = ("break", "a.py", 3), ("recompiles", "a.py", 3)


def one(code: str, severity: Severity = Severity.WARNING, **more: object) -> Finding:
    plain = Finding(id=f"{code}-1", code=code, name="x", severity=severity, title="t", message="m")
    return plain.model_copy(update=more)


def explained(findings: list[Finding]) -> dict[str, str | None]:
    return {finding.code: finding.explained_by for finding in findings}


def test_a_symptom_is_explained_by_its_cause_which_takes_the_worse_severity() -> None:
    tellers = {"CCC001": Telling(causes=[AGAIN]), "SSS001": Telling(follows=[AGAIN])}
    cause, symptom = one("CCC001", Severity.INFO), one("SSS001", Severity.ERROR)
    told = told_once([symptom, cause], tellers)
    assert explained(told) == {"SSS001": "CCC001-1", "CCC001": None}
    assert {finding.code: finding.severity for finding in told} == {
        "CCC001": Severity.ERROR,
        "SSS001": Severity.ERROR,
    }


def test_a_cause_without_a_cost_has_that_of_its_dearest_symptom() -> None:
    tellers = {"CCC001": Telling(causes=[AGAIN]), "SSS001": Telling(follows=[AGAIN])}
    costs = [Cost(ms=300, basis="measured", of="a"), Cost(ms=9000, basis="measured", of="b")]
    symptoms = [
        one("SSS001", id=f"SSS001-{number}", cost=cost) for number, cost in enumerate(costs)
    ]
    cause = told_once([*symptoms, one("CCC001")], tellers)[-1]
    assert cause.cost == Cost(ms=9000, basis="estimated", of="b")
    # Its own, a run that confirmed another change, and what is not told count for nothing else.
    own = Cost(ms=1, basis="measured", of="c")
    assert told_once([*symptoms, one("CCC001", cost=own)], tellers)[-1].cost == own
    for more in (
        {"cost": Cost(ms=1, basis="confirmed")},
        {"cost": Cost(share=0.5, basis="measured")},
        {"cost": own, "ignored": "known"},
        {"cost": own, "severity": Severity.NONE},
    ):
        assert told_once([one("SSS001", **more), one("CCC001")], tellers)[-1].cost is None


def test_a_chain_is_explained_by_its_first_cause() -> None:
    tellers = {
        "AAA001": Telling(causes=[BREAK]),
        "BBB001": Telling(causes=[AGAIN], follows=[BREAK]),
        "CCC001": Telling(follows=[AGAIN]),
    }
    told = told_once([one("AAA001"), one("BBB001"), one("CCC001")], tellers)
    assert explained(told) == {"AAA001": None, "BBB001": "AAA001-1", "CCC001": "AAA001-1"}


def test_equals_are_told_by_the_first_of_them() -> None:
    both = Telling(causes=[BREAK], follows=[BREAK])
    told = told_once(
        [one("AAA001", Severity.INFO), one("BBB001")], {"AAA001": both, "BBB001": both}
    )
    assert explained(told) == {"AAA001": "BBB001-1", "BBB001": None}


def test_equals_as_bad_as_each_other_are_told_by_the_one_that_is_met_first() -> None:
    """A break behind another one is seen only since that one is there, however much it costs."""
    both = Telling(causes=[BREAK], follows=[BREAK])
    dear = Cost(ms=61_000, basis="estimated")
    later = one("AAA001", cost=dear, evidence=(EvidenceLine(input="a", line=900, text="78"),))
    first = one("BBB001", evidence=(EvidenceLine(input="a", line=1, text="37"),))
    tellers = {"AAA001": both, "BBB001": both}
    assert explained(told_once([later, first], tellers)) == {"AAA001": "BBB001-1", "BBB001": None}
    worse = later.model_copy(update={"severity": Severity.ERROR})
    assert explained(told_once([worse, first], tellers)) == {"AAA001": None, "BBB001": "AAA001-1"}


@pytest.mark.parametrize(("elsewhere", "expected"), [(3, "SSS001-1"), (2, "SSS001-2")])
def test_equals_are_told_by_the_function_that_most_of_them_are_in(
    elsewhere: int, expected: str
) -> None:
    """Six of nine are two thirds, six of eight are three quarters: then the first of these."""
    line = [EvidenceLine(input="a.log", line=number, text="") for number in (1, 2, 3)]
    functions = ("call", "step", "step")
    counts = (elsewhere, 5, 1)
    told = [
        one(
            "SSS001",
            id=f"SSS001-{number}",
            count=counts[number - 1],
            where=Where(file="a.py", line=number, function=functions[number - 1]),
            evidence=(line[number - 1],),
        )
        for number in (1, 2, 3)
    ]
    found = told_once(told, {"SSS001": Telling([BREAK], [BREAK])})
    assert [finding.id for finding in found if finding.explained_by is None] == [expected]


def test_whoever_only_causes_comes_before_whoever_also_follows() -> None:
    tellers = {
        "AAA001": Telling(causes=[BREAK], follows=[BREAK]),
        "BBB001": Telling(causes=[BREAK]),
    }
    told = told_once([one("AAA001", Severity.ERROR), one("BBB001", Severity.INFO)], tellers)
    assert explained(told) == {"AAA001": "BBB001-1", "BBB001": None}


def test_what_is_not_told_explains_nothing() -> None:
    tellers = {"CCC001": Telling(causes=[AGAIN]), "SSS001": Telling(follows=[AGAIN])}
    symptom = one("SSS001", explained_by="CCC001-1")
    for hidden in (
        one("CCC001", Severity.NONE),
        one("CCC001", ignored="known"),
        one("CCC001", suppressed_by="ENV001"),
    ):
        assert explained(told_once([hidden, symptom], tellers))["SSS001"] is None


def test_an_ignored_symptom_does_not_raise_its_cause() -> None:
    tellers = {"CCC001": Telling(causes=[AGAIN]), "SSS001": Telling(follows=[AGAIN])}
    told = told_once(
        [one("CCC001", Severity.INFO), one("SSS001", Severity.ERROR, ignored="known")], tellers
    )
    assert [finding.severity for finding in told] == [Severity.INFO, Severity.ERROR]


def test_a_circle_has_one_cause() -> None:
    tellers = {
        "AAA001": Telling(causes=[BREAK], follows=[AGAIN]),
        "BBB001": Telling(causes=[AGAIN], follows=[BREAK]),
    }
    told = told_once([one("BBB001"), one("AAA001")], tellers)
    assert explained(told) == {"AAA001": None, "BBB001": "AAA001-1"}


def test_a_cause_that_is_no_finding_of_the_run_is_none() -> None:
    assert explained(told_once([one("SSS001", explained_by="GONE-1")], {})) == {"SSS001": None}
