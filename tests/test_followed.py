"""What advice did elsewhere decides how it is printed."""

import json
from pathlib import Path

import pytest

from tracelens.render import _words
from tracelens.report import Advice, Confirmation, Finding, Severity, Tried, followed

ROOT = Path(__file__).parents[1]


def test_the_sums_are_those_of_the_campaigns() -> None:
    folder = ROOT / "docs" / "campaigns"
    written = followed.written(folder / "libraries.json", folder / "gpu.json")
    assert (ROOT / "tracelens" / "report" / "followed.txt").read_text() == written, (
        "bash .ci/regenerate"
    )


def test_programs_on_a_gpu_count_as_libraries_do(tmp_path: Path) -> None:
    advice = [{"code": "TRC002", "id": "graph", "outcome": "worked"}]
    (tmp_path / "cpu.json").write_text(json.dumps({"libraries": [{"advice": advice}]}))
    (tmp_path / "gpu.json").write_text(json.dumps({"programs": [{"advice": advice}]}))
    both = followed.written(tmp_path / "cpu.json", tmp_path / "gpu.json")
    assert both == "TRC graph 2 2\n"


def test_what_does_not_apply_is_no_try(tmp_path: Path) -> None:
    outcomes = ("worked", "no effect", "slower", "does not apply", "not tried (why)", "worked")
    advice = [{"code": "GBR001", "id": "capture", "outcome": outcome} for outcome in outcomes]
    path = tmp_path / "campaign.json"
    path.write_text(json.dumps({"libraries": [{"round": 99, "advice": advice}, {"round": 1}]}))
    assert followed.written(path) == "GBR capture 2 4\n"


@pytest.mark.parametrize(
    ("own", "rest", "part"),
    [
        ((1, 1), (2, 4), 0.8),  # of the family 3 of 5, and four times 3/5: one try of 3/5
        ((0, 1), (3, 4), 0.3),
        ((3, 4), (0, 1), 0.72),
        ((0, 0), (3, 5), 0.6),
    ],
)
def test_few_tries_say_what_the_family_says(
    own: tuple[int, int], rest: tuple[int, int], part: float
) -> None:
    sums = {("GBR", "own"): own, ("GBR", "rest"): rest}
    assert followed.expected("GBR", "own", sums) == pytest.approx(part)
    assert followed.expected("TUN", "own", sums) is None


def test_one_success_makes_the_rest_of_a_family_no_worse() -> None:
    few = {("ENV", "one"): (1, 1), ("RCP", "rest"): (6, 10)}
    assert followed.expected("ENV", "other", few) is None
    more = few | {("ENV", "one"): (4, 4)}
    assert followed.expected("ENV", "other", more) == pytest.approx((4 + 4 * 10 / 14) / 8)


def test_what_little_of_a_family_was_followed_leans_on_all_advice() -> None:
    sums = {("GBR", "own"): (0, 1), ("RCP", "rest"): (19, 19)}
    family = (0 + 4 * 0.95) / 5
    assert followed.expected("GBR", "other", sums) == pytest.approx(family)
    assert followed.expected("GBR", "own", sums) == pytest.approx(family / 2)


@pytest.mark.parametrize(
    ("worked", "tried", "label"),
    [(9, 11, "fix"), (8, 11, "try"), (1, 1, "fix"), (0, 1, "try"), (0, 0, "try")],
)
def test_what_promises_three_quarters_is_a_fix(
    monkeypatch: pytest.MonkeyPatch, worked: int, tried: int, label: str
) -> None:
    sums = {("GBR", "rest"): (62 - worked, 100 - tried), ("GBR", "half"): (worked, tried)}
    monkeypatch.setattr(followed, "_sums", lambda: sums)
    followed._label.cache_clear()
    (found,) = followed.recorded("GBR001", [Advice(id="half", text="Do half.")])
    followed._label.cache_clear()
    assert (found.worked, found.tried, found.label) == (worked, tried, label)
    assert _words.promised(found).startswith(f"{label.capitalize()}: Do half.")


def test_nothing_is_said_of_a_family_that_nobody_followed() -> None:
    advice = Advice(id="half", text="Do half.")
    assert followed.recorded("XYZ001", [advice]) == (advice,)


@pytest.mark.parametrize(
    ("worked", "tried", "said"),
    [
        (5, 8, " Followed in 8 other programs, it helped in 5."),
        (0, 2, " Followed in 2 other programs, it helped in none."),
        (0, 1, ""),  # one try tells nothing
        (0, 0, ""),
    ],
)
def test_what_is_to_be_tried_says_what_came_of_it(worked: int, tried: int, said: str) -> None:
    advice = Advice(text="Do this.", worked=worked, tried=tried, label="try")
    assert _words.advice(advice) == f"Do this.{said}"
    assert _words.advice(advice.model_copy(update={"label": "fix"})) == "Do this."


def _told(*records: tuple[str, int, int], outcome: str = "") -> list[str]:
    advice = tuple(
        Advice(id=name, text=f"Or do {name}.", worked=worked, tried=tried, label="try")
        for name, worked, tried in records
    )
    here = (Tried.model_validate({"advice": "poor", "outcome": outcome}),) if outcome else ()
    finding = Finding(
        id="a",
        code="GBR001",
        name="item",
        severity=Severity.WARNING,
        title="A break",
        message="",
        advice=advice,
        confirmation=Confirmation(tried=here),
    )
    return [each.text for each in finding.promising]


@pytest.mark.parametrize(
    ("poor", "told"),
    [
        ((1, 3), ["Do good."]),
        ((0, 2), ["Do good."]),
        ((1, 2), ["Do poor.", "Or do good."]),  # half of them is worth a try
        ((0, 1), ["Do poor.", "Or do good."]),  # one try tells nothing
        ((0, 0), ["Do poor.", "Or do good."]),
    ],
)
def test_what_helped_in_fewer_than_half_is_not_told_beside_better(
    poor: tuple[int, int], told: list[str]
) -> None:
    assert _told(("poor", *poor), ("good", 3, 4)) == told


def test_the_best_of_what_rarely_helped_is_told_where_there_is_nothing_else() -> None:
    assert _told(("poor", 0, 3), ("fair", 1, 3)) == ["Do fair."]
    assert _told() == []


@pytest.mark.parametrize("outcome", ["gone", "fewer"])
def test_what_worked_here_is_told_whatever_came_of_it_elsewhere(outcome: str) -> None:
    assert _told(("poor", 0, 3), ("good", 3, 4), outcome=outcome) == ["Do poor.", "Or do good."]
    assert _told(("poor", 0, 3), ("good", 3, 4), outcome="raises") == ["Do good."]


def test_each_round_was_foretold_by_those_before() -> None:
    """What was to be expected of a fix is what came of it, and better than of the rest."""
    libraries = json.loads((ROOT / "docs/campaigns/libraries.json").read_text())["libraries"]
    tries = [
        (one.get("round") or 0, advice["code"][:3], advice["id"], advice["outcome"] == "worked")
        for one in libraries
        for advice in one.get("advice", ())
        if advice["outcome"] == "worked" or advice["outcome"] in followed.FAILED
    ]
    came: dict[bool, list[bool]] = {True: [], False: []}
    for now in {number for number, *_ in tries if number >= 29}:
        sums: dict[tuple[str, str], tuple[int, int]] = {}
        for number, family, name, worked in tries:
            if number < now:
                before = sums.get((family, name), (0, 0))
                sums[family, name] = (before[0] + worked, before[1] + 1)
        for number, family, name, worked in tries:
            if number == now:
                part = followed.expected(family, name, sums)
                came[part is None or part >= followed.SURE].append(worked)
    assert sum(came[True]) / len(came[True]) > 0.75
    assert sum(came[False]) / len(came[False]) < 0.6
