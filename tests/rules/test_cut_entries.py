"""What the new entries hold is told by those whose guards the log has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

LOG = (
    Path(__file__).parents[2]
    / "fixtures/rules/RCP003-first-dynamic-recompile/fires-conv-fewer-than-16.log"
)


@pytest.mark.parametrize("more", [False, True])
def test_an_entry_that_the_log_ends_before_says_nothing_about_the_others(
    more: bool, tmp_path: Path
) -> None:
    text = LOG.read_text().replace("size=[None, 3, 8, 8]", "size=[4, 3, 8, 8]")
    lines = [line for line in text.splitlines(keepends=True) if "[0/1] [__recompiles]" in line]
    assert len(lines) == 3
    state = lines[2].partition("- 0/0:")[0] + "- {}: GLOBAL_STATE changed: grad_mode \n"
    other = [line.replace("[0/1]", "[0/2]") for line in (*lines[:2], state.format("0/1"))]
    then = [*lines[:2], lines[2].replace("- 0/0:", "- 0/2:").replace("actual 4", "actual 5")]
    then += [state.format("0/1"), state.format("0/0")]
    again = "".join((*other, *(line.replace("[0/1]", "[0/3]") for line in then)))
    log = tmp_path / "run.log"
    log.write_text(text + again * more)
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert found.count == 1 + more
    assert "for it alone" in found.message
