"""Items of one list that change for the first time are one note."""

from __future__ import annotations

from pathlib import Path

from tracelens import analyze
from tracelens.report import Cost, Finding, Severity
from tracelens.rules.rcp._together import together

LOG = (
    Path(__file__).parents[2]
    / "fixtures/rules/RCP003-first-dynamic-recompile/fires-counts-of-a-list.log"
)


def note(source: str, **more: object) -> Finding:
    data = {"source": source, "function": "f", "file": "a.py", "line": 3, "dimension": None}
    told = {"severity": Severity.NONE, "harmless": "expected", "cost": None}
    fields = told | {key: value for key, value in more.items() if key in told}
    return Finding(
        id="RCP003-1",
        code="RCP003",
        name="first-dynamic-recompile",
        confidence="high",
        title=f"`{source}` changed for the first time: expected",
        message="It was 3.",
        count=1,
        data=data | {key: value for key, value in more.items() if key not in told},
        **fields,
    )


def titles(*findings: Finding) -> list[str]:
    return [one.title.partition(" changed")[0] for one in together(findings)]


def test_items_of_one_list_are_one_line() -> None:
    found = [one for one in analyze(str(LOG)).findings if one.code == "RCP003"]
    assert sorted(one.title for one in found) == [
        "4 items of `counts` changed for the first time: expected",
        "dimension 0 of 2 items of `feats` changed for the first time: expected",
    ]
    (numbers,) = [one for one in found if "counts" in one.title]
    assert all(f"`counts[{n}]`" in numbers.message or n == 3 for n in range(4))


def test_others_stay_apart() -> None:
    assert titles(note("a[0]"), note("b"), note("a[1]")) == ["2 items of `a`", "`b`"]
    assert len(titles(note("a[0]"), note("b[1]"))) == 2
    assert len(titles(note("n"), note("n"))) == 2  # no items: two functions of one name, say
    assert len(titles(note("a[0]"), note("a[1]", line=9))) == 2
    assert len(titles(note("a[0]"), note("a[1]", dimension=0))) == 2
    assert len(titles(note("a[0]"), note("a[1]", harmless="two values need two entries"))) == 2
    info = {"severity": Severity.INFO, "harmless": None}
    assert len(titles(note("a[0]", **info), note("a[1]", **info))) == 2  # each has its advice


def test_what_they_cost_is_added_where_all_is_known() -> None:
    cost = Cost(ms=40.0, basis="estimated", of="compile time, for 2 entries")
    (one,) = together([note("a[0]", cost=cost), note("a[1]", cost=cost)])
    assert one.cost == Cost(ms=80.0, basis="estimated", of="compile time, for all of them")
    (one,) = together([note("a[0]", cost=cost), note("a[1]")])
    assert one.cost is None
