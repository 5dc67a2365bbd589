"""One file read in several processes gives what one pass gives."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.source.splitting import KINDS
from tracelens.evidence import limits
from tracelens.evidence.limits import MAX_UNREAD
from tracelens.source import files, ranges, read
from tracelens.source.files import Stream
from tracelens.source.opened import Inseparable

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


@pytest.mark.parametrize(("every", "parts"), [(10, 2), (10_000, 0)])
def test_a_file_is_cut_where_a_record_follows_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int, parts: int
) -> None:
    """A part that begins with a long stretch of the program's lines would keep all of them."""
    monkeypatch.setattr(ranges, "MIN_RANGE", 10_000)
    monkeypatch.setattr(ranges, "AFTER", 400)
    monkeypatch.setattr(files, "CHUNK", 1000)
    record = b"V1120 10:45:41.174000 7 torch/_dynamo/guards.py:1] [0/0] [__guards] GUARDS:\n"
    lines = (b"step %5d loss 0.5\n" % n + record * (n % every == 0) for n in range(3000))
    (tmp_path / "x.log").write_bytes(b"=" * 500 + b"\n" + b"".join(lines))
    assert len(ranges.plan(str(tmp_path / "x.log"), 2, KINDS)) == parts


def test_the_parts_cover_the_file_at_line_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "MIN_RANGE", 10)
    monkeypatch.setattr(files, "CHUNK", 100)
    path = tmp_path / "x.log"
    data = b"".join(b"onednn_verbose,%d\n" % (n * 977) for n in range(500))
    path.write_bytes(data)
    parts = ranges.plan(str(path), 5, KINDS)
    assert len(parts) == 5
    assert b"".join(data[part.start : part.end] for part in parts) == data
    assert all(part.start == 0 or data[part.start - 1 : part.start] == b"\n" for part in parts)


def refused(kinds: int) -> bytes:
    """Return a log of so many texts that no grammar reads, each twice, far from one another."""
    line = b"V0101 10:00:00.000000 1 torch/_dynamo/guards.py:1] [0/0] [__guards] ?? %d\n"
    between = b"V0101 10:00:00.000000 1 torch/_dynamo/guards.py:2] [0/1] [__recompiles] !\n"
    numbers = [*range(kinds), *range(kinds - 1, -1, -1)]
    return b"".join(line % number + between for number in numbers)


def unread_of(path: Path, jobs: int) -> list[tuple[str, int, int, str, bool]]:
    evidence, _ = read([str(path)], jobs=jobs)
    return [(u.text, u.count, u.first_line, u.reason, u.others) for u in evidence.unread]


def here(
    work: Callable[[Any], Any], tasks: Sequence[Any], *, meanwhile: Callable[[], None], **_: object
) -> Iterator[Any]:
    meanwhile()
    return map(work, tasks)


@pytest.mark.parametrize("jobs", [2, 3])
def test_parts_leave_out_the_refused_texts_that_one_pass_does(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "MIN_RANGE", 1000)
    monkeypatch.setattr(files, "CHUNK", 1000)
    path = tmp_path / "refused.log"
    path.write_bytes(refused(3 * MAX_UNREAD))
    assert len(ranges.plan(str(path), jobs, KINDS)) == jobs
    alone = unread_of(path, 1)
    assert sum(others for *_, others in alone) == 1
    assert unread_of(path, jobs) == alone


def test_a_part_that_leaves_something_out_is_not_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "MIN_RANGE", 1000)
    monkeypatch.setattr(files, "CHUNK", 1000)
    monkeypatch.setattr(limits, "MAX_UNREAD_OF_PART", 60)
    monkeypatch.setattr(ranges, "shared", here)
    path = tmp_path / "refused.log"
    path.write_bytes(refused(3 * MAX_UNREAD))
    stream = Stream(str(path))
    with pytest.raises(Inseparable):
        ranges.read_ranges(stream, ranges.plan(str(path), 2, KINDS))
    assert unread_of(path, 2) == unread_of(path, 1)
