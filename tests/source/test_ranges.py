"""One file read in several processes gives what one pass gives."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests.source.splitting import KINDS
from tracelens.source import files, ranges, read

FIXTURES = Path(__file__).parents[2] / "fixtures"


def whole_log() -> bytes:
    parts = []
    for path in sorted(FIXTURES.glob("rules/*/fires-*.log*"))[::6]:
        data = path.read_bytes()
        parts.append(gzip.decompress(data) if path.suffix == ".gz" else data)
    return b"".join(parts)


def test_ranges_equal_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = 2
    monkeypatch.setattr(ranges, "MIN_RANGE", 1000)
    path = tmp_path / "all.log"
    path.write_bytes(whole_log())
    assert len(ranges.plan(str(path), jobs, KINDS)) == jobs
    alone, (one,) = read([str(path)])
    together, (many,) = read([str(path)], jobs=jobs)
    assert one == many
    assert alone.kinds == together.kinds
    assert alone.known == together.known
    assert alone.spans == together.spans
    assert [u.text for u in alone.unread] == [u.text for u in together.unread]
    for ours, theirs in zip(alone.rows(), together.rows(), strict=True):
        assert ours.record == theirs.record
        assert ours.count == theirs.count
        assert ours.places == theirs.places
        assert ours.ms == theirs.ms


def test_a_small_or_compressed_file_is_read_in_one_pass(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"a\n" * 100)
    assert ranges.plan(str(path), 4, KINDS) == []
    path.write_bytes(gzip.compress(os.urandom(ranges.MIN_RANGE * 3)))
    assert ranges.plan(str(path), 4, KINDS) == []


def test_the_parts_cover_the_file_at_line_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "MIN_RANGE", 10)
    monkeypatch.setattr(files, "CHUNK", 100)
    path = tmp_path / "x.log"
    data = b"".join(b"%d\n" % (n * 977) for n in range(500))
    path.write_bytes(data)
    parts = ranges.plan(str(path), 5, KINDS)
    assert len(parts) == 5
    assert b"".join(data[part.start : part.end] for part in parts) == data
    assert all(part.start == 0 or data[part.start - 1 : part.start] == b"\n" for part in parts)
