"""A break under a flag is told with it, and one call before compiling where the flag passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids
from tracelens import analyze
from tracelens.report import Finding

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
BRANCHES = RULES / "GBR002-data-dependent-branch"


def told(path: Path) -> Finding:
    (found,) = [one for one in analyze(str(path)).findings if one.code == "GBR002"]
    return found


def test_the_first_call_is_made_before_compiling() -> None:
    """The entry around the line was compiled for that call, and would stay in pieces."""
    found = told(BRANCHES / "fires-first-call.log")
    assert ids(found) == ["first-call"]
    assert "in calls where `self.init_required == True`" in found.message
    assert "every call" not in found.message


def test_a_flag_that_turns_passes_with_no_call() -> None:
    found = told(BRANCHES / "fires-by-turns.log")
    assert "first-call" not in ids(found)
    assert "select" in ids(found)
    assert found.message.endswith("in calls where `self.init_required == True`.")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.init_required == True ", "self.training == True "),
        ("- 1/0: self.init_required == True", "- 1/0: tensor 'x' dtype mismatch. expected Half"),
        ("[1/0] [__graph_breaks]", "[1/1] [__graph_breaks]"),
        ("# self.init_required = False", "# self.init_required = self.wanted"),
    ],
)
def test_another_reason_or_a_later_break_is_no_first_call(
    old: str, new: str, tmp_path: Path
) -> None:
    text = (BRANCHES / "fires-first-call.log").read_text("utf-8")
    assert old in text
    log = tmp_path / "run.log"
    log.write_text(text.replace(old, new), "utf-8")
    assert "first-call" not in ids(told(log))


def test_what_the_first_call_cut_around_it_is_no_note(tmp_path: Path) -> None:
    """A flag that was unset at first, but a caller of the function stays cut."""
    text = (BRANCHES / "fires-first-call.log").read_text("utf-8")
    unset = text.replace("self.init_required == True", "self.ready == False")
    log = tmp_path / "run.log"
    log.write_text(unset, "utf-8")
    assert ids(told(log)) == ["first-call"]
    assert "in calls where `self.ready == False`" in told(log).message
    assert all(one.code != "GBR021" for one in analyze(str(log)).findings)
