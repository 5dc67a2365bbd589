"""A branch on a buffer alone, which the first call sets."""

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids
from tracelens import analyze
from tracelens.report import Finding

LOG = (
    Path(__file__).parents[2]
    / "fixtures/rules/GBR002-data-dependent-branch/fires-kept-flag-2.13.log"
)
LINE = "if self.training and not self.initialized:"


def branch(path: Path) -> Finding:
    return next(one for one in analyze(str(path)).findings if one.code == "GBR002")


def test_a_flag_in_a_buffer_becomes_a_bool() -> None:
    found = branch(LOG)
    assert ids(found)[0] == "python-flag"
    assert found.advice[0].code == "self.initialized = False  # in place of the buffer"
    assert not {"select", "check-outside", "cond"} & set(ids(found))


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("if self.initialized.item() == 0:", True),
        ("if not bool(self.initialized):", False),  # left to what is told of others
        ("if self.initialized == 0 and self.training:", True),
        ("if x.mean() > 0 and not self.other:", False),  # the buffer is in no part of it
        ("while not self.initialized:", False),
        ("if other.initialized:", False),
    ],
)
def test_the_line_asks_for_the_buffer(tmp_path: Path, line: str, *, flag: bool) -> None:
    log = tmp_path / "run.log"
    text = LOG.read_text()
    assert LINE in text
    log.write_text(text.replace(LINE, line))
    assert ("python-flag" in ids(branch(log))) is flag


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("_buffers_initialized_: graph input", "_buffers_initialized_: x.any()"),  # it is computed
        ("/home/ana/proj/actnorm", "/home/ana/venv/lib/python3.11/site-packages/actnorm"),
    ],
)
def test_else_it_is_no_flag_of_ones_own(tmp_path: Path, old: str, new: str) -> None:
    log = tmp_path / "run.log"
    text = LOG.read_text()
    assert old in text
    log.write_text(text.replace(old, new))
    assert "python-flag" not in ids(branch(log))
