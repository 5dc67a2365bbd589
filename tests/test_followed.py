"""What advice did elsewhere decides how it is printed."""

import json
from pathlib import Path

import pytest

from tracelens.render import _words
from tracelens.report import Advice, followed

ROOT = Path(__file__).parents[1]


def test_the_sums_are_those_of_the_campaign() -> None:
    written = followed.written(ROOT / "docs" / "campaigns" / "libraries.json")
    assert (ROOT / "tracelens" / "report" / "followed.txt").read_text() == written, (
        "bash .ci/regenerate"
    )


def test_what_does_not_apply_is_no_try(tmp_path: Path) -> None:
    outcomes = ("worked", "no effect", "slower", "does not apply", "not tried (why)", "worked")
    advice = [{"code": "GBR001", "id": "capture", "outcome": outcome} for outcome in outcomes]
    path = tmp_path / "campaign.json"
    older = {"round": followed.SINCE - 1, "advice": advice}
    path.write_text(json.dumps({"libraries": [{"round": 99, "advice": advice}, older]}))
    assert followed.written(path) == "GBR capture 2 4\n"


@pytest.mark.parametrize(
    ("worked", "tried", "promise"),
    [(0, 0, "fix"), (1, 2, "fix"), (1, 3, "try"), (2, 3, "fix"), (5, 8, "try"), (6, 9, "fix")],
)
def test_what_helps_in_two_thirds_is_a_fix(worked: int, tried: int, promise: str) -> None:
    advice = Advice(text="Do this.", worked=worked, tried=tried)
    assert _words.promise(advice) == promise
    said = f"Followed in {tried} other programs, it helped in {worked}."
    assert _words.advice(advice).endswith(said) is (promise == "try")


def test_what_came_of_it_is_of_the_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "_sums", lambda: {("GBR", "half"): (2, 4)})
    advice = [Advice(id="half", text="Do half."), Advice(id="new", text="Do that.")]
    found = followed.recorded("GBR001", advice)
    assert [(one.id, one.worked, one.tried) for one in found] == [("half", 2, 4), ("new", 0, 0)]
    assert followed.recorded("ERR000", advice) == tuple(advice)
