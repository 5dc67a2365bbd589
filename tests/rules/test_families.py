"""What a recompile is for is told by the call's own family of entries, not by what parts two."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import HEAD
from tracelens import analyze
from tracelens.dynamo.recompile_history import histories
from tracelens.logs.recompiles import Recompile
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import owner
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
FLOATS = FIXTURES / "RCP005-float-argument-specialised"


def found(path: Path) -> dict[str, Finding]:
    return {one.code: one for one in analyze(str(path)).findings}


def owners(path: Path) -> Counter[str]:
    table = read([str(path)])[0].table(Recompile)
    return Counter(owner(step).code for one in histories(table) for step in one.steps)


def recompiled(*blocks: tuple[str, ...]) -> str:
    """Return a log with one recompile for each block: what failed in the entries, newest first."""
    lines: list[str] = []
    for number, failures in enumerate(blocks, 1):
        head = HEAD.format(number, number)
        lines += [
            f"{head}Recompiling function step in /home/ana/proj/net.py:14",
            f"{head}    triggered by the following guard failure(s):",
        ]
        entries = range(number - 1, -1, -1)
        told = zip(entries, failures, strict=True)
        lines += [f"{head}    - 0/{entry}: {failure}" for entry, failure in told]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("name", "parts"),
    [("fires-beside-none-2.13.log.gz", "RCP009"), ("fires-after-none-2.13.log", "RCP006")],
)
def test_a_float_is_told_where_none_takes_turns_with_a_tensor(name: str, parts: str) -> None:
    """Whichever comes first: the float is what each further entry is for."""
    assert owners(FLOATS / name) == {parts: 1, "RCP005": 6}
    told = found(FLOATS / name)
    assert told["RCP005"].severity is Severity.ERROR
    assert [one.id for one in told["RCP005"].advice] == ["make-before"]
    assert "t = torch.full((x.shape[0],), t)" in told["RCP005"].advice[0].text
    assert told["RCP001"].explained_by == told["RCP005"].id
    assert told[parts].harmless


def test_a_float_that_becomes_a_symbol_in_each_family_does_no_harm() -> None:
    path = FLOATS / "quiet-symbol-beside-none-2.13.log"
    assert owners(path) == {"RCP009": 1, "RCP005": 2}
    assert found(path)["RCP005"].harmless


def test_none_and_a_tensor_are_two_classes_however_many_modes_there_are() -> None:
    path = FIXTURES / "RCP009-type-guard-polymorphism" / "quiet-goal-or-none-2.13.log"
    (told,) = (one for one in analyze(str(path)).findings if one.code == "RCP009")
    assert told.harmless
    assert "class" not in f"{told.title} {told.message}"
    assert told.advice == ()


def test_each_class_of_blocks_is_an_entry_still() -> None:
    told = found(FIXTURES / "RCP009-type-guard-polymorphism" / "fires-class-per-layer.log")
    assert "compile-caller" in [one.id for one in told["RCP009"].advice]
    assert "one per class" in told["RCP009"].message


GRAD, NO_GRAD = (f"tensor 'x' requires_grad mismatch. expected requires_grad={n}" for n in (1, 0))
A = "mode == 'a'"


def test_a_string_counts_that_a_flag_parts_from_itself(tmp_path: Path) -> None:
    """With a gradient, without one, and then both with another mode."""
    path = tmp_path / "run.log"
    path.write_text(recompiled((GRAD,), (NO_GRAD, A), (A, GRAD, GRAD)), encoding="utf-8")
    assert owners(path) == {"RCP012": 1, "RCP006": 2}


def test_an_entry_of_which_nothing_is_known_is_none_of_the_family(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(recompiled((A,), (GRAD, A)), encoding="utf-8")
    assert owners(path) == {"RCP006": 1, "RCP012": 1}


def test_one_line_is_taken_as_it_is(tmp_path: Path) -> None:
    """Older versions of torch print what failed in one entry."""
    lines = recompiled((GRAD,), (NO_GRAD, A)).split("\n")
    path = tmp_path / "run.log"
    path.write_text("\n".join(line for line in lines if not line.endswith(A)), encoding="utf-8")
    assert owners(path) == {"RCP012": 2}
