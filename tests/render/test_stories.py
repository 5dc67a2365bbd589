"""Several runs, and one cause told once: what every format makes of both."""

from __future__ import annotations

from typing import Any

import pytest

from tracelens import __version__
from tracelens.cli._gate import exit_code
from tracelens.config import Config
from tracelens.plugins.registry import discover
from tracelens.render import Options, Renderer
from tracelens.report import (
    Cost,
    Coverage,
    Environment,
    Finding,
    Input,
    Report,
    Run,
    Severity,
    Tool,
    fingerprint,
)
from tracelens.report.joining import joined

FORMATS = {renderer.name: renderer for renderer in discover("renderers", Renderer)}
PROSE = pytest.mark.parametrize("name", ["text", "markdown", "html"])


def finding(code: str, severity: Severity, **more: Any) -> Finding:
    told = {"title": f"what {code} says", "message": "It is so. More of it."} | more
    return Finding(id=fingerprint(code), code=code, name="x", severity=severity, **told)


def report(*findings: Finding, name: str = "run1", path: str = "a.log") -> Report:
    own = [one.model_copy(update={"run": name}) for one in findings]
    return Report(
        tool=Tool(version=__version__),
        inputs=(Input(path=path, kinds={"guards": 1}, bytes=1, lines=1, sha256="0" * 64),),
        runs=(Run(name=name, inputs=(path,)),),
        environment=Environment(),
        coverage=Coverage(
            lines=1, understood_lines=1, known_lines=0, program_lines=0, unread_lines=0, share=1
        ),
        verdicts=(),
        findings=tuple(sorted(own, key=lambda one: one.order)),
    )


def page(name: str, of: Report, **options: Any) -> str:
    return FORMATS[name].render(of, Options(**options))


CAUSE = finding("GBR007", Severity.WARNING)
SYMPTOM = finding("RCP001", Severity.WARNING, explained_by=CAUSE.id)


@PROSE
def test_a_symptom_is_told_under_its_cause_and_nowhere_else(name: str) -> None:
    text = page(name, report(SYMPTOM, CAUSE, finding("ONE001", Severity.INFO)))
    text, _, data = text.partition('<script type="application/json" id="markdown">')
    assert bool(data) is (name == "html")
    assert text.count("what RCP001 says") == 1
    cause, after = text.rindex("GBR007</") if name == "html" else text.rindex("GBR007"), None
    after = text.index("What belongs to it" if name != "text" else "what belongs to it")
    assert cause < after < text.index("what RCP001 says")


@PROSE
def test_each_cause_counts_once(name: str) -> None:
    assert "1 warning" in page(name, report(SYMPTOM, CAUSE))


def test_a_symptom_counts_for_the_bar() -> None:
    loud = SYMPTOM.model_copy(update={"severity": Severity.ERROR})
    assert exit_code(report(CAUSE, loud), Config(**{"fail-on": "error"})) == 1


def test_a_symptom_of_a_cause_that_is_ignored_is_told() -> None:
    known = CAUSE.model_copy(update={"ignored": "known"})
    assert [one.code for one in report(known, SYMPTOM).told] == ["RCP001"]


@PROSE
def test_what_is_harmless_says_why(name: str) -> None:
    given = finding("ONE003", Severity.NONE, harmless="it runs once, at the start")
    taken = finding("ONE007", Severity.NONE)
    text = page(name, report(given, taken))
    assert "harmless here: it runs once, at the start" in text
    assert "harmless here: It is so" in text
    assert "More of it" not in text.split("application/json")[0]


@PROSE
def test_a_long_reason_is_told_to_its_end(name: str) -> None:
    reason = " ".join(["it is so"] * 50) + ", says the end"
    text = page(name, report(finding("ONE003", Severity.NONE, harmless=reason)))
    assert "says the end" in text.split("application/json")[0]


@PROSE
def test_several_runs_have_headings_and_identities(name: str) -> None:
    both = joined([report(CAUSE), report(CAUSE, SYMPTOM, name="run2", path="b.log")])
    text = page(name, both)
    assert text.index("run1: 1 warning in a.log") < text.index("run2: 1 warning in b.log")
    assert f"run2/{CAUSE.id}" in text
    assert "run1/" not in page(name, report(CAUSE))


def test_the_order_is_that_of_an_expert() -> None:
    cost = Cost(ms=100, basis="measured")
    ended = finding("ERR001", Severity.ERROR, data={"ended_program": True})
    error = finding("ONE001", Severity.ERROR, count=9)
    dear, cheap = (
        finding("TRC002", Severity.WARNING, cost=cost),
        finding("TRC003", Severity.WARNING),
    )
    often = finding("TRC004", Severity.WARNING, count=5)
    symptom = finding("TRC005", Severity.WARNING, cost=cost, explained_by=dear.id)
    info = finding("TRC006", Severity.INFO, cost=cost)
    none = finding("TRC007", Severity.NONE, cost=cost)
    right = [ended, error, dear, often, cheap, symptom, info, none]
    assert list(report(*reversed(right)).findings) == right


def test_a_page_of_several_runs_has_no_anchor_twice() -> None:
    import re

    both = joined([report(CAUSE, SYMPTOM), report(CAUSE, SYMPTOM, name="run2", path="b.log")])
    anchors = re.findall(r' id="([^"]+)"', page("html", both))
    assert len(anchors) == len(set(anchors))
