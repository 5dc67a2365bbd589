"""A command that is killed loses nothing and leaves nothing behind: a sample of the campaign."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.killing import analyze, parts
from tracelens.cli._saving import replacing


@pytest.fixture
def inherited(how: signal.Signals) -> Iterator[None]:
    """Take the signal as a program does by default: under nohup SIGHUP is ignored, and stays so."""
    before = signal.signal(how, signal.SIG_DFL)
    yield
    signal.signal(how, before)


@pytest.mark.usefixtures("inherited")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_the_write_leaves_the_old_file_and_no_other(
    how: signal.Signals, tmp_path: Path
) -> None:
    path = tmp_path / "report.md"
    path.write_text("old")

    def write() -> None:
        with replacing(path) as file:
            file.write(b"new")
            assert parts(tmp_path)
            os.kill(os.getpid(), how)

    with pytest.raises(SystemExit) as ended:
        write()
    assert ended.value.code == 128 + how
    assert [one.name for one in tmp_path.iterdir()] == ["report.md"]
    assert path.read_text() == "old"
    assert signal.getsignal(how) is signal.SIG_DFL


def test_a_report_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    analyze(tmp_path, random.Random(3), signal.SIGTERM)
