"""A tensor that is told to need no gradient within the compiled function."""

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids
from tracelens import analyze

LOG = (
    Path(__file__).parents[2]
    / "fixtures/rules/GBR020-setattr-on-unsupported-object/fires-switched-off-2.13.log"
)
LINE = "grid.requires_grad = False"


@pytest.mark.parametrize(
    ("line", "first"),
    [
        (LINE, "detach-here"),
        ("grid.requires_grad = True", "requires-grad-before"),
        ("grid.requires_grad = learns", "requires-grad-before"),
        ("self.grid.requires_grad = False", "requires-grad-before"),
    ],
)
def test_what_is_switched_off_is_detached(tmp_path: Path, line: str, first: str) -> None:
    text = LOG.read_text()
    assert LINE in text
    log = tmp_path / "run.log"
    log.write_text(text.replace(LINE, line))
    (found,) = (one for one in analyze(str(log)).findings if one.code == "GBR020")
    assert ids(found)[0] == first
    if first == "detach-here":
        assert found.advice[0].code == "grid = grid.detach()"
