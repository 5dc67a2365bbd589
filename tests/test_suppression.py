"""What makes times or absences worthless does so in its own inputs, and in no others."""

from collections.abc import Iterator, Sequence

import pytest

from tracelens.engine import judge
from tracelens.evidence import Evidence
from tracelens.report import Cost, EvidenceLine, Finding, Severity
from tracelens.rules import Rule


def rule(
    code: str,
    *inputs: Sequence[str],
    severity: Severity = Severity.WARNING,
    claim: str = "structure",
    suppresses: str | None = None,
) -> Rule:
    """Return a rule that yields one finding for each group of inputs."""

    class Fake(Rule):
        def check(self) -> Iterator[Finding]:
            for names in inputs:
                yield self.finding(
                    *names,
                    title=" ".join(names),
                    message="",
                    severity=severity,
                    evidence=[EvidenceLine(input=name, line=1, text="x") for name in names],
                    cost=Cost(ms=10, basis="measured"),
                )

    told = {"code": code, "name": code.lower(), "claim": claim, "suppresses": suppresses}
    for name, value in told.items():
        setattr(Fake, name, value)
    return Fake()


def silenced(*rules: Rule) -> dict[str, tuple[str | None, bool]]:
    """Return code and inputs -> by whom it is silenced, and whether it still has its cost."""
    report = judge(Evidence(), [], rules=rules)
    return {
        f"{finding.code} {finding.title}": (finding.suppressed_by, finding.cost is not None)
        for finding in report.findings
    }


def busy(*names: str) -> Rule:
    """Return a rule that makes the times of some inputs worthless."""
    return rule("ENV001", names, claim="time", suppresses="time")


def test_a_busy_input_silences_its_own_times() -> None:
    found = silenced(
        busy("a"),
        rule("TRC002", ["a"], ["b"], claim="time"),
        rule("ONE001", ["a"], ["b"]),
    )
    assert found == {
        "ENV001 a": (None, True),
        "TRC002 a": ("ENV001", True),
        "TRC002 b": (None, True),
        "ONE001 a": (None, False),
        "ONE001 b": (None, True),
    }


def test_a_finding_of_several_inputs_is_as_good_as_the_worst() -> None:
    found = silenced(busy("b"), rule("DST001", ["a", "b"], claim="time"))
    assert found["DST001 a b"] == ("ENV001", True)


@pytest.mark.parametrize("claim", ["time", "absence"])
def test_without_evidence_it_may_be_any_input(claim: str) -> None:
    found = silenced(rule("XXX001", ["a"], suppresses=claim), rule("XXX002", [], claim=claim))
    assert found["XXX002 "][0] == "XXX001"


def test_the_strongest_of_those_that_apply_is_named() -> None:
    found = silenced(
        rule("TRC020", ["a", "b"], suppresses="time"),
        rule("ENV005", ["b"], suppresses="time"),
        rule("TRC002", ["a"], ["b"], claim="time"),
    )
    assert found["TRC002 a"][0] == "TRC020"
    assert found["TRC002 b"][0] == "ENV005"
    assert found["TRC020 a b"] == found["ENV005 b"] == (None, True)


def test_a_note_silences_absences_only() -> None:
    note = Severity.NONE
    found = silenced(
        rule("LOG001", ["a"], severity=note, claim="absence", suppresses="absence"),
        rule("TRC018", ["a"], severity=note, suppresses="time"),
        rule("LOG007", ["a"], ["b"], claim="absence"),
        rule("TRC002", ["a"], claim="time"),
    )
    assert found["LOG007 a"][0] == "LOG001"
    assert found["LOG007 b"][0] is None
    assert found["TRC002 a"][0] is None


def test_seconds_of_compiling_are_told_all_the_same() -> None:
    found = silenced(busy("a"), rule("RCP003", ["a"]), rule("ONE004", ["a"]))
    assert found["RCP003 a"] == (None, True)
    assert found["ONE004 a"] == (None, False)
