"""The log keeps its head and its tail, and what was written survives a kill."""

import gzip
import shutil
import zlib
from pathlib import Path

import pytest

import tracelens
from tracelens.live import logfile
from tracelens.live.logfile import LogFile
from tracelens.logs import kind
from tracelens.logs.recording import LeftOut


def line(number: int) -> bytes:
    return b"line %07d\n" % number


def test_a_short_log_is_whole(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "log.txt.gz")
    for number in range(1000):
        log.write(line(number))
    log.close(b"end\n")
    held = gzip.decompress((tmp_path / "log.txt.gz").read_bytes())
    assert held == b"".join(map(line, range(1000))) + b"end\n"
    assert [path.name for path in tmp_path.iterdir()] == ["log.txt.gz"]


def test_a_long_log_keeps_head_and_tail_and_says_so(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "log.txt.gz", head=1300, tail=1300)
    for number in range(100_000):
        log.write(line(number))
    log.close()
    head, mark, *tail = gzip.decompress((tmp_path / "log.txt.gz").read_bytes()).partition(b"# ")
    lines = (mark + tail[0]).splitlines(keepends=True)
    assert head == b"".join(map(line, range(100)))
    assert lines[-1] == line(99_999)
    assert len(lines) - 1 >= 80
    (left_out,) = kind("recording").parse(lines[0].decode().rstrip("\n"))
    assert isinstance(left_out, LeftOut)
    assert left_out.lines == 100_000 - 100 - (len(lines) - 1)
    assert left_out.bytes == 13 * left_out.lines


def test_what_a_log_leaves_out_is_told(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "log.txt.gz", head=200, tail=104)
    log.write(
        b"V1120 10:45:41.174000 30895 torch/_dynamo/guards.py:2390] [0/0] [__guards] GUARDS:\n"
    )
    for number in range(1000):
        log.write(line(number))
    log.close()
    report = tracelens.analyze(str(tmp_path / "log.txt.gz"))
    assert "LOG001" in [finding.code for finding in report.findings]


def test_a_killed_recorder_leaves_what_was_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfile, "WAIT", 0.0)
    log = LogFile(tmp_path / "log.txt.gz")
    log.write(line(1))
    log.tick()
    data = (tmp_path / "log.txt.gz").read_bytes()
    assert zlib.decompressobj(31).decompress(data) == line(1)
    log.close()


@pytest.mark.parametrize("long", [False, True])
def test_a_folder_that_is_removed_meanwhile_is_made_again(tmp_path: Path, long: bool) -> None:
    folder = tmp_path / "bundle"
    folder.mkdir()
    log = LogFile(folder / "log.txt.gz", head=50)
    log.write(line(1))
    shutil.rmtree(folder)
    for number in range(2, 20 if long else 3):
        log.write(line(number))
    log.close()
    held = gzip.decompress((folder / "log.txt.gz").read_bytes())
    assert held == b"".join(map(line, range(1, 20 if long else 3)))
