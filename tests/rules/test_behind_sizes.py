"""A number that every entry is for, where recompiles name a size alone; a recompile that failed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracelens import Finding, analyze
from tracelens.dynamo.held_values import differing
from tracelens.logs.guards import Guard, GuardTree
from tracelens.report import Severity

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
NUMBERS = RULES / "RCP007-module-int-attribute"
COUNTS, TURNS = NUMBERS / "fires-behind-sizes.log", NUMBERS / "quiet-turns-behind-sizes.log"
CLOCK = RULES / "RCP005-float-argument-specialised" / "fires-behind-sizes.log"
FAILED = RULES / "ERR017-internal-compiler-error" / "fires-in-a-recompile.log"


def by_code(path: Path) -> dict[str, Finding]:
    return {one.code: one for one in analyze(str(path)).findings}


@pytest.mark.parametrize(
    ("path", "code", "values"),
    [
        (COUNTS, "RCP007", "`self.processed` was 3, 4, 5, 6, 7: 4 recompiles"),
        (CLOCK, "RCP005", "`self.clock` was 0.25, 0.375, 0.5, 0.625, 0.75: 4 recompiles"),
    ],
)
def test_a_counter_behind_a_size_is_told_first(path: Path, code: str, values: str) -> None:
    found = by_code(path)
    number, sizes = found[code], found["RCP002"]
    assert sizes.explained_by == number.id
    assert number.severity is Severity.WARNING
    assert f"{values}, which name the size of `wav`, since that is checked first" in number.message
    assert "differ in `wav.shape[1]` (8, 12, 6, ...) as well" in number.message
    assert len(number.evidence) == 4
    assert all("EQUALS_MATCH" in line.text for line in number.evidence)


def test_both_are_changed_together() -> None:
    number = by_code(COUNTS)["RCP007"]
    assert [one.id for one in number.advice] == ["count-outside", "unspec-int", "buffer"]
    assert all("With it, change `wav.shape[1]`: pad it" in one.text for one in number.advice)


def rewritten(tmp_path: Path, values: list[int], line: str = "self.mode") -> dict[str, Finding]:
    """Return what is told where the number has these values, and the line is another one."""
    told = iter(values)
    text = COUNTS.read_text(encoding="utf-8").replace("self.processed += 1", line)
    text = re.sub(r"(processed == )\d+", lambda old: f"{old[1]}{next(told)}", text)
    other = tmp_path / "run.log"
    other.write_text(text, encoding="utf-8")
    return by_code(other)


@pytest.mark.parametrize(
    "values",
    [[5, 5, 5, 5, 5], [5, 6, 5, 6, 5], [5, 6, 7, 7, 8], [8, 12, 6, 17, 9]],
    ids=["the same", "in turns", "one twice", "no count"],
)
def test_other_numbers_change_nothing(tmp_path: Path, values: list[int]) -> None:
    found = rewritten(tmp_path, values)
    assert "RCP007" not in found
    assert found["RCP002"].explained_by is None


def test_a_number_that_the_caller_counts_is_told(tmp_path: Path) -> None:
    found = rewritten(tmp_path, [5, 7, 9, 11, 13])
    assert "`self.processed` was 5, 7, 9, 11, 13" in found["RCP007"].message


def test_values_in_turns_change_nothing() -> None:
    found = by_code(TURNS)
    assert set(found) == {"RCP002"}
    assert "as well" not in found["RCP002"].message


def test_how_many_entries_there_are() -> None:
    def tree(*asked: str) -> GuardTree:
        return GuardTree(guards=tuple(Guard(0, "EQUALS_MATCH", "", one) for one in asked))

    own = {number: tree(f"L['self'].n == {number + 2}") for number in range(4)}
    (held,) = differing({**own, 1: tree()})
    assert (held.entries, held.of) == (3, 4)


def test_what_led_to_an_entry_that_failed_is_not_harmless() -> None:
    found = by_code(FAILED)
    failure, change = found["ERR017"], found["RCP026"]
    assert change.harmless is None
    assert change.explained_by == failure.id
    assert "It was a recompile, of `step` (0/1): `q` was 0.1 before" in failure.message
    first = failure.advice[0]
    assert (first.id, first.code) == ("pass-tensor", "torch.tensor(q)")


def test_a_failure_of_another_function_is_not_of_the_recompile(tmp_path: Path) -> None:
    text = FAILED.read_text(encoding="utf-8")
    assert text.count("Recompiling function step in") == 1
    other = tmp_path / "run.log"
    other.write_text(text.replace("function step in", "function other in"), encoding="utf-8")
    found = by_code(other)
    assert "It was a recompile" not in found["ERR017"].message
    assert "pass-tensor" not in [one.id for one in found["ERR017"].advice]
    assert found["RCP026"].harmless
