"""Sizes that were equal in the first call: one finding, which no graph break explains."""

from __future__ import annotations

from pathlib import Path

from tracelens import analyze
from tracelens.report import Finding

FOLDER = Path(__file__).parents[2] / "fixtures" / "rules" / "RCP023-shape-relation-guard"
EQUAL = FOLDER / "fires-equal-behind-a-break.log"
ASKED = FOLDER / "fires-asked-behind-a-break.log"


def told(path: Path) -> list[Finding]:
    return [one for one in analyze(str(path)).findings if one.code == "RCP023"]


def test_all_functions_of_one_call_are_one_finding_that_stands_by_itself() -> None:
    (found,) = told(EQUAL)
    assert found.title.startswith("`energy` and 1 other are compiled once more: sizes that")
    assert (found.count, found.explained_by) == (2, None)
    assert found.cost is not None
    assert [one.id for one in found.advice] == ["unequal-first"]


def test_what_a_line_asks_for_behind_a_break_belongs_to_the_break() -> None:
    """Torch says of neither why, and forgets the line where a tensor waited on the stack."""
    (found,) = told(ASKED)
    assert found.explained_by is not None
    assert "unequal-first" not in {one.id for one in found.advice}


def test_an_equality_among_those_that_torch_added_is_one_of_them(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    heads = [line for line in EQUAL.read_text().splitlines(keepends=True) if "[1/1]" in line]
    more = "".join(line for line in heads if "__recompiles]" in line)
    unsaid = "# (unknown var s3, please file a bug)\n"
    between = more.replace("1/1]", "2/1]").replace("- 1/0:", "- 2/0:")
    between = between[: between.index("# duck")] + unsaid
    log.write_text(EQUAL.read_text().replace(more, between + more))
    (found,) = told(log)
    assert found.count == 3
    log.write_text(EQUAL.read_text().replace(more, more + between))
    assert [one.count for one in told(log)] == [2, 1]
