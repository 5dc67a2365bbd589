"""Conditions on sizes that one guard joins, and the last batch of a data set that fails one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.logs.recompiles import Expression, Relation
from tracelens.report import Finding

LINE = "V1120 20:15:4{n}.100000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles] {text}\n"
AT = "  # if x.shape[0] > limit:  # proj/model.py:4 in f"


@pytest.mark.parametrize(
    ("text", "relations"),
    [
        (
            "x.size()[0] < 8 and 2 < y.size()[0]",
            [("x.size()[0]", "<", "8"), ("2", "<", "y.size()[0]")],
        ),
        (
            "((x.size()[0] % 4) == 0) or (n != 3)",
            [("(x.size()[0] % 4)", "==", "0"), ("n", "!=", "3")],
        ),
        ("((a < b or c < d) and n == 3)", [("a", "<", "b"), ("c", "<", "d"), ("n", "==", "3")]),
        ("(a + b) < (c + d) and n == 3", [("(a + b)", "<", "(c + d)"), ("n", "==", "3")]),
        ("flag and n == 3", []),
        ("n == 3", []),
        ("check(f(x < 3, y=2), 'this and that')", []),
    ],
)
def test_what_a_guard_joins_is_told_apart(text: str, relations: list[tuple[str, str, str]]) -> None:
    found = Expression(text=text).relations
    assert found == tuple(
        Relation(left=left, comparison=sign, right=right) for left, sign, right in relations
    )


def told(tmp_path: Path, *entries: tuple[str, ...]) -> list[Finding]:
    """Return the findings of RCP023 where these guards failed, the newest entry's first."""
    log = ""
    for n, failed in enumerate(entries, 1):
        lines = ["Recompiling function f in /home/ana/proj/model.py:3"]
        lines.append("    triggered by the following guard failure(s):")
        lines += [f"    - 0/{n - 1 - at}: {text}" for at, text in enumerate(failed)]
        log += "".join(LINE.format(n=n, text=line) for line in lines)
    path = tmp_path / "run.log"
    path.write_text(log)
    return [one for one in analyze(str(path)).findings if one.code == "RCP023"]


def test_joined_conditions_are_conditions_on_sizes(tmp_path: Path) -> None:
    (found,) = told(tmp_path, ("(x.size()[0] % 8) == 0 and (x.size()[1] % 8) == 0",))
    assert len(found.data["guards"]) == 2
    assert found.advice[0].id == "pad-to-multiple"
    assert "dimensions 0 and 1 of `x` to multiples of 8" in found.advice[0].text


@pytest.mark.parametrize(
    ("entries", "advised"),
    [
        ([("5 <= x.size()[0]",)], True),
        ([("5 <= x.size()[1]",)], False),  # a length, and no batch
        ([("5 <= x.size()[0] <= 9",)], False),  # it may have been more
        ([(f"5 <= x.size()[0]{AT}",), (f"4 <= x.size()[0]{AT}",)], False),  # it came twice
    ],
)
def test_a_last_batch_can_be_dropped(
    entries: list[tuple[str, ...]], *, advised: bool, tmp_path: Path
) -> None:
    for found in told(tmp_path, *entries):
        assert ("drop-last" in {one.id for one in found.advice}) is advised


@pytest.mark.parametrize(
    ("others", "advice"),
    [
        ([], ["pad-to-multiple"]),
        (["(32*x.size()[1]) == (128*(x.size()[1] // 4))"], ["pad"]),  # and 8, and 16
        (["(32*x.size()[2]) == (128*(x.size()[2] // 4))"], ["pad-to-multiple"]),
    ],
)
def test_a_line_that_asks_with_several_divisors_is_not_padded_to_one(
    others: list[str], advice: list[str], tmp_path: Path
) -> None:
    """A loop asks for multiples of 2, of 4, of 8: both sides of each come."""
    line = "  # y.reshape(m, w)  # proj/model.py:4 in f"
    guards = ["(32*x.size()[1]) == (64*(x.size()[1] // 2))", *others]
    texts = [one + line for one in guards]
    (found,) = told(tmp_path, *(tuple(texts[at::-1]) for at in range(len(texts))))
    assert [one.id for one in found.advice] == advice
    assert found.data["conditions"] == len(guards)


def test_an_older_entry_tells_that_the_batch_was_smaller(tmp_path: Path) -> None:
    def size(actual: int) -> str:
        return f"tensor 'x' size mismatch at index 0. expected 64, actual {actual}"

    def advice(last: int) -> set[str | None]:
        (found,) = told(tmp_path, (size(60),), ("(x.size()[0] % 4) == 0", size(last)))
        return {one.id for one in found.advice}

    assert "drop-last" in advice(17)
    assert "drop-last" not in advice(65)


@pytest.mark.parametrize(
    "guard",
    [
        "3 <= x.size()[0]",
        "tensor 'x' size mismatch at index 0. expected 4, actual 8",
        "tensor 'x' size mismatch at index 0. expected 1, actual 8",
    ],
)
def test_a_reason_alone_is_told_without_a_name(guard: str, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    reasons = f"    - 0/1: {guard}\n    - 0/0: k == 2\n"
    path.write_text("    triggered by the following guard failure(s):\n" + reasons)
    found = [one for one in analyze(str(path)).findings if one.code.startswith("RCP")]
    assert found
    assert not [one for one in found if "`?`" in one.title + one.message]


@pytest.mark.parametrize(("index", "is_batch"), [(0, True), (1, False)])
def test_no_length_is_left_out_as_a_last_batch(
    index: int, tmp_path: Path, *, is_batch: bool
) -> None:
    """An older entry failed for the first dimension: the batch was smaller beside it."""
    (folder,) = (Path(__file__).parents[2] / "fixtures" / "rules").glob("RCP003-*")
    text = (folder / "fires-nearly-all-by-the-clocks.log").read_text("utf-8")
    first = "- 0/2: tensor 'source' size mismatch at index "
    path = tmp_path / "run.log"
    path.write_text(text.replace(f"{first}0.", f"{first}{index}."), encoding="utf-8")
    told = f"{first}{index}."
    (found,) = [
        {advice.id for advice in one.advice}
        for one in analyze(str(path)).findings
        if one.code == "RCP003" and any(told in line.text for line in one.evidence)
    ]
    assert ("drop-last" in found) is is_batch
